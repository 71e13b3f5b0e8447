//! Models that can only talk: the refusal is learnt, told once, and the turn goes on.

use serde_json::json;
use testkit::model_server::{ReceivedRequest, ScriptedAnswer, calls, status, text};

use crate::native::client::ClientAbilities;
use crate::native::testing::play::{Cast, Play};

/// Ollama, with a model whose template knows no tools.
fn ollama(asked: &ReceivedRequest) -> ScriptedAnswer {
    match asked.body.get("tools") {
        Some(_) => status(400).json(&json!({ "error": {
            "message": "registry.ollama.ai/library/gemma3:4b does not support tools",
            "type": "api_error", "param": null, "code": null,
        } })),
        None => text(format!("You said: {}", asked.last_user())),
    }
}

fn notices(play: &Play) -> Vec<String> {
    let notices = play.updates_of("notice");
    notices.iter().map(|notice| notice["title"].as_str().unwrap().to_owned()).collect()
}

fn with_notices() -> Cast {
    Cast {
        can: ClientAbilities { shows_notices: true, ..ClientAbilities::default() },
        ..Cast::default()
    }
}

#[tokio::test]
async fn the_same_request_is_repeated_without_tools_and_the_user_hears_of_it_once() {
    let play = Play::with(with_notices()).await;
    play.server.answer_with(ollama);

    let first = play.prompt("hello").await;
    let second = play.prompt("again").await;

    assert_eq!(
        (&first["stopReason"], &second["stopReason"]),
        (&json!("end_turn"), &json!("end_turn"))
    );
    let chats = play.server.chats();
    assert_eq!(chats.len(), 3, "refused once, and known from then on");
    assert!(!chats[0].tool_names().is_empty());
    assert_eq!(chats[0].last_user(), chats[1].last_user());
    for chat in &chats[1..] {
        assert_eq!(chat.body.get("tools"), None);
    }
    let notices = notices(&play);
    assert_eq!(notices.len(), 1, "{notices:#?}");
    assert!(
        notices[0].contains("takes no tools") && notices[0].contains("gemma3:4b"),
        "{notices:?}"
    );
}

#[tokio::test]
async fn what_was_called_before_is_told_in_words() {
    let play = Play::with(with_notices()).await;
    std::fs::write(play.stage.cwd().join("a"), "the words in it").unwrap();
    play.server.answer(calls([("read", json!({ "path": "a" }))]));
    play.server.answer(text("It says something."));
    play.prompt("read a").await;
    play.server.answer_with(ollama);

    // As after a change of the model, or of the server behind it.
    let ended = play.prompt("and now?").await;

    assert_eq!(ended["stopReason"], "end_turn");
    let last = play.server.last_chat();
    assert_eq!(last.roles(), ["system", "user", "assistant", "user", "assistant", "user"]);
    let all = last.body.to_string();
    assert!(
        all.contains("I called the tool read with") && all.contains("the words in it"),
        "{all}"
    );
    assert!(!all.contains("tool_call"), "{all}");
}

#[tokio::test]
async fn whoever_switches_tools_off_is_not_told_and_nothing_is_run() {
    let play = Play::with(with_notices()).await;
    play.session.set_option("tools", "off").await.unwrap();
    // A model may call what nobody offered it.
    play.server.answer(calls([("bash", json!({ "command": "touch made" }))]).text("I do it."));

    let ended = play.prompt("hello").await;

    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(play.server.chats().len(), 1);
    assert_eq!(play.server.last_chat().body.get("tools"), None);
    assert!(!play.stage.cwd().join("made").exists());
    assert!(play.calls().is_empty() && notices(&play).is_empty());

    play.session.set_option("tools", "on").await.unwrap();
    play.server.answer(text("done"));
    play.prompt("and now?").await;
    assert!(play.server.last_chat().tool_names().contains(&"bash"));
}

#[tokio::test]
async fn whoever_switches_tools_on_has_them_tried_again() {
    let play = Play::with(with_notices()).await;
    play.server.answer(ollama_refusal());
    play.server.answer_with(|_| text("yes"));
    play.prompt("hello").await;
    assert_eq!(play.server.last_chat().body.get("tools"), None);

    // The server got its flags meanwhile.
    play.session.set_option("tools", "on").await.unwrap();
    play.prompt("again").await;

    assert!(!play.server.last_chat().tool_names().is_empty());
}

#[tokio::test]
async fn a_client_without_notices_reads_it_before_the_answer() {
    let play = Play::new().await;
    play.server.answer_with(ollama);
    play.prompt("hello").await;
    let said = play.updates_of("agent_message_chunk");
    let first = said[0]["content"]["text"].as_str().unwrap();
    assert!(first.contains("takes no tools") && first.ends_with("\n\n"), "{first}");
}

#[tokio::test]
async fn a_refusal_without_tools_as_well_is_told_as_it_is() {
    let play = Play::with(with_notices()).await;
    play.server.answer(ollama_refusal());
    play.server.answer(status(400).json(&json!({ "error": { "message": "no such member" } })));
    play.prompt("hello").await;
    let said = play.updates_of("agent_message_chunk");
    assert!(said[0]["content"]["text"].as_str().unwrap().contains("no such member"), "{said:?}");
    assert_eq!(play.server.chats().len(), 2);
}

fn ollama_refusal() -> ScriptedAnswer {
    status(400).json(&json!({ "error": { "message": "m does not support tools" } }))
}
