use proptest::prelude::*;

use super::*;

fn best(query: &str, limit: usize, paths: &[&str]) -> Vec<String> {
    let mut best = Best::new(query, limit);
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
