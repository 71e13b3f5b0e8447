//! Texts in the words of a line that are code to a bash that reads them once more: as a number, as
//! the name of a variable or as a prompt.
//!
//! In numbers and names it is code only behind a bracket, as in `b[ $(x)]`. A line may put that
//! together out of several texts, so all of them are looked at.

use super::ANYTHING;
use super::line_checks::has_code_names;

/// Reasons for bash to read a text once more, and the code that it may find there.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct RereadRisk {
    /// Variables are worked out as numbers, for which bash runs code that is in their values.
    pub(in super::super) has_numbers: bool,
    /// A variable is set whose name is unknown.
    pub(super) has_names: bool,
    pub(in super::super) literals: Literals,
}

impl RereadRisk {
    pub(in super::super) fn join(&mut self, other: Self) {
        self.has_numbers |= other.has_numbers;
        self.has_names |= other.has_names;
        self.literals.join(other.literals);
    }

    /// Whether a part of an array may be set whose name is unknown.
    pub(in super::super) fn may_name_element(&self) -> bool {
        self.has_names || self.has_numbers && self.literals.has_bracket()
    }

    /// Whether bash may run a text of the line that is no command in it.
    pub(in super::super) fn may_run_text(&self) -> bool {
        self.may_name_element() && self.literals.has_code()
    }
}

/// Texts that may be code, or parts of it.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Literals {
    texts: Vec<String>,
    /// One of them names a variable or option with which bash takes text for code.
    is_odd: bool,
}

impl Literals {
    pub(super) fn see(&mut self, text: &str) {
        self.is_odd |= has_code_names(text);
        self.see_document(text);
    }

    /// The same for a text that names nothing.
    pub(super) fn see_document(&mut self, text: &str) {
        let is_test = ["[", "[["].contains(&text);
        if text.contains(['$', '`', '[', '(', '\\', '%']) && !is_test {
            self.texts.push(text.to_owned());
        }
    }

    /// A word that is `[` and begins no test.
    pub(super) fn see_bracket(&mut self) {
        self.texts.push("[".to_owned());
    }

    /// Notes a bracket that may begin a pattern, or stand before what a variable holds.
    pub(super) fn see_pattern(&mut self, rest: &str) {
        let within = rest.split(']').next().unwrap_or_default();
        if within.contains(['$', '`']) {
            self.see_bracket();
        }
    }

    pub(in super::super) fn join(&mut self, mut other: Self) {
        self.texts.append(&mut other.texts);
        self.is_odd |= other.is_odd;
    }

    pub(super) fn is_odd(&self) -> bool {
        self.is_odd
    }

    /// Forgets texts that were looked into as lines.
    pub(in super::super) fn forget(&mut self, is_line: impl Fn(&str) -> bool) {
        self.texts.retain(|text| !is_line(text));
    }

    pub(in super::super) fn has_code(&self) -> bool {
        let any = |is_it: fn(&str) -> bool| self.texts.iter().any(|text| is_it(text));
        let begins = |text: &str| {
            text.ends_with('$')
                || text.split('$').skip(1).any(|rest| rest.starts_with([ANYTHING, '%']))
        };
        any(is_code) || any(begins) && any(|text| text.contains('('))
    }

    pub(in super::super) fn has_bracket(&self) -> bool {
        // Letters may be written as numbers, too.
        let is_number = |c: char| c.is_ascii_digit() || "xuU".contains(c);
        let has_number =
            |text: &str| text.split('\\').skip(1).any(|rest| rest.starts_with(is_number));
        let has = |text: &String| text.contains('[') || text.contains("%c") || has_number(text);
        self.texts.iter().any(has)
    }
}

/// Whether a text is code to a shell that reads it once more.
pub(super) fn is_code(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}
