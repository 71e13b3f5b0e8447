//! Sessions of the built-in agent: their order, their past, their copies, and several at once.

use crate::front::code_of;
use crate::native::{BOTH, FROM_AGENT, Stage, Way, judge, stop_reason};
use serde_json::{Value, json};
use testkit::model_server::{ReceivedRequest, calls, text};
use testkit::sdk_client::acp::{SessionId, SessionUpdate};
use testkit::sdk_client::{ClientBehavior, SdkClient};
use testkit::test_home::{PATIENCE, until};
use testkit::{Direction, Validator, proc};

/// Who said what, the system aside.
fn told(asked: &ReceivedRequest) -> Vec<(String, String)> {
    let words = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let all = asked.messages().iter().filter(|message| message["role"] != "system");
    all.map(|message| (message["role"].as_str().unwrap().to_owned(), words(message))).collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(who, what)| ((*who).to_owned(), (*what).to_owned())).collect()
}

/// Kind and text of what was replayed, without what every opened session begins with.
fn said(updates: &[SessionUpdate]) -> Vec<(String, String)> {
    let updates = serde_json::to_value(updates).unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = updates.as_array().unwrap().iter();
    all.map(|update| {
        let text = match update["sessionUpdate"].as_str() {
            Some("tool_call" | "tool_call_update") => word(&update["status"]),
            _ => word(&update["content"]["text"]),
        };
        (word(&update["sessionUpdate"]), text)
    })
    .filter(|(kind, _)| {
        ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call"]
            .contains(&kind.as_str())
    })
    .collect()
}

/// A client that comes later, and its turn of the session.
async fn again(stage: &Stage, way: Way, session: &SessionId) -> (SdkClient, Vec<SessionUpdate>) {
    let client = SdkClient::ready(stage.agent(way), ClientBehavior::default()).await.unwrap();
    let (_, replayed) = client.load_session(session, stage.work()).await.unwrap();
    (client, replayed)
}

#[tokio::test]
async fn the_model_hears_every_turn_in_order() {
    for way in BOTH {
        let stage = Stage::new().await;
        for answer in ["first answer", "second answer", "third answer"] {
            stage.model.answer(answer);
        }
        let (client, session) = stage.bare(way).await;
        for prompt in ["first prompt", "second prompt", "third prompt"] {
            client.prompt(&session, prompt).await.unwrap();
        }
        let expected = pairs(&[
            ("user", "first prompt"),
            ("assistant", "first answer"),
            ("user", "second prompt"),
            ("assistant", "second answer"),
            ("user", "third prompt"),
        ]);
        assert_eq!(told(&stage.model.last_chat()), expected, "{way:?}");
        judge(client).await;
    }
}

#[tokio::test]
async fn a_session_is_told_again_whole_and_goes_on_where_it_was() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.put("a.txt", "words\n");
        stage.model.answer(calls([("read", json!({ "path": "a.txt" }))]).thought("hm").text("So:"));
        stage.model.answer("it has words");
        stage.model.answer("more");
        let (client, session) = stage.bare(way).await;
        client.prompt(&session, "what is in it?").await.unwrap();
        judge(client).await;

        let (client, replayed) = again(&stage, way, &session).await;
        client.prompt(&session, "and now?").await.unwrap();

        let replayed = said(&replayed);
        let first = replayed.iter().map(|(kind, text)| (kind.as_str(), text.as_str()));
        let first: Vec<_> = first.collect();
        assert_eq!(first[0], ("user_message_chunk", "what is in it?"), "{way:?}");
        assert_eq!(first[1], ("agent_thought_chunk", "hm"));
        assert_eq!(first[2], ("agent_message_chunk", "So:"));
        assert_eq!(first[3].0, "tool_call");
        let answer: String = first[4..].iter().map(|(_, text)| *text).collect();
        assert_eq!(answer, "it has words");
        let chat = stage.model.last_chat();
        let roles = ["system", "user", "assistant", "tool", "assistant", "user"];
        assert_eq!(chat.roles(), roles, "{way:?}");
        assert!(chat.tool_results()[0].contains("words"));
        judge(client).await;
    }
}

