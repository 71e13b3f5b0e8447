//! Sequences that are known, broken and endless.

use super::strip;

#[test]
fn sequences_are_no_text() {
    for (with, without) in [
        ("\u{1b}[93m\u{1b}[1m! \u{1b}[0mpermission", "! permission"),
        ("\u{1b}]0;a title\u{7}text", "text"),
        ("\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}(Bcharset\u{1b}=", "charset"),
        ("\u{1b}[?25l\u{1b}[38;2;1;2;3mcolour", "colour"),
        ("\u{1b}Pdevice\u{1b}\\after", "after"),
        ("\u{9b}31meight bits", "eight bits"),
        ("no sequence: [31m ]0;", "no sequence: [31m ]0;"),
    ] {
        assert_eq!(strip(with), without, "{with:?}");
    }
}

#[test]
fn a_broken_sequence_does_not_swallow_what_follows() {
    assert_eq!(strip("\u{1b}[12\nline"), "\nline");
    assert_eq!(strip("\u{1b}]0;never ended\nline"), "\nline");
    assert_eq!(strip("\u{1b}\u{1b}[1mtwice"), "twice");
    let endless = format!("\u{1b}]0;{}", "x".repeat(10_000));
    assert!(!strip(&endless).is_empty());
}
