use super::*;

#[test]
fn schemas_of_objects_are_passed_on_and_completed() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } },
        "required": ["a"], "$defs": {} });
    assert_eq!(usable_schema(&schema), schema);
    let bare = json!({ "type": "object", "properties": {} });
    assert_eq!(usable_schema(&json!({})), bare);
    assert_eq!(usable_schema(&json!({ "type": "object" })), bare);
}

#[test]
fn schemas_that_no_endpoint_takes_are_replaced() {
    let open = json!({ "type": "object", "properties": {} });
    let huge = json!({ "type": "object", "description": "x".repeat(100_000) });
    for lie in [
        json!(null),
        json!("object"),
        json!([1]),
        json!({ "type": "string" }),
        json!({ "type": ["object", "null"] }),
        json!({ "type": "object", "properties": [1] }),
        json!({ "type": "object", "required": "a" }),
        huge,
    ] {
        assert_eq!(usable_schema(&lie), open);
    }
}

#[test]
fn tools_without_a_usable_name_are_left_out_and_long_words_are_cut() {
    for bad in [json!({}), json!({ "name": 7 }), json!({ "name": "" }), json!(["name"])] {
        assert_eq!(OfferedTool::read(&bad), None);
    }
    assert_eq!(OfferedTool::read(&json!({ "name": "x".repeat(300) })), None);
    let offer = OfferedTool::read(&json!({
        "name": "a", "description": "y".repeat(9000), "annotations": { "readOnlyHint": true },
    }));
    let offer = offer.unwrap();
    assert_eq!(offer.description.chars().count(), MAX_DESCRIPTION_CHARS + 1);
    assert!(offer.only_reads);
    let titled = OfferedTool::read(&json!({ "name": "a", "title": "Title" })).unwrap();
    assert_eq!((titled.description.as_str(), titled.only_reads), ("Title", false));
}
