//! Expansions of `$` and of backquotes: the commands in them are read, and what a shell makes of
//! the rest is not known.

use super::line_checks::{PATH, PATHS};
use super::numbers::{SubscriptPlace, may_be_variable, may_hide_code};
use super::{CommandsEnd, Lexer, Quotes, Word, is_of_name};

/// Characters between which a path is all of a word, or of a part of it that is no program.
const BEFORE_PATH: &str = " \t\n;&|(:,/";
const BEHIND_PATH: &str = " \t\n;&|):,/";

/// Special parameters, before what `${x:1}` has behind its name.
const SPECIAL: [&str; 6] = ["@:", "*:", "?:", "$:", "-:", "!:"];
/// Operators behind a parameter's name with a value behind them, and no number.
const BEFORE_VALUE: [&str; 4] = [":-", ":=", ":?", ":+"];
/// Characters that may make code of a text, if they are written as numbers.
const CODE: [u32; 4] = ['$' as u32, '`' as u32, '(' as u32, '[' as u32];

impl Lexer<'_> {
    /// Reads what follows a `$`.
    pub(super) fn dollar(&mut self, word: &mut Word, quotes: Quotes) -> Option<()> {
        match self.peek() {
            Some('(') if self.is_at("((") => {
                return self.in_value(|lexer| lexer.numbers(word, quotes));
            }
            Some('(') => return self.substitution(word, quotes),
            Some('{') => {
                if self.has_paths && PATHS.iter().any(|name| self.skip(&format!("{{{name}}}"))) {
                    self.path(word, quotes);
                    return Some(());
                }
                let before = self.rest;
                self.next();
                // `${ command; }` of bash 5.3 and ksh, which no parameter begins with.
                if self.rest.starts_with([' ', '\t', '\n', '|', '(']) {
                    return None;
                }
                self.in_value(|lexer| lexer.parameter(quotes))?;
                // `"${a[@]}"`, and `"${!x}"` if that is what `x` says.
                let is_list = self.since(before).contains(['@', '!']);
                word.may_split |= is_list;
                word.is_open |= is_list;
            }
            Some('\'') if quotes == Quotes::None => {
                self.next();
                return self.escapes(word);
            }
            // Numbers, as they were written long ago.
            Some('[') => return None,
            Some('"') if quotes == Quotes::None => return Some(()),
            Some(c) if c.is_ascii_digit() => drop(self.next()),
            Some(c) if is_of_name(c) => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|c| is_of_name(*c)) {
                    name.push(c);
                    self.next();
                }
                if self.has_paths && PATHS.contains(&name.as_str()) {
                    self.path(word, quotes);
                    return Some(());
                }
            }
            Some(c @ ('@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
                self.next();
                word.may_split |= c == '@';
                word.is_open |= c == '@';
            }
            _ => {
                word.text.push('$');
                return Some(());
            }
        }
        word.unknown(quotes);
        Some(())
    }

    /// Adds a variable that holds a path, behind its name. What is joined to it may be all that
    /// there is: the variable may not be set.
    fn path(&self, word: &mut Word, quotes: Quotes) {
        let mut behind = Lexer { rest: self.rest, ..Lexer::default() };
        if quotes == Quotes::Double {
            behind.skip("\"");
        }
        let is_whole = word.text.chars().next_back().is_none_or(|c| BEFORE_PATH.contains(c))
            && behind.peek().is_none_or(|c| BEHIND_PATH.contains(c));
        match is_whole {
            true => word.text.push_str(PATH),
            false => word.unknown(Quotes::Double),
        }
    }

    /// `$'…'`, behind the quote.
    pub(super) fn escapes(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.raw()? {
                '\'' => return Some(()),
                '\\' => match self.raw()? {
                    // The end of it, to dash.
                    '\'' => return None,
                    'n' => word.text.push('\n'),
                    't' => word.text.push('\t'),
                    'r' => word.text.push('\r'),
                    c @ ('\\' | '"' | '?') => word.text.push(c),
                    // Letters written as numbers.
                    c => {
                        self.number(c)?;
                        word.unknown(Quotes::Double);
                    }
                },
                c => word.text.push(c),
            }
        }
    }

    /// Reads an escape in `$'…'`, behind its first letter.
    fn number(&mut self, first: char) -> Option<()> {
        let (radix, n_digits, start) = match first {
            '0'..='7' => (8, 2, first.to_digit(8)?),
            'x' => (16, 2, 0),
            'u' => (16, 4, 0),
            'U' => (16, 8, 0),
            // Any letter, with a key held down.
            'c' => return self.raw().filter(|c| !matches!(c, '\'' | '\\')).map(drop),
            _ => return Some(()),
        };
        if self.rest.starts_with('{') {
            return None;
        }
        let mut value: u32 = start;
        for _ in 0..n_digits {
            let digit = self.rest.chars().next().and_then(|c| c.to_digit(radix));
            let Some(digit) = digit else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            self.raw();
        }
        (!CODE.contains(&value) && !CODE.contains(&(value & 0xff))).then_some(())
    }

    /// `$(…)`, `<(…)` or `>(…)`, at the parenthesis.
    pub(super) fn substitution(&mut self, word: &mut Word, quotes: Quotes) -> Option<()> {
        // To bash what ends it is what would end numbers: there are no comments in it.
        if self.is_at("((") {
            return None;
        }
        self.next();
        // Here-documents of what is around it are not in it.
        let awaited = std::mem::take(&mut self.awaited);
        let is_in_value = std::mem::take(&mut self.is_in_value);
        self.inside(|lexer| lexer.commands(CommandsEnd::Parenthesis))?;
        self.is_in_value = is_in_value;
        // One that is still to come is in it to bash, and not to dash.
        if !self.awaited.is_empty() {
            return None;
        }
        self.awaited = awaited;
        word.unknown(quotes);
        Some(())
    }

    /// `${…}`, behind the brace; commands may be in it.
    pub(super) fn parameter(&mut self, quotes: Quotes) -> Option<()> {
        let mut inner = Word::default();
        let is_named_by_value = self.peek() == Some('!');
        if matches!(self.peek(), Some('!' | '#')) {
            self.next();
        }
        while self.peek().is_some_and(is_of_name) {
            self.next();
        }
        // A list of names; else bash works out what is in brackets in the value.
        let is_list = ["[@]}", "[*]}", "@}", "*}"].iter().any(|list| self.is_at(list));
        self.found.reread_risk.has_names |= is_named_by_value && !is_list;
        self.found.reread_risk.has_numbers |= is_named_by_value && !is_list;
        if self.skip("[") {
            self.inside(|lexer| lexer.subscript(SubscriptPlace::Parameter(quotes)))?;
        }
        if SPECIAL.iter().any(|special| self.is_at(special)) {
            self.next();
        }
        // `${x:1}`, in which there are no quotes.
        let is_number = self.is_at(":") && !BEFORE_VALUE.iter().any(|start| self.is_at(start));
        loop {
            let before = self.rest;
            let c = self.next()?;
            match c {
                '}' => break,
                '\\' => inner.text.push(self.raw()?),
                '<' | '>' if self.peek() == Some('(') => self.substitution(&mut inner, quotes)?,
                '\'' if quotes == Quotes::None => self.single_quotes(&mut inner)?,
                // A quote or a letter: that rests on the shell, and on what comes before.
                '\'' => return None,
                '"' => self.inside(|lexer| lexer.double_quotes(&mut inner))?,
                '$' => self.dollar(&mut inner, quotes)?,
                '`' => self.backquotes(&mut inner, quotes)?,
                // A value that somebody may take for a command is not reported as one.
                c => inner.text.push(c),
            }
            if is_number {
                self.found.reread_risk.has_numbers |= may_be_variable(c);
                if c == '[' {
                    self.found.reread_risk.literals.see_bracket();
                }
                if may_hide_code(c, self.since(before)) {
                    return None;
                }
            }
        }
        self.found.reread_risk.literals.see(&inner.text);
        Some(())
    }

    /// Reads backquotes, behind the first. In a value, numbers or a here-document it rests on the
    /// shell whether `\"` in it is a quote or a letter: both readings are kept.
    pub(super) fn backquotes(&mut self, word: &mut Word, quotes: Quotes) -> Option<()> {
        // With such a quote as a letter, and as a quote.
        let (mut line, mut quoted) = (String::new(), String::new());
        loop {
            let before = self.rest;
            let (as_letter, as_quote) = match self.raw()? {
                '`' => break,
                '\\' => {
                    let c = self.raw()?;
                    let written = self.since(before);
                    let bare = written.get(1..).unwrap_or_default();
                    match c {
                        '`' | '\\' | '$' => (bare, bare),
                        '"' => (written, bare),
                        _ => (written, written),
                    }
                }
                _ => (self.since(before), self.since(before)),
            };
            line.push_str(as_letter);
            quoted.push_str(as_quote);
        }
        let is_uncertain = self.is_in_value || self.has_false_value;
        let is_either = is_uncertain && line != quoted;
        if is_either || quotes == Quotes::None {
            self.found.lines.push(line);
        }
        if is_either || quotes == Quotes::Double {
            self.found.lines.push(quoted);
        }
        word.unknown(quotes);
        Some(())
    }
}
