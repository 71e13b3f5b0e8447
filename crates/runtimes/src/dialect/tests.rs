//! What every dialect owes its reader, whatever the CLI prints.

use serde_json::{Value, json};
use wire::Category;

use super::testing::{check, check_over, text_of, translate, turn_ends};
use super::{
    CliExit, ComposedPrompt, ConversationOptions, DialectName, DialectOutput, DialectReader,
    Outputs, TurnEnd, TurnOutcome,
};
use DialectName as Name;

/// Those whose process is one turn; the others live as long as a session.
const ONE_TURN: [Name; 7] = [
    Name::CodexExec,
    Name::GeminiStreamJson,
    Name::OpencodeJson,
    Name::CursorStreamJson,
    Name::CopilotJson,
    Name::Plain,
    Name::OpenaiJson,
];

fn good() -> CliExit {
    CliExit { code: Some(0), ..CliExit::default() }
}

fn ends(said: &[DialectOutput]) -> Vec<&TurnEnd> {
    let ends = said.iter().filter_map(|said| match said {
        DialectOutput::TurnEnded(end) => Some(end),
        _ => None,
    });
    ends.collect()
}

fn failures(said: &[DialectOutput]) -> Vec<Category> {
    let failures = ends(said).into_iter().filter_map(|end| match &end.ending {
        TurnOutcome::Failed(failure) => Some(failure.category),
        TurnOutcome::Stopped(_) => None,
    });
    failures.collect()
}

/// Lines that say `text` and then end the turn.
fn answer(name: Name, text: &str) -> Vec<Value> {
    let content = json!([{ "type": "text", "text": text }]);
    match name {
        Name::ClaudeStreamJson => vec![
            json!({ "type": "assistant", "message": { "id": "m", "content": content } }),
            json!({ "type": "result", "subtype": "success", "is_error": false, "result": text }),
        ],
        Name::CodexExec => vec![
            json!({ "type": "item.completed",
                    "item": { "id": "i", "type": "agent_message", "text": text } }),
            json!({ "type": "turn.completed", "usage": {}, "note": text }),
        ],
        Name::CodexAppServer => vec![
            json!({ "method": "turn/started", "params": { "threadId": "T", "turn": { "id": "1" } } }),
            json!({ "method": "item/completed", "params": { "threadId": "T",
                    "item": { "id": "i", "type": "agentMessage", "text": text } } }),
            json!({ "method": "turn/completed", "params": { "threadId": "T",
                    "turn": { "id": "1", "status": "completed", "zz": text } } }),
        ],
        Name::GeminiStreamJson => vec![
            json!({ "type": "message", "role": "assistant", "content": text }),
            json!({ "type": "result", "status": "success", "zz": text }),
        ],
        Name::OpencodeJson => vec![
            json!({ "type": "step_start", "part": { "messageID": "m" } }),
            json!({ "type": "text", "part": { "messageID": "m", "text": text } }),
            json!({ "type": "step_finish", "part": { "reason": "stop", "zz": text } }),
        ],
        Name::CursorStreamJson => vec![
            json!({ "type": "assistant", "message": { "content": content } }),
            json!({ "type": "result", "subtype": "success", "is_error": false, "result": text }),
        ],
        Name::CopilotJson => vec![
            json!({ "type": "assistant.message", "data": { "messageId": "m", "content": text } }),
            json!({ "type": "result", "exitCode": 0, "zz": text }),
        ],
        Name::PiRpc => vec![
            json!({ "type": "agent_start" }),
            json!({ "type": "message_start", "message": { "role": "assistant" } }),
            json!({ "type": "message_end", "message":
                    { "role": "assistant", "content": content, "stopReason": "stop" } }),
            json!({ "type": "agent_end", "messages": [content] }),
        ],
        Name::OpenaiJson => vec![json!({ "role": "assistant", "content": text })],
        Name::Plain => Vec::new(),
    }
}

