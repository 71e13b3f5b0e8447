//! Keys that crossterm has overlooked.
//!
//! It is notified once that there is something to read. If the window's size changed in the same
//! moment, it handles the size, and the input stays unread until the next key. That must not happen
//! to an answer, so such input is read here: letters, the keys of the control characters, arrows.
//! Other sequences are dropped; pressing them again works.

use std::io;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::TerminalInput;

const MAX_BYTES: usize = 4096;

/// Reads all input there is, as keys that came together.
pub(super) fn read() -> Option<TerminalInput> {
    let mut bytes = [0; MAX_BYTES];
    let n = rustix::io::read(io::stdin(), &mut bytes).ok()?;
    typed(&String::from_utf8_lossy(bytes.get(..n)?))
}

fn typed(text: &str) -> Option<TerminalInput> {
    if let Some((_, pasted)) = text.split_once("\u{1b}[200~") {
        let pasted = pasted.split("\u{1b}[201~").next().unwrap_or_default();
        return Some(TerminalInput::Paste(pasted.to_owned()));
    }
    let keys = keys(text);
    (!keys.is_empty()).then_some(TerminalInput::Keys(keys))
}

fn keys(text: &str) -> Vec<KeyEvent> {
    let mut left = text.chars().peekable();
    let mut keys = Vec::new();
    while let Some(first) = left.next() {
        let key = match first {
            '\u{1b}' => match left.next_if(|next| matches!(next, '[' | 'O')) {
                Some(_) => {
                    let end = left.find(|next| matches!(next, '\u{40}'..='\u{7e}'));
                    let Some(code) = end.and_then(arrow) else { continue };
                    KeyEvent::new(code, KeyModifiers::NONE)
                }
                None => KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE),
            },
            '\r' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
            '\t' => KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE),
            '\u{7f}' => KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE),
            '\u{1}'..='\u{1a}' => {
                let letter = char::from((first as u8) | 0x60);
                KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
            }
            '\0'..='\u{1f}' => continue,
            letter => KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE),
        };
        keys.push(key);
    }
    keys
}

fn arrow(end: char) -> Option<KeyCode> {
    match end {
        'A' => Some(KeyCode::Up),
        'B' => Some(KeyCode::Down),
        'C' => Some(KeyCode::Right),
        'D' => Some(KeyCode::Left),
        'H' => Some(KeyCode::Home),
        'F' => Some(KeyCode::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<KeyCode> {
        keys(text).into_iter().map(|key| key.code).collect()
    }

    #[test]
    fn letters_control_keys_and_arrows_are_read_and_the_rest_is_dropped() {
        use KeyCode::{Backspace, Char, Down, Enter, Esc, Tab, Up};
        assert_eq!(codes("hé\r"), [Char('h'), Char('é'), Enter]);
        assert_eq!(codes("\x1b[A\x1bOB\x1b"), [Up, Down, Esc]);
        assert_eq!(codes("\x1b[1;5~y\x1b[5~\t\x7f"), [Char('y'), Tab, Backspace]);
        assert_eq!(keys("\x04"), [KeyEvent::new(Char('d'), KeyModifiers::CONTROL)]);
        let pasted = typed("\x1b[200~a\rb\x1b[201~");
        assert!(matches!(pasted, Some(TerminalInput::Paste(text)) if text == "a\rb"));
        assert_eq!(codes("\0\x1f\x1b["), []);
    }
}
