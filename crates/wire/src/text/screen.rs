//! The text that is left on a terminal of what was written to it.
//!
//! In: pieces of it, cut anywhere. Out: lines as they were left: without colours and titles, and
//! with what was written last where a line was written over. Only the line at hand can be written
//! over; what moves to other lines is left out. Other control characters than those stay, for
//! whoever shows the text to deal with, but for bells and changes of letters in a text that is
//! shown as it comes.
//!
//! Always true: the text does not depend on where it was cut, and takes at most as much room as
//! if every character of the input were a tab.

use super::escapes::{EscapeParser, TerminalToken};

/// Columns from one tab stop to the next.
const TAB: usize = 8;
/// Whole texts are read with lines of this length: nobody writes over a longer one.
const LONGEST_LINE: usize = 20_000;
/// The form of tabs in the text that comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tabs {
    Kept,
    /// As many blanks as it takes to the next column of tabs.
    Blanks,
}

/// The line of a terminal at which the cursor stands. Letters are taken for one column wide.
#[derive(Debug, Clone)]
pub struct LineScreen {
    escapes: EscapeParser,
    tabs: Tabs,
    longest: usize,
    /// How many columns of the line have been passed on: those cannot change any more.
    n_passed_on: usize,
    /// The line behind those; nothing stands in the places of a tab but the first.
    places: Vec<Option<char>>,
    column: usize,
    /// Whether bells and the like stay, and so have a place in the line.
    keeps_bells: bool,
    /// Blanks that moving the cursor may still make, lest few characters become very many.
    room: usize,
}

impl LineScreen {
    /// A line longer than `longest` is taken for one that is not written over. If it is, the text
    /// goes on in a new line.
    pub fn new(longest: usize, tabs: Tabs) -> Self {
        Self {
            escapes: EscapeParser::default(),
            tabs,
            longest,
            n_passed_on: 0,
            places: Vec::new(),
            column: 0,
            keeps_bells: false,
            room: 0,
        }
    }

    /// Appends what can no longer change: whole lines, and the beginning of a long one.
    pub fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            // Each character brings the room of a tab, and has one place of it for itself.
            self.room = self.room.saturating_add(TAB - 1).min(self.longest);
            match self.escapes.push(c) {
                None => {}
                Some(TerminalToken::Text(c)) => self.take(c, out),
                Some(TerminalToken::EraseRest) => self.places.truncate(self.place()),
                Some(TerminalToken::EraseStart) => {
                    let n_erased = self.places.len().min(self.place().saturating_add(1));
                    (0..n_erased).for_each(|place| self.set(place, ' '));
                }
                Some(TerminalToken::EraseLine) => self.places.clear(),
                Some(TerminalToken::ToColumn(column)) => self.column = column,
                Some(TerminalToken::Right(steps)) => {
                    self.column = self.column.saturating_add(steps);
                }
                Some(TerminalToken::Left(steps)) => self.column = self.column.saturating_sub(steps),
            }
        }
    }

    /// Appends the line at hand; nothing more comes.
    pub fn finish(&mut self, out: &mut String) {
        out.extend(self.line());
        self.places.clear();
        (self.n_passed_on, self.column) = (0, 0);
    }

    /// The line at hand, without what has been passed on of it.
    pub fn line(&self) -> impl Iterator<Item = char> + '_ {
        self.places.iter().filter_map(|place| match (*place, self.tabs) {
            (None | Some('\t'), Tabs::Blanks) => Some(' '),
            (place, _) => place,
        })
    }

    /// At least as many characters as the line at hand has.
    pub fn weight(&self) -> usize {
        self.places.len()
    }

    fn take(&mut self, c: char, out: &mut String) {
        match c {
            '\n' => self.end_line(out),
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\t' if self.place() < self.places.len() => self.column += TAB - self.column % TAB,
            '\t' => {
                self.put(c, out);
                let n_more = self.column.next_multiple_of(TAB) - self.column;
                self.places.resize(self.places.len() + n_more, None);
                self.column += n_more;
            }
            '\u{7}' | '\u{e}' | '\u{f}' if !self.keeps_bells => {}
            c => self.put(c, out),
        }
        if self.n_passed_on > 0 || self.places.len() > self.longest {
            out.extend(self.line());
            self.n_passed_on += self.places.len();
            self.places.clear();
        }
    }

    /// The cursor's place in the part of the line that has not been passed on.
    fn place(&self) -> usize {
        self.column.saturating_sub(self.n_passed_on)
    }

    fn put(&mut self, c: char, out: &mut String) {
        if self.column < self.n_passed_on {
            self.end_line(out);
        }
        let n_missing = self.place().saturating_sub(self.places.len()).min(self.room);
        self.room -= n_missing;
        self.places.resize(self.places.len() + n_missing, Some(' '));
        let place = self.place().min(self.places.len());
        match place < self.places.len() {
            true => self.set(place, c),
            false => self.places.push(Some(c)),
        }
        self.column = self.n_passed_on + place + 1;
    }

    /// Writes over what stands there. A tab of which a part is written over becomes blanks.
    fn set(&mut self, place: usize, c: char) {
        let is_of_tab = |there: &Option<char>| matches!(there, None | Some('\t'));
        if self.places.get(place).is_some_and(is_of_tab) {
            let from_tab_to_tab = self.places.iter_mut().skip(place - place % TAB).take(TAB);
            from_tab_to_tab.filter(|there| is_of_tab(there)).for_each(|there| *there = Some(' '));
        }
        if let Some(there) = self.places.get_mut(place) {
            *there = Some(c);
        }
    }

    fn end_line(&mut self, out: &mut String) {
        self.finish(out);
        out.push('\n');
    }
}

/// The output of a command, without colours and without what a progress bar wrote over.
pub fn last_screen(text: &str) -> String {
    let mut screen = LineScreen { keeps_bells: true, ..LineScreen::new(LONGEST_LINE, Tabs::Kept) };
    let mut out = String::with_capacity(text.len());
    screen.push(text, &mut out);
    screen.finish(&mut out);
    out
}

#[cfg(test)]
mod tests;
