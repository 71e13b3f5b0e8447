use super::*;

fn open_in(dir: &Path, max_bytes: u64, keep: u32) -> LogFile {
    let rotation = Rotation { max_bytes, keep };
    LogFile::open(dir.join("x.log"), rotation).unwrap()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_full_file_is_put_aside_and_the_oldest_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open_in(dir.path(), 10, 2);
    for n in 1..=5 {
        file.write(format!("line {n}\n").as_bytes()).unwrap();
    }
    assert_eq!(text(&dir.path().join("x.log")), "line 5\n");
    assert_eq!(text(&dir.path().join("x.log.1")), "line 4\n");
    assert_eq!(text(&dir.path().join("x.log.2")), "line 3\n");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
}

#[test]
fn none_is_kept_if_none_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open_in(dir.path(), 10, 0);
    for n in 1..=3 {
        file.write(format!("line {n}\n").as_bytes()).unwrap();
    }
    assert_eq!(text(&dir.path().join("x.log")), "line 3\n");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    std::fs::write(&path, "before\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut file = open_in(dir.path(), 20, 1);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    file.write(b"and a longer line\n").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&dir.path().join("x.log.1")), 0o600);
    assert_eq!(text(&dir.path().join("x.log.1")), "before\n");
}

#[test]
fn a_file_that_was_moved_away_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open_in(dir.path(), 1000, 1);
    file.write(b"one\n").unwrap();
    std::fs::rename(dir.path().join("x.log"), dir.path().join("moved")).unwrap();
    file.write(b"two\n").unwrap();
    std::fs::remove_file(dir.path().join("x.log")).unwrap();
    file.write(b"three\n").unwrap();
    assert_eq!(text(&dir.path().join("moved")), "one\n");
    assert_eq!(text(&dir.path().join("x.log")), "three\n");
}

#[test]
fn two_writers_share_a_file_and_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let (mut a, mut b) = (open_in(dir.path(), 100, 9), open_in(dir.path(), 100, 9));
    for n in 0..40 {
        a.write(format!("a{n:03}\n").as_bytes()).unwrap();
        b.write(format!("b{n:03}\n").as_bytes()).unwrap();
    }
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let text = text(&entry.unwrap().path());
        assert!(text.len() <= 100);
        lines.extend(text.lines().map(str::to_owned));
    }
    lines.sort();
    let wanted = ["a", "b"].into_iter().flat_map(|w| (0..40).map(move |n| format!("{w}{n:03}")));
    assert_eq!(lines, wanted.collect::<Vec<_>>());
}

#[test]
fn what_is_no_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let rotation = Rotation::new(None, None);
    assert!(LogFile::open(dir.path().to_owned(), rotation).is_err());
    assert!(LogFile::open("/dev/null".into(), rotation).is_err());
}
