//! Files that want to be taken for files of a project.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::Value;

use super::{Project, RunFileError, attached, check_all, picture};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n rest";

struct Home {
    _root: tempfile::TempDir,
    place: Project,
}

fn home() -> Home {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap().join("project");
    std::fs::create_dir_all(path.join("sub")).unwrap();
    std::fs::write(root.path().join("secret"), "s").unwrap();
    std::fs::write(path.join("a.txt"), "hello").unwrap();
    std::fs::write(path.join("sub/p.png"), PNG).unwrap();
    symlink("../secret", path.join("out")).unwrap();
    symlink("/etc/passwd", path.join("far")).unwrap();
    symlink("a.txt", path.join("in")).unwrap();
    symlink("..", path.join("up")).unwrap();
    let dir = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
    Home { _root: root, place: Project { dir, path } }
}

#[test]
fn a_path_that_leads_out_is_refused_however_it_is_written() {
    let Home { _root, place } = home();
    let absolute = place.path.join("../secret").to_string_lossy().into_owned();
    let places = [place];
    for name in
        ["../secret", "sub/../../secret", "/etc/passwd", "out", "far", "up/secret", &absolute]
    {
        let refused = attached(&places, name);
        assert!(matches!(refused, Err(RunFileError::Outside)), "{name}: {refused:?}");
    }
    for name in ["gone", "sub/gone", "a.txt/b"] {
        let refused = attached(&places, name);
        assert!(matches!(refused, Err(RunFileError::Missing)), "{name}: {refused:?}");
    }
    assert!(matches!(attached(&places, ""), Err(RunFileError::NoPath)));
    assert!(matches!(attached(&places, "a\0"), Err(RunFileError::NoPath)));
}

#[test]
fn what_is_inside_is_found_by_relative_and_absolute_names() {
    let Home { _root, place } = home();
    let absolute = place.path.join("a.txt").to_string_lossy().into_owned();
    let places = [place];
    for name in ["a.txt", "./a.txt", "sub/../a.txt", "in", "sub", &absolute] {
        attached(&places, name).unwrap();
    }
}

#[test]
fn a_pipe_is_no_file_and_holds_nobody_up() {
    let Home { _root, place } = home();
    let fifo = place.path.join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();

    let refused = attached(&[place], "fifo");

    assert!(matches!(refused, Err(RunFileError::Special)), "{refused:?}");
}

#[test]
fn a_picture_is_known_by_its_bytes_and_has_a_limit() {
    let Home { _root, place } = home();
    let places = [place];

    let mut n_left = 1 << 20;
    assert_eq!(picture(&places, "sub/p.png", &mut n_left).unwrap().1, "image/png");
    assert!(matches!(picture(&places, "a.txt", &mut n_left), Err(RunFileError::NoPicture)));
    assert!(matches!(picture(&places, "sub", &mut n_left), Err(RunFileError::NoPicture)));
    let mut n_left = 3;
    assert!(matches!(picture(&places, "sub/p.png", &mut n_left), Err(RunFileError::TooLarge)));
}

#[test]
fn links_are_for_every_agent_and_images_for_those_that_take_them() {
    let Home { _root, place } = home();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let places = [place];
    let enclosed = check_all(&places, &names(&["a.txt"]), &names(&["sub/p.png"])).unwrap();

    let kinds = |blocks: &[Value]| {
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    assert_eq!(kinds(&enclosed.with_images(&places).unwrap()), ["resource_link", "image"]);
    assert_eq!(kinds(&enclosed.links()), ["resource_link", "resource_link"]);
    assert_eq!(enclosed.links()[1]["name"], "p.png");
}

#[test]
fn pictures_that_wait_hold_no_file_open_and_are_what_they_are_when_they_are_read() {
    let Home { _root, place } = home();
    let path = place.path.join("sub/p.png");
    let places = [place];
    let enclosed = check_all(&places, &[], &["sub/p.png".to_owned()]).unwrap();

    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let mut open = open.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    assert!(!open.any(|held| held == path));
    std::fs::remove_file(&path).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    let refused = enclosed.with_images(&places).unwrap_err();
    assert!(format!("{refused:?}").contains("not in the project"), "{refused:?}");
}
