use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn file(dir: &Path, name: &str, mode: u32) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(name), "").unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_first_executable_on_the_path_wins() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    file(&one, "tool", 0o644);
    file(&two, "tool", 0o755);
    let path = std::env::join_paths([&one, &two]).unwrap();

    assert_eq!(find("tool".as_ref(), Some(&path)), Ok(two.join("tool")));
    assert!(matches!(
        find("tool".as_ref(), Some(one.as_os_str())),
        Err(StartFailure::NotExecutable(_))
    ));
    assert_eq!(find("other".as_ref(), Some(&path)), Err(StartFailure::NotFound));
}

#[test]
fn the_working_directory_is_never_searched() {
    for path in ["", ".", ":", "src"] {
        assert_eq!(find("lib.rs".as_ref(), Some(path.as_ref())), Err(StartFailure::NotFound));
    }
}

#[test]
fn a_directory_is_not_a_program() {
    assert!(matches!(find("/tmp".as_ref(), None), Err(StartFailure::NotExecutable(_))));
    assert_eq!(find("".as_ref(), None), Err(StartFailure::NotFound));
}
