//! `codex app-server`, against what the real one said, in both directions.

mod driven;
mod opened;

use serde_json::{Value, json};
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{
    CliExit, ComposedPrompt, ConversationOptions, Dialect, DialectName, DialectOutput,
    OptionChange, Outputs, PermissionAnswer, PermissionMode, PromptImage, StopReason, TurnOutcome,
};
use super::CodexAppServer;
use crate::update::{PlanEntryStatus, SessionUpdate};

const NAME: DialectName = DialectName::CodexAppServer;

#[test]
fn every_recorded_turn_ends_once() {
    for (name, path) in recordings("codex-app-server") {
        let bytes = stdout_of(&path);
        let said = translate(NAME, &bytes, &[], &exit_of(&path));
        check(&said);
        // Turns of sub-agents are not turns of ours: they start after their thread did.
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut threads: Vec<String> = Vec::new();
        let mut n_turns = 0;
        for line in lines.filter(|line| line["method"] == "turn/started") {
            threads.push(line["params"]["threadId"].to_string());
            n_turns += usize::from(threads.first() == threads.last());
        }
        assert_eq!(turn_ends(&said), n_turns, "{name}");
        insta::assert_snapshot!(format!("codex_app_server_{name}"), render(&said));
    }
}

#[test]
fn the_answer_is_what_codex_says_it_is() {
    for (name, path) in recordings("codex-app-server") {
        let text = String::from_utf8(stdout_of(&path)).unwrap();
        let mut thread = Value::Null;
        let mut whole = String::new();
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let params = &line["params"];
            if line["method"] == "turn/started" && thread.is_null() {
                thread = params["threadId"].clone();
            }
            if line["method"] == "item/completed"
                && params["threadId"] == thread
                && params["item"]["type"] == "agentMessage"
            {
                whole.push_str(params["item"]["text"].as_str().unwrap());
            }
        }
        let said = translate(NAME, text.as_bytes(), &[], &exit_of(&path));
        // What was interrupted was said without ever being whole.
        assert!(text_of(&said).starts_with(&whole), "{name}");
        if !name.contains("interrupt") && name != "sigterm" {
            assert_eq!(text_of(&said), whole, "{name}");
        }
    }
}

#[test]
fn nothing_that_a_process_prints_breaks_it() {
    let samples = recordings("codex-app-server");
    survives_anything(NAME, samples.iter().map(|(_, path)| stdout_of(path)).collect());
}

