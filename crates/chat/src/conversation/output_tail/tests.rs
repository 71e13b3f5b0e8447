use proptest::prelude::*;

use super::{MAX_BYTES, MAX_COLUMNS, OutputTail};

fn printed(text: &str) -> String {
    let mut printed = OutputTail::default();
    printed.push(text);
    printed.text()
}

#[test]
fn colours_are_left_out_and_lines_are_written_over() {
    assert_eq!(printed("\u{1b}[1;31mred\u{1b}[0m\r\nnext\r\n"), "red\nnext");
    assert_eq!(printed("10%\r20%\r100%"), "100%");
    assert_eq!(printed("long line\rshort\u{1b}[K"), "short");
    assert_eq!(printed("abc\u{8}\u{8}X"), "aXc");
    assert_eq!(printed("a\tb"), "a       b");
    assert_eq!(printed("\u{1b}[5Gx"), "    x");
}

#[test]
fn titles_and_links_are_left_out_and_a_string_without_end_hides_no_more_than_itself() {
    assert_eq!(printed("\u{1b}]0;owned\u{7}a\u{1b}]8;;http://x\u{1b}\\b"), "ab");
    let text = format!("\u{1b}]0;{}seen", "x".repeat(5000));
    assert!(printed(&text).ends_with("seen"));
}

#[test]
fn what_is_no_sequence_is_shown_as_an_escape() {
    assert_eq!(printed("a\u{202e}b\u{0}"), "a\\u{202e}b\\x00");
}

#[test]
fn only_the_end_is_kept() {
    let mut printed = OutputTail::default();
    for n in 0..100_000 {
        printed.push(&format!("line {n}\n"));
    }
    assert!(printed.is_cut && printed.weight() <= MAX_BYTES);
    assert!(printed.text().ends_with("line 99999"));
    printed.push(&"x".repeat(10 * MAX_BYTES));
    assert!(printed.weight() <= MAX_BYTES + MAX_COLUMNS);
}

proptest! {
    #[test]
    fn wherever_it_is_cut_it_is_the_same_text_and_safe(
        text in "([a-z\u{1b}\\[\\]0-9;mKGCD\r\n\t\u{8}\u{7}\u{202e}é漢]|\\PC){0,200}",
        cuts in proptest::collection::vec(0_usize..200, 0..5),
    ) {
        let whole = printed(&text);
        let mut pieces = OutputTail::default();
        let chars: Vec<char> = text.chars().collect();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts.into_iter().chain([chars.len()]) {
            let to = cut.clamp(from, chars.len());
            pieces.push(&chars[from..to].iter().collect::<String>());
            from = to;
        }
        prop_assert_eq!(&pieces.text(), &whole);
        prop_assert!(!whole.chars().any(|c| c.is_control() && c != '\n'), "{:?}", whole);
    }
}
