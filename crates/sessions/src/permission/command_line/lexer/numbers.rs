//! Numbers that a shell works out: `$((…))`, and what else bash takes for one.
//!
//! What ends them and what is in them is told where every shell agrees: there are no quotes in
//! them, which are none to dash, and two parentheses end them at once. Else bash takes them for a
//! subshell in a substitution, and dash reads on. Commands are only in substitutions then.

use super::{ANYTHING, Lexer, Quotes, Word};

/// Variables that are numbers to bash.
const NUMBERS: [&str; 6] = ["BASHPID", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS"];
/// Builtins that make variables, or set those that they are told by name.
const NAMING: [&str; 7] = ["declare", "export", "local", "read", "readonly", "typeset", "unset"];
/// They compare numbers.
const COMPARING: [&str; 6] = ["-eq", "-ge", "-gt", "-le", "-lt", "-ne"];

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
                c => self.found.has_numbers |= may_be_variable(c),
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

/// Whether a variable may begin with it, the value of which is worked out as well.
pub(super) fn may_be_variable(c: char) -> bool {
    c.is_ascii_alphabetic() || "_$`".contains(c)
}

/// Whether a line sets a variable that bash takes for a number, whatever it is told.
pub(super) fn names_number(source: &str) -> bool {
    NUMBERS.iter().any(|name| source.contains(name))
}

/// Whether bash works out what is in the value of a variable for that command: a number, or what
/// stands in brackets behind a name.
pub(super) fn works_out(words: &[Word]) -> bool {
    let is = |word: &Word, texts: &[&str]| texts.contains(&word.text.as_str());
    let has = |texts: &[&str]| words.iter().any(|word| is(word, texts));
    // `-i` is a number, `-n` another name for a variable.
    let makes = |word: &Word| word.text.starts_with(['-', '+']) && word.text.contains(['i', 'n']);
    let is_unknown = |word: &Word| word.text.starts_with(ANYTHING);
    let names_variable = |word: &Word| word.text.starts_with("-v") || word.text.starts_with("-p");
    has(&["let"])
        || has(&["declare", "local", "typeset"]) && words.iter().any(makes)
        || has(&NAMING) && words.iter().any(is_unknown)
        || has(&["[", "[[", "printf", "test", "wait"]) && words.iter().any(names_variable)
        || has(&COMPARING) && has(&["[[", "]]"])
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
