use super::*;

fn object(text: &str) -> JsonObject<'_> {
    JsonNode(text).object()
}

#[test]
fn members_of_the_wrong_type_are_missing_and_cost_nothing_else() {
    let fields = object(r#"{"a":5,"b":null,"c":{"d":[1,"x"]},"e":"text","f":true}"#);

    assert_eq!(fields.text("a"), None);
    assert!(fields.get("b").is_none());
    assert_eq!(fields.object("c").items("d").len(), 2);
    assert!(fields.object("e").is_empty() && fields.items("c").is_empty());
    assert_eq!(fields.text("e").as_deref(), Some("text"));
    assert_eq!(fields.get("f").and_then(JsonNode::flag), Some(true));
}

#[test]
fn what_is_no_object_has_no_members() {
    for text in ["null", "5", "[]", "\"{}\"", "", "{broken", "{\"a\":"] {
        assert!(object(text).is_empty(), "{text}");
    }
}

#[test]
fn half_a_surrogate_pair_does_not_cost_the_text() {
    let fields = object(r#"{"\udc00":1,"text":"cut \ud83d","n":2}"#);

    assert!(fields.text("text").unwrap().starts_with("cut \u{fffd}"));
    assert_eq!(fields.count("n"), Some(2));
}

#[test]
fn nesting_of_any_depth_is_carried() {
    let deep =
        format!("{{\"deep\":{}1{},\"text\":\"here\"}}", "[".repeat(9_000), "]".repeat(9_000));

    assert_eq!(object(&deep).text("text").as_deref(), Some("here"));
    assert_eq!(object(&deep).items("deep").len(), 1);
}

#[test]
fn of_a_member_given_twice_the_last_counts() {
    assert_eq!(object(r#"{"a":1,"a":2}"#).count("a"), Some(2));
}

#[test]
fn numbers_are_read_as_they_come() {
    let fields =
        object(r#"{"i":7,"f":7.9,"e":1e3,"neg":-1,"big":1e300,"id":12345678901234567890123}"#);

    assert_eq!(fields.count("i"), Some(7));
    assert_eq!(fields.count("f"), Some(7));
    assert_eq!(fields.count("e"), Some(1000));
    assert_eq!((fields.count("neg"), fields.count("big")), (None, None));
    assert_eq!(fields.label("id").as_deref(), Some("12345678901234567890123"));
}
