use super::*;

fn texts(old: Option<&str>, new: &str) -> FileDiff {
    let change = Change::Texts { old: old.map(Into::into), new: new.into() };
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
fn texts_that_differ_in_line_endings_only_have_no_changed_line() {
    assert!(Diff::between("a\r\nb\r\n", "a\nb").lines.is_empty());
}

#[test]
fn a_patch_is_taken_as_it_is() {
    let patch = Change::Patch("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n c\n\\ No newline".into());
    let diff = Diff::of(&patch);

    assert_eq!((diff.n_added, diff.n_removed, diff.lines.len()), (1, 1, 4));
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
    assert_eq!(diff.lines.iter().filter(|line| line.mark == Mark::Same).count(), 2);
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
                Mark::Hunk => {
                    let [old_start, new_start] = starts(&text);
                    told.extend_from_slice(&old[n_read..old_start]);
                    n_read = old_start;
                    assert_eq!(told.len(), new_start);
                }
                Mark::Added => told.push(text),
                Mark::Same | Mark::Removed => {
                    assert_eq!(text, old[n_read]);
                    n_read += 1;
                    told.extend((line.mark == Mark::Same).then_some(text));
                }
            }
        }
        told.extend_from_slice(&old[n_read..]);
        assert_eq!(told, new);
    }
}
