use super::*;

fn dir() -> (tempfile::TempDir, Dir) {
    let place = tempfile::tempdir().unwrap();
    let dir = Dir::open_ambient_dir(place.path(), ambient_authority()).unwrap();
    (place, dir)
}

fn given() -> String {
    "a.png".to_owned()
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let (place, dir) = dir();
    std::fs::write(place.path().join("a.png"), "mine").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", place.path().join("a-2.png")).unwrap();
    let arriving = PartialFile::begin(&dir, Path::new(""), "a.png", given()).unwrap();
    let received = arriving.write(b"new").unwrap().keep();
    assert_eq!(received.path, Path::new("a-3.png"));
    assert_eq!(std::fs::read(place.path().join("a.png")).unwrap(), b"mine");
    assert_eq!(std::fs::read(place.path().join("a-3.png")).unwrap(), b"new");
}

#[test]
fn a_file_that_does_not_arrive_whole_is_removed() {
    let (place, dir) = dir();
    let arriving = PartialFile::begin(&dir, Path::new("assets/new"), "a.png", given()).unwrap();
    drop(arriving.write(b"half").unwrap());
    assert_eq!(std::fs::read_dir(place.path().join("assets/new")).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_a_link_is_refused() {
    let (place, dir) = dir();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), place.path().join("assets")).unwrap();
    assert!(PartialFile::begin(&dir, Path::new("assets"), "a.png", given()).is_err());
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_is_plain_names() {
    assert_eq!(checked_dir("assets//img/").unwrap(), Path::new("assets/img"));
    assert_eq!(checked_dir("").unwrap(), Path::new(""));
    for bad in ["..", "a/../b", "a/.git", "a\0b", "a b", "1/2/3/4/5/6/7/8/9"] {
        assert!(checked_dir(bad).is_err(), "{bad}");
    }
}

#[test]
fn old_uploads_go_and_links_are_not_followed() {
    let (place, _) = dir();
    let outside = tempfile::tempdir().unwrap();
    let old = std::time::SystemTime::now() - MAX_UPLOAD_AGE - Duration::from_secs(60);
    let make = |path: &Path, is_old: bool| {
        std::fs::create_dir_all(path).unwrap();
        std::fs::write(path.join("a.png"), "x").unwrap();
        if is_old {
            std::fs::File::open(path).unwrap().set_modified(old).unwrap();
        }
    };
    let uploads = place.path().join(UPLOADS);
    make(&uploads.join("all/new"), false);
    make(&uploads.join("all/old"), true);
    make(&outside.path().join("old"), true);
    std::os::unix::fs::symlink(outside.path(), uploads.join("link")).unwrap();
    remove_old(place.path()).unwrap();
    assert!(uploads.join("all/new/a.png").exists());
    assert!(!uploads.join("all/old").exists());
    assert!(outside.path().join("old/a.png").exists());
}
