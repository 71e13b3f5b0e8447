//! The categories of Codex's errors.
//!
//! The app server sends a kind beside the message; `exec` only the message, which may be the
//! provider's JSON.

use serde_json::Value;
use wire::{Category, Fault};

use super::plain;
use crate::dialect::{CliExit, StopReason, TurnOutcome};
use crate::dialect::{json, stderr};
use crate::tools;

/// A line on stderr whenever stdin is no terminal.
const STDIN_NOTE: &str = "Reading additional input from stdin...";

/// The end of a turn that Codex calls failed: a token limit or a refusal is no failure in ACP.
pub(in crate::dialect) fn ending(message: &str, kind: &Value) -> TurnOutcome {
    if message.contains("reason: max_output_tokens") {
        return TurnOutcome::Stopped(StopReason::MaxTokens);
    }
    if message.contains("reason: content_filter") {
        return TurnOutcome::Stopped(StopReason::Refusal);
    }
    TurnOutcome::Failed(failure(message, kind))
}

/// `kind` is the app server's `codexErrorInfo`, or null.
pub(in crate::dialect) fn failure(message: &str, kind: &Value) -> Fault {
    let inner = json::parse_or_null(message);
    let message = inner["error"]["message"].as_str().unwrap_or(message);
    let message = if message.is_empty() { "the turn failed" } else { message };
    Fault::new(category(kind, message), message)
}

/// The failure of a turn whose process ended before it had answered.
pub(in crate::dialect) fn died(exit: &CliExit) -> Fault {
    stderr::failure_without_chatter(exit, &[STDIN_NOTE])
}

fn category(kind: &Value, message: &str) -> Category {
    let (name, status) = match kind.as_object().and_then(|kind| kind.iter().next()) {
        Some((name, about)) => (tools::plain_name(name), about["httpStatusCode"].as_u64()),
        None => (plain(kind), None),
    };
    match name.as_str() {
        "contextwindowexceeded" => Category::PromptTooLarge,
        "usagelimitexceeded" | "ratelimitexceeded" | "sessionbudgetexceeded" => Category::RateLimit,
        "serveroverloaded"
        | "internalservererror"
        | "flexunavailable"
        | "policycapacityunavailable" => Category::UpstreamUnavailable,
        "modelnotfound" => Category::ModelUnavailable,
        "unauthorized" => Category::Auth,
        "cyberpolicy" | "misalignmentpolicyviolation" | "toomanydenials" => Category::Rejected,
        // Too broad a kind: the message may say that the prompt is too long.
        "badrequest" => Category::classify(Some(400), message),
        "httpconnectionfailed"
        | "responsestreamconnectionfailed"
        | "responsestreamdisconnected"
        | "responsetoomanyfailedattempts" => {
            Category::classify(status, message).or(Category::UpstreamUnavailable)
        }
        _ => Category::classify(None, message),
    }
}
