use std::os::unix::fs::PermissionsExt as _;

use super::{History, HistoryFile};

#[test]
fn walking_back_and_forth_returns_to_the_draft() {
    let mut history = History::new(vec!["one".into(), "two".into()]);
    assert_eq!(history.older("draft"), Some("two"));
    assert_eq!(history.older("two"), Some("one"));
    assert_eq!(history.older("one"), None);
    assert_eq!(history.newer(), Some("two"));
    assert_eq!(history.newer(), Some("draft"));
    assert_eq!(history.newer(), None);
}

#[test]
fn the_same_prompt_twice_is_one_entry() {
    let mut history = History::default();
    assert!(history.add("one"));
    assert!(!history.add("one"));
    assert!(!history.add("  \n"));
}

#[test]
fn what_was_typed_is_there_in_the_next_run_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history");
    let file = HistoryFile::at(&path);
    file.append("a\nb \"quoted\"").unwrap();
    std::fs::write(&path, [std::fs::read(&path).unwrap(), b"no json\n\xff\n".to_vec()].concat())
        .unwrap();
    file.append("last").unwrap();
    assert_eq!(file.read(), ["a\nb \"quoted\"", "last"]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
