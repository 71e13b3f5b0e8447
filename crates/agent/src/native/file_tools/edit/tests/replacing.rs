//! What is found, and what is put in its place.

use proptest::prelude::*;

use super::super::*;

#[track_caller]
fn check(whole: &str, old: &str, new: &str, expected: &str) -> String {
    let replaced = replace(whole, old, new, false).unwrap();
    assert_eq!(replaced.text, expected);
    replaced.about
}

#[test]
fn a_single_match_is_replaced() {
    let about = check("a\nb\nc\n", "b", "x", "a\nx\nc\n");
    assert_eq!(about, "1 replacement, at line 2");
    check("a\nb\nc", "b\nc", "", "a\n");
    check("", "", "new", "new");
}

#[test]
fn several_matches_are_named_or_all_replaced() {
    let error = replace("x\ny\nx\n", "x", "z", false).unwrap_err();
    assert!(error.contains("2 times, at lines 1, 3") && error.contains("replace_all"), "{error}");
    let all = replace("x\ny\nx\n", "x", "z", true).unwrap();
    assert_eq!((all.text.as_str(), all.line), ("z\ny\nz\n", 1));
    let many = replace(&"x\n".repeat(50), "x", "z", false).unwrap_err();
    assert!(many.contains("10, …") && many.len() < 300, "{many}");
}

#[test]
fn white_space_may_differ_where_only_one_place_is_left() {
    let about = check("a  \nb\t\nc\n", "a\nb\n", "x\n", "x\nc\n");
    assert!(about.contains("ends of lines"), "{about}");
    check("a  \nb\t\nc\n", "a\nb", "x", "x\nc\n");
    check("a\r\nb\r\nc\n", "a\nb", "x", "x\r\nc\n");
    let about =
        check("{\n    if a {\n        b\n    }\n}\n", "if a {\n    b\n}", "c", "{\n    c\n}\n");
    assert!(about.contains("indentation"), "{about}");
    // The new lines get the same shift.
    check("  a\n    b\n", "a\n  b\n", "c\n\n  d\n", "  c\n\n    d\n");
    check("a\n  b\n", "    a\n      b\n", "    c\n", "c\n");

    let twice = replace("a \nb\na\t\n", "a\r", "x", false).unwrap_err();
    assert!(twice.contains("2 times, at lines 1, 3"), "{twice}");
    for (whole, old, new) in [
        // Shifts that differ from line to line.
        ("  a\n b\n", "a\nb\n", "c\n"),
        ("\ta\n", "  a\n", "b\n"),
        // New lines that stand further out than the shift goes.
        ("a\n", "    a\n", "b\n"),
        ("   \n", "  \n\n", "b"),
        ("a\n", "", "b"),
        ("a\n", "b", "b"),
    ] {
        assert!(replace(whole, old, new, false).is_err(), "{whole:?} {old:?}");
    }
}

#[test]
fn what_is_not_there_is_explained() {
    let error = replace("fn a() {\n    1\n}\n", "fn a() {\n    2\n}", "x", false).unwrap_err();
    assert!(error.contains("at line 1") && error.contains("read it again"), "{error}");
    let error = replace("a\n", "other thing", "x", false).unwrap_err();
    assert!(error.contains("not in the file"), "{error}");
}

proptest! {
    #[test]
    fn nothing_outside_the_match_changes(
        before in "[ab \t\r\n]{0,30}",
        old in "[ab \t\n]{1,12}",
        after in "[ab \t\r\n]{0,30}",
        new in "[xy \n]{0,12}",
        asked in "[ab \t\n]{1,12}",
        is_everywhere in any::<bool>(),
    ) {
        let whole = format!("{before}{old}{after}");
        for asked in [&old, &asked] {
            let Ok(replaced) = replace(&whole, asked, &new, is_everywhere) else { continue };
            if is_everywhere {
                prop_assert!(whole.contains(asked.as_str()) || replaced.about.contains("regard"));
                continue;
            }
            // One stretch was taken out and one put in, and what was taken is what was asked for
            // but for white space.
            let exact = whole.match_indices(asked.as_str()).count() == 1;
            let at = whole.find(asked.as_str());
            if let (true, Some(at)) = (exact, at) {
                let expected = format!("{}{new}{}", &whole[..at], &whole[at + asked.len()..]);
                prop_assert_eq!(&replaced.text, &expected);
                continue;
            }
            let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let starts: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
            let is_one_stretch = std::iter::once(0).chain(starts).any(|start| {
                (start..=whole.len()).any(|end| {
                    let rest = &whole[end..];
                    bare(&whole[start..end]) == bare(asked)
                        && replaced.text.starts_with(&whole[..start])
                        && replaced.text.ends_with(rest)
                        && replaced.text.len() >= start + rest.len()
                        && bare(&replaced.text[start..replaced.text.len() - rest.len()]) == bare(&new)
                })
            });
            prop_assert!(is_one_stretch, "{:?} {:?} -> {:?}", whole, asked, replaced.text);
        }
    }
}
