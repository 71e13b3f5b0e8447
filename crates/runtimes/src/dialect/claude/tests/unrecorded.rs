//! What no recording shows: other versions, other tools, unlucky orders.

use serde_json::{Value, json};
use wire::Category;

use super::{DIALECT, calls, ends};
use crate::dialect::testing::{check, text_of, translate, turn_ends};
use crate::dialect::{
    CliExit, ComposedPrompt, ConversationOptions, DialectOutput, Outputs, StopReason, TurnOutcome,
};
use crate::update::{ContentBlock, SessionUpdate, ToolCallContent, ToolCallStatus};

fn lines(lines: &[Value]) -> Outputs {
    ended(lines, 0)
}

fn ended(lines: &[Value], code: i32) -> Outputs {
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let exit = CliExit { code: Some(code), ..CliExit::default() };
    let said = translate(DIALECT, text.as_bytes(), &[], &exit);
    check(&said);
    said
}

fn start(id: &str) -> Value {
    event(json!({ "type": "message_start", "message": { "id": id, "content": [] } }))
}

fn event(event: Value) -> Value {
    json!({ "type": "stream_event", "event": event, "parent_tool_use_id": null })
}

fn delta(index: u64, text: &str) -> Value {
    let delta = json!({ "type": "text_delta", "text": text });
    event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn stop() -> Value {
    event(json!({ "type": "message_stop" }))
}

fn dropped(from: u64) -> Value {
    let mut line = stop();
    line["abandoned_blocks"] = json!({ "from_block_index": from });
    line
}

fn whole(id: &str, content: Value) -> Value {
    json!({ "type": "assistant", "message": { "id": id, "content": content },
            "parent_tool_use_id": null })
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!([{ "type": "tool_use", "id": id, "name": name, "input": input }])
}

fn result_of(id: &str, content: Value) -> Value {
    let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    json!({ "type": "user", "message": { "role": "user", "content": [block] } })
}

fn done(text: &str) -> Value {
    json!({ "type": "result", "subtype": "success", "is_error": false, "result": text })
}

fn failed(members: Value) -> Value {
    let mut line = json!({ "type": "result", "subtype": "error_during_execution",
                           "is_error": true });
    line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    line
}

fn category(said: &[DialectOutput]) -> Category {
    let TurnOutcome::Failed(failure) = &ends(said)[0].ending else { panic!("{said:?}") };
    failure.category
}

#[test]
fn an_attempt_that_is_shorter_than_the_one_before_doubles_nothing() {
    let said = lines(&[
        start("1"),
        delta(0, "Hello, "),
        dropped(0),
        start("2"),
        delta(0, "Hel"),
        dropped(0),
        start("3"),
        delta(0, "Hello, world"),
        whole("3", text("Hello, world")),
        stop(),
        done("Hello, world"),
    ]);
    assert_eq!(text_of(&said), "Hello, world");
}

#[test]
fn an_attempt_that_takes_another_course_is_told_in_full() {
    let said = lines(&[
        start("1"),
        delta(0, "Hello, "),
        dropped(0),
        start("2"),
        delta(0, "Hel"),
        delta(0, "p is near."),
        whole("2", text("Help is near.")),
        stop(),
        done("Help is near."),
    ]);
    assert_eq!(text_of(&said), "Hello, Help is near.");
}

#[test]
fn a_message_that_starts_while_another_is_open_is_a_second_attempt() {
    let said = lines(&[
        start("1"),
        delta(0, "Hello"),
        start("2"),
        delta(0, "Hello"),
        delta(0, " again"),
        whole("2", text("Hello again")),
        stop(),
        done("Hello again"),
    ]);
    assert_eq!(text_of(&said), "Hello again");
}

/// Older versions ask again without streaming, and say nothing about it.
#[test]
fn a_whole_message_after_a_stream_that_broke_off_is_told() {
    let rest = |last: &str| {
        let said = lines(&[start("1"), delta(0, "Hello, "), whole("2", text(last)), done(last)]);
        text_of(&said)
    };
    assert_eq!(rest("Hello, world"), "Hello, world");
    assert_eq!(rest("Good day"), "Hello, Good day");
}

#[test]
fn what_was_kept_of_a_dropped_message_is_not_expected_again() {
    let said = lines(&[
        start("1"),
        delta(0, "Hi."),
        whole("1", text("Hi.")),
        dropped(1),
        start("2"),
        delta(0, "Hi."),
        whole("2", text("Hi.")),
        stop(),
        done("Hi."),
    ]);
    assert_eq!(text_of(&said), "Hi.Hi.");
}

#[test]
fn a_call_of_a_dropped_message_fails_and_its_second_try_runs() {
    let begin = |id: &str| {
        let block = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} });
        event(json!({ "type": "content_block_start", "index": 0, "content_block": block }))
    };
    let said = lines(&[
        start("1"),
        begin("a"),
        dropped(0),
        start("2"),
        begin("b"),
        whole("2", call("b", "Bash", json!({ "command": "ls" }))),
        stop(),
        result_of("b", json!("x")),
        done(""),
    ]);
    let last = |id: &str| calls(&said).into_iter().rfind(|call| call.id == id).unwrap().status;
    assert_eq!(
        (last("a"), last("b")),
        (Some(ToolCallStatus::Failed), Some(ToolCallStatus::Completed))
    );
}

