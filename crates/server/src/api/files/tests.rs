use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn found(dir: &Path, query: &str, stop: &WalkStop) -> (Vec<String>, bool) {
    let list = search(dir, &ForbiddenDirs::default(), BestMatches::new(query, 50), stop).unwrap();
    (list.files.into_iter().map(|file| file.path).collect(), list.is_complete)
}

#[test]
fn files_are_found_and_what_is_ignored_or_elsewhere_is_not() {
    let outside = tree(&[("secret.rs", "")]);
    let dir = tree(&[
        (".gitignore", "target\n"),
        (".git/config", ""),
        ("src/main.rs", ""),
        ("src/deep/er/mod.rs", ""),
        ("target/main.rs", ""),
        (".github/ci.yml", ""),
    ]);
    symlink(outside.path(), dir.path().join("link")).unwrap();
    symlink(outside.path().join("secret.rs"), dir.path().join("secret.rs")).unwrap();
    let stop = WalkStop::after(Duration::from_secs(60));

    let (all, is_complete) = found(dir.path(), "", &stop);
    assert_eq!(all, [".gitignore", "src/main.rs", ".github/ci.yml", "src/deep/er/mod.rs"]);
    assert!(is_complete);
    assert_eq!(found(dir.path(), "main", &stop).0, ["src/main.rs"]);
    assert!(found(dir.path(), "secret", &stop).0.is_empty());
    assert!(found(dir.path(), "../", &stop).0.is_empty());
}

#[test]
fn a_search_that_is_told_to_stop_says_that_there_may_be_more() {
    let dir = tree(&[("a", ""), ("b", "")]);
    let (_, is_complete) = found(dir.path(), "", &WalkStop::after(Duration::ZERO));
    assert!(!is_complete);
    let gone = dir.path().join("gone");
    let stop = WalkStop::after(WITHIN);
    assert!(search(&gone, &ForbiddenDirs::default(), BestMatches::new("", 1), &stop).is_err());
}

fn best(query: &str, limit: usize, paths: &[&str]) -> Vec<String> {
    let mut best = BestMatches::new(query, limit);
    for path in paths {
        best.offer(path);
    }
    best.into_paths()
}

#[test]
fn the_file_that_is_meant_comes_first() {
    let paths = [
        "a/main_window.rs",
        "main/other.rs",
        "src/domain.rs",
        "src/bin/main.rs",
        "src/main.rs",
        "my/ancient/inn.rs",
        "readme.md",
        "main",
    ];
    let expected = [
        "main",
        "src/main.rs",
        "a/main_window.rs",
        "src/bin/main.rs",
        "src/domain.rs",
        "main/other.rs",
        "my/ancient/inn.rs",
    ];
    assert_eq!(best("main", 20, &paths), expected);
    assert_eq!(best("MAIN", 2, &paths), expected[..2]);
    assert_eq!(best("src/ma", 20, &paths)[0], "src/main.rs");
    assert_eq!(best("smrs", 20, &paths)[0], "src/main.rs");
    assert!(best("zzz", 20, &paths).is_empty());
    // Without letters, what is nearest to the top.
    assert_eq!(best(" ", 2, &paths), ["main", "readme.md"]);
}

proptest! {
    #[test]
    fn fewer_are_the_beginning_of_more(
        paths in proptest::collection::vec("[a-c/]{1,6}", 0..40),
        query in "[a-c]{0,3}",
        limit in 1_usize..10,
    ) {
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let all = best(&query, paths.len().max(1), &paths);
        let few = best(&query, limit, &paths);
        prop_assert_eq!(&all[..limit.min(all.len())], &few[..]);
        let n_fitting = paths.iter().filter(|path| is_in_order(path, &query)).count();
        prop_assert_eq!(all.len(), n_fitting);
    }

    #[test]
    fn any_letters_may_be_asked_for(path in "\\PC{0,30}", query in "\\PC{0,10}") {
        best(&query, 3, &[&path]);
    }
}
