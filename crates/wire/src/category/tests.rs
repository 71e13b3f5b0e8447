use super::*;

#[test]
fn what_an_error_is_about_is_known_by_its_words() {
    for (words, category) in [
        ("Incorrect API key provided", Category::Auth),
        ("429 model: slow down", Category::RateLimit),
        ("maximum context length is 128000 tokens", Category::PromptTooLarge),
        ("context_length_exceeded", Category::PromptTooLarge),
        ("The server had an error", Category::UpstreamUnavailable),
        ("We're currently experiencing high demand", Category::UpstreamUnavailable),
        ("request failed: HTTP 503", Category::UpstreamUnavailable),
        ("Error: Session not found", Category::SessionLost),
        ("The response was cut by a content_filter", Category::Rejected),
        ("it took too long, 401 times", Category::Internal),
        ("it is odd", Category::Internal),
    ] {
        assert_eq!(Category::classify(None, words), category, "{words}");
    }
}

#[test]
fn a_status_says_more_than_words_unless_they_are_precise() {
    for (status, words, category) in [
        (401, "no such model", Category::Auth),
        (400, "API key not valid", Category::Auth),
        (400, "prompt is too long: 210000 tokens", Category::PromptTooLarge),
        (400, "unknown parameter: timeout", Category::BadInput),
        (402, "", Category::Rejected),
        (404, "the model is not there", Category::ModelUnavailable),
        (404, "Not Found", Category::ModelUnavailable),
        (404, "no conversation found with this id", Category::SessionLost),
        (408, "", Category::Timeout),
        (500, "the request exceeds the available context size", Category::PromptTooLarge),
        (502, "the context window is closed", Category::UpstreamUnavailable),
        (504, "", Category::Timeout),
        (529, "quota", Category::UpstreamUnavailable),
    ] {
        assert_eq!(Category::classify(Some(status), words), category, "{status} {words}");
    }
}

#[test]
fn an_error_of_json_rpc_is_judged_by_its_code_and_its_words() {
    for (code, words, category) in [
        (codes::AUTH_REQUIRED, "call authenticate first", Category::Auth),
        (429, "slow down", Category::RateLimit),
        (codes::INVALID_PARAMS, "it is odd", Category::BadInput),
        (codes::INVALID_PARAMS, "the request exceeds the context size", Category::PromptTooLarge),
        (codes::INTERNAL, "session not found", Category::SessionLost),
        (codes::INTERNAL, "it is odd", Category::Internal),
    ] {
        assert_eq!(Category::of_error(&RpcError::new(code, words)), category, "{code} {words}");
    }
}

#[test]
fn a_status_is_told_from_other_numbers() {
    for (text, status) in [
        ("429: {\"message\":\"slow down\"}", Some(429)),
        ("Error code: 401 - {'error': 1}", Some(401)),
        ("provider.auth_error: 401 Incorrect", Some(401)),
        ("Attempt 1 failed with status 500. Retrying", Some(500)),
        ("{\"error\":{\"code\":503,\"message\":\"busy\"}}", Some(503)),
        ("maximum context length is 400000 tokens", None),
        ("wrote 512 lines", None),
        ("é4", None),
        ("", None),
    ] {
        assert_eq!(status_in(text), status, "{text}");
    }
}
