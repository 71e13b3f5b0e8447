//! Programs that run the value of one of their options, or have options that begin a command.
//!
//! In: their words. Out: whether one of them may be such an option, or such a value, that only the
//! shell knows. Words behind `--` are no options.

use super::programs::{FIND_ACTIONS, has_value_behind, row};
use super::{ANYTHING, Word, is_flag};
use crate::name_list::names;

/// Builtins all of whose words are for bash, which looks for code in some of them.
const LITERAL: &[&str] = &["bind", "compgen", "complete"];
/// Programs of which any word before `--` may be an option that runs something.
const OPTIONED: &[&str] = &["cargo-watch", "chokidar", "fd", "fdfind", "nodemon", "rebase"];
/// Programs whose command follows a word that may stand anywhere before it.
const ANNOUNCING: &[&str] = &["mpiexec", "mpirun", "onchange", "reflex", "start-stop-daemon"];
/// Subcommands of `ip` that run others; they may be shortened.
const GROUPS_OF_IP: &[&str] = &["netns", "vrf"];
/// Programs whose words are lines, other than the values of options with these letters.
const TERMINALS: &[(&str, &[char])] =
    &[("screen", &['S', 'p', 'r', 'x']), ("tmux", &['L', 'S', 't', 'x', 'y'])];
/// Options of `mapfile` that have a value. It has one that has none.
const VALUED_OF_MAPFILE: &str = "COcdnsu";
/// Options of `split` that have one.
const VALUED_OF_SPLIT: &str = "Cablnt";
const FLAGS_OF_SPLIT: &str = "0123456789deux";
/// Options of `split` with a value in the next word, if there is none in the same.
const LONG_OF_SPLIT: &[&str] =
    names!("additional-suffix bytes filter line-bytes lines number separator suffix-length");

/// Whether the words hide what such a program runs.
pub(super) fn hides_command(program: &str, rest: &[Word]) -> bool {
    let n_before = rest.iter().take_while(|word| word.text != "--").count();
    let (before, behind) = rest.split_at(n_before);
    match program {
        "find" => {
            rest.iter().any(|word| word.makes_options || word.is_open || may_list_action(word))
        }
        "bind" if rest.iter().any(|word| is_flag(word, 'x')) => true,
        "mapfile" | "readarray" => mapfile_hides(rest),
        "split" => split_hides(before) || before.iter().any(|word| word.is_open),
        "docker" | "nerdctl" | "podman" => exec_hides(program, rest),
        "ip" => {
            let is_group = |text: &str| GROUPS_OF_IP.iter().any(|group| group.starts_with(text));
            let is_told =
                |word: &Word| !is_group(&word.text) && !word.text.starts_with(['-', ANYTHING]);
            rest.iter().any(|word| word.is_open) && !rest.first().is_some_and(is_told)
        }
        _ if ANNOUNCING.contains(&program) => before.iter().any(|word| word.is_open),
        _ if LITERAL.contains(&program) => {
            before.iter().any(is_unknown) || behind.iter().any(|word| word.is_open)
        }
        _ if OPTIONED.contains(&program) => before.iter().any(may_be_option),
        _ => row(TERMINALS, program).is_some_and(|letters| lines_hide(rest, letters)),
    }
}

/// Whether the command of `docker exec container command` is unknown.
fn exec_hides(program: &str, rest: &[Word]) -> bool {
    let Some((_, words)) = rest.split_first().filter(|(first, _)| first.text == "exec") else {
        return false;
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.text.starts_with('-') {
            true if has_value_behind(program, &word.text) => drop(words.next()),
            true => {}
            // Behind the container.
            false => return words.next().is_some_and(|word| word.text.starts_with(ANYTHING)),
        }
    }
    false
}

fn is_unknown(word: &Word) -> bool {
    word.text.contains(ANYTHING)
}

/// Whether a word may be an option that is not seen, or several words.
fn may_be_option(word: &Word) -> bool {
    let (start, _) = word.text.split_once(ANYTHING).unwrap_or(("=", ""));
    let has_name = !start.starts_with('-') || start.contains('=');
    word.is_open || word.makes_options || start.is_empty() || !has_name
}

/// Whether a pattern may match files that are called as an action is, and what follows it.
fn may_list_action(word: &Word) -> bool {
    let Some((start, rest)) = word.text.split_once(ANYTHING) else { return false };
    let end = rest.rsplit(ANYTHING).next().unwrap_or_default();
    let is_one = |action: &&str| {
        action.starts_with(start)
            && action.ends_with(end)
            && action.len() >= start.len() + end.len()
    };
    word.is_pattern && FIND_ACTIONS.iter().any(is_one)
}

/// Whether the value of `mapfile -C` is unknown, or may be in an unknown word.
fn mapfile_hides(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.text.strip_prefix('-').filter(|_| word.text != "--") else {
            return word.is_open || word.text.starts_with(ANYTHING);
        };
        let valued = letters.char_indices().find(|(_, c)| VALUED_OF_MAPFILE.contains(*c));
        let (at, is_line) = valued.map_or((letters.len(), false), |(at, c)| (at, c == 'C'));
        let (flags, value) = letters.split_at(at);
        // What is joined to the letter is the value, if it is anything.
        let attached = value.get(1..).unwrap_or_default();
        let next = match valued {
            Some(_) if attached.is_empty() => words.next(),
            _ => None,
        };
        let is_hidden = |word: &Word| word.may_split || is_line && is_unknown(word);
        if flags.chars().any(|c| c != 't') || is_unknown(word) || next.is_some_and(is_hidden) {
            return true;
        }
    }
    false
}

/// Whether one of the options of `split` is unknown. They may stand behind operands.
fn split_hides(before: &[Word]) -> bool {
    let mut words = before.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            if word.text.starts_with(ANYTHING) {
                return true;
            }
            continue;
        };
        if let Some(long) = option.strip_prefix('-') {
            let name = long.split('=').next().unwrap_or_default();
            let value = match name == long && LONG_OF_SPLIT.contains(&name) {
                true => words.next(),
                false => Some(word),
            };
            let is_filter = "filter".starts_with(name);
            if name.contains(ANYTHING) || is_filter && value.is_some_and(is_unknown) {
                return true;
            }
            continue;
        }
        let valued = option.find(|c| VALUED_OF_SPLIT.contains(c)).unwrap_or(option.len());
        let (flags, value) = option.split_at(valued);
        let is_known = flags.chars().all(|c| FLAGS_OF_SPLIT.contains(c));
        if !is_known || value.get(1..).is_some_and(|value| value.starts_with(ANYTHING)) {
            return true;
        }
        if value.len() == 1 {
            words.next();
        }
    }
    false
}

/// Whether an unknown word may be a line.
fn lines_hide(rest: &[Word], letters: &[char]) -> bool {
    let is_value = |n: usize| {
        let before = n.checked_sub(1).and_then(|n| rest.get(n));
        before.is_some_and(|before| is_option(before) && before.text.ends_with(letters))
    };
    let is_hidden = |(n, word): (usize, &Word)| {
        // tmux runs what is in such parentheses wherever it stands.
        word.text.contains("#(") || is_unknown(word) && (word.is_open || !is_value(n))
    };
    rest.iter().enumerate().any(is_hidden)
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with('-') && !word.text.starts_with("--") && !is_unknown(word)
}
