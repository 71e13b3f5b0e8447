//! The line, script or input that a shell runs, as its options say.
//!
//! The options are a closed list. With one that is not in it, or that only the shell around will
//! know, it cannot be told which word is the line, nor how that is read.

use super::lexer::is_of_name;
use super::{ANYTHING, CommandSearch, Word, is_changed, is_unseen_script};
use crate::name_list::names;

/// Options with which alone a shell only prints something about itself.
const INFO_OPTIONS: &[&str] = &["--help", "--version"];
/// Long options of bash, which may have one dash as well as two. To dash they are errors.
const LONG: &[&str] = names!(
    "debugger dump-po-strings dump-strings login noediting noprofile norc posix restricted \
     verbose"
);
/// The same, with a file in the next word.
const LONG_WITH_FILE: &[&str] = &["init-file", "rcfile"];
/// Letters of bash and dash. `-s` runs what comes in, with `-k` words of a command are variables,
/// and `-H` reads the line in another way.
const LETTERS: &str = "BCDEPTabcefhilmnprtuvx";
/// Letters that have a value each, in the next words.
const VALUED: [char; 2] = ['o', 'O'];
/// Shells that may have what follows an `o` in the same word as its value, and other letters.
const OTHERS: &[&str] = &["ash", "ksh", "mksh", "zsh"];
/// Letters of all of those.
const LETTERS_OF_OTHERS: &str = "cefilnuvx";
/// A value of `-o` that makes variables of words of a command.
const KEYWORD: &str = "keyword";

/// The place of a shell's line or script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScriptPlace {
    at: usize,
    is_line: bool,
}

impl CommandSearch {
    /// Looks into the words behind a shell.
    pub(super) fn shell(&mut self, program: &str, rest: &[Word], depth: usize) -> Option<()> {
        if matches!(rest, [word] if INFO_OPTIONS.contains(&word.text.as_str())) {
            return Some(());
        }
        let place = behind_options(program, rest)?;
        // Without one it runs what comes in.
        let line = rest.get(place.at)?;
        // It may be an option.
        if line.text.starts_with(ANYTHING) && (line.may_split || !line.text.contains('/')) {
            return None;
        }
        if !place.is_line {
            return (!is_unseen_script(line)).then_some(());
        }
        let depth = depth.checked_sub(1)?;
        match rest.get(place.at + 1) {
            // As some agents show it: the line without the quotes around it.
            Some(_) if !is_changed(line) => {
                self.words(rest.get(place.at..).unwrap_or_default(), depth)
            }
            _ if is_changed(line) => self.whole_line(line, depth),
            _ => self.line_in(line, depth),
        }
    }
}

fn behind_options(program: &str, rest: &[Word]) -> Option<ScriptPlace> {
    let is_other = OTHERS.contains(&program);
    let mut place = ScriptPlace { at: 0, is_line: false };
    while let Some(word) = rest.get(place.at).filter(|word| word.text.starts_with(['-', '+'])) {
        place.at += 1;
        if !is_known(word) {
            return None;
        }
        let flags = word.text.get(1..).unwrap_or_default();
        if ["-", "--"].contains(&word.text.as_str()) {
            break;
        }
        let long = flags.strip_prefix('-').unwrap_or(flags);
        if word.text.starts_with('-') && LONG.contains(&long) && !is_other {
            continue;
        }
        if word.text.starts_with('-') && LONG_WITH_FILE.contains(&long) && !is_other {
            let file = rest.get(place.at).filter(|file| is_known(file))?;
            if is_unseen_script(file) {
                return None;
            }
            place.at += 1;
            continue;
        }
        place.is_line |= flags.contains('c');
        place.at += n_values(flags, is_other)?;
        let values = rest.get(..place.at)?.iter().rev().take(n_values(flags, is_other)?);
        if !values.into_iter().all(is_name_of_option) {
            return None;
        }
    }
    Some(place)
}

/// How many of the next words are values of these letters; none if one of them is not known.
fn n_values(flags: &str, is_other: bool) -> Option<usize> {
    let letters = if is_other { LETTERS_OF_OTHERS } else { LETTERS };
    let plain = match is_other {
        true => flags.strip_suffix('o').unwrap_or(flags),
        false => flags,
    };
    let is_known = |c: char| letters.contains(c) || !is_other && VALUED.contains(&c);
    (!flags.is_empty() && plain.chars().all(is_known)).then(|| flags.matches(VALUED).count())
}

fn is_name_of_option(word: &Word) -> bool {
    is_known(word)
        && !word.text.is_empty()
        && word.text.chars().all(is_of_name)
        && word.text != KEYWORD
}

/// Whether a word is known in full.
fn is_known(word: &Word) -> bool {
    !word.may_split && !word.text.contains(ANYTHING)
}
