use proptest::prelude::*;

use super::*;
use crate::native::endpoint::EndpointKind;
use crate::native::secret::Secret;

fn endpoint() -> Endpoint {
    let base = Url::parse("https://user:password1@models.test/v1?token=t").unwrap();
    let mut endpoint = Endpoint::new("test", EndpointKind::Other, base);
    endpoint.key = Some(Secret::new("the-key-of-the-house"));
    endpoint
}

fn fail(status: u16, body: &str) -> RequestFault {
    let endpoint = endpoint();
    refusal(&endpoint, &endpoint.base, status, body, None)
}

#[test]
fn the_documented_sentences_are_said() {
    let url = "https://models.test/v1";
    let check = |status, expect: &str| assert_eq!(fail(status, "").failure.message, expect);
    check(
        401,
        &format!("Authentication error (HTTP 401) calling {url}. Check your OPENAI_API_KEY."),
    );
    check(
        403,
        &format!("Authentication error (HTTP 403) calling {url}. Check your OPENAI_API_KEY."),
    );
    check(429, &format!("Rate limit exceeded (HTTP 429) calling {url}. Please retry later."));
    check(503, &format!("Server error (HTTP 503) from {url}."));
    check(418, &format!("HTTP error (418) from {url}."));
}

#[test]
fn what_the_provider_says_is_told() {
    let check = |body: &str, expect: &str| {
        let message = fail(400, body).failure.message;
        assert_eq!(message, format!("HTTP error (400) from https://models.test/v1. {expect}"));
    };
    check(r#"{"error":{"message":"no such thing","type":"x"}}"#, "no such thing");
    check(r#"{"error":"plain words"}"#, "plain words");
    check(r#"{"message":"top level"}"#, "top level");
    check(r#"{"detail":"fast"}"#, "fast");
    check(r#"{"detail":[{"loc":["body","x"],"msg":"extra"}]}"#, "body.x: extra");
    check(r#"[{"error":{"code":400,"message":"in a list"}}]"#, "in a list");
    check("just\n text ", "just text");
}

#[test]
fn pages_explain_nothing_and_long_words_are_cut() {
    assert_eq!(
        fail(502, "<html>bad</html>").failure.message,
        "Server error (HTTP 502) from https://models.test/v1."
    );
    let long = fail(400, &"x".repeat(100_000)).failure.message;
    assert!(long.chars().count() < 800 && long.ends_with('…'), "{long}");
}

#[test]
fn no_secret_is_repeated() {
    let body = r#"{"error":{"message":"bad key the-key-of-the-house, password1, sk-abcdefghijk"}}"#;
    for status in [400, 401, 500] {
        let message = fail(status, body).failure.message;
        for secret in ["the-key-of", "password1", "sk-abc", "token"] {
            assert!(!message.contains(secret), "{message}");
        }
    }
}

#[test]
fn causes_are_put_into_the_right_category() {
    let check = |status, body, category, retries| {
        let trouble = fail(status, body);
        let got = (trouble.failure.category.as_str(), trouble.retry != Retry::Never);
        assert_eq!(got, (category, retries), "{status} {body}");
    };
    check(
        400,
        r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
        "prompt_too_large",
        false,
    );
    check(400, "This model's maximum context length is 8192 tokens", "prompt_too_large", false);
    check(
        500,
        r#"{"error":{"message":"the request exceeds the available context size"}}"#,
        "prompt_too_large",
        false,
    );
    // Only what llama.cpp says of a prompt with this status is known to be about its size.
    check(500, "request too large for the cache", "upstream_unavailable", true);
    check(404, r#"{"error":{"message":"model 'x' not found"}}"#, "model_unavailable", false);
    check(404, "", "bad_input", false);
    check(429, r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#, "rate_limit", false);
    check(429, "INSUFFICIENT_QUOTA: add credit", "rate_limit", false);
    check(429, "", "rate_limit", true);
    check(400, r#"{"error":{"message":"m","code":"content_filter"}}"#, "rejected", false);
}

#[test]
fn an_error_in_an_answer_is_judged_by_its_code() {
    let endpoint = endpoint();
    let say = |error| error_in_answer(&endpoint, &endpoint.base, &error);
    let limited = say(serde_json::json!({ "code": 429, "message": "slow down" }));
    assert_eq!(limited.failure.category.as_str(), "rate_limit");
    assert_eq!(limited.retry, Retry::After(None));
    let vague = say(serde_json::json!({ "message": "upstream broke", "type": "server_error" }));
    assert_eq!(vague.failure.category.as_str(), "upstream_unavailable");
    assert!(vague.failure.message.contains("upstream broke"), "{vague:?}");
    assert_eq!(say(Value::Null).failure.category.as_str(), "upstream_unavailable");
}

#[test]
fn every_status_has_its_class() {
    const CATEGORIES: [&str; 8] = [
        "auth",
        "rate_limit",
        "model_unavailable",
        "prompt_too_large",
        "upstream_unavailable",
        "timeout",
        "rejected",
        "bad_input",
    ];
    for status in 100..=599u16 {
        let trouble = fail(status, "");
        let message = &trouble.failure.message;
        assert!(message.contains(&status.to_string()), "{message}");
        assert!(message.contains("https://models.test/v1"), "{message}");
        let expect = match status {
            401 | 403 => "Authentication error",
            429 => "Rate limit exceeded",
            500..=599 => "Server error",
            _ => "HTTP error",
        };
        assert!(message.starts_with(expect), "{message}");
        let category = trouble.failure.category.as_str();
        assert!(CATEGORIES.contains(&category) || status < 300 && category == "protocol");
        let retries = matches!(status, 408 | 429 | 500..=599);
        assert_eq!(trouble.retry != Retry::Never, retries, "{status}");
    }
}

proptest! {
    #[test]
    fn any_body_makes_one_bounded_line(status in 100..600u16, body in ".{0,2000}") {
        let message = fail(status, &body).failure.message;
        prop_assert!(!message.contains(char::is_control));
        prop_assert!(message.chars().count() < 900);
    }
}
