//! The end of a turn, read from its `result` line.
//!
//! `subtype: success` means nothing: provider errors have it too. The end follows from `is_error`,
//! the CLI's reason for stopping, and errors that came as messages instead of an answer.

use serde_json::Value;
use wire::{Category, Fault};

use super::super::{StopReason, TurnOutcome};
use super::ClaudeTurn;

/// The end of a turn, with an optional text to show.
#[derive(Debug)]
pub(super) struct ClaudeTurnOutcome {
    pub(super) ending: TurnOutcome,
    /// The CLI's message, for endings that carry none.
    pub(super) explains: Option<String>,
}

impl ClaudeTurnOutcome {
    pub(super) fn stopped(reason: StopReason) -> Self {
        Self { ending: TurnOutcome::Stopped(reason), explains: None }
    }

    pub(super) fn failed(failure: Fault) -> Self {
        Self { ending: TurnOutcome::Failed(failure), explains: None }
    }

    fn because(reason: StopReason, words: String) -> Self {
        Self {
            ending: TurnOutcome::Stopped(reason),
            explains: Some(words).filter(|w| !w.is_empty()),
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(&self.ending, TurnOutcome::Failed(failure) if failure.category == Category::SessionLost)
    }
}

pub(super) fn of_result(result: &Value, turn: &mut ClaudeTurn) -> ClaudeTurnOutcome {
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let (subtype, why) = (text("subtype"), text("terminal_reason"));
    let trouble = turn.error.take();
    if turn.is_interrupted || why.starts_with("aborted") {
        return ClaudeTurnOutcome::stopped(StopReason::Cancelled);
    }
    let is_error = result["is_error"] == true || subtype.starts_with("error");
    if !is_error && trouble.is_none() {
        let reason = result["stop_reason"].as_str().or(turn.stop_reason.as_deref());
        return ClaudeTurnOutcome::stopped(stop_reason(reason));
    }
    let words = words_of(result, trouble.as_ref());
    let said = result["stop_reason"].as_str().or(turn.stop_reason.as_deref());
    if subtype == "error_max_turns" || why == "max_turns" {
        return ClaudeTurnOutcome::because(StopReason::MaxTurnRequests, words);
    }
    if said == Some("refusal") {
        return ClaudeTurnOutcome::because(StopReason::Refusal, words);
    }
    if text("api_error") == "max_output_tokens" || said == Some("max_tokens") {
        return ClaudeTurnOutcome::because(StopReason::MaxTokens, words);
    }
    let failure = match trouble {
        Some(trouble) if result["api_error_status"].is_null() => trouble,
        _ => failure_of(result, words),
    };
    ClaudeTurnOutcome::failed(match (subtype, why) {
        ("error_max_budget_usd", _) | (_, "budget_exhausted") => {
            Fault::new(Category::RateLimit, failure.message).remedy("raise the CLI's budget")
        }
        (_, "prompt_too_long") => Fault::new(Category::PromptTooLarge, failure.message),
        _ => failure,
    })
}

pub(super) fn stop_reason(reason: Option<&str>) -> StopReason {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
        Some("refusal") => StopReason::Refusal,
        _ => StopReason::EndTurn,
    }
}

/// The error in a message that is the CLI's own, not the model's.
pub(super) fn error_in(line: &Value) -> Option<Fault> {
    let is_error = line["is_api_error_message"] == true || line["error"].is_string();
    if !is_error {
        return None;
    }
    let blocks = line["message"]["content"].as_array();
    let texts = blocks.into_iter().flatten().filter_map(|block| block["text"].as_str());
    let words: Vec<&str> = texts.collect();
    Some(failure_of(line, words.join("\n")))
}

/// The end in a `result` line that was cut off: Qwen may exit before its last line is through
/// the pipe. The beginning of such a line has `is_error`.
pub(super) fn of_cut(line: &str) -> Option<ClaudeTurnOutcome> {
    let head: String = line.chars().filter(|c| !c.is_whitespace()).take(600).collect();
    if !head.starts_with('{') || !head.contains(r#""type":"result""#) {
        return None;
    }
    if head.contains(r#""is_error":false"#) {
        return Some(ClaudeTurnOutcome::stopped(StopReason::EndTurn));
    }
    let why = "the CLI failed, and its last line was cut off";
    head.contains(r#""is_error":true"#)
        .then(|| ClaudeTurnOutcome::failed(Fault::new(Category::Internal, why)))
}

/// The error message of a `result`, in the CLI's words.
fn words_of(result: &Value, trouble: Option<&Fault>) -> String {
    // Not the CLI's internal diagnostics.
    let is_plain = |text: &&str| !text.is_empty() && !text.starts_with("[ede_diagnostic]");
    let errors = result["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors: Vec<&str> = errors.filter(is_plain).collect();
    let error = &result["error"];
    let words = error["message"].as_str().or_else(|| error.as_str()).filter(is_plain);
    let words = words.or_else(|| result["result"].as_str().filter(is_plain));
    match (words, trouble) {
        _ if !errors.is_empty() => errors.join("\n"),
        (Some(words), _) => words.to_owned(),
        (None, Some(trouble)) => trouble.message.clone(),
        (None, None) => {
            let subtype = result["subtype"].as_str().unwrap_or("error");
            format!("the CLI stopped with {subtype}")
        }
    }
}

/// A failure of these words; `about` is the line with the kind of error.
fn failure_of(about: &Value, words: String) -> Fault {
    let words = match words.strip_prefix("[API Error: ").and_then(|w| w.strip_suffix(']')) {
        Some(inner) => inner.to_owned(),
        None => words,
    };
    let told = words.strip_prefix("API Error: ").unwrap_or(&words);
    let kinds = ["error", "api_error", "api_error_type"].map(|name| about[name].as_str());
    let category = match Category::classify(about["api_error_status"].as_u64(), told) {
        // Neither the status nor the words give a category.
        vague @ (Category::Internal | Category::BadInput) => {
            kinds.into_iter().flatten().find_map(category_of).unwrap_or(vague)
        }
        category => category,
    };
    Fault::new(category, words)
}

/// The category of an error by Claude Code's name for it.
fn category_of(kind: &str) -> Option<Category> {
    let category = match kind {
        // The words of other errors begin with "API error", too.
        "api_error" => Category::UpstreamUnavailable,
        kind => Category::classify(None, kind),
    };
    (category != Category::Internal).then_some(category)
}
