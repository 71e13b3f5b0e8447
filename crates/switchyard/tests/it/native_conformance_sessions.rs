//! What the official conformance kit asks of an agent about sessions, by its own ids, of the
//! built-in agent alone and behind `switchyard acp`: turns, cancelling, and each capability.

use crate::native::{BOTH, Stage, Way, prompt_of};
use crate::native_conformance::finish;
use serde_json::{Value, json};
use testkit::line_client::LineClient;
use testkit::model_server::{calls, text};
use testkit::{Direction, Validator};

fn granted(lines: &mut LineClient, method: &str, params: &Value) -> Value {
    let answer = lines.ask(method, params);
    let problems = Validator::v1().check_response(Direction::ClientToAgent, method, &answer);
    assert!(answer.get("result").is_some() && problems.is_empty(), "{method}: {answer}");
    answer["result"].clone()
}

fn kind_of(message: &Value) -> &str {
    message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default()
}

const HISTORY: [&str; 4] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call"];

fn is_history(message: &Value) -> bool {
    HISTORY.contains(&kind_of(message))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_prompt_001_002_and_003_a_turn_has_valid_updates_and_a_known_end() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer(text("hello there").thought("hm"));
        let (mut lines, child, session) = stage.opened(way);
        let link = json!({ "type": "resource_link", "uri": "file:///a/b.txt", "name": "b.txt" });
        let words = json!({ "type": "text", "text": "hello" });
        let meta = json!({ "traceparent": "00-aa-bb-01" });
        let params = json!({ "sessionId": session, "prompt": [words, link], "_meta": meta });

        let answer = granted(&mut lines, "session/prompt", &params);

        assert_eq!(answer["stopReason"], "end_turn", "{way:?}");
        let updates: Vec<Value> =
            lines.put_aside().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(updates.iter().any(|update| kind_of(update) == "agent_message_chunk"));
        for update in updates {
            let problems = Validator::v1().check_call(Direction::AgentToClient, &update);
            assert!(problems.is_empty(), "{way:?}: {problems:?}");
            assert_eq!(update["params"]["sessionId"], json!(session));
        }
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_promptcap_001_and_003_images_and_resources_are_taken() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer("seen");
        let (mut lines, child, session) = stage.opened(way);
        let resource = json!({ "uri": "file:///a.txt", "text": "in the resource" });
        let prompt = json!([
            { "type": "text", "text": "look" },
            { "type": "image", "mimeType": "image/png", "data": "iVBORw==" },
            { "type": "resource", "resource": resource },
        ]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        assert_eq!(granted(&mut lines, "session/prompt", &params)["stopReason"], "end_turn");
        assert!(stage.model.last_chat().last_user().contains("in the resource"), "{way:?}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_cancel_001_and_002_a_cancelled_turn_ends_so_and_nothing_follows() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer(text("one two three four").hang_after(3));
        stage.model.answer("again");
        let (mut lines, child, session) = stage.opened(way);
        let id = lines.start("session/prompt", &prompt_of(&session, "count"));
        lines.wait_for(|message| kind_of(message) == "agent_message_chunk");
        lines.notify("session/cancel", &json!({ "sessionId": session }));
        let answer = lines.answer_to(&id);
        assert_eq!(answer["result"]["stopReason"], "cancelled", "{way:?}: {answer}");
        stage.model.wait_for_hang_ups(1).await;
        // Everything that could still come of it would be before the answer to the next.
        while lines.put_aside().next().is_some() {
            lines.next_line();
        }
        lines.result("session/list", &json!({}));
        let after: Vec<&str> = lines.put_aside().collect();
        assert!(after.is_empty(), "{way:?}: {after:#?}");
        let next = lines.result("session/prompt", &prompt_of(&session, "again"));
        assert_eq!(next["stopReason"], "end_turn");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cancel_right_behind_its_prompt_cancels_it() {
    for way in BOTH {
        for _ in 0..10 {
            let stage = Stage::new().await;
            stage.model.answer_with(|_| text("never").hang_after(0));
            let (mut lines, child, session) = stage.opened(way);
            let prompt = json!({
                "jsonrpc": "2.0", "id": 1, "method": "session/prompt",
                "params": prompt_of(&session, "work"),
            });
            let cancel = json!({
                "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session },
            });
            // In one write, so that nothing can happen between them.
            lines.send(&format!("{prompt}\n{cancel}"));
            let answer = lines.answer_to(&json!(1));
            assert_eq!(answer["result"]["stopReason"], "cancelled", "{way:?}: {answer}");
            finish(lines, child);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cancel_of_nothing_and_a_late_one_do_not_touch_the_next_turn() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer_with(|_| text("whole"));
        let (mut lines, child, session) = stage.opened(way);
        for _ in 0..3 {
            lines.notify("session/cancel", &json!({ "sessionId": session }));
            let answer = lines.result("session/prompt", &prompt_of(&session, "say it"));
            assert_eq!(answer["stopReason"], "end_turn", "{way:?}");
            lines.notify("session/cancel", &json!({ "sessionId": session }));
        }
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_that_is_cancelled_by_its_id_and_a_cancel_with_an_id_both_work() {
    for way in BOTH {
        for is_by_id in [true, false] {
            let stage = Stage::new().await;
            stage.model.answer(text("one two three").hang_after(2));
            let (mut lines, child, session) = stage.opened(way);
            let id = lines.start("session/prompt", &prompt_of(&session, "count"));
            lines.wait_for(|message| kind_of(message) == "agent_message_chunk");
            if is_by_id {
                lines.notify("$/cancel_request", &json!({ "requestId": id }));
            } else {
                lines.result("session/cancel", &json!({ "sessionId": session }));
            }
            let answer = lines.answer_to(&id);
            let is_cancelled =
                answer["result"]["stopReason"] == "cancelled" || answer["error"]["code"] == -32800;
            assert!(is_cancelled, "{way:?}, by id {is_by_id}: {answer}");
            finish(lines, child);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_load_001_002_and_003_the_whole_history_comes_before_the_answer() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.put("a.txt", "words\n");
        stage.model.answer(calls([("read", json!({ "path": "a.txt" }))]).thought("hm"));
        stage.model.answer("it has words");
        let (mut lines, child, session) = stage.opened(way);
        lines.result("session/prompt", &prompt_of(&session, "what is in it?"));
        finish(lines, child);

        let (mut lines, child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let load = json!({ "sessionId": session, "cwd": stage.work(), "mcpServers": [] });
        let result = granted(&mut lines, "session/load", &load);
        assert!(result.is_object(), "{result}");
        let mut kinds = Vec::new();
        while lines.put_aside().next().is_some() {
            kinds.push(kind_of(&lines.next_message()).to_owned());
        }
        // Live chunks may be replayed one by one.
        kinds.retain(|kind| HISTORY.contains(&kind.as_str()));
        kinds.dedup();
        let expected =
            ["user_message_chunk", "agent_thought_chunk", "tool_call", "agent_message_chunk"];
        assert_eq!(kinds, expected, "{way:?}");
        lines.result("session/list", &json!({}));
        let late: Vec<Value> =
            lines.put_aside().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!late.iter().any(is_history), "{way:?}: {late:#?}");
        assert!(late.is_empty() || way == Way::Acp, "not even its commands: {late:#?}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_resume_001_and_002_nothing_is_replayed() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer_with(|asked| text(format!("{} messages", asked.messages().len())));
        let (mut lines, child, session) = stage.opened(way);
        lines.result("session/prompt", &prompt_of(&session, "first"));
        finish(lines, child);

        let (mut lines, child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let resume = json!({ "sessionId": session, "cwd": stage.work() });
        granted(&mut lines, "session/resume", &resume);
        lines.result("session/list", &json!({}));
        let heard: Vec<Value> =
            lines.put_aside().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!heard.iter().any(is_history), "{way:?}: {heard:#?}");
        lines.result("session/prompt", &prompt_of(&session, "second"));
        let chat = stage.model.last_chat();
        assert_eq!(chat.roles(), ["system", "user", "assistant", "user"], "{way:?}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_list_001_and_002_lists_are_arrays_also_of_nothing() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child, session) = stage.opened(way);
        let all = granted(&mut lines, "session/list", &json!({}));
        assert_eq!(all["sessions"][0]["sessionId"], json!(session), "{way:?}: {all}");
        let none = granted(&mut lines, "session/list", &json!({ "cwd": "/nobody/works/here" }));
        assert_eq!(none["sessions"], json!([]), "{way:?}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_delete_001_and_002_deleting_twice_is_deleting_once() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (mut lines, child, session) = stage.opened(way);
        for _ in 0..2 {
            granted(&mut lines, "session/delete", &json!({ "sessionId": session }));
        }
        granted(&mut lines, "session/delete", &json!({ "sessionId": "never-was" }));
        let all = granted(&mut lines, "session/list", &json!({}));
        assert_eq!(all["sessions"], json!([]), "{way:?}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_close_001_and_002_closing_cancels_what_runs() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer(text("one two three").hang_after(2));
        let (mut lines, child, session) = stage.opened(way);
        let idle = lines.result("session/new", &stage.new_params())["sessionId"].clone();
        granted(&mut lines, "session/close", &json!({ "sessionId": idle }));
        let id = lines.start("session/prompt", &prompt_of(&session, "count"));
        lines.wait_for(|message| kind_of(message) == "agent_message_chunk");
        granted(&mut lines, "session/close", &json!({ "sessionId": session }));
        let answer = lines.answer_to(&id);
        assert_eq!(answer["result"]["stopReason"], "cancelled", "{way:?}: {answer}");
        let closed = lines.ask("session/prompt", &prompt_of(&session, "more"));
        assert_eq!(closed["error"]["code"], -32002, "{way:?}: {closed}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_adddirs_001_another_directory_is_taken_and_can_be_read() {
    for way in BOTH {
        let stage = Stage::new().await;
        let other = stage.home.user().join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("b.txt"), "from elsewhere\n").unwrap();
        stage.model.answer(calls([("read", json!({ "path": other.join("b.txt") }))]));
        stage.model.answer("read");
        let (mut lines, child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let mut params = stage.new_params();
        params["additionalDirectories"] = json!([other]);
        let session = granted(&mut lines, "session/new", &params)["sessionId"].clone();
        lines.result("session/prompt", &prompt_of(session.as_str().unwrap(), "read it"));
        let results = stage.model.last_chat().tool_results();
        assert!(results[0].contains("from elsewhere"), "{way:?}: {results:?}");
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_modes_and_config_options_are_whole_and_can_be_set() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.models(["test-model", "other-model"]);
        let (mut lines, child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let opened = granted(&mut lines, "session/new", &stage.new_params());
        let session = &opened["sessionId"];
        // ACP-MODES-001, ACP-CONFIG-001 and 003
        let modes = opened["modes"]["availableModes"].as_array().unwrap();
        let ids: Vec<&Value> = modes.iter().map(|mode| &mode["id"]).collect();
        assert_eq!(ids, ["ask", "code", "plan", "auto"], "{way:?}");
        assert_eq!(opened["modes"]["currentModeId"], "ask");
        let options = opened["configOptions"].as_array().unwrap();
        for option in options {
            assert_eq!(option["type"], "select", "{option}");
            let values = option["options"].as_array().unwrap();
            let is_known = values.iter().any(|value| value["value"] == option["currentValue"]);
            assert!(is_known, "{option}");
        }
        // ACP-MODES-002
        granted(&mut lines, "session/set_mode", &json!({ "sessionId": session, "modeId": "plan" }));
        let told = lines.wait_for(|message| kind_of(message) == "current_mode_update");
        assert_eq!(told["params"]["update"]["currentModeId"], "plan");
        // ACP-CONFIG-002
        for (option, value) in
            [("model", "other-model"), ("mode", "code"), ("thought_level", "high")]
        {
            let params = json!({ "sessionId": session, "configId": option, "value": value });
            let set = granted(&mut lines, "session/set_config_option", &params);
            let set = set["configOptions"].as_array().unwrap();
            assert_eq!(set.len(), options.len(), "{way:?}: all of them");
            let changed = set.iter().find(|one| one["id"] == option).unwrap();
            assert_eq!(changed["currentValue"], value, "{way:?}");
        }
        finish(lines, child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn acp_shutdown_001_the_end_of_stdin_ends_it_also_in_mid_turn() {
    for way in BOTH {
        let stage = Stage::new().await;
        let (lines, child) = stage.lines(way);
        assert_eq!(finish(lines, child), Vec::<Value>::new());
        let (lines, child, _) = stage.opened(way);
        finish(lines, child);
        stage.model.answer(text("one two three").hang_after(2));
        let (mut lines, child, session) = stage.opened(way);
        lines.start("session/prompt", &prompt_of(&session, "count"));
        lines.wait_for(|message| kind_of(message) == "agent_message_chunk");
        finish(lines, child);
        stage.model.wait_for_hang_ups(1).await;
        stage.home.assert_empty_within(testkit::test_home::PATIENCE);
    }
}
