use proptest::prelude::*;

use super::{fenced, last_screen};

#[test]
fn output_loses_colours_and_what_was_written_over() {
    assert_eq!(last_screen("\u{1b}[1;31merror\u{1b}[0m: x\r\n"), "error: x\n");
    assert_eq!(last_screen("10%\r50%\r100%\ndone"), "100%\ndone");
    assert_eq!(last_screen("\u{1b}]0;never ended\nnext"), "\nnext");
    assert_eq!(last_screen("\u{1b}"), "");
}

#[test]
fn a_fence_is_longer_than_any_inside() {
    assert_eq!(fenced("", "x"), "```\nx\n```");
    assert_eq!(fenced("sh", "a ```` b\n"), "`````sh\na ```` b\n`````");
}

proptest! {
    #[test]
    fn no_input_leaves_an_escape(text in any::<String>()) {
        let has_escape = last_screen(&text).contains('\u{1b}');
        prop_assert!(!has_escape);
    }
}
