//! Variables that make programs run something, and arrays of bash.
//!
//! Bash reads a text in parentheses once more where an array is declared by it:
//! `declare -a z="$y"` runs the commands in `y` if that begins with a parenthesis, and so does
//! `declare z="$y"` if `z` is an array already. `z=("$y")` and `z="$y"` do not.

use std::collections::BTreeSet;

use super::lexer::names_element;
use super::packages::{NpmSetting, setting_of_npm};
use super::programs::LINE_VARIABLES;
use super::{ANYTHING, Word, is_setting, setting};
use crate::name_list::names;

/// Builtins that may read what is in parentheses once more.
const DECLARING: &[&str] = &["declare", "local", "typeset"];
/// The same, with an option for arrays.
const MARKING: &[&str] = &["export", "readonly"];
const READING: &[&str] = &["mapfile", "readarray"];
/// Arrays that bash makes, by name or prefix.
const OWN: &[&str] =
    names!("BASH_ COMPREPLY COMP_WORDS COPROC DIRSTACK FUNCNAME GROUPS MAPFILE PIPESTATUS");

/// Whether a variable may make git run something; that a directory of files is no repository,
/// as the built-in agent has it, does not.
pub(super) fn may_configure_git(name: &str, value: &str) -> bool {
    // The directory of git's own commands.
    if name.starts_with("GIT_EXEC_PATH") {
        return true;
    }
    let Some(which) = name.strip_prefix("GIT_CONFIG_") else { return false };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let is_harmless = match which.split_once('_') {
        None => which == "COUNT" && is_number(value),
        Some(("KEY", number)) => is_number(number) && value == "safe.bareRepository",
        Some(("VALUE", number)) => is_number(number) && value == "explicit",
        Some(_) => false,
    };
    !is_harmless
}

/// Whether a word sets such a variable for what comes after.
pub(super) fn configures_git(word: &Word) -> bool {
    let name = word.text.split(['=', '+']).next().unwrap_or_default();
    let value = word.text.split_once('=').map_or("", |(_, value)| value);
    may_configure_git(name, value)
}

/// Whether a word names a variable by whose unknown value other programs run something.
pub(super) fn is_read_by_others(word: &Word) -> bool {
    let name = word.text.strip_prefix("-v").unwrap_or(&word.text);
    let is_told = ["ENV", "PS0", "PS4"].contains(&name)
        || is_line_variable(name)
        || setting_of_npm(name, "") != NpmSetting::Other;
    is_told && is_setting(&format!("{name}=")) || may_configure_git(name, "")
}

/// Whether other programs run the value of a variable, or an element of it.
pub(super) fn is_line_variable(name: &str) -> bool {
    let name = name.split(['+', '[', ANYTHING]).next().unwrap_or_default();
    LINE_VARIABLES.iter().any(|end| name.ends_with(end))
}

/// Arrays of a line, and what it sets that may be one.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    made: BTreeSet<String>,
    /// Variables set to a text that may be in parentheses, and that are no array by that.
    assigned_texts: BTreeSet<String>,
    /// An array is made whose name is unknown.
    has_any: bool,
}

impl Arrays {
    /// `z=(…)` before a command, or as one.
    pub(super) fn see_setting(&mut self, word: &Word) {
        if word.is_array {
            self.make(word);
        }
    }

    /// Notes a command; none if it may read a text once more.
    pub(super) fn see(&mut self, program: &str, rest: &[Word]) -> Option<()> {
        let has = |letters: &[char]| rest.iter().any(|word| has_letter(word, letters));
        let is_declaring = DECLARING.contains(&program);
        let is_array = has(&['a', 'A']);
        // Another name for a variable.
        self.has_any |= is_declaring && has(&['n']);
        if READING.contains(&program) || program == "read" && is_array {
            rest.iter().filter(|word| !word.is_unknown()).for_each(|word| self.make(word));
        }
        if !(is_declaring || MARKING.contains(&program) && is_array) {
            return Some(());
        }
        for word in rest {
            if is_array || word.is_array {
                self.make(word);
            }
            let Some((_, value)) = setting(word).filter(|_| is_setting(&word.text)) else {
                continue;
            };
            if word.is_array || !value.text.starts_with(['(', ANYTHING]) {
                continue;
            }
            if is_array || is_own(name_of(word)) {
                return None;
            }
            self.assigned_texts.insert(name_of(word).to_owned());
        }
        Some(())
    }

    /// Whether a line may set an array to a text.
    pub(super) fn may_read_text(&self, line: &str, names_any: bool) -> bool {
        let has_any = self.has_any || names_any || line.contains("coproc");
        let is_array = |name: &String| {
            has_any
                || self.made.contains(name)
                || name.contains(ANYTHING) && !self.made.is_empty()
                || names_element(line, name)
        };
        self.assigned_texts.iter().any(is_array)
    }

    fn make(&mut self, word: &Word) {
        let name = name_of(word);
        self.has_any |= name.contains(ANYTHING);
        self.made.insert(name.to_owned());
        // `-aname`
        if let Some((_, name)) = name.split_once('a').filter(|_| name.starts_with('-')) {
            self.made.insert(name.to_owned());
        }
    }
}

fn has_letter(word: &Word, letters: &[char]) -> bool {
    let is_one = |c: char| letters.contains(&c) || c == ANYTHING;
    word.text.starts_with(['-', '+']) && word.text.contains(is_one)
}

fn is_own(name: &str) -> bool {
    match name.split_once(ANYTHING) {
        Some((start, _)) => OWN.iter().any(|own| own.starts_with(start) || start.starts_with(own)),
        None => OWN.iter().any(|own| name.starts_with(own)),
    }
}

/// The name before the value, without a `+` or what is in brackets.
fn name_of(word: &Word) -> &str {
    let end = word.text.find(['=', '+', '[']).unwrap_or(word.text.len());
    word.text.get(..end).unwrap_or_default()
}