#[tokio::test]
async fn a_process_that_is_killed_in_mid_turn_loses_nothing_and_says_what_was_interrupted() {
    for way in BOTH {
        let stage = Stage::new().await;
        // A command that is ended before its agent is may be told to the model by the agent.
        stage.model.answer_with(|asked| match (asked.last_user().as_str(), asked.roles().last()) {
            ("what happened?", _) => "I see".into(),
            (_, Some(&"tool")) => text("not heard by anybody").hang_before_headers(),
            _ => calls([("bash", json!({ "command": "sleep 1000 & sleep 1000" }))]),
        });
        let (client, session) = stage.bare(way).await;
        client.set_mode(&session, "auto").await.unwrap();
        let turn = client.start_prompt(&session, "wait for it");
        let runs = |update: &SessionUpdate| {
            serde_json::to_value(update).unwrap()["status"] == "in_progress"
        };
        client.wait_for(&session, runs).await;
        proc::kill9(client.pid());
        client.closed_by_agent().await;
        drop((turn, client));
        stage.home.assert_empty_within(PATIENCE);

        let (client, replayed) = again(&stage, way, &session).await;
        let turn = client.prompt(&session, "what happened?").await.unwrap();

        let replayed = said(&replayed);
        assert_eq!(replayed[0], ("user_message_chunk".into(), "wait for it".into()), "{way:?}");
        assert_eq!(replayed[1].0, "tool_call", "{way:?}: {replayed:?}");
        assert_eq!(turn.text(), "I see");
        let chat = stage.model.last_chat();
        assert_eq!(chat.roles(), ["system", "user", "assistant", "tool", "user"], "{way:?}");
        // Its keeper may end the command before it ends the agent, which then says so.
        let result = chat.tool_results()[0].clone();
        let told = ["interrupted", "Killed by", "terminal failed: the connection is closed"];
        assert!(told.iter().any(|words| result.contains(words)), "{result}");
        judge(client).await;
    }
}

#[tokio::test]
async fn an_answer_that_was_cancelled_is_not_kept_as_if_it_were_whole() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer(text("half of the answer").hang_after(3));
        stage.model.answer("go on");
        let (client, session) = stage.bare(way).await;
        let turn = client.start_prompt(&session, "tell me");
        client
            .wait_for(&session, |update| matches!(update, SessionUpdate::AgentMessageChunk(_)))
            .await;
        client.cancel(&session).unwrap();
        assert_eq!(stop_reason(&turn.finish().await.unwrap()), "cancelled");

        client.prompt(&session, "and?").await.unwrap();

        let told = told(&stage.model.last_chat());
        assert_eq!(told.len(), 3, "{told:#?}");
        assert!(told[1].1.starts_with("half"), "{told:#?}");
        assert!(told[1].1.ends_with("[This answer was cut off here.]"), "{told:#?}");
        judge(client).await;
    }
}

#[tokio::test]
async fn a_command_that_was_cancelled_is_ended_and_the_model_hears_of_it() {
    for way in BOTH {
        for is_offered in [true, false] {
            let stage = Stage::new().await;
            // Who offers a terminal ends what runs in it; that is the client's own affair.
            let line = if is_offered { "exec sleep 1000" } else { "sleep 1000 | cat" };
            stage.model.answer(calls([("bash", json!({ "command": line }))]));
            stage.model.answer("I see");
            let (client, session) = match is_offered {
                true => {
                    let client = stage.client(way, ClientBehavior::default()).await;
                    let session = client.new_session(stage.work()).await.unwrap().session_id;
                    (client, session)
                }
                false => stage.bare(way).await,
            };
            client.set_mode(&session, "auto").await.unwrap();
            let turn = client.start_prompt(&session, "wait for it");
            let runs = |update: &SessionUpdate| {
                serde_json::to_value(update).unwrap()["status"] == "in_progress"
            };
            client.wait_for(&session, runs).await;
            client.cancel(&session).unwrap();
            assert_eq!(stop_reason(&turn.finish().await.unwrap()), "cancelled", "{way:?}");

            client.prompt(&session, "what happened?").await.unwrap();

            let results = stage.model.last_chat().tool_results();
            assert!(results[0].contains("The turn was cancelled"), "{results:?}");
            // Behind a front the terminals are Switchyard's.
            if is_offered && way == Way::Alone {
                // It is given back behind the turn.
                let is_released = || is_answered(&client, "terminal/release");
                assert!(until(PATIENCE, is_released).await, "the terminal is kept");
            }
            judge(client).await;
            stage.home.assert_empty_within(PATIENCE);
        }
    }
}

