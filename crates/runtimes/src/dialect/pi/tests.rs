//! Recordings of both modes, and conversations with the dialect.

mod opening;
mod unrecorded;

use serde_json::{Value, json};
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{
    CliExit, ComposedPrompt, ConversationOptions, Dialect, DialectName, DialectOutput,
    OptionChange, Outputs, PermissionAnswer, PermissionMode, PermissionOptionKind, PromptImage,
    StopReason, TurnOutcome,
};

const NAME: DialectName = DialectName::PiRpc;

#[test]
fn recordings_are_translated() {
    for (scenario, path) in recordings("pi") {
        let bytes = stdout_of(&path);
        let said = translate(NAME, &bytes, &[], &exit_of(&path));
        check(&said);
        let turns = match scenario.as_str() {
            "rpc-config-and-errors" | "8-resume-unknown" => 0,
            "rpc-abort-midstream" => 2,
            _ => 1,
        };
        assert_eq!(turn_ends(&said), turns, "{scenario}");
        insta::assert_snapshot!(scenario, render(&said));
    }
}

#[test]
fn the_answer_is_what_the_messages_hold() {
    for (scenario, path) in recordings("pi") {
        let bytes = stdout_of(&path);
        let said = translate(NAME, &bytes, &[], &exit_of(&path));
        let whole: String = String::from_utf8(bytes)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|event| event["type"] == "message_end")
            .filter(|event| event["message"]["role"] == "assistant")
            .map(|event| super::text_of(&event["message"]["content"]))
            .collect();
        let expected = match scenario.as_str() {
            // Never complete.
            "rpc-eof-while-running" => continue,
            // Said four times.
            "6d-provider-drops" => "Hello from the",
            _ => &whole,
        };
        assert_eq!(text_of(&said), expected, "{scenario}");
    }
}

#[test]
fn spoilt_recordings_do_no_harm() {
    survives_anything(NAME, recordings("pi").iter().map(|(_, path)| stdout_of(path)).collect());
}

/// A dialect with somebody at the other end.
struct Talk {
    pi: Box<dyn Dialect>,
    said: Outputs,
}

impl Talk {
    fn open(opening: &ConversationOptions) -> Self {
        let mut talk = Self { pi: NAME.start(), said: Outputs::default() };
        talk.pi.open(opening, &mut talk.said);
        talk
    }

    /// Opened, with two models and the session file `/s.jsonl`.
    fn opened() -> Self {
        let mut talk = Self::open(&ConversationOptions::default());
        talk.answer_all();
        talk.said.clear();
        talk
    }

    fn prompt(&mut self, text: &str) {
        let prompt = ComposedPrompt { text: text.to_owned(), images: Vec::new() };
        self.pi.prompt(&prompt, &mut self.said);
    }

    fn hear(&mut self, event: &Value) {
        self.pi.line(&event.to_string(), &mut self.said);
    }

    fn written(&mut self) -> Vec<Value> {
        let mut written = Vec::new();
        self.said.retain(|said| match said {
            DialectOutput::StdinLine(line) => {
                written.push(serde_json::from_str(line).unwrap());
                false
            }
            _ => true,
        });
        written
    }

    /// Answers every command that was written as pi would, until there are no more.
    fn answer_all(&mut self) {
        loop {
            let written = self.written();
            if written.is_empty() {
                return;
            }
            for command in written {
                self.respond(&command, &good_answer(&command));
            }
        }
    }

    fn respond(&mut self, command: &Value, answer: &Value) {
        let mut event = json!({ "type": "response", "id": command["id"], "success": true,
                                "command": command["type"] });
        for (name, value) in answer.as_object().unwrap() {
            event[name] = value.clone();
        }
        self.hear(&event);
    }

    fn message(&mut self, text: &str, reason: &str, error: Option<&str>) {
        let content = json!([{ "type": "text", "text": text }]);
        self.hear(&json!({ "type": "message_start", "message": { "role": "assistant" } }));
        self.hear(&json!({ "type": "message_end", "message": {
            "role": "assistant", "content": content, "stopReason": reason, "errorMessage": error,
            "usage": { "input": 10, "output": 5, "reasoning": 2, "cacheRead": 1, "cacheWrite": 0,
                       "totalTokens": 16, "cost": { "total": 0.25 } } } }));
    }

    fn endings(&self) -> Vec<&TurnOutcome> {
        let ends = self.said.iter().filter_map(|said| match said {
            DialectOutput::TurnEnded(end) => Some(&end.ending),
            _ => None,
        });
        ends.collect()
    }
}

fn model(id: &str) -> Value {
    json!({ "id": id, "name": id, "provider": "p", "reasoning": true, "contextWindow": 1000 })
}

