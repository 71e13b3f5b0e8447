use proptest::prelude::*;

use super::*;

fn redacted(secrets: &[&str], text: &str) -> String {
    let known = Secrets::default();
    known.register_all(secrets.iter().copied());
    known.redact(text).into_owned()
}

#[test]
fn a_registered_value_is_hidden_wherever_it_stands() {
    assert_eq!(redacted(&["hunter2hunter2"], "a hunter2hunter2 b"), "a [redacted] b");
    assert_eq!(redacted(&["hunter2hunter2"], "hunter2hunter2"), "[redacted]");
    assert_eq!(redacted(&["hunter2hunter2"], "hunter2hunter"), "hunter2hunter");
}

#[test]
fn short_values_are_words_and_stay() {
    assert_eq!(redacted(&["session"], "a session"), "a session");
}

#[test]
fn quoting_does_not_bring_a_secret_to_light() {
    let secret = "pass\"word\\with\nline\té";
    for shown in [
        format!("{secret:?}"),
        serde_json::json!({ "x": secret }).to_string(),
        format!("{:?}", serde_json::json!({ "x": secret }).to_string()),
        format!("https://x/?q={}", percent_encoded(secret.as_bytes(), b"-._~")),
    ] {
        let text = redacted(&[secret], &shown);
        assert!(text.contains(REDACTED), "{text}");
        assert!(!text.contains("word"), "{text}");
    }
}

#[test]
fn overlapping_secrets_are_hidden_as_one() {
    let text = redacted(&["abcdefgh1234", "1234ijklmnop"], "<abcdefgh1234ijklmnop>");
    assert_eq!(text, "<[redacted]>");
}

#[test]
fn a_long_value_is_hidden_to_its_end() {
    let words: Vec<String> = (0..3000).map(|n| format!("{n:04x}")).collect();
    let long = words.concat();
    assert_eq!(redacted(&[&long], &format!("({long})")), "([redacted])");
}

#[test]
fn the_oldest_are_forgotten_when_there_are_too_many() {
    let known = Secrets::default();
    let values: Vec<String> = (0..=MAX_SECRETS).map(|n| format!("value-number-{n:06}.")).collect();
    known.register_all(values.iter().map(String::as_str));
    assert_eq!(known.redact(&values[0]), values[0]);
    assert_eq!(known.redact(&values[1]), REDACTED);
    assert_eq!(known.redact(&values[MAX_SECRETS]), REDACTED);
}

#[test]
fn the_environment_gives_what_is_named_like_a_secret() {
    let known = Secrets::default();
    let variables = [
        ("ANTHROPIC_API_KEY", "value-of-key"),
        ("GITHUB_TOKEN", "value-of-token"),
        ("my_secret", "value-of-secret"),
        ("DB_PASSWORD", "value-of-password"),
        ("PATH", "/usr/local/bin"),
        ("SHORT_KEY", "abc"),
    ];
    known.register_environment(variables.map(|(name, value)| (name.into(), value.into())));
    let all = "value-of-key value-of-token value-of-secret value-of-password /usr/local/bin abc";
    let hidden = format!("{REDACTED} {REDACTED} {REDACTED} {REDACTED} /usr/local/bin abc");
    assert_eq!(known.redact(all), hidden);
}

