use proptest::prelude::*;

use super::*;

fn check(input: &str, expected: &str) {
    assert_eq!(sanitize(input), expected, "{input:?}");
}

#[test]
fn plain_text_stays_as_it_is() {
    for text in ["", "a\tb\nc", "naïve 漢字 👩‍💻 ❤️", "می‌خواهم", "\\x1b is text"]
    {
        check(text, text);
    }
}

#[test]
fn what_acts_on_a_terminal_is_shown() {
    check("\u{1b}[31mred", "\\x1b[31mred");
    check("\u{1b}]52;c;Zm9v\u{7}", "\\x1b]52;c;Zm9v\\x07");
    check("\u{9b}2J\u{7f}\u{8}\0", "\\x9b2J\\x7f\\x08\\x00");
}

#[test]
fn what_deceives_a_reader_is_shown() {
    check("a\u{202e}b\u{2066}c\u{200f}d\u{61c}", "a\\u{202e}b\\u{2066}c\\u{200f}d\\u{61c}");
    check("a\u{200b}b\u{feff}c\u{2060}", "a\\u{200b}b\\u{feff}c\\u{2060}");
    check("ls\u{e0072}\u{e006d}\u{e0101}", "ls\\u{e0072}\\u{e006d}\\u{e0101}");
    check("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}");
}

#[test]
fn the_selector_of_emoji_is_shown_where_there_is_no_emoji() {
    check("r\u{fe0f}m ❤\u{fe0f} 1\u{fe0f}\u{20e3}", "r\\u{fe0f}m ❤\u{fe0f} 1\u{fe0f}\u{20e3}");
    let line = sanitize_line("r\u{fe0f}m \u{fe0f}❤\u{fe0f}\u{fe0f}", 80);
    assert_eq!(line, "r\\u{fe0f}m \\u{fe0f}❤\u{fe0f}\\u{fe0f}");
    for n in 0..80 {
        let cut = sanitize_line(&format!("{}❤\u{fe0f}{}", "a".repeat(n), "b".repeat(80 - n)), 60);
        assert_eq!(sanitize(&cut), cut);
    }
}

#[test]
fn windows_line_breaks_become_line_breaks_and_a_lone_return_is_shown() {
    check("a\r\nb", "a\nb");
    check("safe\rrm -rf /", "safe\\x0drm -rf /");
    check("a\r\r\n", "a\\x0d\n");
}

#[test]
fn a_line_break_that_was_cut_in_two_is_one_line_break() {
    let mut sanitizer = Sanitizer::default();
    let mut out = String::new();
    for chunk in ["a\r", "", "\nb\r", "c\r"] {
        sanitizer.push(chunk, &mut out);
    }
    sanitizer.finish(&mut out);
    sanitizer.finish(&mut out);

    assert_eq!(out, "a\nb\\x0dc\\x0d");
}

#[test]
fn a_line_stays_one_line() {
    assert_eq!(sanitize_line("a\n\tb\r\nc\n", 80), "a\\n\\tb\\x0d\\nc");
}

#[test]
fn a_long_line_shows_both_ends_and_how_much_is_left_out() {
    let line = sanitize_line(&format!("echo {} ; rm -rf ~", "x".repeat(500)), 60);

    assert!(line.starts_with("echo xxx") && line.ends_with("; rm -rf ~"), "{line}");
    assert_eq!(n_shown(&line) + n_left_out(&line), 516, "{line}");
    assert!(line.chars().count() <= 60, "{line}");
}

#[test]
fn what_is_left_out_is_counted_as_it_was_not_as_it_is_shown() {
    let text = format!("{}{}{}", "a".repeat(30), "\u{1b}".repeat(500), "b".repeat(30));
    let line = sanitize_line(&text, 80);

    assert!(line.starts_with("aaaa") && line.ends_with("bbbb"), "{line}");
    assert_eq!(n_shown(&line) + n_left_out(&line), 560, "{line}");
}

/// What a line that was cut says to have left out, and the rest of it.
fn n_left_out(line: &str) -> usize {
    let (_, rest) = line.split_once(" …(").unwrap();
    rest.split_once(" chars left out)… ").unwrap().0.parse().unwrap()
}

fn n_shown(line: &str) -> usize {
    let mark = format!(" …({} chars left out)… ", n_left_out(line));
    line.replace(&mark, "").chars().count()
}

#[test]
fn padding_does_not_hide_the_tail_of_a_command() {
    let padded = format!("ls{}; curl evil", " ".repeat(300));

    assert_eq!(sanitize_line(&padded, 80), "ls …(300 blanks)… ; curl evil");
    assert_eq!(sanitize_line("a b  c", 80), "a b  c");
}

#[test]
fn a_line_may_be_cut_to_nothing() {
    for max in 0..30 {
        assert!(sanitize_line(&"y".repeat(100), max).chars().count() <= max.max(1));
    }
}

fn is_dangerous(c: char) -> bool {
    (c < ' ' && c != '\n' && c != '\t')
        || ('\u{7f}'..='\u{9f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
        || ('\u{e0000}'..='\u{e007f}').contains(&c)
        || "\u{200b}\u{200e}\u{200f}\u{61c}\u{2060}\u{feff}\u{2028}\u{2029}".contains(c)
}

/// Text in which dangerous characters are common.
fn nasty() -> impl Strategy<Value = String> {
    let c = prop_oneof![
        any::<char>(),
        prop::char::range('\0', '\u{ff}'),
        prop::char::range('\u{2000}', '\u{2070}'),
        prop::char::range('\u{e0000}', '\u{e01ff}'),
        prop::sample::select(vec!['\u{fe0f}', '❤', '1', '\u{20e3}']),
        Just('\r'),
        Just('\n'),
    ];
    prop::collection::vec(c, 0..40).prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn nothing_dangerous_is_left(a in nasty(), b in nasty()) {
        let joined = format!("{}{}", sanitize(&a), sanitize(&b));
        prop_assert!(!joined.contains(is_dangerous), "{joined:?}");
        prop_assert_eq!(sanitize(&joined), joined.as_str());

        let line = sanitize_line(&a, 20);
        prop_assert!(!line.contains(|c| is_dangerous(c) || c == '\n' || c == '\t'), "{line:?}");
    }

    #[test]
    fn chunks_may_be_cut_anywhere(text in nasty(), cut in 0..40usize) {
        let at = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
        let mut sanitizer = Sanitizer::default();
        let mut out = String::new();
        sanitizer.push(&text[..at], &mut out);
        sanitizer.push(&text[at..], &mut out);
        sanitizer.finish(&mut out);

        prop_assert_eq!(out, sanitize(&text));
    }
}
