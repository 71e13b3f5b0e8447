//! Tests of `commands`.

use super::*;

#[test]
fn words_and_numbers_are_taken_from_the_front() {
    let mut arguments = Arguments::new("  12  x  the rest ");
    assert_eq!(arguments.number::<u64>().ok(), Some(12));
    assert_eq!(arguments.word(), Some("x"));
    assert_eq!(arguments.rest(), "the rest");
    assert!(Arguments::new("x").number::<u64>().is_err());
    assert_eq!(Arguments::new("").number_or(5).ok(), Some(5));
}

#[test]
fn quotes_keep_words_together() {
    for (text, expected) in [
        ("a  b", Some(&["a", "b"][..])),
        ("a 'b c' \"d 'e'\"f ''", Some(&["a", "b c", "d 'e'f", ""])),
        ("a 'b", None),
        ("", None),
    ] {
        let argv = Arguments::new(text).argv().ok();
        assert_eq!(
            argv.as_deref(),
            expected.map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>()).as_deref()
        );
    }
}
