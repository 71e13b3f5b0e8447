use std::os::unix::fs::symlink;

use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn found(dir: &Path, query: &str, stop: &Stop) -> (Vec<String>, bool) {
    let list = search(dir, &Forbidden::default(), Best::new(query, 50), stop).unwrap();
    (list.files.into_iter().map(|file| file.path).collect(), list.is_complete)
}

#[test]
fn files_are_found_and_what_is_ignored_or_elsewhere_is_not() {
    let outside = tree(&[("secret.rs", "")]);
    let dir = tree(&[
        (".gitignore", "target\n"),
        (".git/config", ""),
        ("src/main.rs", ""),
        ("src/deep/er/mod.rs", ""),
        ("target/main.rs", ""),
        (".github/ci.yml", ""),
    ]);
    symlink(outside.path(), dir.path().join("link")).unwrap();
    symlink(outside.path().join("secret.rs"), dir.path().join("secret.rs")).unwrap();
    let stop = Stop::after(Duration::from_secs(60));

    let (all, is_complete) = found(dir.path(), "", &stop);
    assert_eq!(all, [".gitignore", "src/main.rs", ".github/ci.yml", "src/deep/er/mod.rs"]);
    assert!(is_complete);
    assert_eq!(found(dir.path(), "main", &stop).0, ["src/main.rs"]);
    assert!(found(dir.path(), "secret", &stop).0.is_empty());
    assert!(found(dir.path(), "../", &stop).0.is_empty());
}

#[test]
fn a_search_that_is_told_to_stop_says_that_there_may_be_more() {
    let dir = tree(&[("a", ""), ("b", "")]);
    let (_, is_complete) = found(dir.path(), "", &Stop::after(Duration::ZERO));
    assert!(!is_complete);
    let gone = dir.path().join("gone");
    let stop = Stop::after(WITHIN);
    assert!(search(&gone, &Forbidden::default(), Best::new("", 1), &stop).is_err());
}
