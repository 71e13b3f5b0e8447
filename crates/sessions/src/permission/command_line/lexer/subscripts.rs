//! What stands in brackets behind a name, where bash reads once more what it has read.
//!
//! In `a['$(x)']` the quotes are none to bash the second time, and `x` is run. So what is hidden by
//! quotes cannot be told, unless nothing of it can be code.

use super::numbers::may_be_variable;
use super::{Lexer, Quotes, Word};

/// Where a subscript stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// `a[1]=x`, `([1]=x)`
    Word,
    /// `${a[1]}`
    Parameter(Quotes),
}

impl Within {
    fn quotes(self) -> Quotes {
        match self {
            Self::Word => Quotes::None,
            Self::Parameter(quotes) => quotes,
        }
    }

    /// Whether it may end what the subscript stands in, to some shell.
    fn may_end_at(self, c: char) -> bool {
        match self {
            Self::Word => " \t\n;&|()<>".contains(c),
            Self::Parameter(_) => c == '}',
        }
    }
}

impl Lexer<'_> {
    /// `[…]`, behind the bracket.
    pub(super) fn subscript(&mut self, within: Within) -> Option<()> {
        let (mut inner, quotes) = (Word::default(), within.quotes());
        let mut n_open = 1_usize;
        let whole = self.rest;
        while n_open > 0 {
            let before = self.rest;
            let c = self.next()?;
            match c {
                c if within.may_end_at(c) => return None,
                '[' => n_open += 1,
                ']' => n_open -= 1,
                '\'' if quotes == Quotes::None => self.rest = self.rest.split_once('\'')?.1,
                '"' => self.inside(|lexer| lexer.double_quotes(&mut inner))?,
                '$' => self.dollar(&mut inner, quotes)?,
                '`' => self.backquotes(&mut inner, quotes)?,
                _ => {}
            }
            if may_hide_code(c, self.since(before)) {
                return None;
            }
        }
        let written = self.since(whole);
        self.found.told.has_numbers |= written.contains(may_be_variable);
        // What a variable in it holds is read once more by some.
        if within == Within::Word || written.contains('[') {
            self.found.told.literals.see_bracket();
        }
        Some(())
    }
}

/// Whether bash may find code in what begins with that letter, and is no code before.
pub(super) fn may_hide_code(first: char, written: &str) -> bool {
    match first {
        '\\' => true,
        '\'' => written.contains(['$', '`']),
        '"' => written.contains('\\'),
        '$' => written.contains(['\'', '\\']),
        _ => false,
    }
}
