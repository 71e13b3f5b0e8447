use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn windows_are_found_under_all_their_names() {
    let entries = json!([
        { "id": "a", "context_length": 1 }, { "id": "b", "max_model_len": 2 },
        { "id": "c", "context_window": 3 }, { "id": "d", "meta": { "n_ctx_train": 4 } },
        { "id": "e", "top_provider": { "context_length": 5 } }, { "id": "f", "context_length": null },
        { "id": "g", "context_length": "7", "max_context_length": 9 }, { "id": "h" },
    ]);
    let models = read(&json!({ "data": entries })).unwrap();
    let windows: Vec<_> = models.iter().map(|model| model.context).collect();
    assert_eq!(windows, [Some(1), Some(2), Some(3), Some(4), Some(5), None, Some(7), None]);
}

#[test]
fn lists_of_all_shapes_are_read() {
    let ids = |value: Value| -> Option<Vec<String>> {
        Some(read(&value)?.into_iter().map(|model| model.id).collect())
    };
    assert_eq!(ids(json!({ "data": [{ "id": "a" }, { "id": "a" }, {}, 3] })).unwrap(), ["a"]);
    assert_eq!(ids(json!({ "models": [{ "name": "b" }] })).unwrap(), ["b"]);
    assert_eq!(ids(json!(["c", "", "with space", "tab\t"])).unwrap(), ["c"]);
    assert_eq!(ids(json!({ "data": null })).unwrap(), Vec::<String>::new());
    assert_eq!(ids(json!({ "hello": 1 })), None);
}

#[test]
fn only_what_can_be_nothing_else_is_discovered() {
    let is_list = |value: Value| read_strictly(&value).is_some();
    assert!(is_list(json!({ "object": "list", "data": [{ "id": "a", "object": "model" }] })));
    assert!(is_list(json!({ "object": "list", "data": null })));
    assert!(is_list(json!({ "data": [{ "id": "a", "object": "model" }] })));
    assert!(!is_list(json!({ "data": [{ "id": "a" }] })));
    assert!(!is_list(json!({ "data": [] })));
    assert!(!is_list(json!({ "object": "list", "data": [{ "id": 3 }] })));
    assert!(!is_list(json!({ "object": "list", "data": [{ "id": "a", "object": "user" }] })));
    assert!(!is_list(json!([])));
}

#[test]
fn eyes_are_told_or_guessed() {
    let told = |entry: Value| images(&entry);
    assert_eq!(
        told(json!({ "architecture": { "input_modalities": ["text", "image"] } })),
        Some(true)
    );
    assert_eq!(told(json!({ "architecture": { "input_modalities": ["text"] } })), Some(false));
    assert_eq!(told(json!({ "type": "vlm" })), Some(true));
    assert_eq!(told(json!({ "id": "x" })), None);
    for model in ["gpt-4o", "anthropic/claude-sonnet-4", "qwen2.5-vl:7b", "o3", "gemma3:4b"] {
        assert!(name_suggests_images(model), "{model}");
    }
    for model in ["qwen3", "deepseek-chat", "llama3.1", "gpt-3.5-turbo", "phi-o3x"] {
        assert!(!name_suggests_images(model), "{model}");
    }
}

#[test]
fn what_a_model_is_for_is_told_or_guessed() {
    let model = |entry: Value| read(&json!({ "data": [entry] })).unwrap().remove(0);
    for (entry, chats) in [
        (json!({ "id": "a", "type": "embeddings" }), false),
        (json!({ "id": "my-embedder", "type": "llm" }), true),
        (json!({ "id": "a", "architecture": { "output_modalities": ["image"] } }), false),
        (json!({ "id": "a", "architecture": { "output_modalities": ["image", "text"] } }), true),
        (json!({ "id": "a", "capabilities": { "completion_chat": false } }), false),
        (json!({ "id": "a", "mode": "rerank" }), false),
    ] {
        assert_eq!(model(entry.clone()).seems_to_chat(), chats, "{entry}");
    }
    for other in [
        "text-embedding-3-small",
        "nomic-embed-text:latest",
        "BAAI/bge-reranker-v2-m3",
        "BAAI/bge-m3",
        "intfloat/e5-large-v2",
        "whisper-1",
        "gpt-4o-mini-tts",
        "gpt-4o-transcribe",
        "tts-1-hd",
        "dall-e-3",
        "gpt-image-1",
        "black-forest-labs/FLUX.1-schnell",
        "stable-diffusion-3.5",
        "omni-moderation-latest",
        "llama-guard3:8b",
        "gpt-4o-realtime-preview",
        "sora-2",
        "mistral-ocr-latest",
        "gpt-3.5-turbo-instruct",
        "all-minilm",
    ] {
        assert!(!Model::named(other).seems_to_chat(), "{other}");
    }
    for chat in [
        "gpt-4o",
        "gpt-5-mini",
        "qwen3:4b",
        "llama3.1",
        "deepseek-r1:14b",
        "claude-sonnet-4",
        "mistral-small-latest",
        "phi4",
        "gemma3:27b",
        "openai.gpt-oss-120b-1:0",
        "veoh-7b",
        "command-r",
    ] {
        assert!(Model::named(chat).seems_to_chat(), "{chat}");
    }
}

proptest! {
    #[test]
    fn any_entry_is_survived(id in ".{0,300}", context in any::<i64>()) {
        let list = json!({ "object": "list", "data": [{ "id": id, "context_length": context }] });
        let _ = (read(&list), read_strictly(&list));
    }
}
