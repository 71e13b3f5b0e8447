//! What the log gives to an editor whose agent has little: list, load, resume, fork, close, delete.
//!
//! In: `switchyard acp` around the demo agent without any of its optional methods, and editors
//! that die. Out: sessions that are as they were, byte for byte.

use serde_json::{Value, json};
use std::process::Command;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::{PATIENCE, TestHome, switchyard, until};
use testkit::{Direction, Transcript, TranscriptEntry, Validator, proc, tap};

pub(crate) fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

pub(crate) fn code_of(error: &impl serde::Serialize) -> i64 {
    serde_json::to_value(error).unwrap()["code"].as_i64().unwrap()
}

/// `switchyard acp` around the demo agent, which is tapped.
fn acp(home: &TestHome, flags: &[&str]) -> Command {
    let mut command = home.command(["acp", "--"]);
    command.arg(home.tool("acp-tap")).arg(home.path().join("tap.ndjson")).arg("--");
    command.arg(home.exe()).arg("demo-agent").args(flags);
    command
}

async fn client(home: &TestHome, flags: &[&str]) -> SdkClient {
    SdkClient::ready(acp(home, flags), ClientBehavior::default()).await.unwrap()
}

fn tapped(home: &TestHome) -> Transcript {
    tap::read(home.path().join("tap.ndjson")).unwrap()
}

/// Every update line that the client got, in order.
fn update_lines(transcript: &Transcript) -> Vec<&str> {
    let is_update = |entry: &&TranscriptEntry| {
        entry.direction == Direction::AgentToClient
            && entry.json().is_some_and(|message| message["method"] == "session/update")
    };
    transcript.entries.iter().filter(is_update).map(|entry| entry.line.as_str()).collect()
}

/// Kind and text of updates, without those that every opened session begins with.
fn said(updates: &impl serde::Serialize) -> Vec<(String, String)> {
    let updates = serde_json::to_value(updates).unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = updates.as_array().unwrap().iter();
    let all = all.map(|update| (word(&update["sessionUpdate"]), word(&update["content"]["text"])));
    all.filter(|(kind, _)| kind != "available_commands_update").collect()
}

fn text_of(updates: &impl serde::Serialize, kind: &str) -> String {
    said(updates).into_iter().filter(|(of, _)| of == kind).map(|(_, text)| text).collect()
}

