//! What the official conformance kit asks of an agent, by its own ids, of the built-in agent
//! alone and behind `switchyard acp`: the connection, and what a client does not offer.

use crate::native::{BOTH, Stage, Way, prompt_of};
use serde_json::{Value, json};
use std::process::Child;
use testkit::line_client::LineClient;
use testkit::model_server::{calls, text};
use testkit::{Direction, Validator};

const TO_AGENT: Direction = Direction::ClientToAgent;

fn problems(method: &str, answer: &Value) -> Vec<String> {
    Validator::v1().check_response(TO_AGENT, method, answer)
}

/// Closes the agent's stdin; it ends by itself, and well.
pub(crate) fn finish(mut lines: LineClient, mut child: Child) -> Vec<Value> {
    lines.finish_sending();
    let rest = lines.rest();
    let exit = child.wait().unwrap();
    assert!(exit.success(), "{exit}");
    rest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_init_001_initialize_gives_a_valid_result_with_an_integer_version() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child) = stage.lines(way);
        let answer = lines.ask("initialize", &json!({ "protocolVersion": 1 }));
        assert_eq!(problems("initialize", &answer), [""; 0], "{way:?}");
        assert!(answer["result"]["protocolVersion"].is_u64(), "{answer}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_init_002_and_004_version_1_is_answered_with_1_and_a_name() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child) = stage.lines(way);
        let result = lines.result("initialize", &json!({ "protocolVersion": 1 }));
        assert_eq!(result["protocolVersion"], 1, "{way:?}");
        assert!(result["agentInfo"]["name"].is_string(), "{result}");
        assert!(result["agentInfo"]["version"].is_string(), "{result}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_init_003_a_version_that_nobody_has_is_not_echoed() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child) = stage.lines(way);
        let info = json!({ "name": "future", "version": "9" });
        let params = json!({ "protocolVersion": 65535, "info": info, "clientCapabilities": {} });
        let answer = lines.ask("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], 1, "{way:?}: {answer}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_transport_001_and_002_every_line_is_one_message_in_utf_8() {
    const ODD: &str = "two\nlines\r\nand\ta\u{2028}break \u{1f980} \u{0}\u{7f} é \u{feff}\"\\";
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer(text(ODD).pieces(1).split_every_byte());
        let (mut lines, child, session) = stage.opened(way);
        let id = lines.start("session/prompt", &prompt_of(&session, ODD));
        // Each line is checked as it is read: UTF-8, one JSON-RPC message.
        lines.answer_to(&id);
        let mut said = String::new();
        for line in lines.put_aside() {
            let message: Value = serde_json::from_str(line).unwrap();
            let update = &message["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                said.push_str(update["content"]["text"].as_str().unwrap());
            }
        }
        assert_eq!(said, ODD, "{way:?}");
        assert_eq!(stage.model.last_chat().last_user(), ODD);
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_jsonrpc_001_ids_come_back_as_they_were() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child) = stage.lines(way);
        let ids = ["0", "7", "-3", "9007199254740993", "\"\"", "\"a b\"", "\"7\"", "\"\\u00e9\""];
        for id in ids {
            lines.request(id, "initialize", &json!({ "protocolVersion": 1 }));
            let line = lines.next_line().unwrap();
            assert!(line.contains(&format!("\"id\":{id}")), "{way:?}: {id}: {line}");
        }
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_jsonrpc_002_an_answer_is_a_result_or_an_error_with_code_and_message() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child, session) = stage.opened(way);
        // The client that reads checks what an answer has to have.
        for (method, params) in [
            ("session/new", json!({ "cwd": "relative", "mcpServers": [] })),
            ("session/new", json!({})),
            ("session/new", json!([1, 2])),
            ("session/prompt", json!({ "sessionId": session, "prompt": "words" })),
            ("session/prompt", json!({ "sessionId": session, "prompt": [{}] })),
            ("session/prompt", json!({ "sessionId": "nobody", "prompt": [] })),
            ("session/prompt", json!({ "prompt": [] })),
            ("session/load", json!({ "sessionId": "x", "cwd": "/", "mcpServers": [] })),
            ("session/set_mode", json!({ "sessionId": session, "modeId": "dance" })),
            (
                "session/set_config_option",
                json!({ "sessionId": session, "configId": "size", "value": "big" }),
            ),
            ("session/nonsense", json!({})),
        ] {
            let answer = lines.ask(method, &params);
            let message = answer["error"]["message"].as_str();
            let message = message.unwrap_or_else(|| panic!("{way:?} {method} {params}: {answer}"));
            // ACP-ERROR-001: one sentence, on one line.
            assert!(!message.is_empty() && !message.contains('\n'), "{answer}");
            assert_eq!(problems(method, &answer), [""; 0], "{answer}");
        }
        lines.result("session/list", &json!({}));
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_jsonrpc_003_notifications_are_not_answered() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child, session) = stage.opened(way);
        let commands = |message: &Value| {
            message["params"]["update"]["sessionUpdate"] == "available_commands_update"
        };
        lines.wait_for(commands);
        for (method, params) in [
            ("session/cancel", json!({ "sessionId": session })),
            ("session/cancel", json!({ "sessionId": "nobody" })),
            ("session/cancel", json!({})),
            ("_somebody/else", json!({})),
            ("session/nonsense", json!([])),
            ("session/new", json!({ "cwd": stage.work(), "mcpServers": [] })),
            ("$/cancel_request", json!({ "requestId": 99 })),
        ] {
            lines.notify(method, &params);
        }
        // All of those were heard before this one.
        let id = lines.start("session/list", &json!({}));
        let next = lines.next_message();
        assert_eq!(next["id"], id, "{way:?}: {next}");
        assert_eq!(finish(lines, child), Vec::<Value>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_jsonrpc_004_and_ext_001_unknown_methods_are_not_found() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child, session) = stage.opened(way);
        for method in ["session/nonsense", "_vendor/thing", "fs/read_text_file", ""] {
            let answer = lines.ask(method, &json!({ "sessionId": session }));
            assert_eq!(answer["error"]["code"], -32601, "{way:?} {method}: {answer}");
        }
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_jsonrpc_005_the_connection_is_usable_after_errors() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer("still here");
        let (mut lines, child) = stage.lines(way);
        for garbage in ["this is no JSON", "[1, 2", "{\"foo\":\"bar\"}", "null", "\u{1f980}", ""] {
            lines.send(garbage);
        }
        lines.send_bytes(b"\xff\xfe{}\n");
        let early = lines.ask("session/new", &stage.new_params());
        assert_eq!(early["error"]["code"], -32600, "{way:?}: {early}");
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let bad = lines.ask("initialize", &json!({ "protocolVersion": true }));
        assert_eq!(bad["error"]["code"], -32602, "{way:?}: {bad}");
        let session = lines.result("session/new", &stage.new_params())["sessionId"].clone();
        let session = session.as_str().unwrap().to_owned();
        let unknown = lines.ask("session/prompt", &prompt_of("nobody", "hello"));
        assert_eq!(unknown["error"]["code"], -32002, "{way:?}: {unknown}");
        let answer = lines.result("session/prompt", &prompt_of(&session, "hello"));
        assert_eq!(answer["stopReason"], "end_turn");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_session_001_and_002_sessions_have_ids_of_their_own() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let mut ids = std::collections::HashSet::new();
        for _ in 0..5 {
            let answer = lines.ask("session/new", &stage.new_params());
            assert_eq!(problems("session/new", &answer), [""; 0], "{way:?}");
            let id = answer["result"]["sessionId"].as_str().unwrap().to_owned();
            assert!(!id.is_empty() && ids.insert(id), "{way:?}: {ids:?}");
        }
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_clientcap_001_002_and_003_nothing_is_asked_that_was_not_offered() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.put("a.txt", "words\n");
        stage.model.answer(calls([
            ("read", json!({ "path": "a.txt" })),
            ("write", json!({ "path": "b.txt", "content": "more words\n" })),
            ("bash", json!({ "command": "cat b.txt" })),
        ]));
        stage.model.answer("done");
        let (mut lines, child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        let session = lines.result("session/new", &stage.new_params())["sessionId"].clone();
        let session = session.as_str().unwrap();
        let auto = json!({ "sessionId": session, "configId": "mode", "value": "auto" });
        lines.result("session/set_config_option", &auto);
        let id = lines.start("session/prompt", &prompt_of(session, "work"));
        lines.wait_for(|message| {
            let is_question = message.get("id").is_some() && message.get("method").is_some();
            assert!(!is_question, "{way:?}: {message}");
            message["id"] == id
        });
        let results = stage.model.last_chat().tool_results();
        assert!(results[2].contains("more words"), "{way:?}: {results:#?}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_schema_002_answers_have_no_members_of_their_own() {
    let stage = Stage::new().await;
    stage.model.answer("hello");
    let (mut lines, child, session) = stage.opened(Way::Alone);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mode = json!({ "sessionId": session, "modeId": "code" });
    assert_eq!(keys(&lines.result("session/set_mode", &mode)), [""; 0]);
    let answer = lines.result("session/prompt", &prompt_of(&session, "hello"));
    let known = ["stopReason", "usage", "_meta"];
    assert!(keys(&answer).iter().all(|key| known.contains(&key.as_str())), "{answer}");
    let closed = lines.result("session/close", &json!({ "sessionId": session }));
    assert_eq!(keys(&closed), [""; 0]);
    finish(lines, child);
}
