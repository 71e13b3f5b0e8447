//! The context tools as a model calls them, and what it is told afterwards.

mod checking;
mod threads;

use serde_json::{Value, json};
use testkit::model_server::{ReceivedRequest, calls, text};

use super::*;
use crate::native::config::ModelSetup;
use crate::native::context::messages;
use crate::native::journal::{Journal, JournalItem};
use crate::native::options::ApprovalMode;
use crate::native::settings::ContextSettings;
use crate::native::settings::EnabledContextTools;
use crate::native::testing::play::{Cast, Play};

/// A session with these tools on, and these checks.
async fn play_with(switch: EnabledContextTools, checks: &[&str], mode: ApprovalMode) -> Play {
    let checks = checks.iter().map(|line| (*line).to_owned()).collect();
    let settings = Box::new(move |settings: &mut crate::native::settings::ToolSettings| {
        settings.context = ContextSettings { tools: switch, checks };
    });
    Play::with(Cast { mode, settings, ..Cast::default() }).await
}

async fn play() -> Play {
    play_with(EnabledContextTools::all(), &[], ApprovalMode::Auto).await
}

/// Lets the model call one tool, and returns what it was given.
async fn call(play: &Play, tool: &str, arguments: Value) -> String {
    play.server.answer(calls([(tool, arguments)]));
    play.server.answer(text("Well."));
    play.prompt("go on").await;
    play.results().pop().unwrap()
}

fn assert_valid(chat: &ReceivedRequest) {
    let mut before = "";
    let mut waiting: Vec<Value> = Vec::new();
    for message in chat.messages() {
        let role = message["role"].as_str().unwrap();
        match role {
            "tool" => {
                let at = waiting.iter().position(|id| *id == message["tool_call_id"]);
                waiting.remove(at.unwrap_or_else(|| panic!("{:#}", chat.body)));
            }
            _ => {
                assert!(waiting.is_empty(), "{:#}", chat.body);
                assert_ne!(role, before, "{:#}", chat.body);
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                waiting = calls.iter().map(|call| call["id"].clone()).collect();
            }
        }
        before = role;
    }
}

#[tokio::test]
async fn they_are_off_until_they_are_switched_on() {
    let names: Vec<&str> = ContextToolName::NAMED.map(|(_, name)| name).into();
    let some = EnabledContextTools([ContextToolName::Verify, ContextToolName::ObjectiveSet].into());
    for (switch, expected) in [
        (EnabledContextTools::default(), vec![]),
        (some, vec!["objective_set", "verify"]),
        (EnabledContextTools::all(), names),
    ] {
        let play = play_with(switch, &[], ApprovalMode::Auto).await;
        play.server.answer(text("Hi."));
        play.prompt("hi").await;
        let chat = play.server.last_chat();
        let is_one = |name: &&str| ContextToolName::NAMED.iter().any(|(_, known)| known == name);
        let mut offered: Vec<&str> = chat.tool_names().into_iter().filter(is_one).collect();
        let mut expected = expected;
        offered.sort_unstable();
        expected.sort_unstable();
        assert_eq!(offered, expected);
    }
}

#[test]
fn the_switch_is_read_as_people_write_it() {
    let read = |text: &str| toml::from_str::<crate::native::config::Config>(text);
    assert_eq!(read("").unwrap().context_tools, EnabledContextTools::default());
    assert_eq!(
        read("context_tools = false").unwrap().context_tools,
        EnabledContextTools::default()
    );
    assert_eq!(read("context_tools = true").unwrap().context_tools, EnabledContextTools::all());
    let some = read("context_tools = [\"verify\", \"context_edit\"]\nchecks = [\"make\"]").unwrap();
    let context = some.context(&ModelSetup::default());
    assert_eq!(context.tools.names().collect::<Vec<_>>(), ["context_edit", "verify"]);
    assert!(context.tools.is_partly_on());
    assert_eq!(context.checks, ["make"]);
    let error = read("context_tools = [\"verfy\"]").unwrap_err().to_string();
    assert!(error.contains("verfy") && error.contains("classifier_threads"), "{error}");
    assert!(read("context_tools = \"yes\"").is_err());
}

