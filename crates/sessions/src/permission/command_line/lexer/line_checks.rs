//! Checks of a line as a whole, for what changes how it is read.
//!
//! Some names make a shell read it in another way than it is read here; and there are variables
//! that hold the path of a directory, unless a line does something to variables.

use super::is_of_name;
use crate::name_list::names;

/// Texts with which bash takes for code what is plain text to whoever reads a line.
const CODE_NAMES: &[&str] = names!(
    "@P} PS0= PS0+= PS0:= PS0[ PS4= PS4+= PS4:= PS4[ BASH_CMDS BASH_ENV BASH_FUNC_ BASH_ALIASES \
     BASHOPTS SHELLOPTS histexpand"
);

/// Variables that hold a path.
pub(super) const PATHS: [&str; 2] = ["HOME", "PWD"];
/// Stands for that path, or for nothing if the variable is not set. It is no program.
pub(in super::super) const PATH: &str = "//";
/// Texts that may do something to variables, also as a part of a word.
const SETTING: [&str; 3] = ["=", "env -", "exec -c"];
/// Words that may do the same.
const SETTING_WORDS: &[&str] = names!(
    "declare export for getopts local mapfile printf read readarray readonly select typeset unset"
);

/// Whether a line, or a word of it, makes code of plain text.
pub(super) fn has_code_names(source: &str) -> bool {
    CODE_NAMES.iter().any(|odd| source.contains(odd))
}

/// Whether a line says anything about what is a comment: it may be a command then.
pub(super) fn changes_comments(source: &str) -> bool {
    names_option(source, "interactivecomments")
}

/// Whether a pattern that nothing matches may be no word at all.
pub(in super::super) fn has_nullglob(source: &str) -> bool {
    names_option(source, "nullglob")
}

/// Whether an option of a shell is named, with whatever quotes, dashes and capitals.
fn names_option(source: &str, name: &str) -> bool {
    let is_between = |c: char| matches!(c, '\\' | '\n' | '\'' | '"' | '_' | '-');
    source.replace(is_between, "").to_ascii_lowercase().contains(name)
}

/// A line without the quotes in it.
fn without_quotes(source: &str) -> String {
    source.replace(['\\', '\'', '"'], "")
}

/// Whether a part of an array of that name may be named in a line: `z[0]`.
pub(in super::super) fn names_element(source: &str, name: &str) -> bool {
    let source = without_quotes(&source.replace("\\\n", ""));
    let is_end =
        |text: &str| text.strip_suffix(name).is_some_and(|before| !before.ends_with(is_of_name));
    let mut parts = source.split('[');
    // Nothing is behind the last.
    parts.next_back();
    parts.any(is_end)
}

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
