use serde_json::json;
use wire::Json;

use super::*;

fn with<T>(value: &serde_json::Value, read: impl FnOnce(JsonNode<'_>) -> T) -> T {
    read(JsonNode::of(&Json::of(value)))
}

#[test]
fn the_text_of_a_chunk_is_found_in_every_shape() {
    for (content, expected) in [
        (json!({ "type": "text", "text": "a" }), "a"),
        (json!({ "text": "a" }), "a"),
        (json!("a"), "a"),
        (json!([{ "type": "text", "text": "a" }, { "type": "image" }, { "text": "b" }]), "ab"),
        (json!({ "type": "image", "text": "a" }), ""),
        (json!({ "type": "text", "text": 5 }), ""),
        (json!(null), ""),
        (json!([]), ""),
    ] {
        let text = with(&json!({ "content": content }), |node| chunk_text(&node.object()));
        assert_eq!(text, expected, "{content}");
    }
}

#[test]
fn a_file_is_known_by_name_and_size() {
    let file = |block: serde_json::Value| with(&block, |node| ContentBlock::of(node).file());

    let link =
        json!({ "type": "resource_link", "name": "a.rs", "uri": "file:///w/a.rs", "size": 9 });
    let expected = FileContent {
        reference: "file:///w/a.rs".into(),
        name: "a.rs".into(),
        size: 9,
        mime_type: None,
    };
    assert_eq!(file(link), Some(expected));
    let image = json!({ "type": "image", "data": "aGVsbG8=", "mimeType": "image/png", "uri": "file:///p/x.png?v" });
    let image = file(image).unwrap();
    assert_eq!((image.name.as_str(), image.size), ("x.png", 5));
    assert_eq!(image.mime_type.as_deref(), Some("image/png"));
    let embedded =
        json!({ "type": "resource", "resource": { "uri": "file:///n.txt", "text": "héé" } });
    assert_eq!(file(embedded).map(|file| file.size), Some(5));
    assert_eq!(file(json!({ "type": "image", "data": "aGVsbG8=" })), None);
    assert_eq!(file(json!({ "type": "resource_link", "name": "a", "uri": "u" })), None);
}

#[test]
fn a_block_is_named_in_one_short_line_whatever_its_address_is() {
    let described =
        |block: serde_json::Value| with(&block, |node| ContentBlock::of(node).describe().unwrap());
    assert_eq!(
        described(json!({ "type": "image", "uri": "file:///a\n.png" })),
        "[image: file:///a .png]"
    );
    let all = format!("data:image/png;base64,{}", "A".repeat(1 << 20));
    let line = described(json!({ "type": "image", "uri": all }));
    assert!(line.starts_with("[image: data:image/png") && line.len() < 300, "{}", line.len());
}
