//! What Codex's errors are about.
//!
//! The app server says a kind beside the sentence; `exec` only the sentence, which may be the
//! provider's JSON.

use serde_json::Value;
use wire::{Category, Fault};

use super::plain;
use crate::dialect::{Ending, Exit, StopReason};
use crate::dialect::{json, stderr};

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
pub(in crate::dialect) fn failure(message: &str, kind: &Value) -> Fault {
    let inner = json::parse_or_null(message);
    let message = inner["error"]["message"].as_str().unwrap_or(message);
    let message = if message.is_empty() { "the turn failed" } else { message };
    let category = by_kind(kind, message).unwrap_or_else(|| Category::classify(None, message));
    Fault::new(category, message)
}

/// Why the process ended before it had answered.
pub(in crate::dialect) fn died(exit: &Exit) -> Fault {
    stderr::failure_among(exit, &[STDIN_NOTE])
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
        "badrequest" => Some(Category::classify(Some(400), message)),
        "httpconnectionfailed"
        | "responsestreamconnectionfailed"
        | "responsestreamdisconnected"
        | "responsetoomanyfailedattempts" => {
            Some(Category::classify(status, message).or(Category::UpstreamUnavailable))
        }
        _ => None,
    }
}
