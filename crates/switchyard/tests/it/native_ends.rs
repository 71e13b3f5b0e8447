//! Open Design's conversation with the built-in agent, and its ends: nothing but messages on
//! stdout, a clean exit, and nothing left running.

use crate::native::{BOTH, KEY, Stage, Way, prompt_of};
use crate::native_conformance::finish;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::Stdio;
use testkit::line_client::LineClient;
use testkit::model_server::{calls, text};
use testkit::test_home::{PATIENCE, wait_until};

fn kind_of(message: &Value) -> &str {
    message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default()
}

fn signal(child: &std::process::Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, signal).unwrap();
}

/// As Open Design does it: its capabilities, its order, its cancel with an id.
fn design(stage: &Stage, lines: &mut LineClient) -> String {
    let client = json!({ "name": "open-design", "version": "runtime-adapter" });
    let capabilities = json!({ "terminal": false });
    let params = json!({
        "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": client,
    });
    lines.request("1", "initialize", &params);
    assert_eq!(lines.answer_to(&json!(1))["result"]["protocolVersion"], 1);
    lines.request("2", "session/new", &stage.new_params());
    let opened = lines.answer_to(&json!(2))["result"].clone();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let options = opened["configOptions"].as_array().unwrap();
    let model = options.iter().find(|option| option["category"] == "model").unwrap();
    assert_eq!(model["type"], "select");
    let params = json!({ "sessionId": session, "configId": model["id"], "value": "other-model" });
    lines.request("3", "session/set_config_option", &params);
    assert!(lines.answer_to(&json!(3)).get("result").is_some());
    // Where it finds no such option it says this.
    for model in ["test-model", "other-model"] {
        lines.result("session/set_model", &json!({ "sessionId": session, "modelId": model }));
    }
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn open_design_has_its_conversation() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.models(["test-model", "other-model"]);
        stage.put("index.html", "<p>old</p>\n");
        let edit = json!({ "path": "index.html", "old_string": "old", "new_string": "new" });
        stage.model.answer(calls([("read", json!({ "path": "index.html" }))]));
        stage.model.answer(calls([("edit", edit)]));
        stage.model.answer(text("It is new.").usage(100, 20));
        stage.model.answer(text("one two three").hang_after(2));
        let (mut lines, child) = stage.lines(way);
        let session = design(&stage, &mut lines);
        let link = json!({ "type": "resource_link", "uri": "file:///a.png", "name": "a.png" });
        let words = json!({ "type": "text", "text": "make it new" });
        let params = json!({ "sessionId": session, "prompt": [words, link] });
        lines.request("4", "session/prompt", &params);
        let question = lines.wait_for(|message| message["method"] == "session/request_permission");
        let options = question["params"]["options"].as_array().unwrap();
        let always = options.iter().find(|option| option["kind"] == "allow_always").unwrap();
        let outcome = json!({ "outcome": "selected", "optionId": always["optionId"] });
        let result = json!({ "outcome": outcome });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        lines.send(&answer.to_string());
        let answer = lines.answer_to(&json!(4));
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{way:?}");
        assert_eq!(answer["result"]["usage"]["outputTokens"], 30, "{way:?}: {answer}");
        assert_eq!(stage.read("index.html"), "<p>new</p>\n");
        assert_eq!(stage.model.last_chat().model(), "other-model");

        lines.request("5", "session/prompt", &prompt_of(&session, "count"));
        lines.wait_for(|m| m["params"]["update"]["content"]["text"] == "one ");
        lines.request("6", "session/cancel", &json!({ "sessionId": session }));
        assert_eq!(lines.answer_to(&json!(5))["result"]["stopReason"], "cancelled", "{way:?}");
        assert!(lines.answer_to(&json!(6)).get("result").is_some(), "{way:?}");
        finish(lines, child);
        stage.home.assert_empty_within(PATIENCE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn sigterm_ends_it_cleanly_idle_and_in_mid_stream() {
    for way in BOTH {
        for is_busy in [false, true] {
            let stage = Stage::new().await;
            stage.model.answer(text("one two three").hang_after(2));
            let (mut lines, mut child, session) = stage.opened(way);
            if is_busy {
                lines.start("session/prompt", &prompt_of(&session, "count"));
                lines.wait_for(|message| kind_of(message) == "agent_message_chunk");
            }
            signal(&child, Signal::TERM);
            // Whole messages to the end.
            lines.rest();
            let exit = child.wait().unwrap();
            assert!(exit.code().is_some(), "{way:?}, busy {is_busy}: it ends by itself: {exit}");
            if way == Way::Alone {
                assert!(exit.success(), "busy {is_busy}: {exit}");
            }
            stage.home.assert_empty_within(PATIENCE);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn commands_and_all_that_they_started_end_with_the_agent() {
    for way in BOTH {
        for by_signal in [false, true] {
            let stage = Stage::new().await;
            let line = "(setsid sleep 1000 &) ; nohup sleep 1000 & echo up > up.txt; sleep 1000";
            stage.model.answer(calls([("bash", json!({ "command": line }))]));
            let (mut lines, mut child, session) = stage.opened(way);
            lines.result("session/set_mode", &json!({ "sessionId": session, "modeId": "auto" }));
            lines.start("session/prompt", &prompt_of(&session, "start"));
            let up = stage.work().join("up.txt");
            assert!(wait_until(PATIENCE, || up.exists()), "{way:?}");
            if by_signal {
                signal(&child, Signal::TERM);
                lines.rest();
                child.wait().unwrap();
            } else {
                finish(lines, child);
            }
            stage.home.assert_empty_within(PATIENCE);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn logs_are_on_stderr_alone_and_hold_no_key() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer(testkit::model_server::status(401).body(format!("bad key {KEY}")));
        let mut command = stage.agent(way);
        command.env("SWITCHYARD_LOG", "debug");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines =
            LineClient::pipes(child.stdin.take().unwrap(), child.stdout.take().unwrap());
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let session = lines.result("session/new", &stage.new_params())["sessionId"].clone();
        lines.ask("session/prompt", &prompt_of(session.as_str().unwrap(), "hello"));
        let said: Vec<String> = lines.put_aside().map(str::to_owned).collect();
        lines.finish_sending();
        lines.rest();
        let output = child.wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success());
        assert!(said.iter().any(|line| line.contains("HTTP 401")), "{way:?}: {said:#?}");
        assert!(!said.concat().contains(KEY), "{way:?}: {said:#?}");
        assert!(!log.contains(KEY), "{way:?}: {log}");
        let has_category = log.contains("category=\"auth\"") || log.contains("category=auth");
        assert!(has_category || way == Way::Acp, "the category is in its log: {log}");
    }
}
