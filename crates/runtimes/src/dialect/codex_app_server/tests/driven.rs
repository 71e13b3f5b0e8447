//! Whole sessions, driven as they were recorded: the dialect must want to write what the
//! recorded client wrote, and understand what the real server answered.

use std::path::Path;
use wire::Category;

use super::*;
use crate::dialect::PermissionOptionKind;
use crate::update::ToolCallStatus;

/// Plays a recording against the dialect. `prompt`, `answer` and `interrupt` are called where
/// the recorded client wrote such a thing.
fn drive(name: &str, opening: &ConversationOptions) -> Outputs {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/codex-app-server/0.166.0");
    let text = std::fs::read_to_string(root.join(name).join("transcript.jsonl")).unwrap();
    let mut dialect = CodexAppServer::default();
    let mut said = Outputs::default();
    let mut n_written = 0;
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let message = &entry["msg"];
        if entry["dir"] == "agent→client" {
            dialect.line(&message.to_string(), &mut said);
            continue;
        }
        if entry["dir"] != "client→agent" {
            continue;
        }
        match message["method"].as_str() {
            Some("initialize") => dialect.open(opening, &mut said),
            Some("turn/start") => {
                let text = message["params"]["input"][0]["text"].as_str().unwrap();
                dialect.prompt(&prompt(text), &mut said);
            }
            Some("turn/interrupt") => assert!(dialect.interrupt(&mut said)),
            Some(_) => {}
            None => {
                let Some(DialectOutput::PermissionRequest(ask)) = said
                    .iter()
                    .rev()
                    .find(|said| matches!(said, DialectOutput::PermissionRequest(_)))
                else {
                    panic!("{name}: nothing was asked")
                };
                let (ask, answer) = (ask.id.clone(), chosen(&message["result"]));
                dialect.answer(&ask, &answer, &mut said);
            }
        }
        let ours = written(&said);
        let ours = ours.get(n_written).unwrap_or_else(|| panic!("{name}: we did not write {line}"));
        n_written += 1;
        assert_eq!(ours["method"], message["method"], "{name}");
        assert_eq!(ours["id"], message["id"], "{name}");
        if message["method"].is_null() {
            assert_eq!(ours["result"], message["result"], "{name}");
        }
        for member in ["threadId", "turnId", "input"] {
            assert_eq!(ours["params"][member], message["params"][member], "{name}");
        }
    }
    assert_eq!(written(&said).len(), n_written, "{name}: we wrote more than the client");
    check(&said);
    said
}

/// What somebody must have chosen for the client to have written this.
fn chosen(result: &Value) -> PermissionAnswer {
    match result["decision"].as_str().or(result["action"].as_str()) {
        Some("cancel") => PermissionAnswer::Cancelled,
        Some(word) => PermissionAnswer::Chosen(word.to_owned()),
        None => panic!("{result}"),
    }
}

fn only_ask(said: &[DialectOutput]) -> &super::super::super::PermissionRequest {
    let asks: Vec<_> = said
        .iter()
        .filter_map(|said| match said {
            DialectOutput::PermissionRequest(ask) => Some(ask),
            _ => None,
        })
        .collect();
    assert_eq!(asks.len(), 1);
    asks[0]
}

fn last_status(said: &[DialectOutput]) -> Option<ToolCallStatus> {
    let mut calls = said.iter().rev().filter_map(|said| match said {
        DialectOutput::Update(
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call),
        ) => Some(call),
        _ => None,
    });
    calls.find_map(|call| call.status)
}

#[test]
fn a_command_that_is_allowed_runs() {
    let said = drive("shell-accept", &ConversationOptions::default());
    let ask = only_ask(&said);
    assert_eq!(ask.call.title.as_deref(), Some("echo shell-ok; echo shell-err >&2"));
    assert_eq!(
        ask.options.iter().map(|o| (o.option_id.as_str(), o.kind)).collect::<Vec<_>>(),
        [
            ("accept", PermissionOptionKind::AllowOnce),
            ("acceptWithRule", PermissionOptionKind::AllowAlways),
            ("decline", PermissionOptionKind::RejectOnce),
        ]
    );
    assert_eq!(last_status(&said), Some(ToolCallStatus::Completed));
    assert_eq!(ended(&said), [&TurnOutcome::Stopped(StopReason::EndTurn)]);
    assert_eq!(text_of(&said), "The command finished.");
    // The first line has our version in it.
    insta::assert_snapshot!("codex_app_server_driven", render(&said[1..]));
}