fn is_answered(client: &SdkClient, method: &str) -> bool {
    let seen = client.transcript();
    let asked = seen.messages(FROM_AGENT).find(|message| message["method"] == method);
    let id = asked.map(|asked| asked["id"].clone());
    id.is_some_and(|id| seen.messages(Direction::ClientToAgent).any(|message| message["id"] == id))
}

#[tokio::test]
async fn sessions_of_one_process_run_side_by_side_and_do_not_mix() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer_with(|asked| match asked.last_user() {
            words if words.contains("wait") => text("begun and").hang_after(2),
            words => text(format!("heard {words}, {} messages", asked.messages().len())),
        });
        let (client, first) = stage.bare(way).await;
        let waiting = client.start_prompt(&first, "wait");
        client
            .wait_for(&first, |update| matches!(update, SessionUpdate::AgentMessageChunk(_)))
            .await;
        for n in 0..5 {
            let other = client.new_session(stage.work()).await.unwrap().session_id;
            let turn = client.prompt(&other, &format!("word {n}")).await.unwrap();
            assert_eq!(turn.text(), format!("heard word {n}, 2 messages"), "{way:?}");
        }
        client.cancel(&first).unwrap();
        assert_eq!(stop_reason(&waiting.finish().await.unwrap()), "cancelled");
        judge(client).await;
    }
}

#[tokio::test]
async fn a_second_prompt_while_a_turn_runs_is_refused_by_the_agent_and_waits_before_the_session() {
    let stage = Stage::new().await;
    stage.model.answer(text("one two three").hang_after(2));
    let (client, session) = stage.bare(Way::Alone).await;
    let turn = client.start_prompt(&session, "count");
    client.wait_for(&session, |update| matches!(update, SessionUpdate::AgentMessageChunk(_))).await;

    let refused = client.prompt(&session, "me too").await.unwrap_err();

    assert_eq!(code_of(&refused), -32600);
    client.cancel(&session).unwrap();
    assert_eq!(stop_reason(&turn.finish().await.unwrap()), "cancelled");
    judge(client).await;
}

#[tokio::test]
async fn lists_come_in_pages_by_directory_and_with_titles() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("yes"));
    let (client, session) = stage.bare(Way::Alone).await;
    let other = stage.home.user();
    for _ in 0..51 {
        client.new_session(stage.work()).await.unwrap();
    }
    client.new_session(&other).await.unwrap();
    let turn = client.prompt(&session, "\n  Name me  \nand more").await.unwrap();

    let page = client.call("session/list", json!({})).await.unwrap();
    let all = client.list_sessions().await.unwrap();
    let here = client.call("session/list", json!({ "cwd": other })).await.unwrap();
    let bad = client.call("session/list", json!({ "cursor": "nonsense" })).await.unwrap_err();

    assert_eq!(page["sessions"].as_array().unwrap().len(), 50);
    let ids: std::collections::HashSet<_> = all.iter().map(|one| one.session_id.clone()).collect();
    assert_eq!((all.len(), ids.len()), (53, 53));
    assert_eq!(here["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(code_of(&bad), -32602);
    let named = all.iter().find(|one| one.session_id == session).unwrap();
    assert_eq!(named.title.as_deref(), Some("Name me"));
    assert!(turn.kinds().iter().any(|kind| kind == "session_info_update"), "{:?}", turn.kinds());
    judge(client).await;
}

#[tokio::test]
async fn a_copy_knows_what_was_said_and_goes_its_own_way() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.put("a.txt", "words\n");
        stage.model.answer(calls([("read", json!({ "path": "a.txt" }))]));
        stage.model.answer_with(|asked| text(format!("answer to {}", asked.last_user())));
        let (client, session) = stage.bare(way).await;
        client.prompt(&session, "root").await.unwrap();

        let params = json!({ "sessionId": session, "cwd": stage.work(), "mcpServers": [] });
        let copy = client.call("session/fork", params).await.unwrap()["sessionId"].clone();
        let copy: SessionId = serde_json::from_value(copy).unwrap();
        client.prompt(&session, "left").await.unwrap();
        client.prompt(&copy, "right").await.unwrap();

        assert_ne!(copy, session);
        let told = told(&stage.model.last_chat());
        let words: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
        match way {
            Way::Alone => {
                assert_eq!((words[0], words[3]), ("root", "answer to root"), "{told:#?}");
                assert_eq!(words[4], "right", "{told:#?}");
                assert!(words[2].contains("words"), "the result stands with its call: {told:#?}");
            }
            // A new conversation, which is told what was said in the log.
            Way::Acp => {
                assert!(words[0].contains("root") && words[0].contains("answer to root"));
                assert!(words[0].ends_with("right"), "{told:#?}");
            }
        }
        assert!(!words.iter().any(|text| text.contains("left")), "{told:#?}");
        let unknown = json!({ "sessionId": "nobody", "cwd": stage.work(), "mcpServers": [] });
        let unknown = client.call("session/fork", unknown).await.unwrap_err();
        assert_eq!(code_of(&unknown), -32002, "{way:?}");
        let (exit, seen) = client.stop().await;
        assert!(exit.success());
        Validator::v1_unstable().assert_valid(&seen);
    }
}

