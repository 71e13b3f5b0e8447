//! A sub-agent has its own conversation, and asks like everybody else.

use serde_json::json;
use testkit::model_server::{calls, status, text};

use crate::native::options::ApprovalMode;
use crate::native::settings::TurnLimits;
use crate::native::testing::play::{Cast, Play, chosen};

fn task(prompt: &str) -> testkit::model_server::ScriptedAnswer {
    calls([("task", json!({ "description": "look around", "prompt": prompt }))])
}

#[tokio::test]
async fn only_its_last_words_come_back() {
    let play = Play::new().await;
    std::fs::write(play.stage.cwd().join("a"), "the secret is 7\n").unwrap();
    play.server.answer(task("find the secret"));
    play.server.answer(calls([("read", json!({ "path": "a" }))]).text("I look."));
    play.server.answer(text("It is 7."));
    play.server.answer(text("Seven."));

    let ended = play.prompt("what is the secret? my name is Ann").await;

    assert_eq!(ended["stopReason"], "end_turn");
    let chats = play.server.chats();
    assert_eq!(chats[1].roles(), ["system", "user"]);
    assert_eq!(chats[1].last_user(), "find the secret");
    assert!(!chats[1].body.to_string().contains("Ann"));
    assert!(!chats[1].tool_names().contains(&"task"));
    assert!(chats[0].tool_names().contains(&"task"));
    assert_eq!(chats[3].new_tool_results(), ["It is 7."]);
    assert!(!chats[3].body.to_string().contains("the secret is 7"));
    // Its calls are shown under names of their own.
    let ids: Vec<String> = play.calls().into_keys().collect();
    assert_eq!(ids, ["call-2-0", "call-2-0-0-0"]);
    // A client knows whose they are.
    let parents: Vec<_> = play
        .updates_of("tool_call")
        .iter()
        .map(|shown| shown["_meta"]["switchyard"]["parentToolCallId"].clone())
        .collect();
    assert_eq!(parents, [json!(null), json!("call-2-0")]);
}

#[tokio::test]
async fn it_asks_for_permission_like_everybody() {
    let play = Play::with(Cast { mode: ApprovalMode::Ask, ..Cast::default() }).await;
    play.stage.client.answers("session/request_permission", chosen("reject"));
    play.server.answer(task("write x"));
    play.server.answer(calls([("write", json!({ "path": "x", "content": "y" }))]));
    play.server.answer(text("I may not."));
    play.server.answer(text("He may not."));
    play.prompt("go").await;
    assert_eq!(play.stage.client.heard("session/request_permission").len(), 1);
    assert!(!play.stage.cwd().join("x").exists());
    assert!(play.server.chats()[2].new_tool_results()[0].contains("rejected"));
}

#[tokio::test]
async fn one_that_fails_is_an_error_for_the_model() {
    let play = Play::new().await;
    play.server.answer(task("x"));
    play.server.answer(status(400).json(&json!({ "error": { "message": "too much" } })));
    play.server.answer(text("It failed."));
    let ended = play.prompt("go").await;
    assert_eq!(ended["stopReason"], "end_turn");
    let results = play.server.last_chat().new_tool_results();
    assert!(results[0].starts_with("Error: The sub-agent failed"), "{results:?}");
}

#[tokio::test]
async fn one_that_says_nothing_is_an_error_too() {
    let play = Play::new().await;
    play.server.answer(task("x"));
    play.server.answer(text(""));
    play.server.answer(text("It got lost."));
    play.prompt("go").await;
    let results = play.server.last_chat().new_tool_results();
    assert!(results[0].contains("without an answer (end_turn)"), "{results:?}");
}

#[tokio::test]
async fn all_sub_agents_of_a_turn_share_its_limit_of_requests() {
    let limits = TurnLimits { max_requests: 7, ..TurnLimits::default() };
    let play = Play::with(Cast { limits, ..Cast::default() }).await;
    play.server.answer_with(|asked| match asked.last_user().as_str() {
        "go" => calls(["one", "two"].map(|n| ("task", json!({ "description": n, "prompt": n })))),
        _ => calls([("list", json!({}))]),
    });

    let ended = play.prompt("go").await;

    assert_eq!(ended["stopReason"], "max_turn_requests");
    assert_eq!(play.server.chats().len(), 7);
    // Both calls have their results, so the next turn can go on, with a limit of its own.
    play.server.answer_with(|_| text("Enough."));
    assert_eq!(play.prompt("stop it").await["stopReason"], "end_turn");
    let results = play.server.last_chat().tool_results();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result.contains("(max_turn_requests)")), "{results:?}");
}

#[tokio::test]
async fn several_work_at_once() {
    let play = Play::new().await;
    let two = ["one", "two"].map(|n| ("task", json!({ "description": n, "prompt": n })));
    play.server.answer(calls(two));
    play.server.answer_with(|asked| match asked.last_user().as_str() {
        "go" => text("Both are back."),
        n => text(format!("I am {n}.")),
    });
    play.prompt("go").await;
    assert_eq!(play.server.last_chat().new_tool_results(), ["I am one.", "I am two."]);
}

#[tokio::test]
async fn its_oldest_results_make_room() {
    let play = Play::with(Cast { window: Some(8000), ..Cast::default() }).await;
    std::fs::write(play.stage.cwd().join("a"), "many words\n".repeat(1000)).unwrap();
    std::fs::write(play.stage.cwd().join("b"), "many terms\n".repeat(1000)).unwrap();
    play.server.answer(task("read a and b"));
    play.server.answer(calls([("read", json!({ "path": "a" }))]));
    play.server.answer(calls([("read", json!({ "path": "b" }))]));
    play.server.answer(text("Read."));
    play.server.answer(text("Done."));
    play.prompt("go").await;
    let results = play.server.chats()[3].tool_results();
    assert_eq!(results[0], "[left out to make room]");
    assert!(results[1].contains("many terms"));
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told() {
    let play = Play::new().await;
    play.server.answer(calls([("task", json!({ "prompt": "x" }))]));
    play.server.answer(text("Sorry."));
    play.prompt("go").await;
    let results = play.server.last_chat().new_tool_results();
    assert!(results[0].contains("missing field `description`"), "{results:?}");
}
