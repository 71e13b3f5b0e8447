use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::{TestRoots, test_roots};
use crate::*;

impl TestRoots {
    fn resolve(&self, given: &str) -> Result<ResolvedPath, RootsError> {
        self.roots.resolve(&self.root, given)
    }
}

#[test]
fn a_path_leads_where_the_kernel_says() {
    let setup = test_roots();
    std::fs::create_dir_all(setup.root.join("sub/deep")).unwrap();
    std::fs::write(setup.root.join("sub/b.txt"), "b").unwrap();
    symlink("sub/deep", setup.root.join("down")).unwrap();
    symlink(setup.root.join("sub"), setup.root.join("absolute")).unwrap();
    let root = setup.root.display();

    for (given, relative) in [
        ("a.txt", "a.txt"),
        ("./sub//b.txt", "sub/b.txt"),
        ("sub/../a.txt", "a.txt"),
        (".", ""),
        ("sub/", "sub"),
        // Not `b.txt`, which is what cutting `down/..` out of the text would give.
        ("down/../b.txt", "sub/b.txt"),
        ("absolute/b.txt", "sub/b.txt"),
        ("absolute/new/er.txt", "sub/new/er.txt"),
        ("new/dir/file.txt", "new/dir/file.txt"),
        (&format!("{root}/a.txt"), "a.txt"),
        (&format!("{root}/../ws/a.txt"), "a.txt"),
        (&format!("/proc/self/root{root}/a.txt"), "a.txt"),
    ] {
        let place = setup.resolve(given).unwrap();
        assert_eq!(place.relative(), Path::new(relative), "{given}");
        assert_eq!(place.path(), setup.root.join(relative), "{given}");
    }
}

#[test]
fn what_is_no_path_inside_is_refused_with_a_reason() {
    let setup = test_roots();
    symlink("nowhere", setup.root.join("dangling")).unwrap();
    for (given, part) in [
        ("~", "~"),
        ("~/x", "~"),
        ("", "not a path"),
        ("a\0b", "not a path"),
        ("..", "outside"),
        ("../ws-evil/secret", "outside"),
        ("/etc/passwd", "outside"),
        ("dangling", "leads nowhere"),
        ("dangling/x", "leads nowhere"),
        ("missing/../a.txt", "No such file"),
        ("a.txt/below", "Not a directory"),
    ] {
        let error = setup.resolve(given).unwrap_err().to_string();
        assert!(error.contains(part), "{given:?}: {error}");
    }
}

#[test]
fn the_client_sees_the_name_that_it_gave() {
    let setup = test_roots();
    let alias = setup.root.with_file_name("alias");
    symlink(&setup.root, &alias).unwrap();
    let roots = Roots::open(std::slice::from_ref(&alias), &ForbiddenDirs::default()).unwrap();
    for given in [alias.join("a.txt"), setup.root.join("a.txt")] {
        let place = roots.resolve(&alias, given.to_str().unwrap()).unwrap();
        assert_eq!(place.path(), alias.join("a.txt"));
        assert_eq!(place.real(), setup.root.join("a.txt"));
    }
}

#[test]
fn a_place_that_became_a_link_is_not_followed_even_inside() {
    let setup = test_roots();
    std::fs::create_dir(setup.root.join("dir")).unwrap();
    std::fs::create_dir(setup.root.join("other")).unwrap();
    std::fs::write(setup.root.join("dir/x"), "asked for").unwrap();
    std::fs::write(setup.root.join("other/x"), "not asked for").unwrap();
    let (file, nested) = (setup.resolve("a.txt").unwrap(), setup.resolve("dir/x").unwrap());

    std::fs::remove_file(setup.root.join("a.txt")).unwrap();
    symlink("other/x", setup.root.join("a.txt")).unwrap();
    std::fs::remove_dir_all(setup.root.join("dir")).unwrap();
    symlink("other", setup.root.join("dir")).unwrap();

    for place in [&file, &nested] {
        assert!(setup.roots.read(place, 100).is_err());
        assert!(setup.roots.replace(place, b"x").is_err());
        assert!(setup.roots.create(place, b"x", None).is_err());
    }
    assert!(setup.roots.remove(&nested).is_err());
    assert_eq!(std::fs::read(setup.root.join("other/x")).unwrap(), b"not asked for");
}

#[test]
fn files_are_made_renamed_and_removed_and_nothing_is_replaced_unasked() {
    let setup = test_roots();
    let (new, old) = (setup.resolve("n/e/w").unwrap(), setup.resolve("a.txt").unwrap());

    setup.roots.create(&new, b"1", Some(0o755)).unwrap();
    assert!(setup.roots.create(&new, b"2", None).is_err());
    assert!(setup.roots.rename(&new, &old).is_err());
    let facts = setup.roots.look(&new).unwrap().unwrap();
    assert_eq!((facts.kind, facts.len, facts.mode), (FileKind::File, 1, 0o755));

    let other = setup.resolve("q/moved").unwrap();
    setup.roots.rename(&new, &other).unwrap();
    assert_eq!(setup.roots.look(&new).unwrap(), None);
    assert_eq!(setup.roots.read(&other, 1).unwrap(), b"1");
    setup.roots.remove(&other).unwrap();
    assert_eq!(setup.roots.look(&other).unwrap(), None);

    let root = setup.resolve(".").unwrap();
    assert_eq!(setup.roots.look(&root).unwrap().unwrap().kind, FileKind::Directory);
    assert!(setup.roots.remove(&root).is_err() && setup.roots.replace(&root, b"").is_err());
    assert!(setup.roots.remove(&setup.resolve("n").unwrap()).is_err(), "a directory");
    assert!(setup.roots.read(&old, 3).is_err(), "larger than asked for");
}

