//! The error of a process that ended, read from its stderr.

use super::CliExit;
use wire::text::last_screen;
use wire::{Category, Fault};

/// How many lines of an error are shown; stack traces and advice follow the message.
const MAX_LINES: usize = 3;

/// The failure of a process that ended before it had answered: the error on its stderr, if any,
/// else its last lines.
pub(super) fn failure(exit: &CliExit) -> Fault {
    let stderr = last_screen(&exit.stderr);
    match error_in(&stderr) {
        Some(error) => {
            Fault::new(Category::classify(None, &error).or(Category::ProcessExit), error)
        }
        None => exit_failure(&CliExit { stderr, ..exit.clone() }),
    }
}

/// Like [`failure`], for a CLI that begins lines with `chatter` on every run.
pub(super) fn failure_without_chatter(exit: &CliExit, chatter: &[&str]) -> Fault {
    let lines = exit.stderr.lines();
    let lines = lines.filter(|line| !chatter.iter().any(|word| line.starts_with(word)));
    let stderr = lines.collect::<Vec<_>>().join("\n");
    failure(&CliExit { stderr, ..exit.clone() })
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

/// The lines that explain the end: those that name an error, else the last ones. A backtrace
/// after them is left out.
fn error_lines(stderr: &str) -> String {
    const SIGNS: [&str; 5] = ["error", "fatal", "panic", "cannot", "not found"];
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let tells = |line: &&&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    };
    let telling: Vec<&str> = lines.iter().filter(tells).take(MAX_LINES).copied().collect();
    match telling.is_empty() {
        true => lines[lines.len().saturating_sub(MAX_LINES)..].join("\n"),
        false => telling.join("\n"),
    }
}

/// The failure of a turn whose process ended before it.
pub(crate) fn exit_failure(exit: &CliExit) -> Fault {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("the CLI ended before it had answered (exit code {code})"),
        (None, Some(signal)) => format!("the CLI ended before it had answered (signal {signal})"),
        (None, None) => "the output ended before the turn did".to_owned(),
    };
    let last = error_lines(&exit.stderr);
    let message = match last.is_empty() {
        true => how,
        false => format!("{how}; it said: {last}"),
    };
    Fault::new(Category::classify(None, &last).or(Category::ProcessExit), message)
}

#[cfg(test)]
mod tests;
