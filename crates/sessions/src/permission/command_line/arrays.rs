//! Arrays of bash: what one is told as a text in parentheses, bash reads once more.
//!
//! `declare -a z="$y"` runs the commands in `y` if that begins with a parenthesis, and so does
//! `declare z="$y"` if `z` is an array already. `z=("$y")` and `z="$y"` do not.

use std::collections::BTreeSet;

use super::lexer::names_element;
use super::{ANYTHING, Word, is_setting, setting};
use crate::name_list::names;

/// They may read what is in parentheses once more.
const DECLARING: &[&str] = &["declare", "local", "typeset"];
/// The same, with an option for arrays.
const MARKING: &[&str] = &["export", "readonly"];
const READING: &[&str] = &["mapfile", "readarray"];
/// Arrays that bash makes; so others begin, or that is all.
const OWN: &[&str] =
    names!("BASH_ COMPREPLY COMP_WORDS COPROC DIRSTACK FUNCNAME GROUPS MAPFILE PIPESTATUS");

/// What a line does to arrays.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    made: BTreeSet<String>,
    /// What is set to a text that may be in parentheses, and is no array by that.
    told: BTreeSet<String>,
    /// One is made the name of which is not told.
    has_any: bool,
}

impl Arrays {
    /// `z=(…)` before a command, or as one.
    pub(super) fn see_setting(&mut self, word: &Word) {
        if word.is_array {
            self.make(word);
        }
    }

    /// A command; none if it may read a text once more.
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
            self.told.insert(name_of(word).to_owned());
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
        self.told.iter().any(is_array)
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