#[test]
fn what_only_the_owner_reads_stays_so() {
    let setup = test_roots();
    let path = setup.root.join("a.txt");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    setup.roots.replace(&setup.resolve("a.txt").unwrap(), b"new").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn entries_are_listed_up_to_a_bound() {
    let setup = test_roots();
    std::fs::create_dir(setup.root.join("dir")).unwrap();
    symlink("a.txt", setup.root.join("link")).unwrap();
    let folder = setup.roots.folder(&setup.resolve(".").unwrap()).unwrap();
    let (mut entries, more) = folder.entries(9).unwrap();
    entries.sort();
    let kinds: Vec<_> =
        entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
    assert_eq!(
        kinds,
        [("a.txt", FileKind::File), ("dir", FileKind::Directory), ("link", FileKind::Link)]
    );
    assert!(!more && folder.entries(2).unwrap().1);
    assert_eq!(folder.link(OsStr::new("link")).unwrap(), Path::new("a.txt"));
    assert!(folder.open(OsStr::new("link")).is_err() && folder.folder(OsStr::new("link")).is_err());
    for name in ["..", ".", "", "a/b", "/etc", "dir/"] {
        assert!(folder.folder(OsStr::new(name)).is_err(), "{name}");
        assert!(folder.look(OsStr::new(name)).is_err(), "{name}");
    }
}

#[test]
fn directories_and_links_that_trade_places_never_lead_out() {
    let setup = test_roots();
    let (real, link) = (setup.root.join("real"), setup.root.join("d"));
    std::fs::create_dir(&real).unwrap();
    std::fs::write(real.join("secret"), "inside").unwrap();
    symlink(&setup.outside, &link).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let there = std::fs::File::open(&setup.root).unwrap();
            while !stop.load(Ordering::Relaxed) {
                let _ = rustix::fs::renameat_with(
                    &there,
                    "real",
                    &there,
                    "d",
                    rustix::fs::RenameFlags::EXCHANGE,
                );
            }
        });
        let mut inside = 0;
        for round in 0..20_000 {
            let Ok(place) = setup.resolve("d/secret") else { continue };
            if let Ok(bytes) = setup.roots.read(&place, 100) {
                assert_eq!(bytes, b"inside");
                inside += 1;
            }
            if round % 20 == 0 {
                let _ = setup.roots.replace(&place, b"inside");
                let made = setup.resolve("d/made").and_then(|made| {
                    setup.roots.create(&made, b"", None)?;
                    setup.roots.remove(&made)
                });
                drop(made);
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(inside > 0, "the race was never won by us");
    });
    assert_eq!(std::fs::read(setup.outside.join("secret")).unwrap(), b"secret");
    assert_eq!(std::fs::read_dir(&setup.outside).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_path_leaves_the_root(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "..", ".", "", "a.txt", "in", "out", "up", "sub", "ws", "ws-evil", "secret", "new",
                "%2e%2e", "..\u{2215}", "\u{ff0e}\u{ff0e}", "..;", "...", "~", "proc", "self", "root",
            ]),
            1..9,
        ),
        is_absolute in any::<bool>(),
        is_in_root in any::<bool>(),
    ) {
        let setup = test_roots();
        std::fs::create_dir(setup.root.join("sub")).unwrap();
        symlink("sub", setup.root.join("in")).unwrap();
        symlink(&setup.outside, setup.root.join("out")).unwrap();
        symlink("..", setup.root.join("sub/up")).unwrap();
        let mut given = parts.join("/");
        if is_absolute { given.insert(0, '/'); }
        if is_in_root { given = format!("{}/{given}", setup.root.display()); }

        if let Ok(place) = setup.resolve(&given) {
            prop_assert!(place.relative().components().all(|part| matches!(part, Component::Normal(_))));
            prop_assert!(roots_real(&place).starts_with(&setup.root));
            if let Ok(bytes) = setup.roots.read(&place, 100) {
                prop_assert_ne!(bytes, b"secret");
            }
            let _ = setup.roots.replace(&place, b"written");
            let _ = setup.roots.remove(&place);
        }
        prop_assert_eq!(std::fs::read(setup.outside.join("secret")).unwrap(), b"secret");
        prop_assert_eq!(std::fs::read_dir(&setup.outside).unwrap().count(), 1);
    }
}

fn roots_real(place: &ResolvedPath) -> std::path::PathBuf {
    resolve_path(place.path())
}
