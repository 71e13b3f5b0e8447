//! Checks of values before they become command-line arguments.
//!
//! In: values from users, clients and CLIs. Out: nothing, or why a value is refused.

use std::path::Path;

const MAX_MODEL_BYTES: usize = 160;
const MAX_ID_BYTES: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    #[error(
        "`{0}` cannot be a model: letters, digits and . _ : / @ + - [ ] ( ) # = , only, \
         beginning with a letter or digit"
    )]
    Model(String),
    #[error("`{value}` cannot be an {what}: lower-case letters, digits, - and _ only")]
    Word { what: &'static str, value: String },
    #[error("`{0}` cannot be the id of a conversation")]
    SessionId(String),
    #[error("{0} is no directory with an absolute path")]
    Directory(String),
    #[error("`{value}` is not offered as {what}; known: {}", .offered.join(", "))]
    NotOffered { what: &'static str, value: String, offered: Vec<String> },
}

/// A model's id: nothing that could be taken for a flag, a path out of somewhere or a list.
pub fn model_id(id: &str) -> Result<(), BadValue> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._:/@+-[]()#=,".contains(c);
    let begins_well = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_model = begins_well && id.len() <= MAX_MODEL_BYTES && id.chars().all(is_fine);
    is_model.then_some(()).ok_or_else(|| BadValue::Model(shown(id)))
}

/// A lower-case word without blanks, such as a reasoning effort.
pub fn word(what: &'static str, value: &str) -> Result<(), BadValue> {
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins_well = value.starts_with(|c: char| c.is_ascii_lowercase());
    let is_word = begins_well && value.len() <= 40 && value.chars().all(is_fine);
    is_word.then_some(()).ok_or_else(|| BadValue::Word { what, value: shown(value) })
}

/// A CLI's own id of a conversation; with some CLIs it is the path of a file.
pub fn session_id(id: &str) -> Result<(), BadValue> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._:/@+-=".contains(c);
    let begins_well = id.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let climbs = id.split('/').any(|part| part == "..");
    let is_id = begins_well && !climbs && id.len() <= MAX_ID_BYTES && id.chars().all(is_fine);
    is_id.then_some(()).ok_or_else(|| BadValue::SessionId(shown(id)))
}

/// A directory that a CLI may use besides its working directory, as text.
pub fn directory(dir: &Path) -> Result<String, BadValue> {
    match (dir.is_absolute() && dir.is_dir(), dir.to_str()) {
        (true, Some(text)) => Ok(text.to_owned()),
        _ => Err(BadValue::Directory(dir.display().to_string())),
    }
}

/// Checks that `value` is one of `offered`.
pub fn one_of(what: &'static str, value: &str, offered: &[String]) -> Result<(), BadValue> {
    match offered.iter().any(|one| one == value) {
        true => Ok(()),
        false => Err(BadValue::NotOffered { what, value: shown(value), offered: offered.to_vec() }),
    }
}

fn shown(value: &str) -> String {
    value.chars().take(80).map(|c| if c.is_control() { '·' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_are_in_use_pass() {
        for id in [
            "gpt-5.5",
            "claude-opus-4-5[1m]",
            "anthropic/claude-sonnet-4.5",
            "openai/gpt-5#high",
            "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
            "qwen3:8b",
            "qwen3(openai)",
            "models/gemini-3-pro@001",
        ] {
            assert_eq!(model_id(id), Ok(()), "{id}");
        }
    }

    #[test]
    fn what_could_be_a_flag_or_worse_does_not() {
        let long = "x".repeat(200);
        for id in ["", "-m", "--yolo", "a b", "a;b", "a\nb", "$(id)", "../x", "ü", "a\0b", &long] {
            assert!(model_id(id).is_err(), "{id:?}");
        }
        for id in ["", "-x", "a/../b", "a b", "--resume=x", "a\n"] {
            assert!(session_id(id).is_err(), "{id:?}");
        }
        for value in ["", "-h", "High", "a b", "x=y"] {
            assert!(word("effort", value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn ids_of_conversations_may_be_files() {
        assert_eq!(session_id("/home/u/.pi/sessions/2026-11-15T01-00_x.jsonl"), Ok(()));
        assert_eq!(session_id("ses_4a1f"), Ok(()));
    }

    #[test]
    fn directories_must_be_there() {
        assert!(directory(Path::new("/")).is_ok());
        assert!(directory(Path::new("relative")).is_err());
        assert!(directory(Path::new("/no/such/directory")).is_err());
    }
}
