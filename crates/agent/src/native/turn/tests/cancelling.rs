//! A turn is cancelled in each of its phases: it ends so, and leaves nothing running or open.

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use testkit::model_server::{calls, text};

use crate::native::journal::JournalItem;
use crate::native::options::ApprovalMode;
use crate::native::settings::TurnLimits;
use crate::native::testing::play::{Cast, Play, looking};
use crate::native::testing::rehearsal::until;
use crate::native::tool::ToolOutput;

/// The turn ends as cancelled, all calls that were shown have ended, and the session goes on.
async fn assert_over(play: &Play, turn: tokio::task::JoinHandle<Result<Value, wire::RpcError>>) {
    let ended = turn.await.unwrap().unwrap();
    assert_eq!(ended["stopReason"], "cancelled");
    play.settle().await;
    for call in play.calls().values() {
        let status = call["status"].as_str().unwrap();
        assert!(matches!(status, "completed" | "failed"), "{call}");
    }
    play.server.answer(text("Here again."));
    let ended = play.prompt("go on").await;
    assert_eq!(ended["stopReason"], "end_turn");
    let chat = play.server.last_chat();
    let n_calls: usize = chat
        .messages()
        .iter()
        .filter_map(|message| message["tool_calls"].as_array())
        .map(Vec::len)
        .sum();
    assert_eq!(chat.tool_results().len(), n_calls);
}

#[tokio::test]
async fn before_the_model_answers() {
    let play = Play::new().await;
    play.server.answer(text("never").hang_before_headers());
    let turn = play.begin("go");
    play.server.wait_for_chats(1).await;
    play.session.cancel();
    assert_over(&play, turn).await;
    play.server.wait_for_hang_ups(1).await;
}

#[tokio::test]
async fn while_the_model_speaks() {
    let play = Play::new().await;
    play.server.answer(text("one two three").hang_after(2));
    let turn = play.begin("go");
    until("words", || !play.updates_of("agent_message_chunk").is_empty()).await;
    play.session.cancel();
    assert_over(&play, turn).await;
    let kept = play.items();
    let cut = kept.iter().find_map(|entry| match &*entry.item {
        JournalItem::Answer { text, is_whole: false, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(cut.unwrap().starts_with("one"));
    let chat = play.server.last_chat();
    assert!(chat.body.to_string().contains("cut off"), "{}", chat.body);
}

#[tokio::test]
async fn while_somebody_is_asked() {
    let play = Play::with(Cast { mode: ApprovalMode::Ask, ..Cast::default() }).await;
    play.stage.client.answers("session/request_permission", None);
    play.server.answer(calls([
        ("write", json!({ "path": "x", "content": "y" })),
        ("write", json!({ "path": "z", "content": "y" })),
    ]));
    let turn = play.begin("go");
    until("asked", || !play.stage.client.heard("session/request_permission").is_empty()).await;
    play.session.cancel();
    assert_over(&play, turn).await;
    assert!(!play.stage.cwd().join("x").exists());
    // The second was never begun, and still has its end.
    assert_eq!(play.results().len(), 2);
}

#[tokio::test]
async fn by_the_answer_to_a_question() {
    let play = Play::with(Cast { mode: ApprovalMode::Ask, ..Cast::default() }).await;
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    play.stage.client.answers("session/request_permission", cancelled);
    play.server.answer(calls([("write", json!({ "path": "x", "content": "y" }))]));
    let turn = play.begin("go");
    assert_over(&play, turn).await;
}

#[tokio::test]
async fn while_a_command_runs() {
    let play = Play::new().await;
    play.server.answer(calls([
        ("bash", json!({ "command": "echo $$ > pid; exec sleep 1000" })),
        ("bash", json!({ "command": "touch never" })),
    ]));
    let turn = play.begin("go");
    let pid = play.stage.cwd().join("pid");
    until("a process", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')))
        .await;
    play.session.cancel();
    assert_over(&play, turn).await;
    let pid = std::fs::read_to_string(&pid).unwrap();
    let status = format!("/proc/{}/status", pid.trim());
    until("its end", || match std::fs::read_to_string(&status) {
        Ok(status) => status.contains("State:\tZ"),
        Err(_) => true,
    })
    .await;
    assert!(!play.stage.cwd().join("never").exists());
    assert!(play.results()[0].contains("cancelled"), "{:?}", play.results());
}

#[tokio::test]
async fn while_calls_run_side_by_side() {
    let wait = looking("wait", |arguments| {
        async move {
            if arguments["n"] == 1 {
                std::future::pending::<()>().await;
            }
            Ok(ToolOutput::text("quick"))
        }
        .boxed()
    });
    let play = Play::with(Cast { tools: vec![wait], ..Cast::default() }).await;
    play.server.answer(calls([("wait", json!({ "n": 1 })), ("wait", json!({ "n": 2 }))]));
    let turn = play.begin("go");
    until("one that is over", || play.calls().values().any(|call| call["status"] == "completed"))
        .await;
    play.session.cancel();
    assert_over(&play, turn).await;
    let results = play.results();
    assert_eq!(results[0], "quick");
    assert!(results[1].contains("cancelled"), "{results:?}");
}

#[tokio::test]
async fn while_a_sub_agent_works() {
    let play = Play::new().await;
    play.server.answer(calls([("task", json!({ "description": "x", "prompt": "y" }))]));
    play.server.answer(text("never").hang_after_headers());
    let turn = play.begin("go");
    play.server.wait_for_chats(2).await;
    play.session.cancel();
    assert_over(&play, turn).await;
    play.server.wait_for_hang_ups(1).await;
}

#[tokio::test]
async fn while_room_is_made() {
    let limits = TurnLimits { compact_at_percent: 10, ..TurnLimits::default() };
    let play = Play::with(Cast { limits, window: Some(2000), ..Cast::default() }).await;
    play.server.answer(text("never").hang_after_headers());
    let turn = play.begin(&"word ".repeat(400));
    play.server.wait_for_chats(1).await;
    play.session.cancel();
    let ended = turn.await.unwrap().unwrap();
    assert_eq!(ended["stopReason"], "cancelled");
    let is_summary = |entry: &crate::native::journal::JournalEntry| {
        matches!(*entry.item, JournalItem::Compacted { .. })
    };
    assert!(!play.items().iter().any(is_summary));
}

#[tokio::test]
async fn while_a_command_runs_and_what_it_printed_stays_to_be_seen() {
    let play = Play::new().await;
    play.server.answer(calls([("bash", json!({ "command": "echo so far; sleep 1000" }))]));
    let turn = play.begin("go");
    let is_shown = |update: &Value| update["content"].to_string().contains("```\\nso far");
    until("shown", || play.updates_of("tool_call_update").iter().any(is_shown)).await;
    play.session.cancel();
    assert_over(&play, turn).await;
    let call = play.calls().into_values().next().unwrap();
    assert_eq!(call["status"], "failed");
    assert!(is_shown(&call), "{call}");
}
