//! What Codex's errors are about.
//!
//! The app server says a kind beside the sentence; `exec` only the sentence, which may be the
//! provider's JSON.

use serde_json::Value;

use super::plain;
use crate::dialect::{Category, Ending, Exit, Failure, StopReason};
use crate::dialect::{json, stderr};
use crate::trouble;

/// Sentences of Codex's own.
const SIGNS: [(&str, Category); 9] = [
    ("high demand", Category::UpstreamUnavailable),
    ("at capacity", Category::UpstreamUnavailable),
    ("missing environment variable", Category::Auth),
    ("usage limit", Category::RateLimit),
    ("not inside a trusted directory", Category::BadInput),
    ("not supported when using codex", Category::ModelUnavailable),
    ("thread not found", Category::SessionLost),
    ("invalid thread id", Category::SessionLost),
    ("invalid session id", Category::SessionLost),
];

/// Said on stderr whenever stdin is no terminal.
const STDIN_NOTE: &str = "Reading additional input from stdin...";

/// How a turn ends that Codex calls failed: some of it is no failure of anybody.
pub(in crate::dialect) fn ending(message: &str, kind: &Value) -> Ending {
    if message.contains("reason: max_output_tokens") {
        return Ending::Stopped(StopReason::MaxTokens);
    }
    if message.contains("reason: content_filter") {
        return Ending::Stopped(StopReason::Refusal);
    }
    Ending::Failed(failure(message, kind))
}

/// `kind` is the app server's `codexErrorInfo`, or null.
pub(in crate::dialect) fn failure(message: &str, kind: &Value) -> Failure {
    let inner = json::parse_or_null(message);
    let message = inner["error"]["message"].as_str().unwrap_or(message);
    let message = if message.is_empty() { "the turn failed" } else { message };
    let category = by_kind(kind, message).unwrap_or_else(|| by_words(message));
    Failure::new(category, message)
}

/// Why the process ended before it had answered.
pub(in crate::dialect) fn died(exit: &Exit) -> Failure {
    let lines = exit.stderr.lines().filter(|line| line.trim() != STDIN_NOTE);
    let stderr = lines.collect::<Vec<_>>().join("\n");
    let failure = stderr::failure(&Exit { stderr, ..exit.clone() });
    match by_words(&failure.message) {
        Category::Internal => failure,
        category => Failure { category, ..failure },
    }
}

fn by_kind(kind: &Value, message: &str) -> Option<Category> {
    let (name, status) = match kind {
        Value::Object(object) => {
            let (name, about) = object.iter().next()?;
            (Value::from(name.as_str()), about["httpStatusCode"].as_u64())
        }
        name => (name.clone(), None),
    };
    match plain(&name).as_str() {
        "contextwindowexceeded" => Some(Category::PromptTooLarge),
        "usagelimitexceeded" | "ratelimitexceeded" | "sessionbudgetexceeded" => {
            Some(Category::RateLimit)
        }
        "serveroverloaded"
        | "internalservererror"
        | "flexunavailable"
        | "policycapacityunavailable" => Some(Category::UpstreamUnavailable),
        "modelnotfound" => Some(Category::ModelUnavailable),
        "unauthorized" => Some(Category::Auth),
        "cyberpolicy" | "misalignmentpolicyviolation" | "toomanydenials" => {
            Some(Category::Rejected)
        }
        // Too broad a word: the sentence may say that the prompt is too long.
        "badrequest" => Some(trouble::category(Some(400), message)),
        "httpconnectionfailed"
        | "responsestreamconnectionfailed"
        | "responsestreamdisconnected"
        | "responsetoomanyfailedattempts" => match status {
            Some(_) => Some(trouble::category(status, message)),
            None => match by_words(message) {
                Category::Internal => Some(Category::UpstreamUnavailable),
                category => Some(category),
            },
        },
        _ => None,
    }
}

fn by_words(message: &str) -> Category {
    let text = message.to_lowercase();
    match SIGNS.iter().find(|(words, _)| text.contains(words)) {
        Some((_, category)) => *category,
        None => trouble::category(stderr::status_in(message), message),
    }
}
