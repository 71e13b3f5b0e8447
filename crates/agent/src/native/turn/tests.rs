//! Turns with a scripted model: what runs beside what, and how everything ends.

mod cancelling;
mod without_tools;

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use testkit::model_server::{calls, status, text};

use crate::native::journal::JournalItem;
use crate::native::options::ApprovalMode;
use crate::native::settings::TurnLimits;
use crate::native::testing::play::{Cast, Play, changing, chosen, looking};
use crate::native::tool::{Tool, ToolError, ToolOutput};

type Diary = Arc<Mutex<Vec<String>>>;

/// Writes down when it begins and ends, and lets others run in between.
fn noting(diary: &Diary, name: &'static str, changes: bool) -> Arc<Tool> {
    let diary = diary.clone();
    let work = move |arguments: Value| {
        let (diary, n) = (diary.clone(), arguments["n"].clone());
        async move {
            diary.lock().unwrap().push(format!("{name} {n} begins"));
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            diary.lock().unwrap().push(format!("{name} {n} ends"));
            Ok(ToolOutput::text(format!("{name} {n}")))
        }
        .boxed()
    };
    match changes {
        true => changing(name, work),
        false => looking(name, work),
    }
}

#[tokio::test]
async fn calls_that_look_run_side_by_side() {
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    let meet = {
        let barrier = barrier.clone();
        looking("meet", move |_| {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                Ok(ToolOutput::text("met"))
            }
            .boxed()
        })
    };
    let play = Play::with(Cast { tools: vec![meet], ..Cast::default() }).await;
    play.server.answer(calls(["a", "b", "c"].map(|n| ("meet", json!({ "n": n })))));
    play.server.answer(text("All met."));

    // One after the other would never end.
    let ended = play.prompt("meet").await;

    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(play.server.last_chat().new_tool_results(), ["met", "met", "met"]);
}

#[tokio::test]
async fn calls_that_change_wait_for_all_before_them() {
    let diary = Diary::default();
    let tools = vec![noting(&diary, "look", false), noting(&diary, "change", true)];
    let play = Play::with(Cast { tools, ..Cast::default() }).await;
    play.server.answer(calls([
        ("look", json!({ "n": 1 })),
        ("look", json!({ "n": 2 })),
        ("change", json!({ "n": 3 })),
        ("change", json!({ "n": 4 })),
        ("look", json!({ "n": 5 })),
    ]));
    play.server.answer(text("Done."));

    play.prompt("go").await;

    let diary = diary.lock().unwrap().clone();
    assert_eq!(diary[..2], ["look 1 begins", "look 2 begins"]);
    assert_eq!(
        diary[4..],
        [
            "change 3 begins",
            "change 3 ends",
            "change 4 begins",
            "change 4 ends",
            "look 5 begins",
            "look 5 ends",
        ]
    );
    let results = play.server.last_chat().new_tool_results();
    assert_eq!(results, ["look 1", "look 2", "change 3", "change 4", "look 5"]);
}

#[tokio::test]
async fn edits_of_one_answer_see_each_other() {
    let play = Play::new().await;
    std::fs::write(play.stage.cwd().join("a"), "one\n").unwrap();
    play.server.answer(calls([
        ("read", json!({ "path": "a" })),
        ("edit", json!({ "path": "a", "old_string": "one", "new_string": "two" })),
        ("edit", json!({ "path": "a", "old_string": "two", "new_string": "three" })),
        ("read", json!({ "path": "a" })),
    ]));
    play.server.answer(text("Done."));
    play.prompt("go").await;
    let results = play.server.last_chat().new_tool_results();
    assert!(results[0].contains("one") && results[3].contains("three"), "{results:?}");
    assert_eq!(std::fs::read_to_string(play.stage.cwd().join("a")).unwrap(), "three\n");
}

#[tokio::test]
async fn an_unknown_tool_and_bad_arguments_are_told_to_the_model() {
    let play = Play::new().await;
    play.server.answer(
        calls([("fly", json!({}))]).raw_call("read", "{\"path\": \"a").raw_call("read", "[1]"),
    );
    play.server.answer(text("I cannot."));

    let ended = play.prompt("go").await;

    assert_eq!(ended["stopReason"], "end_turn");
    let results = play.server.last_chat().new_tool_results();
    assert!(results[0].contains("There is no tool `fly`"), "{results:?}");
    assert!(results[0].contains("bash") && results[0].contains("task"), "{results:?}");
    assert!(results[1].contains("could not be read"), "{results:?}");
    assert!(results[2].contains("could not be read"), "{results:?}");
    for call in play.calls().values() {
        assert_eq!(call["status"], "failed", "{call}");
    }
}

fn failing() -> Arc<Tool> {
    looking("fail", |_| async { Err(ToolError("no luck".into())) }.boxed())
}

#[tokio::test]
async fn the_same_failing_call_is_stopped_and_then_the_turn() {
    let play = Play::with(Cast { tools: vec![failing()], ..Cast::default() }).await;
    play.server.answer_with(|_| calls([("fail", json!({ "x": 1 }))]));

    let ended = play.prompt("go").await;

    assert_eq!(ended["stopReason"], "max_turn_requests");
    let results = play.results();
    assert_eq!(results.len(), 6, "{results:?}");
    assert!(results[..3].iter().all(|result| result == "Error: no luck"), "{results:?}");
    assert!(results[3..].iter().all(|result| result.contains("was not run again")));
}

