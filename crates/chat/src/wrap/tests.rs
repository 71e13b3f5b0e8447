use proptest::prelude::*;
use ratatui::style::Style;
use ratatui::text::Span;

use super::{BreakAt, Margin, cut, displayable, width, wrap};

fn lines(text: &str, columns: usize) -> Vec<String> {
    let pieces = [Span::styled(text, Style::new())];
    wrap(&pieces, columns, &Margin::default(), BreakAt::Words)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn words_stay_whole_where_they_can() {
    assert_eq!(lines("one two three", 8), ["one two", "three"]);
    assert_eq!(lines("a\n\nb", 8), ["a", "", "b"]);
    assert_eq!(lines("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(lines("  indented", 20), ["  indented"]);
}

#[test]
fn wide_letters_count_twice_and_break_anywhere() {
    assert_eq!(lines("漢字漢字", 5), ["漢字", "漢字"]);
    assert_eq!(width("👨‍👩‍👧"), 2);
}

#[test]
fn a_letter_that_no_line_can_hold_is_broken_too() {
    assert!(width("Σ\u{11347}\u{aaeb}") > 2);
    assert!(lines("Σ\u{11347}\u{aaeb}", 2).iter().all(|line| width(line) <= 2));
}

#[test]
fn a_margin_stands_before_every_line() {
    let margin = Margin::new("- ", "  ", Style::new());
    let wrapped = wrap(&[Span::styled("one two three", Style::new())], 8, &margin, BreakAt::Words);
    let wrapped: Vec<String> = wrapped.iter().map(ToString::to_string).collect();
    assert_eq!(wrapped, ["- one", "  two", "  three"]);
}

#[test]
fn what_acts_on_a_terminal_is_shown_instead() {
    assert_eq!(displayable("\u{1b}[31mred\u{202e}"), "\\x1b[31mred\\u{202e}");
    assert_eq!(cut("a\u{7}b", 20), "a\\x07b");
}

#[test]
fn a_text_is_cut_to_its_columns() {
    assert_eq!(cut("abcdef", 4), "abc…");
    assert_eq!(cut("漢字漢字", 4), "漢…");
    assert_eq!(cut("abc", 0), "");
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_page(text in any::<String>(), columns in 2_usize..40) {
        let pieces = [Span::styled(text, Style::new())];
        let margin = Margin::new("> ", "  ", Style::new());
        for line in [BreakAt::Words, BreakAt::Cells].into_iter().flat_map(|at| wrap(&pieces, columns, &margin, at)) {
            let line = line.to_string();
            prop_assert!(width(&line) <= columns.max(2), "{line:?}");
            prop_assert!(!line.chars().any(char::is_control));
        }
    }

    #[test]
    fn every_letter_comes_out_once(text in "[a-z \n]{0,200}", columns in 1_usize..30) {
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
        prop_assert_eq!(letters(&lines(&text, columns).concat()), letters(&text));
    }
}