#[test]
fn results_may_come_between_the_blocks_of_a_message() {
    let block = |index: u64| {
        let block = json!({ "type": "text", "text": "" });
        event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
    };
    let said = lines(&[
        start("1"),
        whole("1", call("a", "Bash", json!({ "command": "ls" }))),
        block(1),
        delta(1, "Mean"),
        result_of("a", json!("x")),
        delta(1, "while."),
        whole("1", text("Meanwhile.")),
        stop(),
        done("Meanwhile."),
    ]);
    assert_eq!(text_of(&said), "Meanwhile.");
}

#[test]
fn two_messages_that_say_the_same_are_both_told() {
    let said = lines(&[
        whole("1", text("Again.")),
        whole("1", call("a", "Bash", json!({ "command": "ls" }))),
        result_of("a", json!("x")),
        whole("2", text("Again.")),
        done("Again."),
    ]);
    assert_eq!(text_of(&said), "Again.Again.");
}

#[test]
fn a_list_of_todos_is_a_plan() {
    for name in ["TodoWrite", "todo_write"] {
        let todos = json!([{ "content": "one", "status": "completed" }]);
        let said = lines(&[
            whole("1", call("t", name, json!({ "todos": todos }))),
            result_of("t", json!("ok")),
            done("."),
        ]);
        assert!(calls(&said).is_empty(), "{name}");
        let is_plan = |said: &&DialectOutput| {
            matches!(said, DialectOutput::Update(SessionUpdate::Plan { .. }))
        };
        assert_eq!(said.iter().filter(is_plan).count(), 1, "{name}");
    }
}

#[test]
fn a_sub_agents_text_is_live_content_of_the_call_that_started_it() {
    let mut inner = whole("9", text("I look."));
    inner["parent_tool_use_id"] = json!("task");
    let mut todos = whole("9", call("t", "TodoWrite", json!({ "todos": [] })));
    todos["parent_tool_use_id"] = json!("task");
    let said = lines(&[
        whole("1", call("task", "Task", json!({ "description": "look" }))),
        inner,
        todos,
        result_of("t", json!("ok")),
        result_of("task", json!([{ "type": "text", "text": "Seen." }])),
        whole("2", text("Done.")),
        done("Done."),
    ]);
    assert_eq!(text_of(&said), "Done.");
    let contents: Vec<_> = calls(&said)
        .into_iter()
        .filter(|call| call.id == "task")
        .filter_map(|call| call.content.clone())
        .collect();
    assert_eq!(
        contents,
        [vec![ToolCallContent::text("I look.")], vec![ToolCallContent::text("Seen.")]]
    );
    // The sub-agent's list is not the plan.
    assert!(
        !said.iter().any(|said| matches!(said, DialectOutput::Update(SessionUpdate::Plan { .. })))
    );
}

#[test]
fn images_of_a_tool_are_images() {
    let source = json!({ "type": "base64", "media_type": "image/jpeg", "data": "AAAA" });
    let said = lines(&[
        whole("1", call("a", "Read", json!({ "file_path": "/a.jpg" }))),
        result_of("a", json!([{ "type": "image", "source": source }])),
        done("."),
    ]);
    let last = calls(&said).pop().unwrap().content.clone().unwrap();
    let image = ContentBlock::Image { data: "AAAA".to_owned(), mime_type: "image/jpeg".to_owned() };
    assert_eq!(last, [ToolCallContent::Content { content: image }]);
}

#[test]
fn a_file_that_is_written_anew_shows_what_was_in_it() {
    let mut written = result_of("w", json!("ok"));
    written["tool_use_result"] = json!({ "type": "update", "filePath": "/a", "content": "new",
                                         "originalFile": "old" });
    let said = lines(&[
        whole("1", call("w", "Write", json!({ "file_path": "/a", "content": "new" }))),
        written,
        done("."),
    ]);
    let last = calls(&said).pop().unwrap();
    let diff = ToolCallContent::Diff {
        path: "/a".to_owned(),
        old_text: Some("old".to_owned()),
        new_text: "new".to_owned(),
    };
    assert_eq!(last.content.as_ref().unwrap()[0], diff);
    assert!(last.raw_output.as_ref().unwrap().get("originalFile").is_none());
}

