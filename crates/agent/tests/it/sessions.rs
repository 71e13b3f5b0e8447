//! Sessions: several at once, cancel, and memory that outlives a process.

use crate::client::{Client, prompt};
use agent::demo::ConnectionEnd;
use serde_json::{Value, json};

fn reopen(session: &str) -> Value {
    json!({ "sessionId": session, "cwd": "/tmp", "mcpServers": [] })
}

#[tokio::test(start_paused = true)]
async fn prompts_of_different_sessions_run_side_by_side() {
    let (mut client, first) = Client::with_session(&[]).await;
    let second = client.new_session().await;
    let hanging = client.begin(&first, "hang").await;

    let other = client.prompt(&second, "echo meanwhile").await;
    let busy = client.prompt(&first, "echo too early").await;

    assert_eq!(other.text(), "meanwhile");
    assert_eq!(busy.error_code(), -32600);
    client.cancel(&first).await;
    assert_eq!(client.answer_to(hanging, "session/prompt").await.stop_reason(), "cancelled");
    assert_eq!(client.prompt(&first, "echo free again").await.text(), "free again");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_whatever_the_script_waits_for() {
    let waits = [
        "hang",
        "sleep 100000",
        "silence 100000",
        "slow 100000 100000",
        "call fs/read_text_file {}",
        "permission",
        "ask x",
        "read x",
        "run ls",
        "flood 1000000000",
    ];
    let (mut client, session) = Client::with_session(&[]).await;
    client.is_strict = false;
    for script in waits {
        let id = client.begin(&session, script).await;
        client.cancel(&session).await;
        let response = loop {
            let message = client.receive().await;
            if message["id"] == id && message.get("method").is_none() {
                break message;
            }
        };
        assert_eq!(response["result"]["stopReason"], "cancelled", "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_without_a_turn_does_nothing() {
    let (mut client, session) = Client::with_session(&[]).await;
    client.cancel(&session).await;
    client.cancel("nobody").await;

    assert_eq!(client.prompt(&session, "echo fine").await.stop_reason(), "end_turn");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_remembered_by_another_process() {
    let state = tempfile::tempdir().unwrap();
    let directory = state.path().to_str().unwrap();
    let flags = ["--state", directory, "--all-sessions"];
    let (mut client, session) = Client::with_session(&flags).await;
    client.prompt(&session, "remember the milk").await;
    client.prompt(&session, "tool read").await;
    assert_eq!(client.finish().await, ConnectionEnd::Eof);

    let mut client = Client::start(&flags);
    client.initialize().await;
    assert_eq!(
        client.call("session/prompt", prompt(&session, "recall")).await.error_code(),
        -32002
    );
    let loaded = client.call("session/load", reopen(&session)).await;
    let (user, agent) = ("user_message_chunk", "agent_message_chunk");
    let (call, update) = ("tool_call", "tool_call_update");
    assert_eq!(loaded.kinds(), [user, agent, user, call, update, update]);
    assert_eq!(loaded.updates()[0]["content"]["text"], "remember the milk");
    client.receive().await;
    let text = client.prompt(&session, "recall").await.text();
    assert_eq!(
        text,
        "I remember 2 earlier prompts and 1 notes.\n\
         prompt 1: remember the milk\nprompt 2: tool read\nnote 1: the milk\n"
    );
    client.finish().await;

    let mut client = Client::start(&flags);
    client.initialize().await;
    let resumed = client.call("session/resume", reopen(&session)).await;
    assert!(resumed.messages.is_empty());
    assert_eq!(resumed.response["result"]["modes"]["currentModeId"], "ask");
    assert!(client.prompt(&session, "recall").await.text().contains("3 earlier prompts"));
}

#[tokio::test(start_paused = true)]
async fn a_crash_does_not_forget_the_prompt_that_caused_it() {
    let state = tempfile::tempdir().unwrap();
    let flags = ["--state", state.path().to_str().unwrap(), "--all-sessions"];
    let (mut client, session) = Client::with_session(&flags).await;
    client.begin(&session, "crash 3").await;
    assert_eq!(client.ended().await, ConnectionEnd::Exit(3));

    let mut client = Client::start(&flags);
    client.initialize().await;
    client.call("session/resume", reopen(&session)).await;

    assert!(client.prompt(&session, "recall").await.text().contains("prompt 1: crash 3"));
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_file_is_removed_meanwhile_is_written_again() {
    let state = tempfile::tempdir().unwrap();
    let flags = ["--state", state.path().to_str().unwrap(), "--all-sessions"];
    let (mut client, session) = Client::with_session(&flags).await;
    client.prompt(&session, "remember the milk").await;
    std::fs::remove_file(state.path().join(format!("{session}.jsonl"))).unwrap();
    client.prompt(&session, "remember the bread").await;
    client.finish().await;

    let mut client = Client::start(&flags);
    client.initialize().await;
    client.call("session/resume", reopen(&session)).await;
    let text = client.prompt(&session, "recall").await.text();
    assert!(text.contains("note 1: the milk\nnote 2: the bread\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_resumed_is_the_first_of_the_list() {
    let state = tempfile::tempdir().unwrap();
    let flags = ["--state", state.path().to_str().unwrap(), "--all-sessions"];
    let (mut client, session) = Client::with_session(&flags).await;
    client.prompt(&session, "title The first").await;
    for _ in 0..60 {
        client.new_session().await;
    }
    client.finish().await;

    let mut client = Client::start(&flags);
    client.initialize().await;
    client.call("session/resume", reopen(&session)).await;
    let list = client.call("session/list", json!({ "cwd": "/tmp" })).await;
    assert_eq!(list.response["result"]["sessions"][0]["title"], "The first");
}

#[tokio::test(start_paused = true)]
async fn sessions_are_listed_closed_and_deleted() {
    let state = tempfile::tempdir().unwrap();
    let flags = ["--state", state.path().to_str().unwrap(), "--all-sessions"];
    let (mut client, first) = Client::with_session(&flags).await;
    let second = client.new_session().await;
    client.prompt(&second, "title The second").await;

    let close = client.call("session/close", json!({ "sessionId": first })).await;
    assert_eq!(close.response["result"], json!({}));
    assert_eq!(client.prompt(&first, "help").await.error_code(), -32002);

    let list = client.call("session/list", json!({})).await;
    let sessions = list.response["result"]["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["title"], "The second");
    let elsewhere = client.call("session/list", json!({ "cwd": "/elsewhere" })).await;
    assert_eq!(elsewhere.response["result"]["sessions"], json!([]));

    for _ in 0..2 {
        let delete = client.call("session/delete", json!({ "sessionId": first })).await;
        assert_eq!(delete.response["result"], json!({}));
    }
    assert_eq!(client.call("session/load", reopen(&first)).await.error_code(), -32002);
    let list = client.call("session/list", json!({})).await;
    assert_eq!(list.response["result"]["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_long_list_comes_in_pages() {
    let (mut client, _) = Client::with_session(&["--list"]).await;
    for _ in 0..60 {
        client.new_session().await;
    }

    let first = client.call("session/list", json!({})).await.response["result"].clone();
    let cursor = json!({ "cursor": first["nextCursor"] });
    let second = client.call("session/list", cursor).await.response["result"].clone();

    assert_eq!(first["sessions"].as_array().unwrap().len(), 50);
    assert_eq!(second["sessions"].as_array().unwrap().len(), 11);
    assert!(second.get("nextCursor").is_none());
    assert_eq!(client.call("session/list", json!({ "cursor": "x" })).await.error_code(), -32602);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_refused_or_lied_about_as_told() {
    for (flag, code) in [("--list", -32002), ("--forget", -32002), ("--lie-on-resume", 0)] {
        let mut client = Client::start(&["--load", "--resume", flag]);
        client.initialize().await;
        for method in ["session/load", "session/resume"] {
            let lost = if method == "session/load" { "lost-1" } else { "lost-2" };
            let exchange = client.call(method, reopen(lost)).await;
            assert_eq!(exchange.error_code(), code, "{flag} {method}");
            if code == 0 {
                let text = client.prompt(lost, "recall").await.text();
                assert!(text.starts_with("I remember 0 earlier prompts"), "{text}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_cancels_what_still_runs() {
    for script in ["hang", "hang-hard", "flood 1000000000"] {
        let (mut client, session) = Client::with_session(&[]).await;
        client.begin(&session, script).await;

        assert_eq!(client.finish().await, ConnectionEnd::Eof, "{script}");
    }
}
