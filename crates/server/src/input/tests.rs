//! Reading what clients send.

use super::*;

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Thing {
    a_name: Option<String>,
}

fn detail(body: &str) -> String {
    read_json::<Thing>(body.as_bytes()).unwrap_err().detail.unwrap()
}

#[test]
fn every_unknown_member_is_named() {
    assert_eq!(detail(r#"{"a":1,"aName":"x","b":2}"#), "unknown members: `a`, `b`");
}

#[test]
fn other_faults_are_told_as_they_are() {
    assert!(detail(r#"{"aName":1}"#).contains("expected a string"));
    assert!(detail("{").contains("EOF"));
    assert!(detail("[]").contains("expected struct Thing"), "{}", detail("[]"));
    assert!(detail(r#"{"aName":"x","aName":"y"}"#).contains("duplicate"));
    assert!(detail("\u{0}").contains("expected value"));
}

#[test]
fn a_right_body_is_read() {
    assert_eq!(read_json::<Thing>(br#"{"aName":"x"}"#).unwrap().a_name.as_deref(), Some("x"));
}

#[test]
fn limits_are_kept() {
    assert_eq!(limit(None, 50, 100).unwrap(), 50);
    assert_eq!(limit(Some(100), 50, 100).unwrap(), 100);
    assert!(limit(Some(0), 50, 100).is_err());
    assert!(limit(Some(101), 50, 100).is_err());
}
