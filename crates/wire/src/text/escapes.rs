//! Control sequences and strings by ECMA-48, which a terminal obeys instead of showing them.
//!
//! In: characters one by one, so that it does not matter where a stream was cut. Out: the
//! characters that are text, and the few sequences that change a line. What cannot belong to a
//! sequence ends it and is read as what follows: nothing but sequences is ever left out.

/// An unterminated string sequence is given up after this many characters, so that a stray
/// introducer does not swallow the rest of an answer.
const MAX_SEQUENCE_CHARS: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalToken {
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
pub(super) struct EscapeParser {
    state: EscapeState,
    n_chars: usize,
    /// The first parameter of a control sequence.
    parameter: usize,
    has_more: bool,
}

#[derive(Debug, Clone, Copy, Default)]
enum EscapeState {
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

impl EscapeParser {
    pub(super) fn push(&mut self, c: char) -> Option<TerminalToken> {
        match self.state {
            EscapeState::Text => self.text(c),
            EscapeState::Escape => self.escape(c),
            EscapeState::Intermediate => match c {
                ' '..='/' => None,
                '0'..='~' => self.done(None),
                _ => self.abandon(c),
            },
            EscapeState::Control => self.control(c),
            EscapeState::String => self.string(c),
            EscapeState::StringEscape => match c {
                '\\' => self.done(None),
                _ => {
                    self.state = EscapeState::Escape;
                    self.escape(c)
                }
            },
        }
    }

    /// The introducers among the C1 controls are characters here, because the text is Unicode.
    fn text(&mut self, c: char) -> Option<TerminalToken> {
        match c {
            '\u{1b}' => self.enter(EscapeState::Escape),
            '\u{9b}' => self.enter(EscapeState::Control),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.enter(EscapeState::String),
            _ => Some(TerminalToken::Text(c)),
        }
    }

    fn enter(&mut self, state: EscapeState) -> Option<TerminalToken> {
        *self = Self { state, ..Self::default() };
        None
    }

    fn done(&mut self, piece: Option<TerminalToken>) -> Option<TerminalToken> {
        self.state = EscapeState::Text;
        piece
    }

    /// `c` cannot belong to the sequence: it is read as what follows it.
    fn abandon(&mut self, c: char) -> Option<TerminalToken> {
        self.state = EscapeState::Text;
        self.text(c)
    }

    fn escape(&mut self, c: char) -> Option<TerminalToken> {
        match c {
            '[' => self.enter(EscapeState::Control),
            ']' | 'P' | 'X' | '^' | '_' => self.enter(EscapeState::String),
            ' '..='/' => self.enter(EscapeState::Intermediate),
            '0'..='~' => self.done(None),
            _ => self.abandon(c),
        }
    }

    fn control(&mut self, c: char) -> Option<TerminalToken> {
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
                    ('K', 0) => Some(TerminalToken::EraseRest),
                    ('K', 1) => Some(TerminalToken::EraseStart),
                    ('K', 2) => Some(TerminalToken::EraseLine),
                    ('G', _) => Some(TerminalToken::ToColumn(steps - 1)),
                    ('C', _) => Some(TerminalToken::Right(steps)),
                    ('D', _) => Some(TerminalToken::Left(steps)),
                    _ => None,
                })
            }
            _ => self.abandon(c),
        }
    }

    fn string(&mut self, c: char) -> Option<TerminalToken> {
        self.n_chars += 1;
        match c {
            '\u{7}' | '\u{9c}' => self.done(None),
            '\u{1b}' => {
                self.state = EscapeState::StringEscape;
                None
            }
            '\n' | '\r' => self.abandon(c),
            _ if self.n_chars > MAX_SEQUENCE_CHARS => self.abandon(c),
            _ => None,
        }
    }
}
