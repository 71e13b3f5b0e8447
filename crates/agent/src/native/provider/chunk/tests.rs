use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(chunks: &[Value]) -> Vec<Delta> {
    let mut state = ChunkParser::default();
    let mut out = VecDeque::new();
    for chunk in chunks {
        state.take(chunk, &mut out).unwrap();
    }
    state.end(&mut out);
    out.into()
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "delta": delta }] })
}

fn said(chunk: Value) -> Vec<Delta> {
    let mut deltas = read(&[chunk]);
    assert_eq!(deltas.pop().map(|last| matches!(last, Delta::Finish(_))), Some(true));
    deltas
}

#[test]
fn thoughts_are_found_under_all_their_names_and_once() {
    let thought = |text: &str| vec![Delta::Thought(text.to_owned())];
    assert_eq!(said(delta(json!({ "reasoning_content": "a" }))), thought("a"));
    assert_eq!(said(delta(json!({ "reasoning": "a", "content": null }))), thought("a"));
    assert_eq!(said(delta(json!({ "reasoning_content": "a", "reasoning": "a" }))), thought("a"));
    assert_eq!(said(delta(json!({ "reasoning_content": "", "reasoning": "a" }))), thought("a"));
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "a" }] }]);
    assert_eq!(said(delta(json!({ "content": parts }))), thought("a"));
}

#[test]
fn a_thought_in_the_text_is_a_thought_and_a_call_behind_it_comes_last() {
    let call = json!([{ "index": 0, "id": "c", "function": { "name": "f", "arguments": "" } }]);
    let chunks = [
        delta(json!({ "content": "<thi" })),
        delta(json!({ "content": "nk>hm</th" })),
        delta(json!({ "content": "ink>\n\nYes <" })),
        delta(json!({ "tool_calls": call })),
    ];
    let told: Vec<_> = read(&chunks).into_iter().take(3).collect();
    assert_eq!(told[0], Delta::Thought("hm".into()));
    assert_eq!(told[1], Delta::Text("Yes <".into()));
    assert!(matches!(told[2], Delta::Call { .. }), "{told:?}");
}

#[test]
fn text_is_a_string_or_its_parts() {
    let text = vec![Delta::Text("ab".to_owned())];
    assert_eq!(said(delta(json!({ "content": "ab" }))), text);
    let parts = json!([{ "type": "text", "text": "a" }, { "text": "b" }, { "type": "image" }, 3]);
    assert_eq!(said(delta(json!({ "content": parts }))), text);
    assert_eq!(said(json!({ "choices": [{ "message": { "content": "ab" } }] })), text);
    assert_eq!(said(json!({ "choices": [{ "text": "ab" }] })), text);
}

#[test]
fn usage_is_found_wherever_it_is_and_told_once() {
    let usage = TokenUsage { input: 3, output: 2, thought: 1, cached: 1, nano_usd: None };
    let said = json!({
        "prompt_tokens": 3, "completion_tokens": "2", "total_tokens": null,
        "completion_tokens_details": { "reasoning_tokens": 1.0 },
        "prompt_tokens_details": { "cached_tokens": 1, "audio_tokens": null },
    });
    let expect = [Delta::Usage(usage), Delta::Finish(FinishReason::Stop)];
    assert_eq!(read(&[json!({ "choices": [], "usage": said })]), expect);
    assert_eq!(read(&[json!({ "choices": [{ "delta": {}, "usage": said }] })]), expect);
    assert_eq!(read(&[json!({ "x_groq": { "usage": said } })]), expect);
    let twice = [json!({ "usage": { "prompt_tokens": 1 } }), json!({ "usage": said })];
    assert_eq!(read(&twice), expect);
    assert_eq!(read(&[json!({ "usage": said }), json!({ "usage": null })]), expect);
}