#[test]
fn a_variable_wins_over_the_file() {
    let config: crate::native::config::Config = toml::from_str("context_tools = true").unwrap();
    let with = |value: &str| {
        let lookup = |name: &str| (name == "OPENAI_CONTEXT_TOOLS").then(|| value.to_owned());
        config.resolve(&lookup).map(|setup| config.context(&setup).tools)
    };
    assert_eq!(with("off").unwrap(), EnabledContextTools::default());
    assert_eq!(with("1").unwrap(), EnabledContextTools::all());
    assert_eq!(with("").unwrap(), EnabledContextTools::all());
    assert_eq!(
        with("verify, refine").unwrap(),
        EnabledContextTools([ContextToolName::Verify, ContextToolName::Refine].into())
    );
    let error = with("verfy").unwrap_err();
    assert_eq!(error.variable(), Some("OPENAI_CONTEXT_TOOLS"), "{error}");
}

#[tokio::test]
async fn a_session_has_those_that_it_chose() {
    let play = Play::new().await;
    play.server.answer_with(|_| text("done"));
    let offered = || {
        let chat = play.server.last_chat();
        let names = chat.tool_names();
        ContextToolName::NAMED.iter().filter(|(_, name)| names.contains(name)).count()
    };
    for (value, expected) in [("on", ContextToolName::NAMED.len()), ("off", 0)] {
        play.session.set_option("context_tools", value).await.unwrap();
        play.prompt("hello").await;
        assert_eq!(offered(), expected, "{value}");
    }
    let described = play.session.describe(&[]);
    let option = |id: &str| {
        let all = described["configOptions"].as_array().unwrap();
        all.iter().find(|option| option["id"] == id).unwrap()["currentValue"].clone()
    };
    assert_eq!((option("context_tools"), option("tools")), ("off".into(), "on".into()));
    assert!(play.session.set_option("context_tools", "perhaps").await.is_err());
}

#[tokio::test]
async fn parts_are_listed_with_numbers_sizes_and_first_words() {
    let play = play().await;
    std::fs::write(play.stage.cwd().join("a"), "long ".repeat(100)).unwrap();
    play.server.answer(calls([("read", json!({ "path": "a" }))]).text("I read."));
    play.server.answer(text("It is long."));
    play.prompt("read a").await;

    let list = call(&play, "context_edit", json!({ "action": "list" })).await;

    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[0], "1 user, 6 characters: read a");
    assert!(lines[1].starts_with("2 answer with calls of read, "), "{list}");
    assert!(lines[2].starts_with("  3 result of read, 50"), "{list}");
    assert!(lines[2].contains("long long"), "{list}");
    assert!(lines[4].contains("[present]") && lines[5].contains("[present]"), "{list}");
    let shown = play.calls().remove("call-6-0").unwrap();
    assert_eq!(shown["kind"], "think");
    assert_eq!(shown["title"], "List the parts of the context");
    assert_eq!(shown["status"], "completed");
    assert_eq!(shown["content"][0]["content"]["text"], list);
}

#[tokio::test]
async fn a_long_result_is_hidden_replaced_and_restored() {
    let play = play().await;
    std::fs::write(play.stage.cwd().join("a"), "long ".repeat(100)).unwrap();
    play.server.answer(calls([("read", json!({ "path": "a" }))]));
    play.server.answer(text("It is long."));
    play.prompt("read a").await;
    let whole = play.server.last_chat().tool_results()[0].clone();

    let said = call(&play, "context_edit", json!({ "action": "hide", "parts": "3" })).await;
    assert!(said.starts_with("Hidden: 1 parts."), "{said}");
    let chat = play.server.last_chat();
    assert_eq!(chat.tool_results()[0], "[The result is left out here.]");
    assert_valid(&chat);

    let replace = json!({ "action": "replace", "parts": [3], "text": "a is long" });
    call(&play, "context_edit", replace).await;
    assert_eq!(play.server.last_chat().tool_results()[0], "a is long");

    call(&play, "context_edit", json!({ "action": "hide", "parts": "1-2" })).await;
    let chat = play.server.last_chat();
    assert!(!chat.body.to_string().contains("read a"), "{:#}", chat.body);
    assert_valid(&chat);

    let said = call(&play, "context_edit", json!({ "action": "restore" })).await;
    assert!(said.starts_with("Restored: 3 parts."), "{said}");
    let chat = play.server.last_chat();
    assert_eq!(chat.tool_results()[0], whole);
    assert_eq!(chat.messages()[1]["content"], "read a");
    assert_valid(&chat);
}

