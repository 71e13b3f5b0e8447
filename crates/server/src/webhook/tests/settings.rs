//! What the configuration may say, and what of it is ever shown.

use super::super::delivery::signature;
use super::receiver::write_secret;
use super::*;

fn check(dir: &std::path::Path, mut table: Value) -> Result<Webhook, WebhookError> {
    if table["secret_file"].is_null() {
        table["secret_file"] = json!("secret");
    }
    serde_json::from_value::<WebhookTable>(table).unwrap().check(dir)
}

fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_secret(dir.path(), SECRET, 0o600);
    dir
}

#[test]
fn plain_http_goes_to_this_machine_only_unless_it_is_allowed() {
    let dir = prepared();
    for url in
        ["http://127.0.0.1:9/x", "http://[::1]:9/", "http://localhost/x", "https://a.example"]
    {
        assert!(check(dir.path(), json!({ "url": url })).is_ok(), "{url}");
    }
    for url in ["http://a.example/", "http://10.0.0.1/", "http://localhost.a.example/"] {
        let refused = check(dir.path(), json!({ "url": url })).unwrap_err();
        assert!(matches!(refused, WebhookError::PlainHttp), "{url}: {refused}");
        assert!(check(dir.path(), json!({ "url": url, "allow_http": true })).is_ok(), "{url}");
    }
    for url in ["ftp://a.example/", "file:///etc/passwd", "a.example", "", "unix:/x"] {
        assert!(check(dir.path(), json!({ "url": url, "allow_http": true })).is_err(), "{url}");
    }
}

#[test]
fn a_secret_is_private_and_long_enough() {
    let dir = prepared();
    let url = json!({ "url": "https://a.example" });
    for mode in [0o640, 0o604, 0o644] {
        write_secret(dir.path(), SECRET, mode);
        let refused = check(dir.path(), url.clone()).unwrap_err();
        assert!(matches!(refused, WebhookError::SecretIsOpen { .. }), "{mode:o}: {refused}");
    }
    std::fs::remove_file(dir.path().join("secret")).unwrap();
    assert!(matches!(check(dir.path(), url.clone()), Err(WebhookError::Unreadable { .. })));
    for secret in ["", "short", &"x".repeat(5000)] {
        write_secret(dir.path(), secret, 0o600);
        let refused = check(dir.path(), url.clone()).unwrap_err();
        assert!(matches!(refused, WebhookError::BadSecret { .. }), "{refused}");
    }
}

#[test]
fn nothing_secret_is_ever_shown() {
    let dir = prepared();
    let url = "https://me:pass-word@a.example:8443/T0K3N/path?key=k3y#frag";
    let table = json!({ "url": url, "secret_file": "secret" });
    let table: WebhookTable = serde_json::from_value(table).unwrap();
    let webhook = table.check(dir.path()).unwrap();

    assert_eq!(webhook.shown(), "https://a.example:8443");
    let told = format!("{table:?} {} {:?}", table.shown(), webhook.secret);
    for secret in ["pass-word", "T0K3N", "k3y", SECRET] {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
}

#[test]
fn unknown_events_and_members_are_refused() {
    for table in [
        json!({ "url": "https://x", "secret_file": "s", "events": ["everything"] }),
        json!({ "url": "https://x", "secret_file": "s", "colour": "blue" }),
        json!({ "url": "https://x" }),
    ] {
        assert!(serde_json::from_value::<WebhookTable>(table.clone()).is_err(), "{table}");
    }
    let dir = prepared();
    let empty = check(dir.path(), json!({ "url": "https://x", "events": [] }));
    assert!(matches!(empty, Err(WebhookError::NoEvents)));
    let public = check(dir.path(), json!({ "url": "https://x", "public_url": "javascript:x" }));
    assert!(matches!(public, Err(WebhookError::BadPublicUrl)));
}

#[test]
fn the_signature_is_the_documented_one() {
    let dir = tempfile::tempdir().unwrap();
    write_secret(dir.path(), "0123456789abcdef", 0o600);
    let webhook = check(dir.path(), json!({ "url": "https://a.example" })).unwrap();
    // printf '1700000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef
    let expected = "e4f8e2ecae2295b2ddb2f0b5584c8275e226c0ebe9b3b819e70156bb67122e3e";
    assert_eq!(
        signature(&webhook.secret, 1_700_000_000, "{}"),
        format!("t=1700000000,v1={expected}")
    );
}