#[tokio::test]
async fn sessions_are_listed_in_pages_and_by_directory() {
    let home = home();
    let client = client(&home, &[]).await;
    let other = home.user();
    for _ in 0..51 {
        client.new_session(home.work()).await.unwrap();
    }
    let elsewhere = client.new_session(&other).await.unwrap().session_id;

    let first = client.call("session/list", json!({})).await.unwrap();
    let all = client.list_sessions().await.unwrap();
    let filtered = client.call("session/list", json!({ "cwd": other })).await.unwrap();
    let bad = client.call("session/list", json!({ "cursor": "nonsense" })).await.unwrap_err();

    assert_eq!(first["sessions"].as_array().unwrap().len(), 50);
    let ids: std::collections::HashSet<_> = all.iter().map(|one| one.session_id.clone()).collect();
    assert_eq!((all.len(), ids.len()), (52, 52));
    assert_eq!(filtered["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(filtered["sessions"][0]["sessionId"], json!(elsewhere));
    assert_eq!(code_of(&bad), -32602);
    let (_, seen) = client.stop().await;
    Validator::v1().assert_valid(&seen);
}

#[tokio::test]
async fn a_load_replays_all_before_its_answer_and_the_agent_is_told_what_it_forgot() {
    let home = home();
    let first = client(&home, &[]).await;
    let session = first.new_session(home.work()).await.unwrap().session_id;
    let turn =
        first.prompt(&session, "say the magic word\nthink hard\ntool edit\nplan").await.unwrap();
    let (_, seen) = first.stop().await;
    Validator::v1().assert_valid(&seen);

    let second = client(&home, &[]).await;
    let (_, replayed) = second.load_session(&session, home.work()).await.unwrap();
    second.prompt(&session, "and now this").await.unwrap();
    let told = second.prompt(&session, "recall").await.unwrap();

    let mut expected = said(&turn.updates);
    expected.insert(
        0,
        ("user_message_chunk".into(), "say the magic word\nthink hard\ntool edit\nplan".into()),
    );
    assert_eq!(said(&replayed), expected);
    assert!(told.text().starts_with("I remember 1 earlier prompts"), "{}", told.text());
    assert!(told.text().contains("the magic word"), "not told again: {}", told.text());
    assert!(told.text().contains("and now this"), "{}", told.text());
    let (_, seen) = second.stop().await;
    Validator::v1().assert_valid(&seen);
    Validator::v1().assert_valid(&tapped(&home));
    assert_eq!(tapped(&home).calls(Direction::ClientToAgent, "session/load").count(), 0);
}

#[tokio::test]
async fn a_resume_replays_nothing_and_close_and_delete_need_no_help_of_the_agent() {
    let home = home();
    let client = client(&home, &[]).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    client.prompt(&session, "say old words").await.unwrap();

    client.close_session(&session).await.unwrap();
    let closed = client.prompt(&session, "say hello").await.unwrap_err();
    let n_before = update_lines(&client.transcript()).len();
    client.resume_session(&session, home.work()).await.unwrap();
    client.prompt(&session, "go on").await.unwrap();
    let turn = client.prompt(&session, "say new words").await.unwrap();
    let lines = client.transcript();
    let after = &update_lines(&lines)[n_before..];
    client.delete_session(&session).await.unwrap();
    client.delete_session(&session).await.unwrap();
    let gone = client.load_session(&session, home.work()).await.unwrap_err();

    assert_eq!((code_of(&closed), code_of(&gone)), (-32002, -32002));
    assert_eq!(turn.text(), "new words");
    assert!(!after.iter().any(|line| line.contains("old ")), "{after:#?}");
    assert!(client.list_sessions().await.unwrap().is_empty());
    Validator::v1().assert_valid(&client.stop().await.1);
    Validator::v1().assert_valid(&tapped(&home));
}

#[tokio::test]
async fn an_editor_that_dies_or_leaves_in_mid_turn_finds_everything_once() {
    for is_killed in [true, false] {
        let home = home();
        let first = client(&home, &[]).await;
        let session = first.new_session(home.work()).await.unwrap().session_id;
        first.prompt(&session, "say the first turn").await.unwrap();
        let turn = first.start_prompt(&session, "text 300\nhang");
        let has_all = || {
            first
                .updates()
                .iter()
                .any(|one| text_of(&[&one.update], "agent_message_chunk") == "chunk 300\n")
        };
        assert!(until(PATIENCE, has_all).await);
        if is_killed {
            proc::kill9(first.pid());
            first.closed_by_agent().await;
        }
        let (exit, _) = first.stop().await;
        assert_eq!(exit.success(), !is_killed, "{exit}");
        drop(turn);

        let second = client(&home, &[]).await;
        let (_, replayed) = second.load_session(&session, home.work()).await.unwrap();
        second.prompt(&session, "go on").await.unwrap();
        let told = second.prompt(&session, "recall").await.unwrap();

        let chunks: Vec<String> = (1..=300).map(|n| format!("chunk {n}\n")).collect();
        let answers = text_of(&replayed, "agent_message_chunk");
        assert_eq!(answers, format!("the first turn{}", chunks.concat()));
        assert_eq!(text_of(&replayed, "user_message_chunk"), "say the first turntext 300\nhang");
        assert!(told.text().contains("the first turn"), "{}", told.text());
        let (_, seen) = second.stop().await;
        Validator::v1().assert_valid(&seen);
        home.assert_empty_within(PATIENCE);
    }
}

#[tokio::test]
async fn updates_that_nobody_knows_arrive_byte_for_byte_live_and_replayed() {
    const ODD: &str = r#"update {"sessionUpdate":"x_y", "n":1.50e+2,"big":-98765432109876543210,"s":"\u0041\/é","_meta":{ "a" : [ ] },"dup":1,"dup":2}"#;
    let home = home();
    let first = client(&home, &[]).await;
    let session = first.new_session(home.work()).await.unwrap().session_id;
    first.prompt(&session, &format!("say x\nunknown-update\n{ODD}\nusage")).await.unwrap();
    let (_, live) = first.stop().await;
    let sent = tapped(&home);
    let second = client(&home, &[]).await;
    second.load_session(&session, home.work()).await.unwrap();
    let (_, replayed) = second.stop().await;

    let opened = sent
        .messages(Direction::AgentToClient)
        .find_map(|m| m["result"]["sessionId"].as_str().map(str::to_owned))
        .unwrap();
    let own = serde_json::to_value(&session).unwrap();
    let expected: Vec<String> = update_lines(&sent)
        .iter()
        .map(|line| line.replacen(&opened, own.as_str().unwrap(), 1))
        .collect();
    let is_odd = |line: &String| line.contains(":12345678901234567890123,\"hundred\":1e2");
    assert!(expected.iter().any(is_odd));
    assert_eq!(update_lines(&live), expected);
    let again: Vec<&str> = update_lines(&replayed)
        .into_iter()
        .filter(|line| !line.contains("user_message_chunk"))
        .collect();
    assert_eq!(again[..expected.len()], expected);
}

#[tokio::test]
async fn updates_before_the_session_and_after_the_turn_arrive() {
    let home = home();
    let client = client(&home, &["--early-updates"]).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    client.prompt(&session, "say now\nlate 3").await.unwrap();

    let heard = || client.updates().iter().map(|one| json!(one.update)).collect::<Vec<Value>>();
    let is_late = || text_of(&heard(), "agent_message_chunk") == "nowlate 1\nlate 2\nlate 3\n";
    assert!(until(PATIENCE, is_late).await, "{:?}", heard());
    let announced =
        heard().iter().filter(|one| one["sessionUpdate"] == "available_commands_update").count();
    assert_eq!(announced, 2, "the early one and the usual one");
}

#[tokio::test]
async fn the_agents_option_ids_reach_the_client_and_come_back() {
    let home = home();
    let behavior = ClientBehavior::default().permission(PermissionReply::Option("opt-7".into()));
    let client = SdkClient::ready(acp(&home, &[]), behavior).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let turn = client.prompt(&session, "permission-odd").await.unwrap();

    let asked = serde_json::to_value(client.permissions_asked()).unwrap();
    assert_eq!(asked[0]["options"][0]["optionId"], "opt-7");
    assert_eq!(asked[0]["options"][1]["optionId"], "opt-9");
    assert!(turn.text().contains("opt-7 (allow_always)"), "{}", turn.text());
}

#[tokio::test]
async fn what_the_agent_offers_passes_unchanged_and_what_the_log_offers_is_added() {
    let home = home();
    let client = client(&home, &["--auth", "demo-login"]).await;
    let answer = |record: &Transcript| {
        record
            .messages(Direction::AgentToClient)
            .find(|m| m["result"]["protocolVersion"] == 1)
            .unwrap()["result"]
            .clone()
    };

    let mut expected = answer(&tapped(&home));
    let got = answer(&client.transcript());

    assert_eq!(expected["agentCapabilities"]["loadSession"], false);
    expected["agentCapabilities"]["loadSession"] = json!(true);
    expected["agentCapabilities"]["sessionCapabilities"] =
        json!({ "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {} });
    expected["_meta"]["switchyard"] = got["_meta"]["switchyard"].clone();
    assert_eq!(got, expected);
    assert_eq!(got["authMethods"][0]["id"], "demo-login");
}

#[tokio::test]
async fn a_session_that_another_process_has_is_refused_until_it_is_free() {
    let home = home();
    let (first, second) = (client(&home, &[]).await, client(&home, &[]).await);
    let session = first.new_session(home.work()).await.unwrap().session_id;
    first.prompt(&session, "say mine").await.unwrap();

    let refused = second.load_session(&session, home.work()).await.unwrap_err();
    first.close_session(&session).await.unwrap();
    let (_, replayed) = second.load_session(&session, home.work()).await.unwrap();

    assert!(refused.message.contains("in use"), "{refused:?}");
    assert_eq!(text_of(&replayed, "agent_message_chunk"), "mine");
}

#[tokio::test]
async fn an_agent_that_crashes_fails_its_turn_and_the_next_turn_has_a_new_one() {
    for flags in [&[][..], &["--all-sessions", "--state", "agent-state"]] {
        let home = home();
        let client = client(&home, flags).await;
        let session = client.new_session(home.work()).await.unwrap().session_id;
        client.prompt(&session, "remember the blue door").await.unwrap();

        let failed = client.prompt(&session, "say before\ncrash during-tool").await.unwrap_err();
        client.prompt(&session, "say go on").await.unwrap();
        let told = client.prompt(&session, "recall").await.unwrap();

        let data = failed.data.clone().unwrap_or_default();
        assert_eq!(data["category"], "process_exit", "{failed:?}");
        assert!(told.text().contains("the blue door"), "{}", told.text());
        let (exit, seen) = client.stop().await;
        assert!(exit.success());
        Validator::v1().assert_valid(&seen);
    }
}
