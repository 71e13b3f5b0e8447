//! The files of a directory, for completion.
//!
//! Ignored by version control and hidden ones are left out. Bounded, because a directory may be a
//! home or a disk.

use std::path::Path;
use std::time::{Duration, Instant};

const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 12;
/// The time limit of the walk; on a slow disk the files found by then are enough.
const TIME_LIMIT: Duration = Duration::from_secs(3);

pub(super) fn list_files(dir: &Path) -> Vec<String> {
    let end = Instant::now() + TIME_LIMIT;
    let walk = ignore::WalkBuilder::new(dir)
        .max_depth(Some(MAX_DEPTH))
        .follow_links(false)
        .require_git(false)
        .build();
    let mut found = Vec::new();
    for entry in walk.flatten() {
        if found.len() >= MAX_FILES || Instant::now() > end {
            break;
        }
        let Some(path) = entry.path().strip_prefix(dir).ok().and_then(Path::to_str) else {
            continue;
        };
        if path.is_empty() || path.chars().any(char::is_control) {
            continue;
        }
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        found.push(if is_dir { format!("{path}/") } else { path.to_owned() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::list_files;

    #[test]
    fn what_is_hidden_or_ignored_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in
            [("a.rs", ""), (".hidden", ""), (".gitignore", "target/\n"), ("two words", "")]
        {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("target")).unwrap();
        std::fs::create_dir_all(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("target/x"), "").unwrap();
        std::fs::write(dir.path().join("src/main.rs"), "").unwrap();
        let mut found = list_files(dir.path());
        found.sort();
        assert_eq!(found, ["a.rs", "src/", "src/main.rs", "two words"]);
    }
}
