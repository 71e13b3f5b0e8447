//! Which types of what ships share a name.
//!
//! In: the sources, read as text. Out: names that stand for more things than a reader can keep
//! apart. Only items at the beginning of a line are looked at, so no associated types and no tests
//! inside of a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names that stand for more than `limit` types of `files`, and where each is defined.
pub(super) fn used_too_often(
    files: impl IntoIterator<Item = (PathBuf, String)>,
    limit: usize,
) -> BTreeMap<String, Vec<PathBuf>> {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (path, text) in files {
        for name in text.lines().filter_map(defined) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    places.retain(|_, places| places.len() > limit);
    places
}

/// Whether a file, named from the directory of the crates, is a part of what users run.
pub(super) fn ships(path: &Path) -> bool {
    let is_dev = |part: &str| {
        let is_dev_crate = ["bench", "live", "soak", "testkit"].contains(&part);
        let is_test = part.starts_with("test") || part.ends_with("tests.rs");
        is_dev_crate || is_test || part == "examples"
    };
    !path.iter().any(|part| is_dev(part.to_str().unwrap()))
}

fn defined(line: &str) -> Option<&str> {
    let item = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let (keyword, rest) = item.split_once(' ')?;
    let is_type = ["enum", "struct", "trait", "type", "union"].contains(&keyword);
    is_type.then(|| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
}

#[test]
fn a_name_is_counted_once_for_each_type_that_has_it() {
    let file = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
    let files = [
        file("a.rs", "struct State {\n    type Of = u8;\npub(crate) enum Kind<T> {\n"),
        file("b.rs", "pub trait State: Sized {\n/// struct State\nfn state() {}\n"),
        file("c.rs", "pub type State = u8;\nmod tests {\n    struct State;\n}\n"),
    ];
    assert_eq!(used_too_often(files.clone(), 3), BTreeMap::new());
    let found = used_too_often(files, 2);
    let places = ["a.rs", "b.rs", "c.rs"].map(PathBuf::from).to_vec();
    assert_eq!(found, BTreeMap::from([("State".to_owned(), places)]));
}

#[test]
fn only_what_users_run_ships() {
    for ours in ["wire/src/lib.rs", "switchyard/src/verbs/run.rs"] {
        assert!(ships(Path::new(ours)), "{ours}");
    }
    for dev in [
        "bench/src/main.rs",
        "wire/src/lines/tests.rs",
        "chat/src/render/failure_tests.rs",
        "server/src/events/testing.rs",
        "switchyard/tests/it/tidy.rs",
        "bus/examples/embedded.rs",
    ] {
        assert!(!ships(Path::new(dev)), "{dev}");
    }
}
