//! Tool calls, plans and the other updates.

use crate::client::Client;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn every_tool_kind_goes_from_pending_to_completed() {
    let (mut client, session) = Client::with_session(&[]).await;
    for kind in wire::ToolKind::NAMES {
        let exchange = client.prompt(&session, &format!("tool {kind}")).await;

        let updates = exchange.updates();
        let statuses: Vec<_> = updates.iter().map(|update| &update["status"]).collect();
        assert_eq!(statuses, ["pending", "in_progress", "completed"], "{kind}");
        assert_eq!(updates[0]["kind"], kind);
        assert!(updates[0]["rawInput"].is_object() && updates[2]["rawOutput"].is_object());
        assert!(!updates[2]["content"].as_array().unwrap().is_empty());
        assert!(updates.iter().all(|it| it["toolCallId"] == updates[0]["toolCallId"]));
    }
}

#[tokio::test(start_paused = true)]
async fn tool_calls_can_go_wrong() {
    let (mut client, session) = Client::with_session(&[]).await;

    let failed = client.prompt(&session, "tool-fail").await;
    assert_eq!(failed.updates()[2]["status"], "failed");
    let unclosed = client.prompt(&session, "tool-unclosed").await;
    assert_eq!(unclosed.updates().last().unwrap()["status"], "in_progress");
    let unannounced = client.prompt(&session, "tool-update-first").await;
    assert!(unannounced.kinds().iter().all(|kind| *kind == "tool_call_update"));
    let unknown = client.prompt(&session, "tool hammer").await;
    assert_eq!(unknown.text(), "usage: tool KIND\n");
}

#[tokio::test(start_paused = true)]
async fn a_diff_names_its_path() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange = client.prompt(&session, "diff src/lib.rs").await;

    let content = &exchange.updates()[0]["content"][0];
    assert_eq!(content["type"], "diff");
    assert_eq!(content["path"], "/tmp/src/lib.rs");
}

#[tokio::test(start_paused = true)]
async fn a_plan_progresses_to_its_end() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange = client.prompt(&session, "plan").await;

    let done: Vec<usize> = exchange
        .updates()
        .iter()
        .map(|plan| plan["entries"].as_array().unwrap())
        .map(|entries| entries.iter().filter(|entry| entry["status"] == "completed").count())
        .collect();
    assert_eq!(done, [0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn it_tells_about_the_session() {
    let (mut client, session) = Client::with_session(&[]).await;

    let script = "usage ; title My session ; commands ; mode code ; notice Careful ; compaction";
    let exchange = client.prompt(&session, script).await;

    assert_eq!(
        exchange.kinds(),
        [
            "usage_update",
            "session_info_update",
            "available_commands_update",
            "current_mode_update",
            "notice",
            "compaction_update",
            "compaction_summary_chunk",
            "compaction_summary_chunk",
            "compaction_update",
        ]
    );
    let updates = exchange.updates();
    assert_eq!(updates[0]["cost"]["currency"], "USD");
    assert_eq!(updates[1]["title"], "My session");
    assert_eq!(updates[3]["currentModeId"], "code");
}

#[tokio::test(start_paused = true)]
async fn kinds_that_need_asking_for_are_not_sent_to_others() {
    let mut client = Client::start(&[]);
    client.call("initialize", json!({ "protocolVersion": 1 })).await;
    let session = client.new_session().await;

    let script = "notice x ; compaction ; ask x ; read x ; write x y ; run ls";
    let exchange = client.prompt(&session, script).await;

    assert!(exchange.kinds().iter().all(|kind| *kind == "agent_message_chunk"));
    assert!(exchange.methods().is_empty());
    for missing in ["session.notices", "elicitation.form", "fs.readTextFile", "fs.writeTextFile"] {
        assert!(exchange.text().contains(missing), "{missing}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_update_keeps_its_bytes() {
    let (mut client, session) = Client::with_session(&[]).await;
    client.begin(&session, "unknown-update ; update {\"sessionUpdate\" : 1e2}").await;

    let first = String::from_utf8(client.receive_line().await).unwrap();
    let second = String::from_utf8(client.receive_line().await).unwrap();

    assert!(first.contains("\"big\":12345678901234567890123,\"hundred\":1e2"), "{first}");
    assert!(first.contains("\"_meta\""));
    assert!(second.contains("\"update\":{\"sessionUpdate\" : 1e2}"), "{second}");
}