#[tokio::test]
async fn what_goes_on_now_and_what_is_not_there_cannot_be_edited() {
    let play = play().await;
    for (arguments, expected) in [
        (json!({ "action": "hide", "parts": "1" }), "stay as they are"),
        (json!({ "action": "hide", "parts": "99" }), "no part 99"),
        (json!({ "action": "hide" }), "`parts` is missing"),
        (json!({ "action": "replace", "parts": "1" }), "needs `text`"),
        (json!({ "action": "replace", "parts": "1", "text": " " }), "`text` is empty"),
        (json!({ "action": "hide", "parts": "x" }), "is no number"),
        (json!({ "action": "burn" }), "cannot be called like this"),
        (json!({ "action": "restore" }), "nothing to change"),
    ] {
        let play = play_with(EnabledContextTools::all(), &[], ApprovalMode::Auto).await;
        let said = call(&play, "context_edit", arguments).await;
        assert!(said.contains(expected), "{said}");
    }
    assert!(play.items().is_empty());
}

#[tokio::test]
async fn two_edits_of_one_answer_both_count() {
    let play = play().await;
    play.server.answer(text("One.")).answer(text("Two."));
    play.prompt("first").await;
    play.prompt("second").await;
    play.server.answer(calls([
        ("context_edit", json!({ "action": "hide", "parts": "1-2" })),
        ("context_edit", json!({ "action": "hide", "parts": "3-4" })),
    ]));
    play.server.answer(text("Lean."));
    play.prompt("third").await;
    let chat = play.server.last_chat();
    let told = chat.body["messages"].to_string();
    assert!(!told.contains("first") && !told.contains("second"), "{told}");
    assert_valid(&chat);
}

#[tokio::test]
async fn an_objective_stays_in_view() {
    let play = play().await;
    let said = call(&play, "objective_set", json!({ "objective": " Make it fast. " })).await;
    assert_eq!(said, "The objective is now:\nMake it fast.");
    assert!(play.server.last_chat().system().ends_with("serve:\nMake it fast."));
    play.server.answer(text("All of it."));
    play.prompt("/compact").await;
    play.server.answer(text("Yes."));
    play.prompt("still?").await;
    assert!(play.server.last_chat().system().ends_with("Make it fast."));
    let said = call(&play, "objective_set", json!({})).await;
    assert_eq!(said, "The objective is:\nMake it fast.");
    call(&play, "objective_set", json!({ "clear": true })).await;
    assert!(!play.server.last_chat().system().contains("Make it fast."));
    let said = call(&play, "objective_set", json!({})).await;
    assert_eq!(said, "There is no objective.");
    let said = call(&play, "objective_set", json!({ "objective": "x".repeat(5000) })).await;
    assert!(said.contains("at most 4000"), "{said}");
}

#[tokio::test]
async fn what_was_done_survives_a_load_and_a_fork() {
    let play = play().await;
    play.server.answer(text("One.")).answer(text("Two."));
    play.prompt("first").await;
    play.prompt("second").await;
    call(&play, "objective_set", json!({ "objective": "win" })).await;
    call(&play, "context_edit", json!({ "action": "hide", "parts": "3" })).await;
    let park = json!({ "action": "park", "name": "one", "note": "x", "from": 1, "to": 2 });
    call(&play, "thread_park", park).await;
    let told = messages("", &play.items());
    let Play { session, log, stage: _stage, server: _server } = play;
    let id = session.journal.id();
    drop(session);

    let (journal, _) = Journal::open(&log, id).await.unwrap().unwrap();

    assert_eq!(messages("", &journal.all()), told);
    let fork = Journal::create(&log, "/", wire::Json::trusted("{}")).await.unwrap();
    // Something is there before, so that all places differ.
    fork.add(JournalItem::Cleared).await.unwrap();
    let mut places = std::collections::HashMap::new();
    for entry in journal.all() {
        let item = entry.item.renumbered(&places).unwrap();
        places.insert(entry.seq, fork.add(item).await.unwrap());
    }
    assert_eq!(messages("", &fork.all()), told);
}
