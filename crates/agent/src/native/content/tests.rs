//! Nothing that a user sends is lost on the way to a model.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn all_text(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text } => text.as_str(),
        MessagePart::Image { .. } => "",
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn images_are_sent_to_those_who_look_at_them_and_named_to_others() {
    let blocks = [
        json!({ "type": "text", "text": "what is" }),
        json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" }),
        json!({ "type": "text", "text": "this?" }),
    ];
    let image = MessagePart::Image { mime: "image/png".into(), data: "AAAA".into() };
    assert_eq!(
        parts(&blocks, true),
        [MessagePart::text("what is"), image, MessagePart::text("this?")]
    );
    assert_eq!(parts(&blocks, false), [MessagePart::text("what is\n[Image: image/png]\nthis?")]);
    // Nothing can be looked at here.
    let empty = [json!({ "type": "image", "mimeType": "image/gif", "data": "" })];
    assert_eq!(parts(&empty, true), [MessagePart::text("[Image: image/gif]")]);
}

#[test]
fn resources_are_told_with_their_address() {
    let blocks = [
        json!({ "type": "resource_link", "name": "a.rs", "uri": "file:///a.rs" }),
        json!({ "type": "resource", "resource": { "uri": "file:///b", "text": "hello" } }),
        json!({ "type": "resource", "resource": {
            "uri": "file:///c.png", "mimeType": "image/png", "blob": "BBBB",
        } }),
        json!({ "type": "resource", "resource": {
            "uri": "file:///d.zip", "mimeType": "application/zip", "blob": "CCCC",
        } }),
        json!({ "type": "audio", "mimeType": "audio/wav", "data": "DDDD" }),
    ];
    let text = all_text(&parts(&blocks, false));
    let expected = "[Resource: a.rs] file:///a.rs\n[Resource: file:///b]\nhello\n\
                    [Resource: file:///c.png] (image/png)\n\
                    [Resource: file:///d.zip] (application/zip)\n[Audio: audio/wav]";
    assert_eq!(text, expected);
    let seen = parts(&blocks, true);
    assert!(seen.contains(&MessagePart::Image { mime: "image/png".into(), data: "BBBB".into() }));
}

#[test]
fn a_prompt_without_anything_is_still_a_message() {
    for blocks in
        [vec![], vec![json!({ "type": "text", "text": " \n" })], vec![json!({ "type": "text" })]]
    {
        assert_eq!(parts(&blocks, true), [MessagePart::text(NOTHING)], "{blocks:?}");
    }
}

#[test]
fn only_text_is_read_for_commands() {
    let blocks = [
        json!({ "type": "text", "text": "/help" }),
        json!({ "type": "image", "data": "AAAA" }),
        json!({ "type": "text", "text": "me" }),
    ];
    assert_eq!(plain(&blocks), "/help\nme");
}

fn block() -> impl Strategy<Value = Value> {
    let word = "[a-z]{1,8}";
    prop_oneof![
        "\\PC{0,20}".prop_map(|text| json!({ "type": "text", "text": text })),
        (word, "[A-Za-z0-9]{0,8}").prop_map(
            |(mime, data)| json!({ "type": "image", "mimeType": format!("image/{mime}"), "data": data })
        ),
        (word, word).prop_map(
            |(name, uri)| json!({ "type": "resource_link", "name": name, "uri": uri })
        ),
        (word, "\\PC{0,20}").prop_map(
            |(uri, text)| json!({ "type": "resource", "resource": { "uri": uri, "text": text } })
        ),
        (word, word).prop_map(|(uri, mime)| json!({ "type": "resource", "resource": {
            "uri": uri, "mimeType": format!("image/{mime}"), "blob": "AAAA",
        } })),
        word.prop_map(|kind| json!({ "type": format!("new_{kind}") })),
        any::<bool>().prop_map(|odd| json!({ "type": odd })),
    ]
}

proptest! {
    #[test]
    fn no_text_is_lost_and_no_message_is_empty(
        blocks in prop::collection::vec(block(), 0..8), takes_images: bool,
    ) {
        let parts = parts(&blocks, takes_images);

        prop_assert!(!parts.is_empty());
        let is_filled = |part: &MessagePart| match part {
            MessagePart::Text { text } => !text.trim().is_empty(),
            MessagePart::Image { data, .. } => !data.is_empty(),
        };
        prop_assert!(parts.iter().any(is_filled), "{parts:?}");
        let has_image = parts.iter().any(|part| matches!(part, MessagePart::Image { .. }));
        prop_assert!(takes_images || !has_image);
        // Each block is found after the one before it.
        let told = all_text(&parts);
        let mut rest = told.as_str();
        for block in &blocks {
            let words = [
                &block["text"], &block["uri"], &block["resource"]["uri"], &block["resource"]["text"],
            ];
            let is_shown = has_image && (block["type"] == "image" || block["type"] == "resource");
            for word in words.into_iter().filter_map(Value::as_str) {
                if word.trim().is_empty() || (is_shown && block["resource"]["blob"].is_string()) {
                    continue;
                }
                let at = rest.find(word);
                prop_assert!(at.is_some(), "{word:?} is not in {rest:?}");
                rest = &rest[at.unwrap()..];
            }
            if block["type"] == "image" && !takes_images {
                let named = format!("[Image: {}]", block["mimeType"].as_str().unwrap());
                prop_assert!(told.contains(&named));
            }
        }
    }
}
