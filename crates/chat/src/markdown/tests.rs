use proptest::prelude::*;

use super::lines;
use crate::theme::Theme;
use crate::wrap::width;

fn drawn(text: &str, columns: usize) -> String {
    let lines = lines(text, columns, Theme::new(true));
    lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
}

const SAMPLE: &str = "# A heading\n\nSome *soft* and **hard** words with `code` in them, \
that go on for longer than a line.\n\n- one\n- two\n  1. first\n  2. second\n- [x] done\n\n\
> said by others\n> twice\n\n```rust\nfn main() {\n\tlet long = \"a line of code that is wide\";\n}\n```\n\n\
| name | value |\n|---|---|\n| a | 1 |\n| longer | 漢字 |\n\n---\n\n[a link](https://example.org) \
and ![a picture](http://example.org/x.png)\n";

#[test]
fn everything_that_agents_write_has_a_form() {
    insta::assert_snapshot!(drawn(SAMPLE, 40));
}

#[test]
fn a_table_that_is_too_wide_is_told_row_by_row() {
    insta::assert_snapshot!(drawn(SAMPLE.split("```\n\n").nth(1).unwrap(), 12));
}

#[test]
fn the_columns_of_a_table_stand_where_its_author_wants_them() {
    let text = "| left | middle | right | as is |\n|:--|:-:|--:|---|\n| a | b | c | d |\n| 1 | 22 | 333 | 4 |\n";
    assert_eq!(
        drawn(text, 60),
        "left │ middle │ right │ as is\n\
         ─────┼────────┼───────┼──────\n\
         a    │   b    │     c │ d\n\
         1    │   22   │   333 │ 4\n"
    );
}

#[test]
fn entities_and_html_stay_inert() {
    let text = "a &#27;[31m b &#x202e; <script>alert(1)</script>\n\n<b onclick=x>\n\n`\u{1b}]0;title\u{7}`";
    let drawn = drawn(text, 60);
    assert!(drawn.contains("\\x1b[31m") || drawn.contains('\u{fffd}'), "{drawn}");
    assert!(drawn.contains("<script>alert(1)</script>"), "{drawn}");
    assert!(drawn.contains("\\x1b]0;title\\x07"), "{drawn}");
    assert!(!drawn.chars().any(|c| c.is_control() && c != '\n'), "{drawn:?}");
}

#[test]
fn text_that_is_still_being_written_is_drawn() {
    for end in 0..SAMPLE.len() {
        if SAMPLE.is_char_boundary(end) {
            drawn(&SAMPLE[..end], 30);
        }
    }
}

proptest! {
    #[test]
    fn no_text_panics_or_leaves_its_columns(text in any::<String>(), columns in 4_usize..60) {
        for line in lines(&text, columns, Theme::new(false)) {
            let line = line.to_string();
            prop_assert!(width(&line) <= columns, "{line:?}");
            prop_assert!(!line.chars().any(char::is_control));
        }
    }

    #[test]
    fn no_marks_panic_or_leave_their_columns(text in "[-*#>`|_~\\[\\]()!:0-9a-z \n]{0,300}", columns in 4_usize..40) {
        for line in lines(&text, columns, Theme::new(true)) {
            prop_assert!(width(&line.to_string()) <= columns.max(40), "{line:?}");
        }
    }
}
