//! What a process that ended had to say about it.

use super::ansi;
use super::{Category, Exit, Failure};
use crate::trouble;

/// A message is its first lines; what follows are stack traces and advice.
const MAX_LINES: usize = 3;

/// Why the process ended before it had answered: the error on its stderr if there is one,
/// else its last lines.
pub(super) fn failure(exit: &Exit) -> Failure {
    let stderr = ansi::strip(&exit.stderr);
    match error_in(&stderr) {
        Some(error) => {
            let category = match trouble::category(status_in(&error), &error) {
                Category::Internal => Category::ProcessExit,
                category => category,
            };
            Failure::new(category, error)
        }
        None => trouble::died(&Exit { stderr, ..exit.clone() }),
    }
}

/// Like [`failure`], for a CLI that begins lines with `chatter` on every run.
pub(super) fn failure_among(exit: &Exit, chatter: &[&str]) -> Failure {
    let lines = exit.stderr.lines();
    let lines = lines.filter(|line| !chatter.iter().any(|word| line.starts_with(word)));
    let stderr = lines.collect::<Vec<_>>().join("\n");
    failure(&Exit { stderr, ..exit.clone() })
}

/// The last error in a text, with the lines that belong to it.
fn error_in(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_error = |line: &&str| {
        let line = line.trim_start().to_lowercase();
        ["error:", "error ", "fatal:", "[api error"].iter().any(|sign| line.starts_with(sign))
    };
    let at = lines.iter().rposition(is_error)?;
    let error: Vec<&str> = lines
        .get(at..)
        .unwrap_or_default()
        .iter()
        .map(|line| line.trim_end())
        .take_while(|line| !line.is_empty() && !line.trim_start().starts_with("at "))
        .take(MAX_LINES)
        .collect();
    Some(error.join("\n").trim().to_owned())
}

/// The HTTP status that an error message tells, such as in `429: …` or `Error code: 401 - …`.
pub(super) fn status_in(text: &str) -> Option<u64> {
    const BEFORE: [&str; 7] = [": ", "status ", "code ", "http ", "(", "\"code\":", "\"status\":"];
    let lower = text.to_lowercase();
    let numbers = lower.match_indices(['4', '5']).filter_map(|(at, _)| {
        let number: u64 = lower.get(at..at + 3)?.parse().ok()?;
        let (before, after) = (lower.get(..at)?, lower.get(at + 3..)?);
        let is_whole = !after.starts_with(|c: char| c.is_alphanumeric());
        let is_status =
            before.trim().is_empty() || BEFORE.iter().any(|word| before.ends_with(word));
        (is_whole && is_status).then_some(number)
    });
    numbers.into_iter().find(|number| (400..600).contains(number))
}

#[cfg(test)]
mod tests;
