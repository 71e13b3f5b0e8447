use super::*;

fn shown(text: &str) -> String {
    let mut out = String::new();
    for (c, hides) in with_hidden(None, text) {
        match hides {
            true => show_hidden(c, &mut out),
            false => out.push(c),
        }
    }
    out
}

#[test]
fn emoji_are_as_they_are_written() {
    for text in [
        "❤\u{fe0f}",
        "⚠\u{fe0f} a",
        "1\u{fe0f}\u{20e3}#\u{fe0f}\u{20e3}",
        "©\u{fe0f}",
        "㊙\u{fe0f}",
    ] {
        assert_eq!(shown(text), text);
    }
    let flag = "🏳\u{fe0f}\u{200d}🌈 👁\u{fe0f}\u{200d}🗨\u{fe0f}";
    assert_eq!(shown(flag), flag);
}

#[test]
fn the_selector_of_emoji_is_shown_where_it_selects_none() {
    let seen = "\\u{fe0f}";
    for before in ["", "a", " ", "é", "漢", "1", "#", "❤\u{fe0f}", "\u{200d}", "…"] {
        assert_eq!(shown(&format!("{before}\u{fe0f}b")), format!("{before}{seen}b"));
    }
    assert_eq!(shown("\u{2800}\u{fe0f}"), format!("\\u{{2800}}{seen}"));
    assert_eq!(shown("a\u{fe0f}\u{20e3}"), format!("a{seen}\u{20e3}"));
}
