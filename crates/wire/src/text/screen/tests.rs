use proptest::prelude::*;

use super::{LineScreen, Tabs, last_screen};

/// What comes out of pieces, and what of it came before the end.
fn read(longest: usize, tabs: Tabs, pieces: &[&str]) -> (String, String) {
    let mut screen = LineScreen::new(longest, tabs);
    let mut out = String::new();
    for piece in pieces {
        screen.push(piece, &mut out);
    }
    let early = out.clone();
    screen.finish(&mut out);
    (out, early)
}

#[test]
fn sequences_are_no_text() {
    for (with, without) in [
        ("\u{1b}[93m\u{1b}[1m! \u{1b}[0mpermission", "! permission"),
        ("\u{1b}[1;31merror\u{1b}[0m: x\r\n", "error: x\n"),
        ("\u{1b}]0;a title\u{7}text", "text"),
        ("\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}(Bcharset\u{1b}=", "charset"),
        ("\u{1b}[?25l\u{1b}[38;2;1;2;3mcolour", "colour"),
        ("\u{1b}Pdevice\u{1b}\\after", "after"),
        ("\u{9b}31meight bits", "eight bits"),
        ("no sequence: [31m ]0;", "no sequence: [31m ]0;"),
        ("\u{1b}", ""),
    ] {
        assert_eq!(last_screen(with), without, "{with:?}");
    }
}

#[test]
fn a_broken_sequence_does_not_swallow_what_follows() {
    assert_eq!(last_screen("\u{1b}[12\nline"), "\nline");
    assert_eq!(last_screen("\u{1b}]0;never ended\nline"), "\nline");
    assert_eq!(last_screen("\u{1b}\u{1b}[1mtwice"), "twice");
    assert_eq!(last_screen("\u{1b}[漢字"), "漢字");
    let endless = format!("\u{1b}]0;{}seen", "x".repeat(5000));
    assert!(last_screen(&endless).ends_with("seen"));
}

#[test]
fn a_line_shows_what_was_written_last() {
    for (printed, left) in [
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("long line\rshort\u{1b}[K", "short"),
        ("one\rt\r\n", "tne\n"),
        ("abc\u{8}\u{8}X", "aXc"),
        ("\u{1b}[5Gx\u{1b}[1Gy", "y   x"),
        ("ab\u{1b}[2Dc\u{1b}[1Cd", "cbd"),
        ("abc\u{1b}[2K\u{1b}[Gd", "d"),
        ("abcd\u{1b}[2D\u{1b}[1Ke", "  ed"),
    ] {
        assert_eq!(last_screen(printed), left, "{printed:?}");
    }
}

#[test]
fn a_bell_takes_no_place_in_what_is_shown_as_it_comes() {
    assert_eq!(read(80, Tabs::Kept, &["\u{7}100%\u{f}\rdone"]).0, "done");
    assert_eq!(last_screen("a\u{7}b"), "a\u{7}b", "it is told to whoever reads the whole");
}

#[test]
fn tabs_stay_tabs_until_they_are_written_over() {
    assert_eq!(last_screen("a\tb\t\tc\n\td"), "a\tb\t\tc\n\td");
    assert_eq!(last_screen("a\tb\rAB"), "AB      b");
    assert_eq!(last_screen("a\tb\r\tB"), "a\tB");
    assert_eq!(read(80, Tabs::Blanks, &["a\tb"]).0, "a       b");
}

#[test]
fn a_long_line_does_not_wait_for_its_end_and_stays() {
    let long = "x".repeat(30);
    let (_, early) = read(20, Tabs::Kept, &["y", &long, " and"]);
    assert_eq!(early, format!("y{long} and"));
    assert_eq!(read(20, Tabs::Kept, &["short"]), ("short".to_owned(), String::new()));
    let (whole, _) = read(20, Tabs::Kept, &[&long, "\rnew\rN\n"]);
    assert_eq!(whole, format!("{long}\nNew\n"));
}

#[test]
fn moving_about_makes_no_more_than_tabs_would() {
    let all = [
        "\u{1b}[99999999999999999999Gx",
        "\u{1b}[2000000000C\tx",
        "\t\u{1b}[500Cx\n",
        "\u{1b}[99999999999999999999C\u{1b}[1Kx",
    ];
    for far in all {
        let printed = far.repeat(1000);
        let shown = last_screen(&printed);
        assert!(shown.contains('x') && shown.len() <= 8 * printed.len(), "{}", shown.len());
    }
}

proptest! {
    #[test]
    fn wherever_it_is_cut_it_is_the_same_text_without_an_escape(
        parts in proptest::collection::vec(
            "([a-z\u{1b}\\[\\]0-9;mKGCD\r\n\t\u{8}\u{7}\u{9b}é漢]|\\PC){0,40}", 0..6,
        ),
        longest in 0_usize..100,
    ) {
        let pieces: Vec<&str> = parts.iter().map(String::as_str).collect();
        let whole = parts.concat();
        for tabs in [Tabs::Kept, Tabs::Blanks] {
            let (text, _) = read(longest, tabs, &pieces);
            prop_assert_eq!(&text, &read(longest, tabs, &[&whole]).0);
            prop_assert!(!text.contains(['\u{1b}', '\u{9b}', '\r', '\u{8}']), "{:?}", text);
        }
        prop_assert_eq!(last_screen(&last_screen(&whole)), last_screen(&whole));
    }

    #[test]
    fn no_input_leaves_an_escape(text in any::<String>()) {
        let has_escape = last_screen(&text).contains('\u{1b}');
        prop_assert!(!has_escape);
    }
}
