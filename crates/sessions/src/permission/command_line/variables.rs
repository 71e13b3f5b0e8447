//! Variables that make programs run something.

use super::packages::{Setting, setting_of_npm};
use super::programs::LINE_VARIABLES;
use super::{ANYTHING, Word, is_setting};

/// Whether a variable may make git run something; that a directory of files is no repository,
/// as the built-in agent has it, does not.
pub(super) fn may_configure_git(name: &str, value: &str) -> bool {
    // Where it has its commands.
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

/// Whether it sets such a variable for what comes after.
pub(super) fn configures_git(word: &Word) -> bool {
    let name = word.text.split(['=', '+']).next().unwrap_or_default();
    let value = word.text.split_once('=').map_or("", |(_, value)| value);
    may_configure_git(name, value)
}

/// Whether it names a variable whose value, which is not told, others run or are told what to run
/// by.
pub(super) fn is_read_by_others(word: &Word) -> bool {
    let name = word.text.strip_prefix("-v").unwrap_or(&word.text);
    let is_told = ["ENV", "PS0", "PS4"].contains(&name)
        || is_line_variable(name)
        || setting_of_npm(name, "") != Setting::Other;
    is_told && is_setting(&format!("{name}=")) || may_configure_git(name, "")
}

/// Whether others run what is in it, or in a place of it.
pub(super) fn is_line_variable(name: &str) -> bool {
    let name = name.split(['+', '[', ANYTHING]).next().unwrap_or_default();
    LINE_VARIABLES.iter().any(|end| name.ends_with(end))
}