#[test]
fn what_looks_like_a_secret_is_hidden() {
    let key = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6";
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXBhcnQ";
    for (text, wanted) in [
        (format!("authorization: Bearer {key}"), "authorization: Bearer [redacted]"),
        (format!("AUTHORIZATION=bearer {key}!"), "AUTHORIZATION=bearer [redacted]!"),
        (format!("key sk-ant-{key} used"), "key [redacted] used"),
        (format!("(ghp_{key})"), "([redacted])"),
        (format!("token list: sy_{key} revoked"), "token list: [redacted] revoked"),
        (format!("github_pat_{key}"), "[redacted]"),
        (format!("t={jwt}."), "t=[redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE here".into(), "id [redacted] here"),
        (
            "http://127.0.0.1:7433/login#code=a1b2c3".into(),
            "http://127.0.0.1:7433/login#code=[redacted]",
        ),
        (format!("cookie: switchyard_session={key}; a=b"), "cookie: [redacted]; a=b"),
        (format!("sec-websocket-protocol: switchyard-token.{key}, acp.v1"), {
            "sec-websocket-protocol: switchyard-token.[redacted], acp.v1"
        }),
        (r#"{"password":"correct-horse"}"#.into(), r#"{"password":"[redacted]"}"#),
        (r#"["--api-key", "0123456789"]"#.into(), r#"["--api-key", "[redacted]"]"#),
        ("postgres://me:pw@host/db".into(), "postgres://[redacted]@host/db"),
        ("x\\nsk-0123456789abcdefghij".into(), "x\\n[redacted]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc".into(), "[redacted]"),
    ] {
        assert_eq!(Secrets::default().redact(&text), wanted, "{text}");
    }
}

#[test]
fn ordinary_words_stay() {
    for text in [
        "a valid token is needed",
        "task-runner-with-a-very-long-name started",
        "bearer of bad news",
        "inputTokens=123456789 outputTokens=12345678",
        "http://127.0.0.1:7433/v1/sessions?after=3",
        "mail me@example.org or git@github.com:a/b",
        "-----BEGIN CERTIFICATE-----",
        "the secret of a good log",
    ] {
        assert_eq!(Secrets::default().redact(text), text);
    }
}

proptest! {
    #[test]
    fn no_form_of_a_registered_secret_survives(
        secret in "[ -~äß€]{8,40}",
        before in ".{0,30}",
        after in ".{0,30}",
        form in 0..5usize,
    ) {
        let known = Secrets::default();
        known.register(&secret);
        let secret = secret.trim();
        prop_assume!(secret.len() >= MIN_BYTES && !REDACTED.contains(secret));
        let shown = &forms_of(secret)[form];
        let text = known.redact(&format!("{before}{shown}{after}")).into_owned();
        // What was put there must not have become part of it.
        prop_assume!(!secret.contains('[') && !secret.contains(']'));
        prop_assert!(!text.contains(shown.as_str()), "{text}");
    }

    #[test]
    fn several_secrets_are_all_hidden(
        secrets in prop::collection::vec("[a-z0-9]{8,20}", 1..6),
        words in prop::collection::vec("[ .,a-z]{0,8}", 6),
    ) {
        let known = Secrets::default();
        known.register_all(secrets.iter().map(String::as_str));
        let text: String =
            words.iter().zip(secrets.iter().cycle()).flat_map(|(a, b)| [a.as_str(), b]).collect();
        let text = known.redact(&text).into_owned();
        for secret in &secrets {
            prop_assert!(!text.contains(secret.as_str()), "{text}");
        }
    }

    #[test]
    fn any_text_is_survived_and_twice_is_once(text in any::<String>(), key in "[!-~]{8,30}") {
        let known = Secrets::default();
        known.register(&key);
        let once = known.redact(&text).into_owned();
        prop_assert_eq!(known.redact(&once), once.clone());
    }

    #[test]
    fn beginnings_in_any_order_are_survived(
        parts in prop::collection::vec(prop_oneof![
            Just("sk-"), Just("eyJ"), Just("token"), Just("="), Just("\""), Just("Bearer "),
            Just("://"), Just(":"), Just("@"), Just("é"), Just("\\n"), Just("abcdefghijklmnop"),
            Just("-----BEGIN "), Just("PRIVATE KEY"), Just("."), Just("login#code="),
        ], 0..60),
    ) {
        let text = parts.concat();
        let hidden = Secrets::default().redact(&text).into_owned();
        prop_assert!(!hidden.contains("Bearer abcdefghijklmnop"), "{hidden}");
    }
}
