//! `web/src/render/hidden.ts`, made from the tables of characters; `UPDATE_DOCS=1` writes it anew.
//! What both of them say of the same texts stands in `hidden.json`.

use std::path::Path;

use crate::text::hidden::{CharRange, EMOJI, HIDDEN, with_hidden};

#[test]
fn the_page_has_the_same_table_of_hidden_characters() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/render/hidden.ts");
    let made = format!(
        "// Made from crates/wire/src/text/hidden.rs: UPDATE_DOCS=1 cargo test -p wire page\n\n\
         /** Characters that are not seen and do something, as they are listed in a regular expression. */\n\
         export const HIDDEN =\n  \"{}\";\n\n\
         /** What the selector of emoji may stand behind. */\n\
         export const EMOJI =\n  \"{}\";\n",
        listed(HIDDEN),
        listed(EMOJI)
    );
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, made).unwrap();
    } else {
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page == made, "{path:?} is old: UPDATE_DOCS=1 cargo test -p wire page");
    }
}

fn listed(table: &[CharRange]) -> String {
    let code = |c: &char| format!("\\\\u{{{:x}}}", u32::from(*c));
    let range = |chars: &CharRange| match chars.start() == chars.end() {
        true => code(chars.start()),
        false => format!("{}-{}", code(chars.start()), code(chars.end())),
    };
    table.iter().map(range).collect()
}

#[test]
fn tables_are_in_order() {
    for table in [HIDDEN, EMOJI] {
        assert!(table.is_sorted_by(|a, b| a.end() < b.start()));
        assert!(table.iter().all(|chars| chars.start() <= chars.end()));
    }
}

#[test]
fn what_the_page_shows_of_a_text_is_shown_everywhere() {
    let examples: Vec<(String, Vec<String>)> =
        serde_json::from_str(include_str!("hidden.json")).unwrap();
    for (text, hidden) in examples {
        let found = with_hidden(None, &text).filter(|(c, hides)| *hides && !"\n\t".contains(*c));
        let found: Vec<String> = found.map(|(c, _)| format!("{:04X}", u32::from(c))).collect();
        assert_eq!(found, hidden, "{text:?}");
    }
}