#[test]
fn the_result_is_the_answer_when_nothing_else_was_said() {
    assert_eq!(text_of(&lines(&[done("All of it.")])), "All of it.");
    let said = lines(&[whole("1", text("Some.")), done("Some.")]);
    assert_eq!(text_of(&said), "Some.");
}

#[test]
fn what_only_looks_like_an_error_is_told_in_the_end() {
    let words = "It printed [API Error: x]";
    let said = lines(&[whole("1", text(words)), done(words)]);
    assert_eq!(text_of(&said), words);
    let error = json!({ "error": { "message": "[API Error: 503 busy]" } });
    let said = ended(&[whole("1", text("Well, [API Error: 503 busy]")), failed(error)], 1);
    assert_eq!(text_of(&said), "Well, ");
    assert_eq!(category(&said), Category::UpstreamUnavailable);
}

#[test]
fn older_versions_say_that_they_were_interrupted_in_a_message_only() {
    let said = lines(&[
        whole("1", text("Work")),
        json!({ "type": "user", "message": { "content": text("[Request interrupted by user]") } }),
        failed(json!({})),
    ]);
    assert_eq!(ends(&said)[0].ending, TurnOutcome::Stopped(StopReason::Cancelled));
}

#[test]
fn limits_of_the_cli_are_told_apart() {
    let said = lines(&[whole("1", text("a")), failed(json!({ "subtype": "error_max_turns" }))]);
    assert_eq!(ends(&said)[0].ending, TurnOutcome::Stopped(StopReason::MaxTurnRequests));
    let budget = failed(json!({ "subtype": "error_max_budget_usd", "errors": ["too dear"] }));
    assert_eq!(category(&lines(&[whole("1", text("a")), budget])), Category::RateLimit);
    let long = failed(json!({ "subtype": "success", "result": "Prompt is too long" }));
    assert_eq!(category(&lines(&[long])), Category::PromptTooLarge);
    // Amp says it in a plain string.
    let amp = failed(json!({ "error": "Unauthorized: run amp login" }));
    assert_eq!(category(&lines(&[amp])), Category::Auth);
}

#[test]
fn an_error_in_a_message_counts_although_the_end_looks_well() {
    let mut error = whole("1", text("API Error: Connection error."));
    error["error"] = json!("server_error");
    assert_eq!(category(&lines(&[error.clone(), done("")])), Category::UpstreamUnavailable);
    assert_eq!(category(&lines(std::slice::from_ref(&error))), Category::UpstreamUnavailable);
    // Unless the model answered after all.
    let said = lines(&[error, whole("2", text("Well.")), done("Well.")]);
    assert_eq!(ends(&said)[0].ending, TurnOutcome::Stopped(StopReason::EndTurn));
}

#[test]
fn a_lost_result_after_a_whole_answer_is_no_failure() {
    let said = lines(&[start("1"), delta(0, "Hi."), whole("1", text("Hi.")), stop()]);
    assert_eq!(ends(&said)[0].ending, TurnOutcome::Stopped(StopReason::EndTurn));
    let said = ended(&[start("1"), delta(0, "Hi."), whole("1", text("Hi.")), stop()], 1);
    assert_eq!(category(&said), Category::ProcessExit);
    let open = [start("1"), delta(0, "Hi.")];
    assert_eq!(category(&lines(&open)), Category::ProcessExit);
}

#[test]
fn a_turn_that_the_cli_begins_by_itself_is_not_ours() {
    let mut dialect = DIALECT.start();
    let mut out = Outputs::default();
    dialect.prompt(&ComposedPrompt::default(), &mut out);
    let mut foreign = done("It is done.");
    foreign["origin"] = json!({ "kind": "task-notification" });
    let mut early = foreign.clone();
    early["queued_turn_count"] = json!(1);
    for line in [whole("0", text("Bell.")), early, whole("1", text("Hi.")), done("Hi.")] {
        dialect.line(&line.to_string(), &mut out);
    }
    assert_eq!(turn_ends(&out), 1);
    assert!(matches!(out.last(), Some(DialectOutput::TurnEnded(_))));
    for line in [whole("2", text("It is done.")), foreign] {
        dialect.line(&line.to_string(), &mut out);
    }
    assert_eq!(turn_ends(&out), 1);
    assert_eq!(text_of(&out), "Bell.Hi.It is done.");
    dialect.end(&CliExit::default(), &mut out);
    assert_eq!(turn_ends(&out), 1);
}

