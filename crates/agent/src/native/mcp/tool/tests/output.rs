//! What models and people get of a result.

use serde_json::json;

use super::super::*;

fn text_of(output: &ToolOutput) -> &str {
    match output.parts.as_slice() {
        [MessagePart::Text { text }, ..] => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_kind_of_content_comes_through_or_is_named() {
    let output = read(&json!({ "content": [
        { "type": "text", "text": "one" },
        { "type": "image", "mimeType": "image/png", "data": "AAAA" },
        { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" },
        { "type": "resource_link", "name": "n", "uri": "file:///x", "description": "about" },
        { "type": "resource", "resource": { "uri": "u:1", "text": "inside" } },
        { "type": "resource", "resource": { "uri": "u:2", "mimeType": "image/gif", "blob": "BBBB" } },
        { "type": "resource", "resource": { "uri": "u:3", "blob": "BBBB" } },
        { "type": "hologram", "rays": 3 },
    ] }))
    .unwrap();
    let text = text_of(&output);
    for expected in [
        "one",
        "[audio (audio/wav) is left out]",
        "[resource n: file:///x] about",
        "[resource u:1]\ninside",
        "[resource u:3 (unknown type) is left out]",
        "hologram",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    let image =
        |mime: &str, data: &str| MessagePart::Image { mime: mime.into(), data: data.into() };
    assert_eq!(output.parts[1..], [image("image/png", "AAAA"), image("image/gif", "BBBB")]);
    assert_eq!(output.content.len(), 3);
}

#[test]
fn structured_content_counts_where_there_is_no_other() {
    let alone = read(&json!({ "content": [], "structuredContent": { "a": 1 } })).unwrap();
    assert_eq!(text_of(&alone), "{\n  \"a\": 1\n}");
    let beside = json!({ "content": [{ "type": "text", "text": "x" }], "structuredContent": {} });
    assert_eq!(text_of(&read(&beside).unwrap()), "x");
}

#[test]
fn an_error_is_told_in_the_words_of_the_server() {
    let failed = json!({ "content": [{ "type": "text", "text": "no such row" }], "isError": true });
    assert_eq!(read(&failed), Err(ToolError("no such row".into())));
    assert!(read(&json!({ "isError": true })).is_err());
}

#[test]
fn nothing_is_said_to_be_nothing() {
    for empty in [json!({}), json!(null), json!({ "content": "x" }), json!({ "content": [] })] {
        assert_eq!(text_of(&read(&empty).unwrap()), "The tool gave no output.");
    }
}

#[test]
fn what_is_too_long_keeps_its_beginning_and_its_end() {
    let long = format!("begin{}end", "ä".repeat(1_000_000));
    let output = read(&json!({ "content": [{ "type": "text", "text": long }] })).unwrap();
    let text = text_of(&output);
    assert!(text.starts_with("begin") && text.ends_with("end"));
    assert!(text.chars().count() < 30_200 && text.contains("970008 characters in the middle"));

    let image = json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(5 << 20) });
    let output = read(&json!({ "content": [image, image] })).unwrap();
    assert!(text_of(&output).contains("too large"));
    assert_eq!(output.parts.len(), 2);
}
