use super::*;

fn texts(old: Option<&str>, new: &str) -> FileDiff {
    let change = FileChange::Texts { old: old.map(Into::into), new: new.into() };
    FileDiff { path: "a.rs".into(), change }
}

#[test]
fn a_change_is_shown_with_its_surroundings() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";

    assert_eq!(
        unified(&texts(Some(old), new)),
        "--- a.rs\n+++ a.rs\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    );
}

#[test]
fn a_new_file_is_all_added() {
    assert_eq!(unified(&texts(None, "x\n")), "--- /dev/null\n+++ a.rs\n@@ -0,0 +1,1 @@\n+x\n");
}

#[test]
fn added_and_removed_lines_are_counted() {
    let file = texts(Some("a\nb\nc"), "a\nx\ny\nz\nc");
    let diff = Diff::of(&file.change);

    assert_eq!((diff.n_added, diff.n_removed), (3, 1));
}

#[test]
fn changed_ends_of_lines_are_told() {
    assert_eq!(
        unified(&texts(Some("a\nb\n"), "a\nb\r\n")),
        "--- a.rs\n+++ a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n"
    );
    assert_eq!(
        unified(&texts(Some("a\r\nb\r\n"), "a\nb")),
        "--- a.rs\n+++ a.rs\n@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n\\ No newline at end of file\n"
    );
    assert_eq!(
        unified(&texts(Some("a\nb"), "a\nb\n")),
        "--- a.rs\n+++ a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    );
}

#[test]
fn ends_of_lines_that_stay_are_not_told() {
    let rows = |old: &str, new: &str| {
        let diff = Diff::between(old, new);
        diff.lines.iter().skip(1).map(|line| line.text.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(rows("a\r\nb\r\n", "a\r\nc\r\n"), ["a", "b", "c"]);
    // Parts of files have no last line break, which says nothing.
    assert_eq!(rows("a\nb", "a\nc"), ["a", "b", "c"]);
    assert_eq!(rows("", "a"), ["a"]);
    assert_eq!(rows("a", ""), ["a"]);
    assert!(Diff::between("a\r\nb", "a\r\nb").lines.is_empty());
}

#[test]
fn a_patch_is_taken_as_it_is() {
    let patch = FileChange::Patch("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\r\n c\n\\ No newline".into());
    let diff = Diff::of(&patch);

    assert_eq!((diff.n_added, diff.n_removed, diff.lines.len()), (1, 1, 5));
    assert_eq!(diff.lines[2].text, "b\r");
    assert_eq!(diff.lines[4].text, "\\ No newline");
}

#[test]
fn whatever_a_patch_says_beside_its_lines_is_told() {
    let patch = "*** Begin Patch\n*** Delete File: b\n@@\n-a\n*** End Patch";
    let diff = Diff::of_patch(patch);
    let told: Vec<&str> = diff.lines.iter().map(|line| &*line.text).collect();

    assert_eq!(told, ["*** Begin Patch", "*** Delete File: b", "@@", "a", "*** End Patch"]);
}

#[test]
fn huge_differences_are_one_block_without_a_search() {
    let lines =
        |word: &str| (0..5_000).map(|n| format!("{word}{n}")).collect::<Vec<_>>().join("\n");
    let text = |word: &str| format!("same\n{}\nmiddle\n{}\nend", lines(word), lines(word));
    let (old, new) = (text("a"), text("b"));
    let diff = Diff::between(&old, &new);

    // A search would have found that the line in the middle stays.
    assert_eq!((diff.n_added, diff.n_removed), (10_001, 10_001));
    assert_eq!(diff.lines.iter().filter(|line| line.mark == DiffMark::Same).count(), 2);
}

/// Where a hunk begins in the text before and after, counted from nothing: `@@ -2,7 +2,7 @@`.
fn starts(hunk: &str) -> [usize; 2] {
    let sides: Vec<_> = hunk.split(['-', '+', ' ']).filter(|part| part.contains(',')).collect();
    [sides[0], sides[1]].map(|side| {
        let (start, n_lines) = side.split_once(',').unwrap();
        start.parse::<usize>().unwrap() - usize::from(n_lines != "0")
    })
}

proptest::proptest! {
    #[test]
    fn whoever_follows_the_hunks_gets_the_new_text(
        old in proptest::collection::vec("[a-d]", 0..40),
        new in proptest::collection::vec("[a-d]", 0..40),
    ) {
        let (old_text, new_text) = (old.join("\n"), new.join("\n"));
        let (mut told, mut n_read) = (Vec::new(), 0);
        for line in &Diff::between(&old_text, &new_text).lines {
            let text = line.text.to_string();
            match line.mark {
                DiffMark::Hunk => {
                    let [old_start, new_start] = starts(&text);
                    told.extend_from_slice(&old[n_read..old_start]);
                    n_read = old_start;
                    assert_eq!(told.len(), new_start);
                }
                DiffMark::Note => {}
                DiffMark::Added => told.push(text),
                DiffMark::Same | DiffMark::Removed => {
                    assert_eq!(text, old[n_read]);
                    n_read += 1;
                    told.extend((line.mark == DiffMark::Same).then_some(text));
                }
            }
        }
        told.extend_from_slice(&old[n_read..]);
        assert_eq!(told, new);
    }
}
