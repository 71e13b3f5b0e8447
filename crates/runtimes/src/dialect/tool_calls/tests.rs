//! Changes that stay, output that is bounded.

use serde_json::json;

use super::super::{DialectOutput, Outputs};
use super::{MAX_LIVE_BYTES, ToolCallResult, ToolCalls, end_of};
use crate::update::{ContentBlock, SessionUpdate, ToolCallContent};

fn last_content(out: &[DialectOutput]) -> Vec<ToolCallContent> {
    match out.last() {
        Some(DialectOutput::Update(
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call),
        )) => call.content.clone().unwrap_or_default(),
        other => panic!("no call: {other:?}"),
    }
}

#[test]
fn a_change_is_still_there_when_the_call_has_ended() {
    let (mut calling, mut out) = (ToolCalls::default(), Outputs::default());
    calling.start("1", "write", &json!({ "path": "a.txt", "content": "new" }), None, &mut out);
    calling.end(
        "1",
        ToolCallResult { text: "done".to_owned(), ..ToolCallResult::default() },
        &mut out,
    );

    let content = last_content(&out);
    assert!(matches!(&content[0], ToolCallContent::Diff { path, .. } if path == "a.txt"));
    assert_eq!(content[1], ToolCallContent::text("done"));
}

#[test]
fn live_output_is_the_end_of_it_and_said_once() {
    let (mut calling, mut out) = (ToolCalls::default(), Outputs::default());
    calling.start("1", "bash", &json!({ "command": "yes" }), None, &mut out);
    let long = "é".repeat(MAX_LIVE_BYTES);
    calling.output("1", &long, &mut out);
    calling.output("1", &long, &mut out);
    calling.output("2", "of no call", &mut out);

    assert_eq!(out.len(), 2);
    let ToolCallContent::Content { content: ContentBlock::Text { text } } = &last_content(&out)[0]
    else {
        panic!("no text")
    };
    assert_eq!(text.len(), MAX_LIVE_BYTES);
}

#[test]
fn a_text_is_cut_between_characters() {
    assert_eq!(end_of("aé", 1), "");
    assert_eq!(end_of("aé", 2), "é");
    assert_eq!(end_of("aé", 9), "aé");
}

#[test]
fn a_call_that_is_cut_off_keeps_what_it_printed() {
    let (mut calling, mut out) = (ToolCalls::default(), Outputs::default());
    calling.start("1", "bash", &json!({ "command": "make" }), None, &mut out);
    calling.output("1", "half", &mut out);
    calling.close("cancelled", &mut out);
    calling.close("cancelled", &mut out);

    assert_eq!(out.len(), 3);
    assert_eq!(last_content(&out), [ToolCallContent::text("half\ncancelled")]);
}
