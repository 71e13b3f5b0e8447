//! The categories of errors, and the one place that tells them apart.
//!
//! In: an HTTP status, a code of JSON-RPC, the sentence of a provider, a CLI or an agent. Out: a
//! category, the same whoever reports it. [`Category::Internal`] stands for what nothing is known
//! of.

use crate::string_enum::string_enum;
use crate::{RpcError, codes};

string_enum! {
    /// The category of an error.
    pub enum Category else Internal {
        /// Somebody has to log in, or give a key.
        Auth = "auth",
        RateLimit = "rate_limit",
        ModelUnavailable = "model_unavailable",
        PromptTooLarge = "prompt_too_large",
        /// The model's endpoint, or the connection to it, does not work.
        UpstreamUnavailable = "upstream_unavailable",
        Timeout = "timeout",
        /// The agent refused what it was asked.
        Rejected = "rejected",
        /// There is no such agent, or its program is not installed.
        AgentNotFound = "agent_not_found",
        /// The agent's process could not be started, or ended.
        ProcessExit = "process_exit",
        /// The agent sent something that cannot be understood.
        Protocol = "protocol",
        BadInput = "bad_input",
        /// Switchyard ended in the middle of it, or could not keep it in the log.
        Interrupted = "interrupted",
        /// The agent has forgotten the conversation.
        SessionLost = "session_lost",
        Internal = "internal",
    }
}

/// Phrases of error messages and their categories; the first that fits wins. In small letters,
/// without underscores.
const SIGNS: [(&[&str], Category); 9] = [
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
            "invalid session id",
            "could not find session",
            "--resume requires a valid session",
            "thread not found",
            "invalid thread id",
        ],
        Category::SessionLost,
    ),
    (
        &[
            "unauthorized",
            "authentication",
            "authorization",
            "not logged in",
            "please run /login",
            "please log in",
            "login required",
            "api key",
            "x-api-key",
            "missing environment variable",
            "auth type",
            "permission error",
            "oauth org not allowed",
            "account on hold",
            "verification required",
        ],
        Category::Auth,
    ),
    (
        &["rate limit", "usage limit", "too many requests", "quota", "billing error"],
        Category::RateLimit,
    ),
    (
        &[
            "prompt is too long",
            "input is too long",
            "too many tokens",
            "request too large",
            "entity too large",
            "maximum context",
            "context window",
            "context length",
            "context size",
            "context limit",
        ],
        Category::PromptTooLarge,
    ),
    (
        &[
            "model not found",
            "unknown model",
            "no such model",
            "invalid model",
            "model does not exist",
            "cannot use this model",
            "not supported when using codex",
        ],
        Category::ModelUnavailable,
    ),
    (&["content filter", "content policy", "content management policy"], Category::Rejected),
    (&["timed out", "timeout", "deadline"], Category::Timeout),
    (
        &[
            "overloaded",
            "unavailable",
            "high demand",
            "at capacity",
            "connection",
            "network",
            "socket",
            "econnrefused",
            "econnreset",
            "server error",
            "server had an error",
            "internal server",
            "bad gateway",
            "stream disconnected",
            "stream ended",
            "invalid stream",
            "without a finish reason",
            "empty response",
            "empty text response",
            "fetch failed",
        ],
        Category::UpstreamUnavailable,
    ),
    (&["bad request", "invalid request", "not inside a trusted directory"], Category::BadInput),
];

impl Category {
    /// The category of an error: by its HTTP status, which may also stand in its message, and else
    /// by the words of that. `Internal` if neither tells.
    pub fn classify(status: Option<u64>, words: &str) -> Self {
        let text = words.to_lowercase().replace('_', " ");
        let mut signs = SIGNS.iter().filter(|(signs, _)| signs.iter().any(|s| text.contains(s)));
        let by_words = signs.next().map(|(_, category)| *category);
        match status.or_else(|| status_in(words)) {
            Some(401 | 403) => Self::Auth,
            Some(413) => Self::PromptTooLarge,
            Some(429) => Self::RateLimit,
            Some(408 | 504) => Self::Timeout,
            // llama.cpp answers so to a prompt that does not fit.
            Some(500) if by_words == Some(Self::PromptTooLarge) => Self::PromptTooLarge,
            Some(500..=599) => Self::UpstreamUnavailable,
            Some(status @ 300..=499) => match by_words {
                // The request was read and refused: what it says of a timeout is a parameter's
                // name.
                Some(Self::Timeout | Self::UpstreamUnavailable) | None => match status {
                    404 => Self::ModelUnavailable,
                    402 | 451 => Self::Rejected,
                    _ => Self::BadInput,
                },
                Some(category) => category,
            },
            _ => by_words.unwrap_or(Self::Internal),
        }
    }

    /// The category of a JSON-RPC error. Its code says what an HTTP status does, or is one.
    pub fn of_error(error: &RpcError) -> Self {
        let status = match error.code {
            codes::AUTH_REQUIRED => Some(401),
            codes::INVALID_PARAMS | codes::INVALID_REQUEST => Some(400),
            code => u64::try_from(code).ok().filter(|code| (400..600).contains(code)),
        };
        Self::classify(status, &error.to_string())
    }

    /// The code that an error of this kind has in JSON-RPC.
    pub fn code(self) -> i64 {
        match self {
            Self::Auth => codes::AUTH_REQUIRED,
            Self::SessionLost => codes::NOT_FOUND,
            Self::BadInput | Self::PromptTooLarge => codes::INVALID_PARAMS,
            _ => codes::INTERNAL,
        }
    }

    /// This one, or `otherwise` where nothing is known.
    #[must_use]
    pub fn or(self, otherwise: Self) -> Self {
        if self == Self::Internal { otherwise } else { self }
    }
}

/// The HTTP status that an error message tells, such as in `429: …` or `Error code: 401 - …`.
fn status_in(text: &str) -> Option<u64> {
    const BEFORE: [&str; 7] = [": ", "status ", "code ", "http ", "(", "\"code\":", "\"status\":"];
    let lower = text.to_lowercase();
    let mut numbers = lower.match_indices(['4', '5']).filter_map(|(at, _)| {
        let number: u64 = lower.get(at..at + 3)?.parse().ok()?;
        let (before, after) = (lower.get(..at)?, lower.get(at + 3..)?);
        let is_whole = !after.starts_with(|c: char| c.is_alphanumeric());
        let is_status =
            before.trim().is_empty() || BEFORE.iter().any(|word| before.ends_with(word));
        (is_whole && is_status).then_some(number)
    });
    numbers.find(|number| (400..600).contains(number))
}

#[cfg(test)]
mod tests;
