//! Every kind of problem that there is, in one table: its HTTP status, the end of its `type`, its
//! title, and the code that Open Design has for it. Behind the name stands the category of faults
//! that are of this kind.

use wire::Category;

/// The constant parts of all problems of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProblemKind {
    pub(super) status: u16,
    pub(super) urn: &'static str,
    pub(super) title: &'static str,
    pub(super) open_design: &'static str,
}

macro_rules! kinds {
    ($(
        $name:ident $(($category:ident))?:
        $status:literal $slug:literal $title:literal $($open_design:literal)?;
    )+) => {
        $(pub(crate) const $name: ProblemKind = ProblemKind {
            status: $status,
            urn: concat!("urn:switchyard:problem:", $slug),
            title: $title,
            open_design: kinds!(@code $($open_design)?),
        };)+

        impl From<Category> for ProblemKind {
            fn from(category: Category) -> Self {
                match category {
                    $($(Category::$category => $name,)?)+
                }
            }
        }
    };
    // Open Design has no code for most.
    (@code) => { "INTERNAL_ERROR" };
    (@code $code:literal) => { $code };
}

kinds! {
    BAD_INPUT (BadInput): 400 "bad-input" "the request cannot be understood" "BAD_REQUEST";
    UNAUTHORIZED: 401 "unauthorized" "a valid token is needed" "UNAUTHORIZED";
    LOGIN_UNPROVED: 401 "login-unproved" "the page has to prove its login";
    PAGE_MOVED: 401 "page-moved" "the page has another name since the daemon was started again";
    FORBIDDEN: 403 "forbidden" "this is not allowed" "FORBIDDEN";
    TOO_MANY_SESSIONS: 403 "too-many-sessions" "there are too many sessions" "FORBIDDEN";
    NOT_FOUND: 404 "not-found" "there is no such thing" "NOT_FOUND";
    METHOD_NOT_SERVED: 405 "method-not-allowed" "this method is not served";
    METHOD_NOT_SERVED_HERE: 405 "method-not-allowed" "this method is not served here";
    NOT_ACCEPTABLE: 406 "not-acceptable" "this is `text/event-stream`";
    BODY_TOO_SLOW: 408 "body-too-slow" "the body came too slowly";

    IDEMPOTENCY_CONFLICT: 409 "idempotency-conflict" "this request id was used for something else" "IDEMPOTENCY_CONFLICT";
    DUPLICATE_TURN: 409 "duplicate-turn" "this turn exists already" "CONFLICT";
    RUN_IN_PROGRESS: 409 "run-in-progress" "a run of this conversation is still under way" "RUN_IN_PROGRESS";
    OTHER_DIRECTORY: 409 "other-directory" "this conversation began in another directory" "CONFLICT";
    IN_USE: 409 "in-use" "another process has this session" "CONFLICT";
    SESSION_FULL: 409 "session-full" "the session's log is full" "CONFLICT";
    DAMAGED: 409 "damaged" "the session's log is damaged" "CONFLICT";
    LIMIT_REACHED: 409 "limit-reached" "the session has reached a limit";
    ATTACHMENTS_FULL: 409 "attachments-full" "the session has no room for more files";
    NOT_QUEUED: 409 "not-queued" "this turn runs already";
    NOT_PENDING: 409 "not-pending" "nobody waits for this answer any more";
    ALREADY_DECIDED: 409 "already-decided" "somebody else decided";
    NOT_MOVED: 409 "not-moved" "the page has not moved";
    NAME_TAKEN: 409 "name-taken" "the name is taken";
    TOO_MANY_TOKENS: 409 "too-many-tokens" "there are too many tokens";
    STREAM_BUSY: 409 "busy" "this stream has a reader already";

    SESSION_MISSING: 410 "lost" "the session is missing from the log" "NOT_FOUND";

    BODY_TOO_LARGE: 413 "body-too-large" "the body is too large" "PAYLOAD_TOO_LARGE";
    FILE_TOO_LARGE: 413 "body-too-large" "the file is too large" "PAYLOAD_TOO_LARGE";
    LONG_PROMPT: 413 "prompt-too-large" "the prompt is too large" "AGENT_PROMPT_TOO_LARGE";
    TARGET_TOO_LONG: 414 "target-too-long" "the request's address is too long";
    UNSUPPORTED_MEDIA_TYPE: 415 "unsupported-media-type" "a body of this type is not accepted";
    NO_JSON: 415 "content-type" "`application/json` is needed";
    HEADERS_TOO_LARGE: 431 "headers-too-large" "the request has too many header fields";

    TOO_MANY_FAILURES: 429 "too-many-failures" "too many wrong tokens";
    TOO_MANY_STREAMS: 429 "too-many-streams" "too many streams are open";
    TOO_MANY_EXPORTS: 429 "too-many-exports" "too many logs are being exported";
    TOO_MANY_TRANSFERS: 429 "too-many-transfers" "too many files are on their way";

    INTERNAL: 500 "internal" "something went wrong here";
    BATCH: 501 "batch" "batches are not supported; send one message at a time";
    NO_ROOM_FOR_REQUEST: 503 "no-room" "too much is being sent to the daemon at once";
    NO_ROOM_FOR_ANSWER: 503 "no-room" "too many answers wait to be read";
    QUEUE_FULL: 503 "queue-full" "too many prompts wait" "RATE_LIMITED";
    SESSION_OVER: 503 "session-over" "the session could not go on";
    SHUTTING_DOWN: 503 "shutting-down" "the daemon is shutting down" "UPSTREAM_UNAVAILABLE";
    TOO_MANY_REQUESTS: 503 "too-many-requests" "too many requests wait";
    LOG_UNAVAILABLE: 503 "log-unavailable" "the log cannot be used just now" "UPSTREAM_UNAVAILABLE";
    FILES_UNAVAILABLE: 503 "files-unavailable" "files of the daemon cannot be used just now" "UPSTREAM_UNAVAILABLE";
    TOO_MANY_CONNECTIONS: 503 "too-many-connections" "too many connections";
    TOO_MANY_OPEN_FILES: 503 "too-many-open-files" "too many files are open";
    DISK_FULL: 507 "disk-full" "the disk is full";

    // Faults of an agent that was asked for something.
    AGENT_NOT_FOUND (AgentNotFound): 400 "agent-not-found" "there is no such agent" "AGENT_UNAVAILABLE";
    AUTH (Auth): 502 "auth" "the agent could not do it" "AGENT_AUTH_REQUIRED";
    RATE_LIMIT (RateLimit): 502 "rate-limit" "the agent could not do it" "RATE_LIMITED";
    MODEL_UNAVAILABLE (ModelUnavailable): 502 "model-unavailable" "the agent could not do it" "AGENT_UNAVAILABLE";
    PROMPT_TOO_LARGE (PromptTooLarge): 502 "prompt-too-large" "the agent could not do it" "AGENT_PROMPT_TOO_LARGE";
    UPSTREAM_UNAVAILABLE (UpstreamUnavailable): 502 "upstream-unavailable" "the agent could not do it" "UPSTREAM_UNAVAILABLE";
    TIMEOUT (Timeout): 502 "timeout" "the agent could not do it" "AGENT_UNAVAILABLE";
    REJECTED (Rejected): 502 "rejected" "the agent refused" "AGENT_EXECUTION_FAILED";
    PROCESS_EXIT (ProcessExit): 502 "process-exit" "the agent could not do it" "AGENT_UNAVAILABLE";
    PROTOCOL (Protocol): 502 "protocol" "the agent could not do it" "AGENT_UNAVAILABLE";
    INTERRUPTED (Interrupted): 502 "interrupted" "the agent could not do it";
    SESSION_LOST (SessionLost): 502 "session-lost" "the agent could not do it";
    AGENT_FAILED (Internal): 502 "internal" "the agent could not do it";
}

/// Open Design's code of a run's fault. An agent that could not be started at all is unavailable;
/// one that ran has failed.
pub(crate) fn run_code(category: Category, had_worker: bool) -> &'static str {
    match category {
        Category::Auth
        | Category::RateLimit
        | Category::PromptTooLarge
        | Category::UpstreamUnavailable => ProblemKind::from(category).open_design,
        _ if had_worker => REJECTED.open_design,
        _ => AGENT_NOT_FOUND.open_design,
    }
}

/// Open Design's code where an agent could not be started to set an option.
pub(crate) fn unlinked_code(category: Category) -> &'static str {
    match category {
        Category::BadInput => BAD_INPUT.open_design,
        category => run_code(category, false),
    }
}
