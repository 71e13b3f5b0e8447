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

/// The lines that tell why: those that speak of an error, else the last ones. A backtrace
/// behind them does not.
fn telling_lines(stderr: &str) -> String {
    const SIGNS: [&str; 5] = ["error", "fatal", "panic", "cannot", "not found"];
    const MAX_LINES: usize = 3;
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

/// A process that ended before its turn did.
pub fn died(exit: &Exit) -> Failure {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("the CLI ended before it had answered (exit code {code})"),
        (None, Some(signal)) => format!("the CLI ended before it had answered (signal {signal})"),
        (None, None) => "the output ended before the turn did".to_owned(),
    };
    let last = telling_lines(&exit.stderr);
    let message = match last.is_empty() {
        true => how,
        false => format!("{how}; it said: {last}"),
    };
    let category = match category(None, &last) {
        Category::Internal => Category::ProcessExit,
        category => category,
    };
    Failure::new(category, message)
}