fn good_answer(command: &Value) -> Value {
    match command["type"].as_str().unwrap() {
        "get_state" => json!({ "data": { "model": model("big"), "sessionFile": "/s.jsonl",
                               "sessionId": "1-2-3", "messageCount": 2, "isStreaming": false } }),
        "get_available_models" => json!({ "data": { "models": [model("big"), model("small")] } }),
        "get_commands" => json!({ "data": { "commands": [{ "name": "fix" }] } }),
        "set_model" => json!({ "data": model(command["modelId"].as_str().unwrap()) }),
        _ => json!({ "data": {} }),
    }
}

fn kinds(commands: &[Value]) -> Vec<&str> {
    commands.iter().map(|command| command["type"].as_str().unwrap()).collect()
}

#[test]
fn a_prompt_carries_images() {
    let mut talk = Talk::opened();
    let image = PromptImage { mime_type: "image/png".to_owned(), data: "aGk=".to_owned() };
    let prompt = ComposedPrompt { text: "Look".to_owned(), images: vec![image] };
    talk.pi.prompt(&prompt, &mut talk.said);
    let command = talk.written().remove(0);
    assert_eq!((&command["type"], &command["message"]), (&json!("prompt"), &json!("Look")));
    let image = json!([{ "type": "image", "data": "aGk=", "mimeType": "image/png" }]);
    assert_eq!(command["images"], image);
}

