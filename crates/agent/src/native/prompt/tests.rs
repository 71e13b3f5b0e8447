//! Room is made when the window is nearly full, when somebody asks for it, and never by losing
//! what was said.

use serde_json::{Value, json};
use testkit::model_server::{calls, status, text};

use crate::native::client::ClientAbilities;
use crate::native::journal::{JournalEntry, JournalItem};
use crate::native::testing::play::{Cast, Play};

mod cost;

fn summaries(play: &Play) -> Vec<String> {
    let of = |entry: &JournalEntry| match &*entry.item {
        JournalItem::Compacted { summary } => Some(summary.clone()),
        _ => None,
    };
    play.items().iter().filter_map(of).collect()
}

fn told(play: &Play) -> Vec<Value> {
    play.updates_of("compaction_update").iter().map(|update| update["status"].clone()).collect()
}

fn with_compaction() -> ClientAbilities {
    ClientAbilities { shows_compaction: true, ..ClientAbilities::default() }
}

#[tokio::test]
async fn a_full_window_is_summarised_before_the_next_request() {
    let play =
        Play::with(Cast { can: with_compaction(), window: Some(4000), ..Cast::default() }).await;
    std::fs::write(play.stage.cwd().join("a"), "many words\n".repeat(1000)).unwrap();
    play.server.answer(calls([("read", json!({ "path": "a" }))]));
    play.server.answer(text("They read a long file."));
    play.server.answer(text("Done."));

    let ended = play.prompt("read it").await;

    assert_eq!(ended["stopReason"], "end_turn");
    let chats = play.server.chats();
    assert_eq!(chats.len(), 3);
    assert!(chats[1].last_user().starts_with("Summarise this whole session"));
    assert_eq!(chats[2].roles(), ["system", "user"]);
    assert!(chats[2].last_user().contains("They read a long file."));
    assert_eq!(summaries(&play), ["They read a long file."]);
    assert_eq!(told(&play), ["in_progress", "completed"]);
    let ids: Vec<Value> = play
        .updates_of("compaction_update")
        .iter()
        .map(|update| update["compactionId"].clone())
        .collect();
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test]
async fn what_the_endpoint_counted_counts_too() {
    let play = Play::with(Cast { window: Some(10_000), ..Cast::default() }).await;
    play.server.answer(calls([("list", json!({}))]).usage(8500, 10));
    play.server.answer(text("Short."));
    play.server.answer(text("Done."));
    play.prompt("go").await;
    assert_eq!(summaries(&play), ["Short."]);
    // A client that cannot show it is told in words.
    let thoughts = play.updates_of("agent_thought_chunk");
    assert!(thoughts[0]["content"]["text"].as_str().unwrap().contains("summarised"));
    assert!(told(&play).is_empty());
}

#[tokio::test]
async fn a_window_with_room_is_left_alone() {
    let play = Play::with(Cast { window: Some(10_000), ..Cast::default() }).await;
    play.server.answer(calls([("list", json!({}))]).usage(7900, 10));
    play.server.answer(text("Done."));
    play.prompt("go").await;
    assert!(summaries(&play).is_empty());
}

#[tokio::test]
async fn compact_summarises_when_it_is_asked_for() {
    let play = Play::with(Cast { can: with_compaction(), ..Cast::default() }).await;
    play.server.answer(text("Hello Ann."));
    play.server.answer(text("Ann said hello.").usage(50, 7));
    play.server.answer(text("Ann."));
    play.prompt("I am Ann").await;

    let ended = play.prompt("/compact").await;

    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(ended["usage"]["totalTokens"], 57);
    assert_eq!(told(&play), ["in_progress", "completed"]);
    play.prompt("who am I?").await;
    let last = play.server.last_chat();
    assert_eq!(last.roles(), ["system", "user"]);
    assert!(last.last_user().ends_with("Ann said hello.\nwho am I?"), "{}", last.last_user());
}

#[tokio::test]
async fn a_summary_that_fails_takes_nothing_away() {
    let play = Play::with(Cast { can: with_compaction(), ..Cast::default() }).await;
    play.server.answer(text("Hello Ann."));
    play.server.answer(status(400).json(&json!({ "error": { "message": "no" } })));
    play.server.answer(text("Ann."));
    play.prompt("I am Ann").await;
    let ended = play.prompt("/compact").await;
    assert_eq!(ended["stopReason"], "end_turn");
    assert!(ended["_meta"]["switchyard"]["error"].is_object(), "{ended}");
    assert_eq!(told(&play), ["in_progress", "failed"]);
    assert!(summaries(&play).is_empty());
    play.prompt("who am I?").await;
    assert_eq!(play.server.last_chat().roles(), ["system", "user", "assistant", "user"]);
}

