//! One line of a terminal: enough of it to know what remains of what was printed.

use super::super::ansi::{Ansi, Piece};

/// Progress is shorter than a line of a wide terminal; a longer line is text and need not
/// wait for its end.
const MAX_HELD_CHARS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Screen {
    ansi: Ansi,
    /// The line so far, while it may still be overwritten.
    held: Vec<char>,
    /// The beginning of this line has been passed on.
    is_passed_on: bool,
    /// A carriage return came, and nothing after it yet.
    is_home: bool,
}

impl Screen {
    /// Takes one character; appends what is sure to remain to `text`.
    pub(super) fn push(&mut self, c: char, text: &mut String) {
        match self.ansi.push(c) {
            None => {}
            Some(Piece::Text('\n')) => self.end_line(text),
            Some(Piece::Text('\r') | Piece::Home) => self.is_home = true,
            Some(Piece::Text('\u{8}')) => {
                self.held.pop();
            }
            Some(Piece::Text(c)) if c.is_control() && c != '\t' => {}
            Some(Piece::Text(c)) => {
                self.overwrite(text);
                self.put(c, text);
            }
            Some(Piece::EraseLine) => self.erase(),
            Some(Piece::EraseRest) if self.is_home => self.erase(),
            Some(Piece::EraseRest) => {}
        }
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self, text: &mut String) {
        text.extend(self.held.drain(..));
        self.is_passed_on = false;
    }

    fn end_line(&mut self, text: &mut String) {
        self.end(text);
        self.is_home = false;
        text.push('\n');
    }

    /// What follows a carriage return replaces the line. What has been passed on cannot be
    /// replaced, so the text goes on in a new line.
    fn overwrite(&mut self, text: &mut String) {
        if !self.is_home {
            return;
        }
        if self.is_passed_on {
            self.end_line(text);
        }
        self.erase();
    }

    fn erase(&mut self) {
        self.held.clear();
        self.is_home = false;
    }

    fn put(&mut self, c: char, text: &mut String) {
        if self.is_passed_on {
            return text.push(c);
        }
        self.held.push(c);
        if self.held.len() > MAX_HELD_CHARS {
            text.extend(self.held.drain(..));
            self.is_passed_on = true;
        }
    }
}
