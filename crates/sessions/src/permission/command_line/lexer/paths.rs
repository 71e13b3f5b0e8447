//! Variables that hold the path of a directory, unless a line does something to variables.

use super::odd::without_quotes;
use crate::name_list::names;

pub(super) const PATHS: [&str; 2] = ["HOME", "PWD"];
/// Stands for that path, or for nothing if the variable is not set. It is no program.
pub(in super::super) const PATH: &str = "//";
/// What may do something to them, also as a part of a word.
const SETTING: [&str; 3] = ["=", "env -", "exec -c"];
/// The same, as a word.
const SETTING_WORDS: &[&str] = names!(
    "declare export for getopts local mapfile printf read readarray readonly select typeset unset"
);

/// Whether these variables are what they always are, all through a line.
pub(in super::super) fn has_paths(source: &str) -> bool {
    // A backslash joins no lines in a comment.
    [source.replace("\\\n", ""), source.to_owned()].iter().all(|source| {
        let source = without_quotes(source);
        // `~/.local/bin` and `read-only` name no builtin.
        let mut words = source
            .split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '.' | '-' | '_'));
        !SETTING.iter().any(|one| source.contains(one))
            && !words.any(|word| SETTING_WORDS.contains(&word))
    })
}