#[test]
fn a_command_that_is_refused_fails_and_the_turn_goes_on() {
    let said = drive("shell-decline", &ConversationOptions::default());
    assert_eq!(last_status(&said), Some(ToolCallStatus::Failed));
    assert_eq!(ended(&said), [&TurnOutcome::Stopped(StopReason::EndTurn)]);
}

#[test]
fn a_command_that_outlives_its_turn_has_not_failed() {
    let said = drive("background-command", &ConversationOptions::default());
    assert_eq!(ended(&said), [&TurnOutcome::Stopped(StopReason::EndTurn)]);
    assert_eq!(last_status(&said), Some(ToolCallStatus::Completed));
}

#[test]
fn a_question_that_is_cancelled_ends_the_turn() {
    let said = drive("shell-cancel", &ConversationOptions::default());
    assert_eq!(ended(&said), [&TurnOutcome::Stopped(StopReason::Cancelled)]);
    let said = drive("shell-ask-interrupt", &ConversationOptions::default());
    assert_eq!(ended(&said), [&TurnOutcome::Stopped(StopReason::Cancelled)]);
    let n_withdrawn =
        said.iter().filter(|said| matches!(said, DialectOutput::RequestWithdrawn(_))).count();
    assert_eq!(n_withdrawn, 1);
}

#[test]
fn a_patch_is_asked_about_with_its_changes() {
    let said = drive("patch-accept", &ConversationOptions::default());
    let call = json!(only_ask(&said).call);
    assert_eq!(call["kind"], "delete");
    assert_eq!(call["locations"][0], json!({ "path": "$CWD/b.txt", "line": 1 }));
    assert_eq!(
        call["content"],
        json!([
            { "type": "diff", "path": "$CWD/b.txt",
              "oldText": "one\ntwo\nthree\n", "newText": "one\nTWO\nthree\n" },
            { "type": "diff", "path": "$CWD/c.txt", "oldText": "gone\n", "newText": "" },
        ])
    );
}

#[test]
fn a_tool_of_an_mcp_server_is_asked_about() {
    for (name, status) in
        [("mcp-accept", ToolCallStatus::Completed), ("mcp-decline", ToolCallStatus::Failed)]
    {
        let said = drive(name, &ConversationOptions::default());
        let ask = only_ask(&said);
        assert_eq!(ask.call.title.as_deref(), Some("my-srv.poke"));
        assert_eq!(ask.call.raw_input, Some(json!({ "x": "1" })));
        assert_eq!(last_status(&said), Some(status));
    }
}

#[test]
fn what_a_sub_agent_says_is_not_the_answer() {
    let said = drive("sub-agent", &ConversationOptions::default());
    assert_eq!(text_of(&said), "Spawned.");
    assert_eq!(ended(&said).len(), 1);
}

#[test]
fn turns_have_their_own_usage() {
    let used = |said: &[DialectOutput]| -> Vec<u64> {
        let ends = said.iter().filter_map(|said| match said {
            DialectOutput::TurnEnded(end) => end.usage,
            _ => None,
        });
        ends.map(|usage| usage.total_tokens).collect()
    };
    let said = drive("two-turns", &ConversationOptions::default());
    assert_eq!(used(&said), [125, 125]);
    let thread = said.iter().find_map(|said| match said {
        DialectOutput::SessionId(id) => Some(id.clone()),
        _ => None,
    });
    // The thread goes on in another process, which tells what was used before.
    let said = drive(
        "resume-without-turns",
        &ConversationOptions { resume: thread.clone(), ..ConversationOptions::default() },
    );
    assert_eq!(used(&said), [125]);
    assert_eq!(text_of(&said), "I see 3 user turns; first was: [fake:text]");
    assert!(
        said.iter().any(
            |said| matches!(said, DialectOutput::ConversationOpened(o) if o.session == thread)
        )
    );
}

#[test]
fn a_thread_that_is_gone_is_lost() {
    let resume = Some("00000000-0000-4000-8000-000000000000".to_owned());
    let said =
        drive("resume-unknown", &ConversationOptions { resume, ..ConversationOptions::default() });
    let lost: Vec<_> =
        said.iter().filter(|said| matches!(said, DialectOutput::ConversationLost(_))).collect();
    assert_eq!(lost.len(), 1);
    assert!(
        matches!(lost[0], DialectOutput::ConversationLost(failure) if failure.category == Category::SessionLost)
    );
    assert!(!said.iter().any(|said| matches!(said, DialectOutput::ConversationOpened(_))));
}

#[test]
fn text_that_is_told_again_after_a_dropped_stream_is_said_once() {
    let said = drive("cut-once", &ConversationOptions::default());
    assert_eq!(text_of(&said), "Hello, this is the fake model speaking.");
}

