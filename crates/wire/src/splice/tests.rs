use super::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn a_member_is_set_and_its_neighbours_keep_their_bytes() {
    let object = json(r#"{"a": 1e2,"caps":{"big": 12345678901234567890123},"z":"\u0041"}"#);

    let set = set_member(&object, &["caps", "load"], &json("true")).unwrap();

    assert_eq!(
        set.as_str(),
        r#"{"a":1e2,"caps":{"big":12345678901234567890123,"load":true},"z":"\u0041"}"#
    );
}

#[test]
fn missing_objects_on_the_path_are_made() {
    let set = set_member(&json("{}"), &["a", "b"], &json("{}")).unwrap();
    assert_eq!(set.as_str(), r#"{"a":{"b":{}}}"#);

    let set = set_member(&json("null"), &["a"], &json("1")).unwrap();
    assert_eq!(set.as_str(), r#"{"a":1}"#);
}

#[test]
fn a_member_is_removed() {
    let removed = remove_member(&json(r#"{"a":1,"b":[2],"a":3}"#), "a").unwrap();
    assert_eq!(removed.as_str(), r#"{"b":[2]}"#);
}
