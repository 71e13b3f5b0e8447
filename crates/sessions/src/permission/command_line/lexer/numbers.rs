//! Numbers that a shell works out: `$((…))`, and what else bash takes for one.
//!
//! Their end and their content are known where every shell agrees: there are no quotes in
//! them, which are none to dash, and two parentheses end them at once. Else bash takes them for a
//! subshell in a substitution, and dash reads on. Commands are only in substitutions then.
//!
//! What stands in brackets behind a name is a number as well, and bash reads once more what it has
//! read there. In `a['$(x)']` the quotes are none to bash the second time, and `x` is run. So what
//! is hidden by quotes cannot be told, unless nothing of it can be code.

use super::names::{is_option, named_by_printf};
use super::{ANYTHING, Lexer, Quotes, Word};

/// Variables that are numbers to bash.
const NUMBERS: [&str; 6] = ["BASHPID", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS"];
/// Operators that compare numbers.
const COMPARING: [&str; 6] = ["-eq", "-ge", "-gt", "-le", "-lt", "-ne"];

/// The place of a subscript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptPlace {
    /// `a[1]=x`, `([1]=x)`
    Word,
    /// `${a[1]}`
    Parameter(Quotes),
}

impl SubscriptPlace {
    fn quotes(self) -> Quotes {
        match self {
            Self::Word => Quotes::None,
            Self::Parameter(quotes) => quotes,
        }
    }

    /// Whether a character may end what the subscript stands in, to some shell.
    fn may_end_at(self, c: char) -> bool {
        match self {
            Self::Word => " \t\n;&|()<>".contains(c),
            Self::Parameter(_) => c == '}',
        }
    }
}

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
                    self.found.reread_risk.has_numbers = true;
                }
                c => self.found.reread_risk.has_numbers |= may_be_variable(c),
            }
        }
        word.unknown(quotes);
        Some(())
    }

    /// `[…]`, behind the bracket.
    pub(super) fn subscript(&mut self, within: SubscriptPlace) -> Option<()> {
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
                '\'' if quotes == Quotes::None => self.single_quotes(&mut inner)?,
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
        self.found.reread_risk.has_numbers |= written.contains(may_be_variable);
        // What a variable in it holds is read once more by some.
        if within == SubscriptPlace::Word || written.contains('[') {
            self.found.reread_risk.literals.see_bracket();
        }
        Some(())
    }

    /// `a[1]` among numbers, behind the bracket. What is in it is read twice.
    fn index(&mut self) -> Option<()> {
        let (index, rest) = self.rest.split_once(']')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_+-*/% $".contains(c);
        self.rest = rest;
        self.found.reread_risk.has_numbers = true;
        self.found.reread_risk.literals.see_bracket();
        index.chars().all(is_plain).then_some(())
    }
}

/// Whether bash may find code in a text that begins with `first` and was no code before.
pub(super) fn may_hide_code(first: char, written: &str) -> bool {
    match first {
        '\\' => true,
        '\'' => written.contains(['$', '`']),
        '"' => written.contains('\\'),
        '$' => written.contains(['\'', '\\']),
        _ => false,
    }
}

/// Whether a variable may begin with a character; its value is worked out as well.
pub(super) fn may_be_variable(c: char) -> bool {
    c.is_ascii_alphabetic() || "_$`".contains(c)
}

/// Whether a line may set a variable that bash takes for a number, whatever its value.
pub(super) fn names_number(source: &str) -> bool {
    NUMBERS.iter().any(|name| source.contains(name))
}

/// Whether bash works out what is in the value of a variable for that command: a number, or what
/// stands in brackets behind a name.
pub(super) fn works_out(words: &[Word]) -> bool {
    let has = |texts: &[&str]| words.iter().any(|word| texts.contains(&word.text.as_str()));
    let has_option = |letters: &[char]| words.iter().any(|word| is_option(word, letters));
    let is_unknown = |word: &Word| word.text.contains(ANYTHING);
    // `[ $x "$y" ]`, of which the first may be `-v`.
    let tests = |words: &[Word]| match words {
        [first, second] if first.is_unknown() => first.may_split || is_unknown(second),
        [first, ..] => first.text.starts_with("-v") || is_option(first, &[]) && first.may_split,
        _ => false,
    };
    let tests_any = || words.windows(2).any(tests) || words.last().is_some_and(|w| w.may_split);
    has(&["let"])
        || has(&["declare", "local", "typeset"]) && has_option(&['i'])
        || has(&["[", "[[", "test"]) && tests_any()
        || has(&["wait"]) && has_option(&['p'])
        || has(&["unset"]) && words.iter().any(is_unknown)
        || named_by_printf(words).is_some()
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