const SPEAKING: [Name; 9] = [
    Name::ClaudeStreamJson,
    Name::CodexExec,
    Name::CodexAppServer,
    Name::GeminiStreamJson,
    Name::OpencodeJson,
    Name::CursorStreamJson,
    Name::CopilotJson,
    Name::PiRpc,
    Name::OpenaiJson,
];

fn joined(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn half_an_emoji_costs_one_character() {
    for name in SPEAKING {
        let lines = joined(&answer(name, "HALF!")).replace("HALF", r"\ud83d");
        let said = translate(name, lines.as_bytes(), &[], &good());
        assert_eq!(text_of(&said), "\u{fffd}!", "{name:?}");
        assert_eq!((turn_ends(&said), failures(&said)), (1, Vec::new()), "{name:?}");
        assert!(
            !said.iter().any(|said| matches!(said, DialectOutput::UnknownLine(_))),
            "{name:?}: {said:?}"
        );
    }
}

#[test]
fn a_number_that_no_float_holds_and_bare_zeros_make_a_line_raw() {
    for name in SPEAKING {
        for line in [r#"{"type":"x","n":1e999}"#, "{\"type\":\"x\",\"s\":\"a\u{0}b\"}"] {
            let said = translate(name, line.as_bytes(), &[], &good());
            assert!(
                said.contains(&DialectOutput::UnknownLine(line.to_owned())),
                "{name:?}: {said:?}"
            );
        }
    }
}

#[test]
fn a_process_that_says_nothing_of_a_turn_was_one_all_the_same() {
    for garbage in ["", "\n\n", "no json\n{\"type\":\"unheard.of\"}\n[1]\n5\n{\"type\":7}"] {
        for exit in [good(), CliExit { code: Some(3), ..CliExit::default() }] {
            for name in ONE_TURN.into_iter().chain([Name::ClaudeStreamJson]) {
                let said = translate(name, garbage.as_bytes(), &[], &exit);
                assert_eq!(turn_ends(&said), 1, "{name:?} {garbage:?}: {said:?}");
                let is_good = name == Name::Plain && exit.code == Some(0);
                assert_eq!(failures(&said).len(), usize::from(!is_good), "{name:?} {garbage:?}");
            }
            for name in [Name::CodexAppServer, Name::PiRpc] {
                let said = translate(name, garbage.as_bytes(), &[], &exit);
                assert_eq!(turn_ends(&said), 0, "{name:?} {garbage:?}");
            }
        }
    }
}

#[test]
fn an_open_session_that_was_asked_nothing_has_no_turn_to_end() {
    let (mut dialect, mut out) = (Name::ClaudeStreamJson.start(), Outputs::default());
    dialect.open(&ConversationOptions::default(), &mut out);
    dialect.end(&good(), &mut out);
    assert_eq!(turn_ends(&out), 0);
}

const LIMIT: usize = 2000;

/// What is said of a turn that was asked for; nothing but `lines` comes, not even an end.
fn unended(name: Name, lines: &[Value]) -> Outputs {
    let (mut dialect, mut out) = (name.start(), Outputs::default());
    let mut reader = DialectReader::new(name, LIMIT);
    dialect
        .prompt(&ComposedPrompt { text: "go".to_owned(), ..ComposedPrompt::default() }, &mut out);
    out.clear();
    let text = joined(lines) + "\n";
    // In pieces, as a pipe gives them: what is too long is known before its end.
    for chunk in text.as_bytes().chunks(700) {
        reader.feed(chunk, &mut *dialect, &mut out);
    }
    check(&out);
    out
}

/// The same line with too much at its end.
fn lengthened(line: &Value) -> Value {
    let mut line = line.clone();
    line["zzz"] = Value::from("x".repeat(3 * LIMIT));
    line
}

#[test]
fn an_end_that_is_too_long_to_be_read_is_an_end() {
    for name in SPEAKING {
        if matches!(name, Name::OpencodeJson | Name::OpenaiJson) {
            continue; // Their end is that of the process.
        }
        let mut lines = answer(name, "Hello.");
        let last = lines.pop().unwrap();
        lines.push(lengthened(&last));
        let mut said = unended(name, &lines);
        if name == Name::PiRpc {
            // It is asked whether it is done.
            assert!(
                said.iter()
                    .any(|s| matches!(s, DialectOutput::StdinLine(w) if w.contains("get_state")))
            );
            said = ended_pi(&lines);
        }
        assert_eq!(turn_ends(&said), 1, "{name:?}: {said:?}");
        assert_eq!(failures(&said), [], "{name:?}: what it begins with says that it went well");
        assert_eq!(text_of(&said), "Hello.", "{name:?}");
    }
}

fn ended_pi(lines: &[Value]) -> Outputs {
    let (mut dialect, mut out) = (Name::PiRpc.start(), Outputs::default());
    let mut reader = DialectReader::new(Name::PiRpc, LIMIT);
    dialect
        .prompt(&ComposedPrompt { text: "go".to_owned(), ..ComposedPrompt::default() }, &mut out);
    reader.feed((joined(lines) + "\n").as_bytes(), &mut *dialect, &mut out);
    let asked = out.iter().rev().find_map(|said| match said {
        DialectOutput::StdinLine(line) => serde_json::from_str::<Value>(line).ok(),
        _ => None,
    });
    let id = asked.unwrap()["id"].clone();
    let state = json!({ "type": "response", "id": id, "command": "get_state", "success": true,
                        "data": { "isStreaming": false } });
    reader.feed((state.to_string() + "\n").as_bytes(), &mut *dialect, &mut out);
    out
}

#[test]
fn a_line_too_long_to_be_told_from_an_end_fails_the_turn_at_once() {
    for name in SPEAKING {
        if matches!(name, Name::OpencodeJson | Name::OpenaiJson) {
            continue;
        }
        // What kind of line it is comes after all that was read of it.
        let hidden = json!({ "aaa": "x".repeat(3 * LIMIT), "type": "result" });
        let mut lines = answer(name, "Hello.");
        lines.pop();
        lines.push(hidden);
        let said = unended(name, &lines);
        assert_eq!(failures(&said), [Category::Protocol], "{name:?}: {said:?}");
        let TurnOutcome::Failed(failure) = &ends(&said)[0].ending else { panic!() };
        assert!(failure.message.contains("longer than 2000 bytes"), "{}", failure.message);
    }
}

#[test]
fn a_long_line_that_is_no_end_does_not_end_the_turn() {
    let long = "x".repeat(3 * LIMIT);
    for (name, line) in [
        (Name::ClaudeStreamJson, json!({ "type": "user", "uuid": long })),
        (Name::CodexExec, json!({ "item": { "id": "x" }, "type": "item.completed", "zz": long })),
        (Name::CodexAppServer, json!({ "method": "item/completed", "params": { "item": long } })),
        (Name::GeminiStreamJson, json!({ "type": "tool_result", "zz": long })),
        (Name::CursorStreamJson, json!({ "type": "tool_call", "zz": long })),
        (Name::CopilotJson, json!({ "type": "tool.execution_complete", "zz": long })),
        (Name::PiRpc, json!({ "message": {}, "type": "message_end", "zz": long })),
        (Name::OpencodeJson, json!({ "part": {}, "type": "tool_use", "zz": long })),
        (Name::OpenaiJson, json!({ "role": "tool", "zz": long })),
    ] {
        let mut lines = vec![line];
        lines.extend(answer(name, "Hello."));
        let (mut dialect, mut said) = (name.start(), Outputs::default());
        let mut reader = DialectReader::new(name, LIMIT);
        dialect.prompt(&ComposedPrompt::default(), &mut said);
        reader.feed((joined(&lines) + "\n").as_bytes(), &mut *dialect, &mut said);
        reader.finish(&good(), &mut *dialect, &mut said);
        assert_eq!((turn_ends(&said), failures(&said)), (1, Vec::new()), "{name:?}: {said:?}");
        assert_eq!(text_of(&said), "Hello.", "{name:?}");
    }
}

#[test]
fn an_answer_that_was_too_long_to_be_read_is_a_failure() {
    for name in [Name::OpencodeJson, Name::OpenaiJson] {
        let lines = [lengthened(&answer(name, "Hello.").pop().unwrap())];
        let lines = match name {
            Name::OpenaiJson => joined(&lines),
            _ => joined(&[lengthened(&answer(name, "Hello.")[1])]),
        };
        let (mut dialect, mut said) = (name.start(), Outputs::default());
        let mut reader = DialectReader::new(name, LIMIT);
        reader.feed(lines.as_bytes(), &mut *dialect, &mut said);
        reader.finish(&good(), &mut *dialect, &mut said);
        assert_eq!(failures(&said), [Category::Protocol], "{name:?}: {said:?}");
    }
}

#[test]
fn a_question_that_was_too_long_to_be_read_is_refused() {
    let long = "x".repeat(3 * LIMIT);
    for (name, line, expected) in [
        (
            Name::ClaudeStreamJson,
            json!({ "request_id": "r", "type": "control_request", "zz": long }),
            r#""request_id":"r""#,
        ),
        (
            Name::CodexAppServer,
            json!({ "id": 7, "method": "item/commandExecution/requestApproval", "params": long }),
            r#""id":7"#,
        ),
        (
            Name::PiRpc,
            json!({ "id": "d", "method": "confirm", "type": "extension_ui_request", "zz": long }),
            r#""id":"d""#,
        ),
    ] {
        let said = unended(name, &[line]);
        let is_answered = |said: &DialectOutput| matches!(said, DialectOutput::StdinLine(w) if w.contains(expected));
        assert!(said.iter().any(is_answered), "{name:?}: {said:?}");
        assert_eq!(turn_ends(&said), 0, "{name:?}");
    }
}

#[test]
fn an_answer_to_our_greeting_that_is_too_long_to_be_read_is_no_reason_to_wait() {
    let long = "x".repeat(3 * LIMIT);
    for (name, line) in [
        (Name::ClaudeStreamJson, json!({ "type": "control_response", "zz": long })),
        (Name::CodexAppServer, json!({ "id": 1, "result": long })),
    ] {
        let (mut dialect, mut out) = (name.start(), Outputs::default());
        let mut reader = DialectReader::new(name, LIMIT);
        dialect.open(&ConversationOptions::default(), &mut out);
        reader.feed((line.to_string() + "\n").as_bytes(), &mut *dialect, &mut out);
        let lost = |said: &DialectOutput| matches!(said, DialectOutput::ConversationLost(f) if f.category == Category::Protocol);
        assert!(out.iter().any(lost), "{name:?}: {out:?}");
    }
}

#[test]
fn a_call_that_begins_after_the_end_ends_with_the_process() {
    let item = json!({ "id": "t", "type": "command_execution", "command": "ls" });
    let item_there = json!({ "id": "t", "type": "commandExecution", "command": "ls" });
    let tool_use = json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} });
    for (name, line) in [
        (
            Name::ClaudeStreamJson,
            json!({ "type": "assistant", "message": { "id": "n", "content": [tool_use] } }),
        ),
        (Name::CodexExec, json!({ "type": "item.started", "item": item })),
        (
            Name::CodexAppServer,
            json!({ "method": "item/started", "params": { "item": item_there } }),
        ),
        (
            Name::GeminiStreamJson,
            json!({ "type": "tool_use", "tool_id": "t", "tool_name": "ls", "parameters": {} }),
        ),
        (
            Name::CursorStreamJson,
            json!({ "type": "tool_call", "subtype": "started", "call_id": "t",
                    "tool_call": { "readToolCall": { "args": {} } } }),
        ),
        (
            Name::CopilotJson,
            json!({ "type": "tool.execution_start",
                    "data": { "toolCallId": "t", "toolName": "bash" } }),
        ),
        (
            Name::PiRpc,
            json!({ "type": "tool_execution_start", "toolCallId": "t", "toolName": "bash" }),
        ),
    ] {
        let mut lines = answer(name, "Hello.");
        lines.push(line);
        let said = translate(name, joined(&lines).as_bytes(), &[], &good());
        check_over(name, &said);
    }
}