#[test]
fn reasons_are_translated() {
    let reason = |reason: Value| {
        let deltas = read(&[json!({ "choices": [{ "delta": {}, "finish_reason": reason }] })]);
        deltas.last().cloned().unwrap()
    };
    assert_eq!(reason(json!("stop")), Delta::Finish(FinishReason::Stop));
    assert_eq!(reason(json!("length")), Delta::Finish(FinishReason::Length));
    assert_eq!(reason(json!("tool_calls")), Delta::Finish(FinishReason::Calls));
    assert_eq!(reason(json!("content_filter")), Delta::Finish(FinishReason::Filtered));
    assert_eq!(reason(json!("something new")), Delta::Finish(FinishReason::Stop));
    assert_eq!(reason(json!(null)), Delta::Finish(FinishReason::Stop));
    assert_eq!(reason(json!(7)), Delta::Finish(FinishReason::Stop));
}

#[test]
fn a_refusal_is_said_and_is_one() {
    let deltas = read(&[delta(json!({ "refusal": "No." }))]);
    assert_eq!(deltas, [Delta::Text("No.".to_owned()), Delta::Finish(FinishReason::Filtered)]);
}

#[test]
fn calls_come_as_fragments_as_objects_and_in_the_old_form() {
    let call = |id: Option<&str>, name: Option<&str>, arguments: &str| Delta::Call {
        index: 0,
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        arguments: arguments.to_owned(),
    };
    let fragments = [
        delta(json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "x" } }] })),
        delta(
            json!({ "tool_calls": [{ "index": 0, "id": "", "function": { "arguments": "{}" } }] }),
        ),
        delta(json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "x" } }] })),
    ];
    let expect = [
        call(Some("a"), Some("x"), ""),
        call(None, None, "{}"),
        call(None, None, ""),
        Delta::Finish(FinishReason::Calls),
    ];
    assert_eq!(read(&fragments), expect);
    let object =
        json!({ "tool_calls": [{ "function": { "name": "x", "arguments": { "k": 1 } } }] });
    assert_eq!(said(delta(object)), [call(None, Some("x"), "{\"k\":1}")]);
    let old = json!({ "function_call": { "name": "x", "arguments": "{}" } });
    assert_eq!(said(delta(old)), [call(None, Some("x"), "{}")]);
}

#[test]
fn calls_of_a_whole_message_are_told_apart_without_ids() {
    let calls = json!([{ "function": { "name": "x" } }, { "function": { "name": "x" } }]);
    let deltas = said(json!({ "choices": [{ "message": { "tool_calls": calls } }] }));
    let indexes: Vec<_> = deltas
        .iter()
        .map(|delta| if let Delta::Call { index, .. } = delta { *index } else { 99 })
        .collect();
    assert_eq!(indexes, [0, 1]);
}

#[test]
fn errors_are_told_and_empty_ones_are_none() {
    let take = |chunk: Value| ChunkParser::default().take(&chunk, &mut VecDeque::new());
    assert_eq!(
        take(json!({ "error": { "message": "m" } })),
        Err(ChunkError::Error(json!({ "message": "m" })))
    );
    assert_eq!(take(json!({ "error": "m" })), Err(ChunkError::Error(json!("m"))));
    assert_eq!(take(json!({ "error": null })), Ok(()));
    let choice = json!({ "choices": [{ "delta": {}, "finish_reason": "error" }] });
    assert_eq!(take(choice), Err(ChunkError::Error(Value::Null)));
}

#[test]
fn other_choices_are_not_mixed_in() {
    let chunk = json!({ "choices": [
        { "index": 1, "delta": { "content": "other" } }, { "index": 0, "delta": { "content": "a" } },
    ] });
    assert_eq!(said(chunk), [Delta::Text("a".to_owned())]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let names = vec![
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "index",
        "usage",
        "prompt_tokens",
        "finish_reason",
        "reasoning",
        "type",
        "text",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 4, move |inner| {
        let name = prop::sample::select(names.clone());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_taken_without_panic(chunks in prop::collection::vec(any_json(), 0..4)) {
        let mut state = ChunkParser::default();
        let mut out = VecDeque::new();
        for chunk in chunks {
            let _ = state.take(&chunk, &mut out);
        }
    }
}
