//! What a provider's or a CLI's error is about.
//!
//! CLIs say what went wrong in a sentence, sometimes with an HTTP status. One place reads
//! such sentences, so that the same trouble has the same category whoever reports it.

use crate::dialect::{Category, Exit, Failure};

/// Words and what they mean; the first that fits wins.
const SIGNS: [(&[&str], Category); 8] = [
    (
        &[
            "no conversation found",
            "session not found",
            "no session found",
            "unknown session",
            "no rollout found",
            "no saved session",
            "matched no session",
            "no session, task",
            "no previous sessions",
            "invalid session identifier",
            "could not find session",
        ],
        Category::SessionLost,
    ),
    (
        &[
            "unauthorized",
            "authentication",
            "not logged in",
            "please run /login",
            "api key",
            "api_key",
            "invalid x-api-key",
            "login required",
            "please log in",
            "permission_error",
            "no authentication",
            "auth type",
        ],
        Category::Auth,
    ),
    (&["rate limit", "rate_limit", "too many requests", "quota", "429"], Category::RateLimit),
    (
        &[
            "prompt is too long",
            "context window",
            "context length",
            "context_length",
            "maximum context",
            "too many tokens",
            "request too large",
        ],
        Category::PromptTooLarge,
    ),
    (
        &[
            "model not found",
            "model_not_found",
            "unknown model",
            "no such model",
            "invalid model",
            "cannot use this model",
        ],
        Category::ModelUnavailable,
    ),
    (&["timed out", "timeout", "deadline"], Category::Timeout),
    (
        &[
            "overloaded",
            "unavailable",
            "connection",
            "network",
            "socket",
            "econnrefused",
            "econnreset",
            "server error",
            "internal server",
            "bad gateway",
            "stream disconnected",
            "stream ended",
            "fetch failed",
        ],
        Category::UpstreamUnavailable,
    ),
    (&["bad request", "invalid_request", "invalid request"], Category::BadInput),
];

/// What an error is about, by HTTP status if there is one, else by its words.
pub fn category(status: Option<u64>, message: &str) -> Category {
    match status {
        Some(401 | 403) => return Category::Auth,
        Some(429) => return Category::RateLimit,
        Some(413) => return Category::PromptTooLarge,
        Some(404) => return Category::ModelUnavailable,
        Some(408 | 504) => return Category::Timeout,
        Some(500..=599) => return Category::UpstreamUnavailable,
        _ => {}
    }
    let text = message.to_lowercase();
    let by_words = SIGNS.iter().find(|(words, _)| words.iter().any(|word| text.contains(word)));
    match by_words {
        Some((_, category)) => *category,
        None if status == Some(400) => Category::BadInput,
        None => Category::Internal,
    }
}

/// A failure whose category is read from its words.
pub fn failure(status: Option<u64>, message: impl Into<String>) -> Failure {
    let message = message.into();
    Failure::new(category(status, &message), message)
}

/// A process that ended before its turn did.
pub fn died(exit: &Exit) -> Failure {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown".to_owned(),
    };
    let lines: Vec<&str> = exit.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("\n");
    let message = match last.is_empty() {
        true => format!("the CLI ended before it had answered ({how})"),
        false => format!("the CLI ended before it had answered ({how}); it said: {last}"),
    };
    let category = match category(None, &last) {
        Category::Internal => Category::ProcessExit,
        category => category,
    };
    Failure::new(category, message)
}