#[tokio::test]
async fn closed_sessions_come_back_and_deleted_ones_do_not() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer_with(|asked| text(format!("{} messages", asked.messages().len())));
        let (client, session) = stage.bare(way).await;
        client.prompt(&session, "one").await.unwrap();
        client.close_session(&session).await.unwrap();
        let closed = client.prompt(&session, "two").await.unwrap_err();
        client.resume_session(&session, stage.work()).await.unwrap();
        let turn = client.prompt(&session, "three").await.unwrap();
        client.delete_session(&session).await.unwrap();
        let deleted = client.load_session(&session, stage.work()).await.unwrap_err();

        assert_eq!((code_of(&closed), code_of(&deleted)), (-32002, -32002), "{way:?}");
        assert_eq!(turn.text(), "4 messages", "{way:?}");
        assert!(client.list_sessions().await.unwrap().is_empty());
        judge(client).await;
    }
}

#[tokio::test]
async fn a_session_that_another_process_has_open_is_refused_until_it_lets_go() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("yes"));
    let (first, session) = stage.bare(Way::Alone).await;
    first.prompt(&session, "mine").await.unwrap();
    let second =
        SdkClient::ready(stage.agent(Way::Alone), ClientBehavior::default()).await.unwrap();

    let refused = second.load_session(&session, stage.work()).await.unwrap_err();
    first.close_session(&session).await.unwrap();
    let loaded = second.load_session(&session, stage.work()).await;

    assert!(refused.message.contains("in use"), "{refused:?}");
    assert!(loaded.is_ok(), "{loaded:?}");
    judge(first).await;
    judge(second).await;
}

#[tokio::test]
async fn a_session_can_be_loaded_again_by_its_own_client_at_any_moment() {
    let stage = Stage::new().await;
    stage.model.answer_with(|asked| match asked.last_user().ends_with("wait") {
        true => text("one two three").hang_after(2),
        false => text("yes"),
    });
    let (client, session) = stage.bare(Way::Alone).await;
    for n in 0..20 {
        let turn = client.start_prompt(&session, "wait");
        if n % 2 == 0 {
            stage.model.wait_for_chats(n + 1).await;
        }
        let (_, replayed) = client.load_session(&session, stage.work()).await.unwrap();
        assert_eq!(stop_reason(&turn.finish().await.unwrap()), "cancelled");
        assert!(!replayed.is_empty());
        while stage.model.chats().len() <= n {
            client.prompt(&session, "say yes").await.unwrap();
        }
    }
    client.close_session(&session).await.unwrap();
    client.load_session(&session, stage.work()).await.unwrap();
    judge(client).await;
}
