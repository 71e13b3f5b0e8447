//! Nothing hides.

use proptest::prelude::*;

use super::{asked, printed, title};

#[test]
fn what_a_terminal_would_obey_is_written_out() {
    assert_eq!(asked("rm \u{1b}[2K\u{202e}x\u{200b}"), "rm \\x1b[2K\\u{202e}x\\u{200b}");
    assert_eq!(asked("a\r\u{e0041}\u{7f}"), "a\\x0d\\u{e0041}\\x7f");
    assert_eq!(asked("one\n\ttwo"), "one\n\ttwo");
    assert_eq!(asked("r\u{fe0f}m ⚠\u{fe0f}"), "r\\u{fe0f}m ⚠\u{fe0f}");
    assert_eq!(printed("a\u{fe0f} ⚠\u{fe0f}".as_bytes()), "a\\u{fe0f} ⚠\u{fe0f}");
}

#[test]
fn padding_does_not_push_the_end_out_of_sight() {
    let padded = format!("ls{}; curl evil", " ".repeat(5000));
    assert_eq!(asked(&padded), "ls⟨5000 blank characters⟩; curl evil");
    let lines = format!("ls{}curl evil", "\n\u{a0}".repeat(50));
    assert_eq!(asked(&lines), "ls⟨100 blank characters⟩curl evil");
}

#[test]
fn a_title_shows_both_ends_of_a_long_command() {
    let long = format!("echo {}; rm -rf /", "x".repeat(1000));
    let title = title(&long);
    assert!(title.starts_with("echo xxx"), "{title}");
    assert!(title.contains("; rm -rf / (1015 characters)"), "{title}");
    let hidden = format!("echo {}", "\u{1b}".repeat(300));
    assert!(super::title(&hidden).ends_with(" (305 characters)"), "{title}");
}

#[test]
fn output_loses_colours_and_what_was_written_over() {
    assert_eq!(printed(b"\x1b[1;31merror\x1b[0m: x\r\n"), "error: x\n");
    assert_eq!(printed(b"10%\r50%\r100%\ndone"), "100%\ndone");
    assert_eq!(printed(b"\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link"), "text link");
    assert_eq!(printed(b"\x1b]0;never ended\nnext"), "\nnext");
    assert_eq!(printed(b"a\xffb\x07\x00"), "a\u{fffd}b\\x07\\x00");
    assert_eq!(printed(b"\x1b"), "");
}

fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| {
        !matches!(c, '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    })
}

proptest! {
    #[test]
    fn nothing_gets_through(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        prop_assert!(is_harmless(&asked(&text)));
        prop_assert!(is_harmless(&title(&text)));
        prop_assert!(!title(&text).contains('\n'));
        prop_assert!(is_harmless(&printed(&bytes)));
        prop_assert!(is_harmless(&printed(text.as_bytes())));
    }

    #[test]
    fn plain_text_stays(text in "[a-zA-Z0-9äß漢 -]{0,40}") {
        prop_assume!(!text.contains("                                 "));
        prop_assert_eq!(asked(&text), text.clone());
        prop_assert_eq!(printed(text.as_bytes()), text);
    }
}
