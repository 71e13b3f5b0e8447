//! What is forbidden stays closed, by whatever name, and whatever is swapped in on the way.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::walk::{WalkBounds, WalkStop, walk};
use crate::*;

/// A home with Switchyard's own directory deep in it, and a project in that.
struct Home {
    _dir: tempfile::TempDir,
    path: PathBuf,
    state: PathBuf,
    forbidden: ForbiddenDirs,
}

fn home() -> Home {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap().join("home");
    let state = home.join(".local/state/switchyard");
    std::fs::create_dir_all(state.join("run")).unwrap();
    std::fs::create_dir_all(state.join("projects/one")).unwrap();
    std::fs::create_dir(home.join("work")).unwrap();
    std::fs::write(state.join("token"), "secret").unwrap();
    std::fs::write(state.join("run/daemon"), "secret").unwrap();
    std::fs::write(home.join("work/a.txt"), "plain").unwrap();
    symlink(&state, home.join("link")).unwrap();
    symlink(".local/state", home.join("above")).unwrap();
    symlink(state.join("token"), home.join("work/token")).unwrap();
    let forbidden = ForbiddenDirs::named(ForbiddenNames {
        directories: vec![state.clone()],
        open: vec!["projects".into()],
        ..ForbiddenNames::default()
    });
    Home { _dir: dir, path: home, state, forbidden }
}

impl Home {
    fn roots(&self, root: &Path) -> Result<Roots, RootsError> {
        Roots::open(&[root.to_owned()], &self.forbidden)
    }
}

#[test]
fn it_is_neither_read_nor_changed_by_any_name() {
    let home = home();
    let roots = home.roots(&home.path).unwrap();
    for name in [
        ".local/state/switchyard/token",
        ".local/state/switchyard/run/daemon",
        ".local/state/switchyard/new",
        ".local/state/switchyard",
        ".local/state/switchyard/../switchyard/token",
        "link/token",
        "above/switchyard/token",
        "work/token",
        "work/../link/run/../token",
    ] {
        let place = roots.resolve(&home.path, name);
        assert!(matches!(place, Err(RootsError::Forbidden(_))), "{name}: {place:?}");
    }
    let other = roots.resolve(&home.path, "work/a.txt").unwrap();
    assert_eq!(roots.read(&other, 100).unwrap(), b"plain");
    assert!(!roots.contains(&home.state) && roots.contains(&home.path.join("work")));
}

#[test]
fn a_place_in_it_that_was_resolved_before_is_closed_as_well() {
    let home = home();
    // As if the list had not had its name: only what it is tells.
    let elsewhere = ForbiddenDirs::new([home.path.join("link")]);
    let open = Roots::open(std::slice::from_ref(&home.path), &ForbiddenDirs::default()).unwrap();
    let place = open.resolve(&home.path, ".local/state/switchyard/token").unwrap();
    let new = open.resolve(&home.path, ".local/state/switchyard/new").unwrap();
    let roots = Roots::open(std::slice::from_ref(&home.path), &elsewhere).unwrap();
    assert!(roots.read(&place, 100).is_err() && roots.look(&place).is_err());
    assert!(roots.replace(&place, b"x").is_err() && roots.remove(&place).is_err());
    assert!(roots.create(&new, b"x", None).is_err());
    let work = open.resolve(&home.path, "work/a.txt").unwrap();
    assert!(roots.rename(&work, &new).is_err() && roots.rename(&place, &new).is_err());
    assert_eq!(std::fs::read(home.state.join("token")).unwrap(), b"secret");
}

#[test]
fn it_is_not_walked_through() {
    let home = home();
    let roots = home.roots(&home.path).unwrap();
    let top = roots.resolve(&home.path, ".").unwrap();
    let stop = WalkStop::after(Duration::from_secs(1000));
    let mut names = Vec::new();
    walk(&roots, &top, WalkBounds::default(), &stop, &mut |found| {
        names.push(found.path.display().to_string());
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert!(names.contains(&"work/a.txt".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("switchyard/")), "{names:?}");
}

#[test]
fn no_session_works_in_it_but_in_its_projects() {
    let home = home();
    for root in [home.state.clone(), home.state.join("run"), home.path.join("link/run")] {
        assert!(matches!(home.roots(&root), Err(RootsError::Forbidden(_))), "{}", root.display());
    }
    let project = home.state.join("projects/one");
    let roots = home.roots(&project).unwrap();
    let new = roots.resolve(&project, "a/b").unwrap();
    roots.replace(&new, b"x").unwrap();
    assert!(matches!(
        roots.resolve(&project, "../../token"),
        Err(RootsError::Forbidden(_) | RootsError::Outside(_))
    ));
}

#[test]
fn a_link_that_flips_never_leads_into_it() {
    let home = home();
    let roots = home.roots(&home.path).unwrap();
    let (flip, plain) = (home.path.join("flip"), home.path.join("work"));
    std::fs::remove_file(plain.join("token")).unwrap();
    std::fs::write(plain.join("token"), "plain").unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for target in [&plain, &home.state] {
                    let _ = symlink(target, home.path.join("next"));
                    let _ = std::fs::rename(home.path.join("next"), &flip);
                }
            }
        });
        let mut n_read = 0;
        for _ in 0..soak::size(20_000, 1_000_000) {
            let read = roots.resolve(&home.path, "flip/token").and_then(|at| roots.read(&at, 99));
            if let Ok(bytes) = read {
                assert_eq!(bytes, b"plain");
                n_read += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(n_read > 0);
    });
}

#[test]
fn sessions_share_what_was_found_as_long_as_nothing_changes() {
    let home = home();
    let (notes, other) = (home.path.join("notes"), home.path.join("work"));
    let forbidden = ForbiddenDirs::named(ForbiddenNames {
        directories: vec![home.state.clone()],
        linked_in: vec![notes.clone()],
        ..ForbiddenNames::default()
    });
    assert!(std::ptr::eq(forbidden.paths(), forbidden.renewed().paths()));
    std::fs::create_dir(&notes).unwrap();
    symlink(&other, notes.join("other")).unwrap();
    let renewed = forbidden.renewed();
    assert!(renewed.covers(&other) && !forbidden.covers(&other));
    assert!(std::ptr::eq(renewed.paths(), forbidden.renewed().paths()));
}
