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

#[test]
fn a_file_that_others_could_read_is_closed_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history");
    std::fs::write(&path, "\"secret\"\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(HistoryFile::at(&path).read(), ["secret"]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn links_pipes_and_directories_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (path, target) = (dir.path().join("history"), dir.path().join("precious"));
    std::fs::write(&target, "\"mine\"\n").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let file = HistoryFile::at(&path);
    assert!(file.read().is_empty() && file.append("typed").is_err());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "\"mine\"\n");
    std::fs::remove_file(&path).unwrap();
    // Neither reading nor writing waits for somebody at the other end.
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert!(file.read().is_empty() && file.append("typed").is_err());
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(file.read().is_empty() && file.append("typed").is_err());
}

#[test]
fn it_is_shortened_to_the_newest_and_stays_private() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history");
    let file = HistoryFile::at(&path);
    let long = "x".repeat(60_000);
    for n in 0..80 {
        file.append(&format!("{n} {long}")).unwrap();
    }
    file.append("last").unwrap();
    assert!(path.metadata().unwrap().len() < 4 << 20);
    for n in 0..2000 {
        file.append(&format!("short {n}")).unwrap();
    }
    let kept = file.read();
    assert!(kept.len() <= 1000 && kept.last().unwrap() == "short 1999");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}