fn request(id: Value, method: &str, params: Value) -> Value {
    let mut line = note(method, params);
    line["id"] = id;
    line
}

#[test]
fn questions_of_the_model_are_answered_together() {
    let mut dialect = running();
    let options = json!([{ "label": "A", "description": "" }, { "label": "B", "description": "" }]);
    let questions = json!([
        { "id": "q1", "header": "", "question": "Which?", "options": options },
        { "id": "q2", "header": "", "question": "And?", "options": options },
        { "id": "q3", "header": "", "question": "Your name?" },
    ]);
    let params = json!({ "itemId": "i", "questions": questions });
    let out = feed(&mut dialect, &[request(json!(7), "item/tool/requestUserInput", params)]);
    let asks: Vec<String> = out
        .iter()
        .map(|said| match said {
            DialectOutput::PermissionRequest(ask) => ask.id.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(asks.len(), 2);
    let mut out = Outputs::default();
    dialect.answer(&asks[1], &PermissionAnswer::Chosen("skip".to_owned()), &mut out);
    assert!(out.is_empty());
    dialect.answer(&asks[0], &PermissionAnswer::Chosen("choice-1".to_owned()), &mut out);
    assert_eq!(
        written(&out),
        [json!({ "id": 7, "result": { "answers":
            { "q1": { "answers": ["B"] }, "q2": { "answers": [] } } } })]
    );
}

#[test]
fn permissions_are_granted_as_they_were_asked_for() {
    let mut dialect = running();
    let wanted = json!({ "network": { "enabled": true } });
    let params = json!({ "itemId": "i", "cwd": "/w", "permissions": wanted, "reason": "to fetch" });
    feed(&mut dialect, &[request(json!("a"), "item/permissions/requestApproval", params)]);
    let mut out = Outputs::default();
    dialect.answer("\"a\"", &PermissionAnswer::Chosen("turn".to_owned()), &mut out);
    let granted = json!({ "permissions": wanted, "scope": "turn" });
    assert_eq!(written(&out), [json!({ "id": "a", "result": granted })]);
}

#[test]
fn the_older_questions_are_understood() {
    let mut dialect = running();
    let command = json!({ "callId": "c", "conversationId": "T", "command": ["bash", "-lc", "ls -l"],
                          "cwd": "/w", "parsedCmd": [] });
    let changes = json!({ "callId": "p", "conversationId": "T", "fileChanges": {
        "/w/a": { "type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": null } } });
    let out = feed(
        &mut dialect,
        &[
            request(json!(1), "execCommandApproval", command),
            request(json!(2), "applyPatchApproval", changes),
        ],
    );
    let [DialectOutput::PermissionRequest(run), DialectOutput::PermissionRequest(patch)] = &out[..]
    else {
        panic!("{out:?}")
    };
    assert_eq!(run.call.title.as_deref(), Some("ls -l"));
    assert_eq!(json!(patch.call)["content"][0]["newText"], "b\n");
    let mut out = Outputs::default();
    dialect.answer("1", &PermissionAnswer::Chosen("no such option".to_owned()), &mut out);
    dialect.answer("2", &PermissionAnswer::Chosen("approved".to_owned()), &mut out);
    dialect.answer("2", &PermissionAnswer::Chosen("approved".to_owned()), &mut out);
    let lines = written(&out);
    assert_eq!(lines.len(), 2);
    assert!(lines[0]["result"]["decision"]["denied"].is_object());
    assert_eq!(lines[1]["result"]["decision"], "approved");
}

#[test]
fn a_question_of_a_sub_agent_is_refused_when_the_turn_ends() {
    let mut dialect = running();
    let mut asked = request(json!(9), "item/fileChange/requestApproval", json!({ "itemId": "i" }));
    asked["params"]["threadId"] = json!("SUB");
    let done = json!({ "turn": { "id": "U", "status": "completed", "items": [] } });
    let out = feed(&mut dialect, &[asked, note("turn/completed", done)]);
    assert_eq!(written(&out), [json!({ "id": 9, "result": { "decision": "decline" } })]);
    assert!(out.contains(&DialectOutput::RequestWithdrawn("9".to_owned())));
}

#[test]
fn a_form_of_an_mcp_server_is_declined() {
    let mut dialect = running();
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let params =
        json!({ "serverName": "s", "mode": "form", "message": "?", "requestedSchema": schema });
    let out = feed(&mut dialect, &[request(json!(3), "mcpServer/elicitation/request", params)]);
    assert_eq!(written(&out), [json!({ "id": 3, "result": { "action": "decline" } })]);
}
