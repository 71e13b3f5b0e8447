//! Our categories of trouble, and problems, under the names that Open Design has for them.

use wire::Category;

/// The code of what went wrong in a run. An agent that could not be started at all is
/// unavailable; one that ran has failed.
pub(super) fn of_category(category: Category, had_worker: bool) -> &'static str {
    match category {
        Category::Auth => "AGENT_AUTH_REQUIRED",
        Category::RateLimit => "RATE_LIMITED",
        Category::PromptTooLarge => "AGENT_PROMPT_TOO_LARGE",
        Category::UpstreamUnavailable => "UPSTREAM_UNAVAILABLE",
        _ if had_worker => "AGENT_EXECUTION_FAILED",
        _ => "AGENT_UNAVAILABLE",
    }
}

/// Whether the same run can succeed when it is tried again.
pub(super) fn is_retryable(category: Category) -> bool {
    use Category::{Interrupted, RateLimit, Timeout, UpstreamUnavailable};
    matches!(category, RateLimit | UpstreamUnavailable | Timeout | Interrupted)
}

/// The code of a problem of a request, by the last part of its type.
pub(super) fn of_problem(slug: &str) -> &'static str {
    match slug {
        "bad-input" => "BAD_REQUEST",
        "unauthorized" => "UNAUTHORIZED",
        "forbidden" | "too-many-sessions" => "FORBIDDEN",
        "not-found" => "NOT_FOUND",
        "body-too-large" => "PAYLOAD_TOO_LARGE",
        "idempotency-conflict" => "IDEMPOTENCY_CONFLICT",
        "auth" => "AGENT_AUTH_REQUIRED",
        "rate-limit" | "queue-full" => "RATE_LIMITED",
        "prompt-too-large" => "AGENT_PROMPT_TOO_LARGE",
        "upstream-unavailable" | "shutting-down" => "UPSTREAM_UNAVAILABLE",
        "agent-not-found" | "process-exit" | "timeout" | "protocol" | "model-unavailable" => {
            "AGENT_UNAVAILABLE"
        }
        "rejected" => "AGENT_EXECUTION_FAILED",
        "in-use" | "session-full" | "damaged" | "duplicate-turn" => "CONFLICT",
        _ => "INTERNAL_ERROR",
    }
}