/// A thread that is open, and the lines written so far, taken away.
fn open(opening: &ConversationOptions) -> CodexAppServer {
    let (mut dialect, mut out) = (CodexAppServer::default(), Outputs::default());
    dialect.open(opening, &mut out);
    dialect.line(r#"{"id":1,"result":{"userAgent":"x"}}"#, &mut out);
    dialect.line(r#"{"id":2,"result":{"data":[],"nextCursor":null}}"#, &mut out);
    let sandbox = json!({ "type": "workspaceWrite", "writableRoots": [], "networkAccess": true });
    dialect.line(
        &json!({ "id": 3, "result": { "thread": { "id": "T" }, "model": "m", "sandbox": sandbox } })
            .to_string(),
        &mut out,
    );
    dialect
}

fn written(out: &[DialectOutput]) -> Vec<Value> {
    out.iter()
        .filter_map(|said| match said {
            DialectOutput::StdinLine(line) => Some(serde_json::from_str(line).unwrap()),
            _ => None,
        })
        .collect()
}

fn prompt(text: &str) -> ComposedPrompt {
    ComposedPrompt { text: text.to_owned(), images: Vec::new() }
}

/// A thread with a turn that has started.
fn running() -> CodexAppServer {
    let mut dialect = open(&ConversationOptions::default());
    let mut out = Outputs::default();
    dialect.prompt(&prompt("go"), &mut out);
    feed(&mut dialect, &[json!({ "id": 4, "result": { "turn": { "id": "U" } } })]);
    feed(&mut dialect, &[note("turn/started", json!({ "turn": { "id": "U" } }))]);
    dialect
}

fn note(method: &str, mut params: Value) -> Value {
    params["threadId"] = json!("T");
    if method.starts_with("item/") {
        params["turnId"] = json!("U");
    }
    json!({ "method": method, "params": params })
}

fn feed(dialect: &mut CodexAppServer, lines: &[Value]) -> Outputs {
    let mut out = Outputs::default();
    for line in lines {
        dialect.line(&line.to_string(), &mut out);
    }
    out
}

fn ended(said: &[DialectOutput]) -> Vec<&TurnOutcome> {
    said.iter()
        .filter_map(|said| match said {
            DialectOutput::TurnEnded(end) => Some(&end.ending),
            _ => None,
        })
        .collect()
}

#[test]
fn an_interrupt_waits_until_codex_can_take_it() {
    let mut dialect = open(&ConversationOptions::default());
    let mut out = Outputs::default();
    dialect.prompt(&prompt("go"), &mut out);
    out.clear();
    assert!(dialect.interrupt(&mut out));
    let early = feed(&mut dialect, &[json!({ "id": 4, "result": { "turn": { "id": "U" } } })]);
    assert!(written(&out).is_empty() && written(&early).is_empty());

    let out = feed(&mut dialect, &[note("turn/started", json!({ "turn": { "id": "U" } }))]);
    let stop = json!({ "id": 5, "method": "turn/interrupt",
                       "params": { "threadId": "T", "turnId": "U" } });
    assert_eq!(written(&out), [stop]);

    // Refused all the same: the next sign of life is answered with another one.
    let refused = json!({ "id": 5, "error": { "code": -32600, "message": "no active turn" } });
    assert!(feed(&mut dialect, &[refused]).is_empty());
    let delta = json!({ "itemId": "m", "delta": "hi" });
    let out = feed(&mut dialect, &[note("item/agentMessage/delta", delta)]);
    assert_eq!(written(&out)[0]["method"], "turn/interrupt");

    let done = json!({ "turn": { "id": "U", "status": "interrupted" } });
    let out = feed(&mut dialect, &[note("turn/completed", done)]);
    assert_eq!(ended(&out), [&TurnOutcome::Stopped(StopReason::Cancelled)]);
}

#[test]
fn a_prompt_that_is_refused_ends_its_turn() {
    let mut dialect = open(&ConversationOptions::default());
    let mut out = Outputs::default();
    dialect.prompt(&prompt("go"), &mut out);
    let refused = json!({ "id": 4, "error": { "code": -32600, "message": "thread not found: T" } });
    let out = feed(&mut dialect, &[refused]);
    let [TurnOutcome::Failed(failure)] = &ended(&out)[..] else { panic!("{out:?}") };
    assert_eq!(failure.category, Category::SessionLost);
}

#[test]
fn the_end_of_an_earlier_turn_does_not_end_this_one() {
    let mut dialect = running();
    let done = |id: &str| {
        note("turn/completed", json!({ "turn": { "id": id, "status": "completed", "items": [] } }))
    };
    assert_eq!(ended(&feed(&mut dialect, &[done("U")])).len(), 1);
    let mut out = Outputs::default();
    dialect.prompt(&prompt("more"), &mut out);
    assert!(ended(&feed(&mut dialect, &[done("U")])).is_empty());
    let out = feed(
        &mut dialect,
        &[json!({ "id": 5, "result": { "turn": { "id": "V" } } }), done("U"), done("V"), done("V")],
    );
    assert_eq!(ended(&out).len(), 1);
}

#[test]
fn a_process_that_dies_ends_its_turn() {
    let exit = CliExit { code: Some(1), stderr: "boom".to_owned(), ..CliExit::default() };
    let mut out = Outputs::default();
    running().end(&exit, &mut out);
    let [TurnOutcome::Failed(failure)] = &ended(&out)[..] else { panic!("{out:?}") };
    assert_eq!(failure.category, Category::ProcessExit);
    assert!(failure.message.contains("boom"));

    let mut out = Outputs::default();
    running().end(&CliExit { is_stopped_by_us: true, ..exit }, &mut out);
    assert_eq!(ended(&out), [&TurnOutcome::Stopped(StopReason::Cancelled)]);
}

#[test]
fn requests_that_nobody_can_answer_are_refused() {
    let mut dialect = running();
    let request = json!({ "id": "x", "method": "attestation/generate", "params": {} });
    let out = feed(&mut dialect, &[request]);
    assert_eq!(written(&out)[0]["id"], "x");
    assert_eq!(written(&out)[0]["error"]["code"], -32601);
    assert!(matches!(out.last(), Some(DialectOutput::UnknownLine(_))));
}

#[test]
fn a_plan_a_name_and_a_compaction_are_told() {
    let mut dialect = running();
    let steps =
        json!([{ "step": "a", "status": "completed" }, { "step": "b", "status": "inProgress" }]);
    let compaction = json!({ "item": { "type": "contextCompaction", "id": "C" } });
    let out = feed(
        &mut dialect,
        &[
            note("turn/plan/updated", json!({ "plan": steps })),
            note("thread/name/updated", json!({ "threadName": "Fix it" })),
            note("item/started", compaction.clone()),
            note("item/completed", compaction),
            note("thread/compacted", json!({ "turnId": "U" })),
        ],
    );
    let [
        DialectOutput::Update(SessionUpdate::Plan { entries }),
        DialectOutput::Update(info),
        rest @ ..,
    ] = &out[..]
    else {
        panic!("{out:?}")
    };
    assert_eq!(entries[1].status, PlanEntryStatus::InProgress);
    assert!(
        matches!(info, SessionUpdate::SessionInfoUpdate { title: Some(t), .. } if t == "Fix it")
    );
    assert_eq!(rest.len(), 2, "{rest:?}");
}

#[test]
fn every_kind_of_item_is_told() {
    let items = [
        json!({ "type": "reasoning", "id": "r", "summary": ["One", "Two"], "content": ["raw"] }),
        json!({ "type": "plan", "id": "p", "text": "The plan." }),
        json!({ "type": "dynamicToolCall", "id": "d", "tool": "look", "arguments": { "x": 1 },
                "status": "completed", "success": true,
                "contentItems": [{ "type": "inputText", "text": "seen" }] }),
        json!({ "type": "subAgentActivity", "id": "s", "kind": "started", "agentPath": "/root/a",
                "agentThreadId": "X" }),
        json!({ "type": "webSearch", "id": "w", "query": "",
                "action": { "type": "openPage", "url": "https://x" } }),
        json!({ "type": "imageView", "id": "i", "path": "/w/p.png" }),
        json!({ "type": "imageGeneration", "id": "g", "status": "completed", "result": "QUJD",
                "revisedPrompt": "a cat" }),
        json!({ "type": "sleep", "id": "z", "durationMs": 500 }),
        json!({ "type": "functionCallOutput", "id": "f", "name": "grep", "output": "1: x" }),
        json!({ "type": "hookPrompt", "id": "h", "fragments": [{ "text": "mind", "hookRunId": "1" }] }),
        json!({ "type": "enteredReviewMode", "id": "e", "review": "the diff" }),
        json!({ "type": "exitedReviewMode", "id": "x", "review": "Looks good." }),
        json!({ "type": "userMessage", "id": "u", "content": [] }),
        json!({ "type": "hologram", "id": "?" }),
    ];
    let mut dialect = running();
    let mut out = Outputs::default();
    for item in items {
        for method in ["item/started", "item/completed"] {
            out.append(&mut feed(&mut dialect, &[note(method, json!({ "item": item }))]));
        }
    }
    let done = json!({ "turn": { "id": "U", "status": "completed", "items": [] } });
    out.append(&mut feed(&mut dialect, &[note("turn/completed", done)]));
    check(&out);
    insta::assert_snapshot!("codex_app_server_items", render(&out));
}

#[test]
fn thoughts_in_parts_are_kept_apart_and_said_once() {
    let mut dialect = running();
    let piece = |part: u64, text: &str| {
        let params = json!({ "itemId": "r", "summaryIndex": part, "delta": text });
        note("item/reasoning/summaryTextDelta", params)
    };
    let raw = json!({ "itemId": "r", "contentIndex": 0, "delta": "unseen" });
    let whole = json!({ "item": { "type": "reasoning", "id": "r", "summary": ["A b", "C"],
                                  "content": ["unseen"] } });
    let out = feed(
        &mut dialect,
        &[
            piece(0, "A "),
            piece(0, "b"),
            note("item/reasoning/textDelta", raw),
            piece(1, "C"),
            note("item/completed", whole),
        ],
    );
    let thoughts: String = out
        .iter()
        .map(|said| match said {
            DialectOutput::Update(SessionUpdate::AgentThoughtChunk { content, .. }) => {
                match content {
                    crate::update::ContentBlock::Text { text } => text.as_str(),
                    crate::update::ContentBlock::Image { .. } => panic!("an image"),
                }
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(thoughts, "A b\n\nC");
}

#[test]
fn live_output_is_a_window_on_its_end() {
    let mut dialect = running();
    let item =
        json!({ "type": "commandExecution", "id": "c", "command": "yes", "status": "inProgress" });
    feed(&mut dialect, &[note("item/started", json!({ "item": item }))]);
    let long = format!("{}é{}", "x".repeat(40 << 10), "y".repeat((64 << 10) - 1));
    let out = feed(
        &mut dialect,
        &[note("item/commandExecution/outputDelta", json!({ "itemId": "c", "delta": long }))],
    );
    let [DialectOutput::Update(SessionUpdate::ToolCallUpdate(call))] = &out[..] else {
        panic!("{out:?}")
    };
    let shown = json!(call.content)[0]["content"]["text"].as_str().unwrap().to_owned();
    assert_eq!(shown, "y".repeat((64 << 10) - 1));
}

#[test]
fn every_end_of_a_turn_ends_it() {
    let completed = |turn: Value| json!({ "method": "turn/completed", "params": { "threadId": "T", "turn": turn } });
    let error = json!({ "message": "unexpected status 429 Too Many Requests" });
    for (line, expected) in [
        (completed(json!({ "id": "1", "status": "paused" })), Err(Category::Protocol)),
        (completed(json!({ "id": "1", "status": 7 })), Err(Category::Protocol)),
        (
            completed(json!({ "id": "1", "status": "paused", "error": error })),
            Err(Category::RateLimit),
        ),
        (completed(json!({ "id": "1", "error": error })), Err(Category::RateLimit)),
        (completed(json!({ "id": "1" })), Ok(StopReason::EndTurn)),
        (completed(Value::Null), Ok(StopReason::EndTurn)),
        (json!({ "method": "turn/completed", "params": {} }), Ok(StopReason::EndTurn)),
        (json!({ "method": "turn/completed" }), Ok(StopReason::EndTurn)),
    ] {
        let started = json!({ "method": "turn/started",
                              "params": { "threadId": "T", "turn": { "id": "1" } } });
        let mut dialect = CodexAppServer::default();
        let out = feed(&mut dialect, &[started, line.clone()]);
        let ending = match ended(&out).as_slice() {
            [TurnOutcome::Stopped(reason)] => Ok(reason.clone()),
            [TurnOutcome::Failed(failure)] => {
                let status = line["params"]["turn"]["status"].to_string();
                let is_unknown = failure.category == Category::Protocol;
                assert!(!is_unknown || failure.message.contains(&status), "{failure:?}");
                Err(failure.category)
            }
            _ => panic!("{line}: {out:?}"),
        };
        assert_eq!(ending, expected, "{line}");
    }
}