#[tokio::test]
async fn failing_calls_that_differ_are_not_stopped() {
    let limits = TurnLimits { max_requests: 12, ..TurnLimits::default() };
    let play = Play::with(Cast { tools: vec![failing()], limits, ..Cast::default() }).await;
    let mut n = 0;
    play.server.answer_with(move |_| {
        n += 1;
        calls([("fail", json!({ "x": n }))])
    });
    play.prompt("go").await;
    let results = play.results();
    assert_eq!(results.len(), 12);
    assert!(results.iter().all(|result| result == "Error: no luck"), "{results:?}");
}

#[tokio::test]
async fn a_turn_has_no_more_requests_than_it_may() {
    let limits = TurnLimits { max_requests: 3, ..TurnLimits::default() };
    let play = Play::with(Cast { limits, ..Cast::default() }).await;
    play.server.answer_with(|_| calls([("list", json!({}))]));
    let ended = play.prompt("go").await;
    assert_eq!(ended["stopReason"], "max_turn_requests");
    assert_eq!(play.server.chats().len(), 3);
    // Every call has its result, so the next turn can go on.
    play.server.answer_with(|_| text("Enough."));
    let ended = play.prompt("stop it").await;
    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(play.server.last_chat().tool_results().len(), 3);
}

#[tokio::test]
async fn reasons_to_stop_are_passed_on() {
    for (finish, expected) in [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("", "end_turn"),
    ] {
        let play = Play::new().await;
        play.server.answer(text("words").finish(finish));
        assert_eq!(play.prompt("go").await["stopReason"], expected, "{finish}");
    }
}

#[tokio::test]
async fn calls_of_an_answer_that_ran_into_its_limit_are_not_run() {
    let play = Play::new().await;
    play.server
        .answer(calls([("write", json!({ "path": "x", "content": "half" }))]).finish("length"));
    let ended = play.prompt("go").await;
    assert_eq!(ended["stopReason"], "max_tokens");
    assert!(!play.stage.cwd().join("x").exists());
    assert!(play.calls().is_empty());
}

#[tokio::test]
async fn a_rejected_call_is_told_and_the_model_goes_on() {
    let play = Play::with(Cast { mode: ApprovalMode::Ask, ..Cast::default() }).await;
    play.stage.client.answers("session/request_permission", chosen("reject"));
    play.server.answer(calls([("write", json!({ "path": "x", "content": "y" }))]));
    play.server.answer(text("As you like."));
    let ended = play.prompt("go").await;
    assert_eq!(ended["stopReason"], "end_turn");
    assert!(play.server.last_chat().new_tool_results()[0].contains("rejected"));
    assert!(!play.stage.cwd().join("x").exists());
    let asked = &play.stage.client.heard("session/request_permission")[0];
    assert_eq!(asked["toolCall"]["content"][0]["type"], "diff");
}

#[tokio::test]
async fn a_failure_of_the_model_ends_the_turn_with_its_words() {
    let play = Play::new().await;
    play.server.answer(status(401).json(&json!({ "error": { "message": "bad key" } })));
    let ended = play.prompt("go").await;
    assert_eq!(ended["stopReason"], "end_turn");
    assert!(ended["_meta"]["switchyard"]["error"]["category"].is_string(), "{ended}");
    let said = &play.updates_of("agent_message_chunk")[0]["content"]["text"];
    assert!(said.as_str().unwrap().contains("uthenticat"), "{said}");
    // Nothing of it is kept as if the model had said it.
    let is_answer = |entry: &crate::native::journal::JournalEntry| matches!(&*entry.item, JournalItem::Answer { text, .. } if !text.is_empty());
    assert!(!play.items().iter().any(is_answer));
    play.server.answer(text("Hello."));
    play.prompt("again").await;
    assert_eq!(play.server.last_chat().last_user(), "go\nagain");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_kept_as_whole() {
    let play = Play::new().await;
    play.server.answer(text("one two three four five").cut_after(3));
    play.prompt("go").await;
    let answers = play.items();
    let cut = answers.iter().find_map(|entry| match &*entry.item {
        JournalItem::Answer { text, is_whole, .. } => Some((text.clone(), *is_whole)),
        _ => None,
    });
    let (said, is_whole) = cut.unwrap();
    assert!(!is_whole && said.starts_with("one") && !said.contains("five"), "{said}");
}

#[tokio::test]
async fn a_second_prompt_does_not_run_beside_the_first() {
    let play = Play::new().await;
    play.server.answer(text("slow").hang_after_headers());
    let first = play.begin("one");
    play.server.wait_for_chats(1).await;
    let second = play.session.begin(crate::native::testing::play::blocks("two"));
    assert!(second.is_err());
    play.session.cancel();
    assert_eq!(first.await.unwrap().unwrap()["stopReason"], "cancelled");
}