#[test]
fn a_turn_ends_when_pi_has_settled() {
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    talk.answer_all();
    talk.hear(&json!({ "type": "agent_start" }));
    talk.message("Hello.", "stop", None);
    talk.hear(&json!({ "type": "agent_end", "willRetry": false }));
    assert!(talk.endings().is_empty());
    talk.hear(&json!({ "type": "agent_settled" }));
    talk.hear(&json!({ "type": "agent_settled" }));
    assert_eq!(talk.endings(), [&TurnOutcome::Stopped(StopReason::EndTurn)]);
    let said = render(&talk.said);
    assert!(said.contains(r#""totalTokens":16,"inputTokens":10,"outputTokens":3"#), "{said}");
    assert!(said.contains(r#""used":16,"size":1000,"cost":{"amount":0.25"#), "{said}");

    // A run that nobody asked for is told and begins no turn.
    talk.hear(&json!({ "type": "agent_start" }));
    talk.message("By the way.", "stop", None);
    talk.hear(&json!({ "type": "agent_settled" }));
    assert_eq!(talk.endings().len(), 1);
    talk.pi.end(&CliExit::default(), &mut talk.said);
    assert_eq!(talk.endings().len(), 1);
    assert_eq!(text_of(&talk.said), "Hello.By the way.");
}

#[test]
fn versions_that_do_not_settle_end_with_the_run() {
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    talk.answer_all();
    talk.hear(&json!({ "type": "agent_start" }));
    talk.message("Hello.", "stop", None);
    talk.hear(&json!({ "type": "agent_end", "messages": [] }));
    assert_eq!(talk.endings(), [&TurnOutcome::Stopped(StopReason::EndTurn)]);

    // After an error there may be a retry, so the state decides.
    talk.said.clear();
    talk.prompt("Hi");
    talk.answer_all();
    talk.hear(&json!({ "type": "agent_start" }));
    talk.message("", "error", Some("529: overloaded"));
    talk.hear(&json!({ "type": "agent_end", "messages": [] }));
    assert!(talk.endings().is_empty());
    let question = talk.written().remove(0);
    talk.hear(&json!({ "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3 }));
    talk.respond(&question, &json!({ "data": { "isStreaming": false } }));
    assert!(talk.endings().is_empty(), "the question is void after a retry");
    talk.hear(&json!({ "type": "agent_start" }));
    talk.message("", "error", Some("529: overloaded"));
    talk.hear(&json!({ "type": "agent_end", "messages": [] }));
    talk.answer_all();
    assert!(matches!(
        talk.endings()[..],
        [TurnOutcome::Failed(failure)] if failure.category == Category::UpstreamUnavailable
    ));
}

#[test]
fn a_refused_prompt_is_a_failed_turn() {
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    let command = talk.written().remove(0);
    talk.respond(&command, &json!({ "success": false, "error": "No API key found for p" }));
    assert!(matches!(
        talk.endings()[..],
        [TurnOutcome::Failed(failure)] if failure.category == Category::Auth
    ));
}

#[test]
fn a_command_of_an_extension_may_be_the_whole_turn() {
    let mut talk = Talk::opened();
    talk.prompt("/llama");
    talk.answer_all();
    assert_eq!(talk.endings(), [&TurnOutcome::Stopped(StopReason::EndTurn)]);
}

#[test]
fn an_interrupt_is_an_abort_and_cancels() {
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    talk.answer_all();
    talk.hear(&json!({ "type": "agent_start" }));
    talk.hear(&json!({ "type": "tool_execution_start", "toolCallId": "t", "toolName": "bash",
                       "args": { "command": "sleep 9" } }));
    assert!(talk.pi.interrupt(&mut talk.said));
    let abort = talk.written().remove(0);
    assert_eq!(abort["type"], "abort");
    talk.message("", "error", Some("whatever"));
    talk.hear(&json!({ "type": "agent_end", "willRetry": false }));
    talk.hear(&json!({ "type": "agent_settled" }));
    talk.respond(&abort, &json!({}));
    assert_eq!(talk.endings(), [&TurnOutcome::Stopped(StopReason::Cancelled)]);
    check(&talk.said);

    // While it waits for a retry nothing runs that could end.
    talk.said.clear();
    talk.prompt("Hi");
    talk.answer_all();
    assert!(talk.pi.interrupt(&mut talk.said));
    talk.answer_all();
    assert_eq!(talk.endings(), [&TurnOutcome::Stopped(StopReason::Cancelled)]);
}

#[test]
fn dialogs_are_asks_or_cancelled() {
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    talk.answer_all();
    let request = |method: &str, id: &str| {
        json!({ "type": "extension_ui_request", "id": id, "method": method, "title": "Sure?",
                "message": "rm -rf", "options": ["Allow", "Always allow", "Block"] })
    };
    talk.hear(&request("confirm", "a"));
    talk.hear(&request("select", "b"));
    talk.hear(&request("select", "c"));
    talk.hear(&request("input", "d"));
    talk.hear(&request("setStatus", "e"));
    talk.hear(&request("confirm", "f"));
    assert_eq!(
        talk.written(),
        [json!({ "cancelled": true, "type": "extension_ui_response", "id": "d" })]
    );
    let kinds: Vec<PermissionOptionKind> = talk
        .said
        .iter()
        .filter_map(|said| match said {
            DialectOutput::PermissionRequest(ask) if ask.id == "b" => {
                Some(ask.options.iter().map(|o| o.kind))
            }
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(
        kinds,
        [
            PermissionOptionKind::AllowOnce,
            PermissionOptionKind::AllowAlways,
            PermissionOptionKind::RejectOnce
        ]
    );

    for (id, answer, expected) in [
        ("a", PermissionAnswer::Chosen("yes".to_owned()), json!({ "confirmed": true })),
        ("b", PermissionAnswer::Chosen("2".to_owned()), json!({ "value": "Block" })),
        ("c", PermissionAnswer::Cancelled, json!({ "cancelled": true })),
        ("unknown", PermissionAnswer::Cancelled, Value::Null),
    ] {
        talk.pi.answer(id, &answer, &mut talk.said);
        let written = talk.written();
        let written = written.first().cloned().unwrap_or_default();
        for (name, value) in expected.as_object().into_iter().flatten() {
            assert_eq!(&written[name], value);
        }
        assert_eq!(written.is_null(), expected.is_null());
    }
    talk.hear(&json!({ "type": "agent_settled" }));
    assert!(talk.said.contains(&DialectOutput::RequestWithdrawn("f".to_owned())));
}

#[test]
fn options_are_set_by_commands() {
    let mut talk = Talk::opened();
    let mut set = |change: OptionChange| {
        let is_set = talk.pi.set(&change, &mut talk.said);
        (is_set, talk.written().pop().unwrap_or_default())
    };
    let (is_set, command) = set(OptionChange::Model("small".to_owned()));
    assert!(is_set);
    assert_eq!((&command["provider"], &command["modelId"]), (&json!("p"), &json!("small")));
    let (is_set, command) = set(OptionChange::Model("openrouter/a/b".to_owned()));
    assert!(is_set);
    assert_eq!(command["modelId"], "a/b");
    let (is_set, command) = set(OptionChange::Effort("low".to_owned()));
    assert!(is_set);
    assert_eq!(command["level"], "low");
    assert!(!set(OptionChange::Model("unheard-of".to_owned())).0);
    assert!(!set(OptionChange::Permissions(PermissionMode::Auto)).0);
}

#[test]
fn an_answer_that_recovered_is_told_once() {
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    talk.answer_all();
    for (text, reason) in [("One two", "error"), ("One two three.", "stop")] {
        talk.hear(&json!({ "type": "agent_start" }));
        talk.message(text, reason, Some("terminated"));
        talk.hear(&json!({ "type": "agent_end", "willRetry": reason == "error" }));
        talk.hear(&json!({ "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3,
                           "errorMessage": "terminated" }));
    }
    assert_eq!(text_of(&talk.said), "One two three.");
}

#[test]
fn compaction_is_told() {
    let mut talk = Talk::opened();
    talk.hear(&json!({ "type": "compaction_start", "reason": "threshold" }));
    talk.hear(&json!({ "type": "compaction_end", "aborted": false, "errorMessage": "no quota" }));
    talk.hear(&json!({ "type": "auto_compaction_start" }));
    talk.hear(&json!({ "type": "auto_compaction_end", "result": {}, "aborted": false }));
    let said = render(&talk.said);
    for expected in ["in_progress", "no quota", "compaction-2", "completed"] {
        assert!(said.contains(expected), "{said}");
    }
}
