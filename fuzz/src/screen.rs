//! What commands print for a terminal, as text: nothing of it is obeyed.

use wire::text::{fenced, last_screen};

pub fn show(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let shown = last_screen(&text);
    assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{9d}', '\r']), "{shown:?}");
    assert_eq!(last_screen(&shown), shown, "plain text stays as it is");

    let block = fenced("", &text);
    let fence: String = block.chars().take_while(|c| *c == '`').collect();
    let inner = block.strip_prefix(&format!("{fence}\n")).and_then(|b| b.strip_suffix(&fence));
    assert_eq!(inner.map(str::trim_end), Some(text.trim_end()));
    assert!(!text.contains(&fence), "the block would end before its end");
}
