//! Variables and options of bash that a command names; some of them make code of plain text.

use super::{ANYTHING, Word};
use crate::name_list::names;

/// Builtins that make variables, or set those whose names they are given.
const NAMING: &[&str] =
    names!("declare export getopts local mapfile read readarray readonly typeset");
/// Of those, builtins that may set a part of a variable, also of one with an unknown name.
const NAMING_PARTS: [&str; 6] = ["declare", "local", "mapfile", "read", "readarray", "typeset"];
/// Variables that make bash run something else.
const ODD_NAMES: [&str; 8] =
    ["BASHOPTS", "BASH_ALIASES", "BASH_CMDS", "BASH_ENV", "BASH_FUNC_", "PS0", "PS4", "SHELLOPTS"];
/// Words before a builtin that change nothing about it.
const BEFORE_BUILTIN: [&str; 6] = ["!", "-p", "--", "builtin", "command", "time"];
/// Options of `read` and `mapfile` with a value that is no name.
const VALUED: [char; 11] = ['C', 'O', 'c', 'd', 'i', 'n', 'N', 'p', 's', 't', 'u'];

/// Whether a command sets a variable by an unknown name, or another name for one.
pub(super) fn names_variable(words: &[Word]) -> bool {
    let has = |texts: &[&str]| words.iter().any(|word| texts.contains(&word.text.as_str()));
    let is_unknown = |word: &Word| name_of(word).contains(ANYTHING);
    has(&["declare", "local", "typeset"]) && words.iter().any(|word| is_option(word, &['n']))
        || has(NAMING) && words.iter().any(is_unknown)
        || named_by_printf(words).is_some_and(|name| name.contains(ANYTHING))
}

/// Whether a command may set by an unknown name what makes bash run something else.
pub(super) fn may_set_code_name(words: &[Word]) -> bool {
    let is_before =
        |word: &&Word| word.text.contains('=') || BEFORE_BUILTIN.contains(&word.text.as_str());
    let n_before = words.iter().take_while(is_before).count();
    // `env B$x=1`; a shell has no such name.
    let sets = |word: &&Word| word.text.contains('=') && may_be_odd(name_of(word));
    if words.iter().skip_while(|word| word.text.contains('=')).any(|word| sets(&word)) {
        return true;
    }
    let Some((builtin, rest)) = words.get(n_before..).and_then(<[Word]>::split_first) else {
        return false;
    };
    let builtin = builtin.text.as_str();
    let is_value = |n: usize| {
        let before = n.checked_sub(1).and_then(|n| rest.get(n));
        before.is_some_and(|before| before.text.starts_with('-') && before.text.ends_with(VALUED))
    };
    // Another name for an unknown variable.
    let is_alias = |word: &Word| {
        !word.text.starts_with('-')
            && word.text.split_once('=').is_none_or(|(_, name)| name.contains(ANYTHING))
    };
    if ["declare", "local", "typeset"].contains(&builtin)
        && rest.iter().any(|word| is_option(word, &['n']))
        && rest.iter().any(is_alias)
    {
        return true;
    }
    let mut named = rest.iter().enumerate().map(|(n, word)| (is_value(n), name_of(word)));
    match builtin {
        "set" => has_unknown_option(rest),
        "shopt" => rest.iter().any(|word| word.text.contains(ANYTHING)),
        "printf" => {
            let is_named = rest.first().is_some_and(|option| option.text.starts_with("-v"));
            let name = named_by_printf(words);
            name.is_some_and(|name| is_named && is_unknown(name) || may_be_odd(name))
        }
        _ if NAMING_PARTS.contains(&builtin) => {
            named.any(|(is_value, name)| !is_value && (is_unknown(name) || may_be_odd(name)))
        }
        _ if NAMING.contains(&builtin) => named.any(|(_, name)| may_be_odd(name)),
        _ => false,
    }
}

/// `printf -v name`, or with the name in the same word.
pub(super) fn named_by_printf(words: &[Word]) -> Option<&str> {
    let at = words.iter().position(|word| word.text == "printf")?;
    let option = words.get(at + 1).filter(|one| one.is_unknown() || one.text.starts_with('-'))?;
    match option.text.strip_prefix('-').unwrap_or(&option.text) {
        "v" => words.get(at + 2).map(name_of),
        text if text.starts_with('v') => Some(name_of(option)),
        text if text.starts_with(ANYTHING) => words.get(at + 2).map(name_of),
        _ => None,
    }
}

/// Whether a word is an option with one of these letters, or may be.
pub(super) fn is_option(word: &Word, letters: &[char]) -> bool {
    let is_one = |c: char| letters.contains(&c) || c == ANYTHING;
    word.text.starts_with(['-', '+']) && word.text.contains(is_one)
        || word.text.starts_with(ANYTHING)
}

/// Whether one of the options of `set` is unknown.
fn has_unknown_option(rest: &[Word]) -> bool {
    let mut is_behind = false;
    for word in rest {
        let text = word.text.as_str();
        let is_option = text.starts_with(['-', '+', ANYTHING]);
        if text == "--" || !is_option && !is_behind {
            return false;
        }
        if text.contains(ANYTHING) {
            return true;
        }
        is_behind = is_option && text.ends_with('o');
    }
    false
}

/// The name of a variable before its value, with what stands in brackets behind it: a number, in
/// which there may be `+` and `=` as well.
fn name_of(word: &Word) -> &str {
    let text = word.text.strip_prefix("-v").unwrap_or(&word.text);
    let mut end = text.find(['=', '+', '[']).unwrap_or(text.len());
    if text.get(end..).is_some_and(|rest| rest.starts_with('[')) {
        end = text.rfind(']').unwrap_or(text.len());
    }
    text.get(..end).unwrap_or_default()
}

fn is_unknown(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c == ANYTHING)
}

/// Whether a name with unknown parts may be one of [`ODD_NAMES`].
fn may_be_odd(name: &str) -> bool {
    let name = name.split('[').next().unwrap_or_default();
    let mut parts = name.split(ANYTHING);
    let (Some(start), Some(end)) = (parts.next(), parts.next_back()) else { return false };
    let fits = |odd: &&str| {
        let Some(mut rest) = odd.strip_prefix(start) else { return false };
        for part in parts.clone() {
            let Some((_, behind)) = rest.split_once(part) else { return false };
            rest = behind;
        }
        *odd == "BASH_FUNC_" || rest.ends_with(end)
    };
    !is_unknown(name) && ODD_NAMES.iter().any(fits)
}
