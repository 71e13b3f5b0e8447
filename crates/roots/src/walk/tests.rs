use std::os::unix::fs::symlink;

use super::*;
use crate::ForbiddenDirs;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn seen(root: &Path, from: &str, bounds: WalkBounds) -> (Vec<String>, WalkEnd) {
    let roots = Roots::open(&[root.to_owned()], &ForbiddenDirs::default()).unwrap();
    let place = roots.resolve(root, from).unwrap();
    let mut seen = Vec::new();
    let stop = WalkStop::after(Duration::from_secs(60));
    let end = walk(&roots, &place, bounds, &stop, &mut |found| {
        seen.push(found.path.display().to_string());
        ControlFlow::Continue(())
    });
    (seen, end.unwrap())
}

#[test]
fn what_git_ignores_is_not_seen() {
    let dir = tree(&[
        (".gitignore", "target/\n*.log\n/only-top\n"),
        (".git/info/exclude", "private\n"),
        (".git/config", ""),
        ("target/x", ""),
        ("a.log", ""),
        ("only-top", ""),
        ("sub/only-top", ""),
        ("sub/.gitignore", "!keep.log\nmine\n"),
        ("sub/keep.log", ""),
        ("sub/b.log", ""),
        ("sub/mine", ""),
        ("mine", ""),
        ("private", ""),
        (".hidden", ""),
        (".ignore", "secret.txt"),
        ("secret.txt", ""),
    ]);
    let whole = [".gitignore", ".hidden", ".ignore", "mine", "sub"];
    let below = ["sub/.gitignore", "sub/keep.log", "sub/only-top"];
    let (found, end) = seen(dir.path(), ".", WalkBounds::default());
    assert_eq!(found, [&whole[..], &below[..]].concat());
    assert_eq!(end, WalkEnd::Whole);

    // Begun further down, the patterns above still count; also above the root.
    let expected = [".gitignore", "keep.log", "only-top"];
    assert_eq!(seen(dir.path(), "sub", WalkBounds::default()).0, expected);
    assert_eq!(seen(&dir.path().join("sub"), ".", WalkBounds::default()).0, expected);
    // What is asked for by name is shown.
    assert_eq!(seen(dir.path(), "target", WalkBounds::default()).0, ["x"]);
}

#[test]
fn links_are_seen_and_not_followed() {
    let dir = tree(&[("ws/a", ""), ("out/secret", "")]);
    let root = dir.path().join("ws");
    symlink("../out", root.join("link")).unwrap();
    symlink(".", root.join("loop")).unwrap();
    assert_eq!(seen(&root, ".", WalkBounds::default()).0, ["a", "link", "loop"]);
}

#[test]
fn a_walk_has_bounds() {
    let dir = tree(&[("a/b/c", ""), ("d", ""), ("e", "")]);
    let (found, end) =
        seen(dir.path(), ".", WalkBounds { max_entries: 2, ..WalkBounds::default() });
    assert_eq!((found.len(), end), (2, WalkEnd::TooMuch));
    let (found, end) = seen(dir.path(), ".", WalkBounds { depth: 1, ..WalkBounds::default() });
    assert_eq!((found, end), (vec!["a".into(), "d".into(), "e".into()], WalkEnd::Whole));

    let roots = Roots::open(&[dir.path().to_owned()], &ForbiddenDirs::default()).unwrap();
    let place = roots.resolve(dir.path(), ".").unwrap();
    let stop = WalkStop::after(Duration::ZERO);
    let end =
        walk(&roots, &place, WalkBounds::default(), &stop, &mut |_| ControlFlow::Continue(()));
    assert_eq!(end.unwrap(), WalkEnd::TimeIsUp);
}

#[test]
fn a_directory_swapped_for_a_link_never_shows_what_is_outside() {
    let dir = tree(&[("ws/d/inside", ""), ("out/secret", "")]);
    let root = dir.path().join("ws");
    symlink(dir.path().join("out"), root.join("l")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [("d", "x"), ("l", "d"), ("d", "l"), ("x", "d")] {
                    let _ = std::fs::rename(root.join(from), root.join(to));
                }
            }
        });
        for _ in 0..3_000 {
            let (found, _) = seen(&root, ".", WalkBounds::default());
            assert!(found.iter().all(|path| !path.contains("secret")), "{found:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[tokio::test]
async fn work_that_nobody_waits_for_stops() {
    let (began, has_begun) = tokio::sync::oneshot::channel();
    let (ended, has_ended) = tokio::sync::oneshot::channel();
    let work = stoppable(Duration::from_secs(600), async |stop| {
        let _ = tokio::task::spawn_blocking(move || {
            began.send(()).unwrap();
            while !stop.is_now() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        })
        .await;
    });
    tokio::select! {
        () = work => panic!("nothing ended it"),
        begun = has_begun => begun.unwrap(),
    }
    has_ended.await.unwrap();
}
