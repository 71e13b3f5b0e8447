//! Numbers that a shell works out: `$((…))`.
//!
//! What ends them and what is in them is told where every shell agrees: there are no quotes in
//! them, which are none to dash, and two parentheses end them at once. Else bash takes them for a
//! subshell in a substitution, and dash reads on. Commands are only in substitutions then.

use super::{Lexer, Quotes, Word};

impl Lexer<'_> {
    /// `$((…))`, at the parentheses.
    pub(super) fn numbers(&mut self, word: &mut Word, quotes: Quotes) -> Option<()> {
        self.skip("((");
        let (mut inner, mut n_open) = (Word::default(), 0_usize);
        loop {
            let before = self.rest;
            match self.next()? {
                '(' => n_open += 1,
                ')' if n_open > 0 => n_open -= 1,
                ')' => match self.next()? {
                    ')' => break,
                    _ => return None,
                },
                '\'' | '"' | '\\' => return None,
                '\n' if !self.awaited.is_empty() => return None,
                '<' | '>' if self.peek() == Some('(') => return None,
                '[' => self.index()?,
                c @ ('$' | '`') => {
                    match c {
                        '$' if self.peek() == Some('[') => return None,
                        '$' => self.dollar(&mut inner, Quotes::Double)?,
                        _ => self.backquotes(&mut inner, Quotes::Double)?,
                    }
                    if may_end_numbers(self.since(before)) {
                        return None;
                    }
                    self.found.has_numbers = true;
                }
                c => self.found.has_numbers |= c.is_ascii_alphabetic() || c == '_',
            }
        }
        word.unknown(quotes);
        Some(())
    }

    /// `a[1]` among numbers, behind the bracket. What is in it is read twice.
    fn index(&mut self) -> Option<()> {
        let (index, rest) = self.rest.split_once(']')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_+-*/% $".contains(c);
        self.rest = rest;
        self.found.has_numbers = true;
        index.chars().all(is_plain).then_some(())
    }
}

/// Whether bash may count parentheses in such an expansion as those of what it stands in.
fn may_end_numbers(written: &str) -> bool {
    let written = written.replace("\\\n", "");
    match written.strip_prefix("$(") {
        // Numbers in numbers.
        Some(inner) if inner.starts_with('(') => false,
        Some(inner) => inner.matches(['(', ')']).count() > 1,
        None => written.contains(['(', ')', '\'', '"', '\\']),
    }
}
