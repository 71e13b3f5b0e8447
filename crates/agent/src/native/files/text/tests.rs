use proptest::prelude::*;

use super::*;

fn text(raw: &str) -> FileText {
    FileText::new(raw.into())
}

#[test]
fn a_rewritten_file_keeps_its_habits() {
    for (old, plain, new) in [
        ("a\nb\n", "c\n", "c\n"),
        ("a\nb\n", "c", "c\n"),
        ("a\nb", "c", "c"),
        ("a\nb\n", "", ""),
        ("a\r\nb\r\n", "c\nd\n", "c\r\nd\r\n"),
        ("a\r\nb\r\n", "c\r\nd", "c\r\nd\r\n"),
        ("a\r\nb\n", "c\nd\n", "c\nd\n"),
        ("\u{feff}a\n", "b\n", "\u{feff}b\n"),
        ("\u{feff}a\n", "\u{feff}b\n", "\u{feff}b\n"),
        ("", "b", "b"),
    ] {
        assert_eq!(text(old).replaced_by(plain).as_str(), new, "{old:?} {plain:?}");
    }
}

#[test]
fn what_an_editor_changes_in_passing_is_no_change() {
    let digest = text("\u{feff}a\r\nb\r\n").digest();
    for same in ["a\nb\n", "a\nb", "a\r\nb\n"] {
        assert_eq!(text(same).digest(), digest, "{same:?}");
    }
    for other in ["a\nb\n\n", "a\nb ", "ab"] {
        assert_ne!(text(other).digest(), digest, "{other:?}");
    }
}

proptest! {
    #[test]
    fn plain_and_back_is_the_same(raw in "\u{feff}?([ab\r]{0,3}(\n|\r\n)){0,6}[ab]{0,2}") {
        let text = text(&raw);
        let back = text.with_format_of(&text.plain());
        prop_assert_eq!(back.as_str(), raw);
    }
}