#[tokio::test]
async fn an_empty_summary_takes_nothing_away() {
    let play = Play::with(Cast { can: with_compaction(), ..Cast::default() }).await;
    play.server.answer(text("Hello Ann."));
    play.server.answer(text(" \n"));
    play.server.answer(text("Ann."));
    play.prompt("I am Ann").await;
    play.prompt("/compact").await;
    assert_eq!(told(&play), ["in_progress", "failed"]);
    assert!(summaries(&play).is_empty());
    play.prompt("who am I?").await;
    assert_eq!(play.server.last_chat().roles(), ["system", "user", "assistant", "user"]);
}

#[tokio::test]
async fn what_was_counted_in_the_turn_before_counts_in_the_next() {
    let play = Play::with(Cast { window: Some(10_000), ..Cast::default() }).await;
    play.server.answer(text("Hello.").usage(8500, 10));
    play.server.answer(text("They said hello."));
    play.server.answer(text("Done."));
    play.prompt("hello").await;
    play.prompt("go").await;
    assert_eq!(summaries(&play), ["They said hello."]);
    assert!(play.server.last_chat().last_user().ends_with("go"));
}

#[tokio::test]
async fn numbers_that_nobody_can_add_break_nothing() {
    let play = Play::with(Cast { window: Some(1 << 30), ..Cast::default() }).await;
    play.server.answer(text("One.").usage(u64::MAX, u64::MAX));
    play.server.answer(text("Summed up."));
    play.server.answer(text("Two.").usage(u64::MAX, 1));
    assert_eq!(play.prompt("one").await["usage"]["totalTokens"], u64::MAX);
    assert_eq!(play.prompt("two").await["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_summary_without_its_end_takes_nothing_away() {
    let play = Play::with(Cast { can: with_compaction(), ..Cast::default() }).await;
    play.server.answer(text("Hello Ann."));
    play.server.answer(text("Half a sum").finish("length"));
    play.prompt("I am Ann").await;
    play.prompt("/compact").await;
    assert_eq!(told(&play), ["in_progress", "failed"]);
    assert!(summaries(&play).is_empty());
}

/// An endpoint that takes so many bytes.
fn narrow(play: &Play, n_bytes: usize) {
    play.server.answer_with(move |asked| {
        let bytes = serde_json::to_string(asked.messages()).unwrap().len();
        let is_summary = asked.last_user().contains("Summarise this whole session");
        match (bytes > n_bytes, is_summary) {
            (true, _) => status(400).json(&json!({
                "error": { "message": "too long", "code": "context_length_exceeded" }
            })),
            (false, true) => text("They read a long file."),
            (false, false) => match asked.roles().len() {
                2 if asked.last_user().ends_with("read it") => {
                    calls([("read", json!({ "path": "a" }))])
                }
                _ => text("Done."),
            },
        }
    });
}

#[tokio::test]
async fn what_is_too_much_for_the_endpoint_is_summarised_and_asked_again() {
    let play = Play::with(Cast { can: with_compaction(), ..Cast::default() }).await;
    std::fs::write(play.stage.cwd().join("a"), "many words\n".repeat(2000)).unwrap();
    narrow(&play, 6000);

    let ended = play.prompt("read it").await;

    assert!(ended["_meta"].is_null(), "{ended}");
    assert_eq!(summaries(&play), ["They read a long file."]);
    assert_eq!(told(&play), ["in_progress", "completed"]);
    assert!(play.server.last_chat().last_user().contains("They read a long file."));
}

#[tokio::test]
async fn a_prompt_that_is_too_much_by_itself_fails_at_once() {
    let play = Play::new().await;
    narrow(&play, 6000);
    let ended = play.prompt(&"many words ".repeat(1000)).await;
    let error = &ended["_meta"]["switchyard"]["error"];
    assert_eq!(error["category"], "prompt_too_large", "{ended}");
    assert_eq!(play.server.chats().len(), 1);
}

#[tokio::test]
async fn a_failure_is_told_again_when_the_session_is_loaded_and_never_to_the_model() {
    let play = Play::new().await;
    play.server.answer(status(400).json(&json!({ "error": { "message": "no such luck" } })));
    play.server.answer(text("Better now."));
    play.prompt("one").await;
    play.prompt("two").await;
    let replayed = json!(crate::native::replay::updates(&play.items(), false)).to_string();
    assert!(replayed.contains("no such luck"), "{replayed}");
    assert!(!json!(play.server.last_chat().messages()).to_string().contains("no such luck"));
}
