//! Control sequences and strings by ECMA-48, which a terminal obeys instead of showing them.
//!
//! In: characters one by one, so that it does not matter where a stream was cut. Out: the
//! characters that are text, and the few sequences that change a line. What cannot belong to a
//! sequence ends it and is read as what follows: nothing but sequences is ever left out.

/// An unterminated string sequence is given up after this many characters, so that a stray
/// introducer does not swallow the rest of an answer.
const MAX_SEQUENCE_CHARS: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Text(char),
    /// The line is erased from here to its end, from its beginning to here, or all of it.
    EraseRest,
    EraseStart,
    EraseLine,
    /// The cursor goes to a column, the first of which is 0, or so many columns along the line.
    ToColumn(usize),
    Right(usize),
    Left(usize),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Escapes {
    state: State,
    n_chars: usize,
    /// The first parameter of a control sequence.
    parameter: usize,
    has_more: bool,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Text,
    Escape,
    /// After an intermediate character: the next one ends it.
    Intermediate,
    Control,
    /// OSC, DCS, APC, PM, SOS: until BEL or ST.
    String,
    StringEscape,
}

impl Escapes {
    pub(super) fn push(&mut self, c: char) -> Option<Piece> {
        match self.state {
            State::Text => self.text(c),
            State::Escape => self.escape(c),
            State::Intermediate => match c {
                ' '..='/' => None,
                '0'..='~' => self.done(None),
                _ => self.abandon(c),
            },
            State::Control => self.control(c),
            State::String => self.string(c),
            State::StringEscape => match c {
                '\\' => self.done(None),
                _ => {
                    self.state = State::Escape;
                    self.escape(c)
                }
            },
        }
    }

    /// The introducers among the C1 controls are characters here, because the text is Unicode.
    fn text(&mut self, c: char) -> Option<Piece> {
        match c {
            '\u{1b}' => self.enter(State::Escape),
            '\u{9b}' => self.enter(State::Control),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.enter(State::String),
            _ => Some(Piece::Text(c)),
        }
    }

    fn enter(&mut self, state: State) -> Option<Piece> {
        *self = Self { state, ..Self::default() };
        None
    }

    fn done(&mut self, piece: Option<Piece>) -> Option<Piece> {
        self.state = State::Text;
        piece
    }

    /// `c` cannot belong to the sequence: it is read as what follows it.
    fn abandon(&mut self, c: char) -> Option<Piece> {
        self.state = State::Text;
        self.text(c)
    }

    fn escape(&mut self, c: char) -> Option<Piece> {
        match c {
            '[' => self.enter(State::Control),
            ']' | 'P' | 'X' | '^' | '_' => self.enter(State::String),
            ' '..='/' => self.enter(State::Intermediate),
            '0'..='~' => self.done(None),
            _ => self.abandon(c),
        }
    }

    fn control(&mut self, c: char) -> Option<Piece> {
        match c {
            '0'..='9' if !self.has_more => {
                let digit = c.to_digit(10).map_or(0, |digit| digit as usize);
                self.parameter = self.parameter.saturating_mul(10).saturating_add(digit);
                None
            }
            ' '..='?' => {
                self.has_more = true;
                None
            }
            '@'..='~' => {
                let steps = self.parameter.max(1);
                self.done(match (c, self.parameter) {
                    ('K', 0) => Some(Piece::EraseRest),
                    ('K', 1) => Some(Piece::EraseStart),
                    ('K', 2) => Some(Piece::EraseLine),
                    ('G', _) => Some(Piece::ToColumn(steps - 1)),
                    ('C', _) => Some(Piece::Right(steps)),
                    ('D', _) => Some(Piece::Left(steps)),
                    _ => None,
                })
            }
            _ => self.abandon(c),
        }
    }

    fn string(&mut self, c: char) -> Option<Piece> {
        self.n_chars += 1;
        match c {
            '\u{7}' | '\u{9c}' => self.done(None),
            '\u{1b}' => {
                self.state = State::StringEscape;
                None
            }
            '\n' | '\r' => self.abandon(c),
            _ if self.n_chars > MAX_SEQUENCE_CHARS => self.abandon(c),
            _ => None,
        }
    }
}