#[test]
fn warnings_are_notices_and_unknown_lines_are_passed_on() {
    let warning = json!({ "type": "rate_limit_event", "rate_limit_info":
        { "status": "allowed_warning", "rateLimitType": "five_hour", "utilization": 0.9 } });
    let fine = json!({ "type": "rate_limit_event", "rate_limit_info": { "status": "allowed" } });
    let fallback = json!({ "type": "system", "subtype": "model_refusal_fallback",
        "original_model": "a", "fallback_model": "b", "content": "" });
    let unknown = json!({ "type": "system", "subtype": "news" });
    let said = lines(&[warning, fine, fallback, json!({ "type": "keep_alive" }), unknown.clone()]);
    let notices = said
        .iter()
        .filter(|said| matches!(said, DialectOutput::Update(SessionUpdate::Notice { .. })));
    assert_eq!(notices.count(), 2);
    assert_eq!(said.get(2), Some(&DialectOutput::UnknownLine(unknown.to_string())));
    // A process that only prints is a turn.
    assert!(matches!(said.get(3..), Some([DialectOutput::TurnEnded(_)])), "{said:?}");
}

#[test]
fn a_compaction_that_fails_says_why() {
    let status = |members: Value| {
        let mut line = json!({ "type": "system", "subtype": "status", "status": null });
        line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        line
    };
    let said = lines(&[
        status(json!({ "status": "compacting" })),
        status(json!({ "compact_result": "failed", "compact_error": "no room" })),
    ]);
    let states: Vec<_> = said
        .iter()
        .filter_map(|said| match said {
            DialectOutput::Update(SessionUpdate::CompactionUpdate {
                compaction_id, error, ..
            }) => Some((compaction_id, error.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(states.len(), 2);
    assert_eq!(states[0].0, states[1].0);
    assert_eq!(states[1].1, Some("no room"));
}

#[test]
fn a_call_outside_of_any_message_begins_a_turn_and_ends_with_it() {
    let block = json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} });
    let begun = event(json!({ "type": "content_block_start", "index": 0, "content_block": block }));
    let mut of_subagent = whole("1", call("u", "Bash", json!({ "command": "ls" })));
    of_subagent["parent_tool_use_id"] = json!("t");
    let asked = json!({ "type": "control_request", "request_id": "r", "request":
        { "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t", "input": {} } });
    for line in [begun, of_subagent, asked, delta(0, "Hello.")] {
        let said = ended(std::slice::from_ref(&line), 1);
        assert_eq!(turn_ends(&said), 1, "{line}");
        let open =
            calls(&said).into_iter().filter(|call| call.status == Some(ToolCallStatus::Failed));
        assert_eq!(open.count(), usize::from(text_of(&said).is_empty()), "{said:?}");
    }
}

#[test]
fn a_call_that_nobody_asked_for_ends_with_the_process() {
    let (mut dialect, mut out) = (DIALECT.start(), Outputs::default());
    dialect.open(&ConversationOptions::default(), &mut out);
    dialect.prompt(&ComposedPrompt::default(), &mut out);
    for line in [done("a"), whole("1", call("t", "Bash", json!({})))] {
        dialect.line(&line.to_string(), &mut out);
    }
    dialect.end(&CliExit::default(), &mut out);
    assert_eq!(turn_ends(&out), 1);
    let last = calls(&out).into_iter().next_back().unwrap();
    assert_eq!((last.id.as_str(), last.status), ("t", Some(ToolCallStatus::Failed)));
}

#[test]
fn counts_and_indices_that_nothing_can_have_reached_do_no_harm() {
    let usage = json!({ "input_tokens": u64::MAX, "output_tokens": u64::MAX,
                        "cache_read_input_tokens": u64::MAX,
                        "cache_creation_input_tokens": u64::MAX });
    let mut message = whole("1", text("b"));
    message["message"]["usage"] = usage.clone();
    let mut last = done("ab");
    last["usage"] = usage;
    let said = lines(&[start("1"), delta(u64::MAX, "a"), message, last]);
    assert_eq!(turn_ends(&said), 1);
}

#[test]
fn a_result_that_is_no_json_ends_the_turn_of_a_process_that_lives_on() {
    let (mut dialect, mut out) = (DIALECT.start(), Outputs::default());
    dialect.open(&ConversationOptions::default(), &mut out);
    dialect.prompt(&ComposedPrompt::default(), &mut out);
    let welcome = json!({ "type": "control_response", "response":
        { "subtype": "success", "request_id": "switchyard-1", "response": {} } });
    dialect.line(&welcome.to_string(), &mut out);
    dialect.line(r#"{"type":"result","is_error":false,"cost":1e999}"#, &mut out);
    assert_eq!(turn_ends(&out), 1);
}
