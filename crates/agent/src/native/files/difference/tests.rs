use super::*;

fn lines(name: &str) -> String {
    let lines: Vec<_> = (0..40_000).map(|n| format!("{name} {n}\n")).collect();
    lines.concat()
}

#[test]
fn a_large_file_is_shown_around_its_change() {
    let old = lines("line");
    let new = old.replace("line 20000\n", "changed\n");
    let CallContent::Diff { old: Some(before), new: after, .. } =
        diff(Path::new("/a"), Some(&old), &new)
    else {
        panic!("not a diff")
    };
    assert_eq!(before.lines().count(), 7);
    assert_eq!(after.lines().nth(3), Some("changed"));
    assert_eq!(first_line(&old, &new), 20_001);

    let other = lines("other");
    assert!(matches!(diff(Path::new("/a"), Some(&old), &other), CallContent::Text(_)));
    let appended = format!("{old}one more\n");
    assert_eq!(first_line(&old, &appended), 40_001);
    assert!(matches!(diff(Path::new("/a"), Some(&old), &appended), CallContent::Diff { .. }));
}

#[test]
fn lines_that_repeat_are_counted_once() {
    assert_eq!(same("a\na\n", "a\na\na\n"), (2, 0));
    assert_eq!(same("a\nb\n", "a\nx\nb\n"), (1, 1));
    assert_eq!(same("", "a"), (0, 0));
}
