//! `verify` and `refine`: commands that are allowed, judged, and tried again.

use serde_json::json;
use testkit::model_server::{calls, text};

use super::{call, play_with};
use crate::native::options::ApprovalMode;
use crate::native::settings::EnabledContextTools;
use crate::native::testing::play::chosen;

const ASK: &str = "session/request_permission";

#[tokio::test]
async fn checks_are_run_and_each_is_told() {
    let checks = ["echo fine", "echo broken; exit 3"];
    let play = play_with(EnabledContextTools::all(), &checks, ApprovalMode::Auto).await;

    let said = call(&play, "verify", json!({})).await;

    let expected = "Checks failed.\n\n`echo fine` passed.\nfine\n\n\
                    `echo broken; exit 3` failed with exit code 3.\nbroken";
    assert_eq!(said, expected);
    let shown = play.calls().remove("call-2-0").unwrap();
    assert_eq!(shown["kind"], "execute");
    assert_eq!(shown["title"], "Verify: Checks failed.");
    assert_eq!(shown["content"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn they_ask_like_the_shell_does() {
    let play = play_with(EnabledContextTools::all(), &["touch ran"], ApprovalMode::Ask).await;
    play.stage.client.answers(ASK, chosen("reject"));
    let said = call(&play, "verify", json!({})).await;
    assert!(said.contains("rejected"), "{said}");
    assert!(!play.stage.cwd().join("ran").exists());
    let asked = &play.stage.client.heard(ASK)[0];
    assert_eq!(asked["toolCall"]["content"][0]["content"]["text"], "```sh\ntouch ran\n```");
    // Who always allows the command in the shell has allowed it here.
    play.stage.client.answers(ASK, chosen("always"));
    call(&play, "bash", json!({ "command": "touch ran" })).await;
    std::fs::remove_file(play.stage.cwd().join("ran")).unwrap();
    let n_asked = play.stage.client.heard(ASK).len();
    call(&play, "verify", json!({})).await;
    assert!(play.stage.cwd().join("ran").exists());
    assert_eq!(play.stage.client.heard(ASK).len(), n_asked);
}

#[tokio::test]
async fn plan_mode_runs_none_of_them() {
    let play = play_with(EnabledContextTools::all(), &["touch ran"], ApprovalMode::Plan).await;
    for (tool, arguments) in [("verify", json!({})), ("refine", json!({ "instruction": "x" }))] {
        let said = call(&play, tool, arguments).await;
        assert!(said.contains("plan mode"), "{said}");
    }
    assert!(!play.stage.cwd().join("ran").exists());
}

#[tokio::test]
async fn a_project_without_checks_says_so() {
    let play = play_with(EnabledContextTools::all(), &[" "], ApprovalMode::Auto).await;
    let said = call(&play, "verify", json!({})).await;
    assert!(said.contains("No checks of this project are known"), "{said}");
}

#[tokio::test]
async fn the_objective_is_judged_and_a_failed_check_decides() {
    for (check, met, expected) in [
        ("true", true, "The objective is met: it is so."),
        ("true", false, "The objective is not met: it is so."),
        ("false", true, "The objective is not met: it is so."),
    ] {
        let play = play_with(EnabledContextTools::all(), &[check], ApprovalMode::Auto).await;
        let said = call(&play, "verify", json!({ "judge": true })).await;
        assert!(said.contains("There is no objective"), "{said}");
        call(&play, "objective_set", json!({ "objective": "be green" })).await;
        play.server.answer(calls([("verify", json!({ "judge": true }))]));
        play.server.answer(text(json!({ "met": met, "why": "it is so." }).to_string()));
        play.server.answer(text("Well."));
        play.prompt("check it").await;
        let said = play.results().pop().unwrap();
        assert!(said.ends_with(expected), "{said}");
        let chats = play.server.chats();
        let judged = chats[chats.len() - 2].last_user();
        assert!(judged.contains("be green") && judged.contains("check it"), "{judged}");
    }
}

#[tokio::test]
async fn a_sub_agent_goes_on_until_the_checks_pass() {
    let play = play_with(
        EnabledContextTools::all(),
        &["test -e done || { echo missing; exit 1; }"],
        ApprovalMode::Auto,
    )
    .await;
    play.server.answer(calls([("refine", json!({ "instruction": "make done" }))]));
    play.server.answer(text("It is done."));
    play.server.answer(calls([("write", json!({ "path": "done", "content": "x" }))]));
    play.server.answer(text("Now it is."));
    play.server.answer(text("Fine."));

    let ended = play.prompt("go").await;

    assert_eq!(ended["stopReason"], "end_turn");
    let results = play.results();
    assert!(results[0].starts_with("Verified after 2 of 3 rounds.\n\nNow it is."), "{results:?}");
    let chats = play.server.chats();
    assert_eq!(chats[1].last_user(), "make done");
    assert!(chats[1].tool_names().contains(&"verify"));
    assert!(!chats[1].tool_names().contains(&"refine"));
    assert!(!chats[1].tool_names().contains(&"context_edit"));
    let second = chats[2].last_user();
    assert!(second.contains("2 more rounds") && second.contains("missing"), "{second}");
    assert_eq!(chats[2].roles(), ["system", "user", "assistant", "user"]);
    let shown = play.calls();
    assert_eq!(shown["call-2-0"]["title"], "Verified after 2 of 3 rounds");
    assert_eq!(shown["call-2-0"]["status"], "completed");
    assert!(shown.contains_key("call-2-0-1-0"), "{shown:?}");
}

#[tokio::test]
async fn refining_has_an_end() {
    let play = play_with(EnabledContextTools::all(), &["false"], ApprovalMode::Auto).await;
    play.server.answer(calls([("refine", json!({ "instruction": "x", "rounds": 2 }))]));
    play.server.answer(text("One.")).answer(text("Two.")).answer(text("Sorry."));
    play.prompt("go").await;
    let results = play.results();
    assert!(results[0].contains("still fail after 2 rounds"), "{results:?}");
    assert!(results[0].contains("Two."), "{results:?}");
    assert_eq!(play.server.chats().len(), 4);
    assert_eq!(play.calls()["call-2-0"]["status"], "failed");
}
