//! Checks of the `{name}` placeholders in arguments.

use super::{CheckResult, problem};

/// Checks that only `allowed` placeholders are used, and nothing that merely looks like one.
pub(super) fn require_only(field: &str, words: &[String], allowed: &[&str]) -> CheckResult {
    for name in words.iter().flat_map(|word| names(word)) {
        if !allowed.contains(&name) {
            let fitting = match allowed {
                [] => "there is none here".to_owned(),
                some => format!("here are known: {}", some.join(", ")),
            };
            return Err(problem(field, format!("{name} cannot be filled in; {fitting}")));
        }
    }
    Ok(())
}

/// Checks that `name` is used exactly once, and no other placeholder.
pub(super) fn require_alone(field: &str, words: &[String], name: &str) -> CheckResult {
    require_only(field, words, &[name])?;
    require_once(field, words, name)
}

/// Checks that `name` is used exactly once; others are allowed.
pub(super) fn require_once(field: &str, words: &[String], name: &str) -> CheckResult {
    match words.iter().flat_map(|word| names(word)).filter(|one| *one == name).count() {
        1 => Ok(()),
        n => Err(problem(field, format!("must have {name} once, not {n} times"))),
    }
}

/// The placeholders in `word`: everything of the form `{lower_case}`. JSON objects have quotes or
/// spaces and are none.
fn names(word: &str) -> impl Iterator<Item = &str> {
    word.match_indices('{').filter_map(|(start, _)| {
        let rest = word.get(start..)?;
        let name = rest.get(..=rest.find('}')?)?;
        let inner = name.get(1..name.len() - 1)?;
        let is_name =
            !inner.is_empty() && inner.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_name.then_some(name)
    })
}
