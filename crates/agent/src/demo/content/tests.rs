//! Tests of `content`.

use super::*;

#[test]
fn texts_are_joined_and_the_rest_is_described() {
    let prompt = serde_json::from_str::<DemoPrompt>(
        r#"[{"type":"text","text":"a"},
            {"type":"image","mimeType":"image/png","data":"AAAA","uri":"x"},
            {"type":"text","text":"b","annotations":{"priority":1}}]"#,
    );
    let prompt = prompt.unwrap();
    assert_eq!(prompt.text, "a\nb");
    assert_eq!(prompt.attachments, ["[image image/png, 3 bytes]"]);
}

#[test]
fn what_is_no_block_is_refused() {
    for blocks in ["{}", "null", r#"["x"]"#, r#"[{"type":"video"}]"#, r#"[{"type":"image"}]"#] {
        assert!(serde_json::from_str::<DemoPrompt>(blocks).is_err(), "{blocks}");
    }
}
