//! What a command printed at a terminal that Switchyard serves: the end of it, as text.
//!
//! In: pieces as they were printed, cut anywhere. Out: safe lines. It is read as a terminal
//! reads it: a line that is written over shows what was written last, colours and what moves
//! about the screen are left out. Whatever is printed, what is kept is bounded.

use std::collections::VecDeque;

use projection::sanitize;

/// The end of an output is what tells how it went.
const MAX_BYTES: usize = 32 << 10;
/// A line that is longer goes on in the next.
const MAX_COLUMNS: usize = 2000;
/// Longer sequences are none that anybody writes.
const MAX_PARAMETERS: usize = 32;
/// A title or a link that has no end by then has none.
const MAX_STRING: usize = 4096;
const TAB: usize = 8;

/// The end of a terminal's output.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// Whole lines.
    lines: VecDeque<String>,
    n_bytes: usize,
    line: Vec<char>,
    column: usize,
    reading: Reading,
    /// Whether lines before these are gone.
    pub(crate) is_cut: bool,
}

/// Where in a control sequence we are.
#[derive(Debug, Default)]
enum Reading {
    #[default]
    Text,
    Escape,
    /// One more character belongs to it.
    Designation,
    Sequence(String),
    /// A string for the terminal, such as a title; how long it is, and whether an escape
    /// that may end it was read.
    Aside(usize, bool),
}

impl Printed {
    pub(crate) fn push(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            // Most of an output is plain text.
            let n_plain = match self.reading {
                Reading::Text => rest.find(char::is_control).unwrap_or(rest.len()),
                _ => 0,
            };
            let (plain, after) = rest.split_at(n_plain);
            if plain.is_empty() {
                self.take(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                continue;
            }
            for safe in sanitize(plain).chars() {
                self.put(safe);
            }
            rest = after;
        }
    }

    /// All that is kept.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.n_bytes + self.line.len());
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text.extend(&self.line);
        text.truncate(text.trim_end().len());
        text
    }

    /// At least what it takes to keep it.
    pub(crate) fn weight(&self) -> usize {
        self.n_bytes + self.line.len()
    }

    fn take(&mut self, c: char) {
        self.reading = match std::mem::take(&mut self.reading) {
            Reading::Text if c == '\u{1b}' => Reading::Escape,
            Reading::Text => {
                self.write(c);
                Reading::Text
            }
            Reading::Escape => match c {
                '[' => Reading::Sequence(String::new()),
                ']' | 'P' | '^' | '_' | 'X' => Reading::Aside(0, false),
                '(' | ')' | '*' | '+' | '#' | '%' | ' ' => Reading::Designation,
                '\u{1b}' => Reading::Escape,
                _ => Reading::Text,
            },
            Reading::Designation => Reading::Text,
            Reading::Sequence(mut parameters) => match c {
                ' '..='?' if parameters.len() < MAX_PARAMETERS => {
                    parameters.push(c);
                    Reading::Sequence(parameters)
                }
                '@'..='~' => {
                    self.obey(c, &parameters);
                    Reading::Text
                }
                '\u{1b}' => Reading::Escape,
                _ => Reading::Text,
            },
            Reading::Aside(length, is_ending) => match c {
                '\u{7}' | '\u{9c}' => Reading::Text,
                '\\' if is_ending => Reading::Text,
                _ if length >= MAX_STRING => Reading::Text,
                c => Reading::Aside(length + 1, c == '\u{1b}'),
            },
        };
    }

    fn write(&mut self, c: char) {
        match c {
            '\n' => self.end_line(),
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\u{7}' => {}
            '\t' => {
                let next = (self.column / TAB + 1) * TAB;
                while self.column < next {
                    self.put(' ');
                }
            }
            c => {
                for safe in sanitize(c.encode_utf8(&mut [0; 4])).chars() {
                    self.put(safe);
                }
            }
        }
    }

    fn put(&mut self, c: char) {
        if self.column >= MAX_COLUMNS {
            self.end_line();
        }
        while self.line.len() < self.column {
            self.line.push(' ');
        }
        match self.line.get_mut(self.column) {
            Some(place) => *place = c,
            None => self.line.push(c),
        }
        self.column += 1;
    }

    /// What of a control sequence changes the line at hand.
    fn obey(&mut self, what: char, parameters: &str) {
        let number = parameters.split(';').next().and_then(|first| first.parse::<usize>().ok());
        let steps = number.unwrap_or(1).max(1);
        match what {
            'K' => match number.unwrap_or(0) {
                0 => self.line.truncate(self.column),
                1 => self.line.iter_mut().take(self.column + 1).for_each(|place| *place = ' '),
                _ => self.line.clear(),
            },
            'G' => self.column = (steps - 1).min(MAX_COLUMNS),
            'C' => self.column = self.column.saturating_add(steps).min(MAX_COLUMNS),
            'D' => self.column = self.column.saturating_sub(steps),
            _ => {}
        }
    }

    fn end_line(&mut self) {
        let line: String = self.line.drain(..).collect();
        self.column = 0;
        self.n_bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.n_bytes > MAX_BYTES
            && let Some(first) = self.lines.pop_front()
        {
            self.n_bytes = self.n_bytes.saturating_sub(first.len() + 1);
            self.is_cut = true;
        }
    }
}

#[cfg(test)]
mod tests;
