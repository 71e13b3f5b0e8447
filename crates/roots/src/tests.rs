use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

struct TestRoots {
    _dir: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
    roots: Roots,
}

fn test_roots() -> TestRoots {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (root, outside) = (base.join("ws"), base.join("ws-evil"));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(root.join("a.txt"), "one\ntwo\nthree").unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    let roots = Roots::open(std::slice::from_ref(&root), &ForbiddenDirs::default()).unwrap();
    TestRoots { _dir: dir, root, outside, roots }
}

impl TestRoots {
    fn read(&self, path: impl AsRef<Path>) -> Result<String, RootsError> {
        let place = self.roots.resolve_absolute(path.as_ref().to_str().unwrap())?;
        self.roots.read_text(&place, None, None)
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) -> Result<(), RootsError> {
        let place = self.roots.resolve_absolute(path.as_ref().to_str().unwrap())?;
        self.roots.replace(&place, text.as_bytes())
    }
}

#[test]
fn whole_files_and_lines_are_read() {
    let place = test_roots();
    let path = place.root.join("a.txt");
    let path = place.roots.resolve_absolute(path.to_str().unwrap()).unwrap();
    for (line, limit, expected) in [
        (None, None, "one\ntwo\nthree"),
        (Some(2), None, "two\nthree"),
        (Some(2), Some(1), "two\n"),
        (None, Some(1), "one\n"),
        (Some(0), Some(0), ""),
        (Some(9), None, ""),
        (Some(u64::MAX), Some(u64::MAX), ""),
    ] {
        assert_eq!(place.roots.read_text(&path, line, limit).unwrap(), expected);
    }
}

#[test]
fn nothing_outside_the_roots_is_read() {
    let place = test_roots();
    symlink(&place.outside, place.root.join("dirlink")).unwrap();
    symlink(place.outside.join("secret"), place.root.join("link")).unwrap();
    symlink("../ws-evil/secret", place.root.join("rellink")).unwrap();
    let root = place.root.display().to_string();
    for path in [
        format!("{root}/../ws-evil/secret"),
        format!("{root}-evil/secret"),
        format!("{root}//../ws-evil/./secret"),
        format!("{root}/link"),
        format!("{root}/rellink"),
        format!("{root}/dirlink/secret"),
        "/etc/passwd".into(),
        format!("/proc/self/root{root}-evil/secret"),
        "a.txt".into(),
        "../a.txt".into(),
        String::new(),
        format!("{root}/a.txt\0"),
        format!("{root}/%2e%2e/ws-evil/secret"),
    ] {
        assert!(place.read(&path).is_err(), "{path:?}");
        assert!(place.write(&path, "x").is_err() || path.contains('%'), "{path:?}");
    }
    assert_eq!(std::fs::read_to_string(place.outside.join("secret")).unwrap(), "secret");
}

#[test]
fn links_that_stay_inside_are_followed() {
    let place = test_roots();
    symlink("a.txt", place.root.join("relative")).unwrap();
    symlink(place.root.join("a.txt"), place.root.join("absolute")).unwrap();
    for link in ["relative", "absolute"] {
        assert!(place.read(place.root.join(link)).unwrap().starts_with("one"), "{link}");
        place.write(place.root.join(link), "one, again").unwrap();
        assert!(place.root.join(link).is_symlink(), "{link}");
    }
    assert_eq!(place.read(place.root.join("a.txt")).unwrap(), "one, again");
}

#[test]
fn what_is_no_regular_text_file_is_refused() {
    let place = test_roots();
    std::fs::write(place.root.join("binary"), b"\xff\xfe").unwrap();
    let huge = std::fs::File::create(place.root.join("huge")).unwrap();
    huge.set_len(4 << 30).unwrap();
    std::process::Command::new("mkfifo").arg(place.root.join("fifo")).status().unwrap();
    for name in ["binary", "huge", "fifo", ".", "missing"] {
        assert!(place.read(place.root.join(name)).is_err(), "{name}");
    }
    assert!(place.write(place.root.join("fifo"), "x").is_err());
}

#[test]
fn a_write_makes_directories_and_keeps_permissions() {
    let place = test_roots();
    let deep = place.root.join("x/y/z.txt");
    place.write(&deep, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&deep).unwrap(), "new");

    std::fs::set_permissions(&deep, std::fs::Permissions::from_mode(0o750)).unwrap();
    place.write(&deep, "newer").unwrap();
    assert_eq!(std::fs::metadata(&deep).unwrap().permissions().mode() & 0o777, 0o750);
    let left: Vec<_> = std::fs::read_dir(deep.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left");
}

#[test]
fn a_link_swapped_in_while_we_look_never_leads_out() {
    let place = test_roots();
    let target = place.root.join("flip");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = std::fs::remove_file(&target);
                let _ = std::fs::write(&target, "inside");
                let _ = std::fs::remove_file(&target);
                let _ = symlink(place.outside.join("secret"), &target);
            }
        });
        for _ in 0..20_000 {
            if let Ok(text) = place.read(&target) {
                assert!(!text.contains("secret"));
            }
        }
        for _ in 0..2_000 {
            let _ = place.write(&target, "inside");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_to_string(place.outside.join("secret")).unwrap(), "secret");
}

mod forbidden;
mod places;
