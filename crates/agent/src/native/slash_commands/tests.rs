//! Commands that are typed, and prompts that only look like them.

use serde_json::json;
use testkit::model_server::{MODEL, text};

use super::*;
use crate::native::testing::play::{Cast, Play};

fn put(play: &Play, name: &str, body: &str) {
    let dir = play.stage.cwd().join(PROJECT_DIR);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(name), body).unwrap();
}

#[tokio::test]
async fn what_is_no_command_goes_to_the_model() {
    let play = Play::new().await;
    for words in ["hello", "", "/etc/passwd is what?", "/nothing", "a /help", "/", "//compact"] {
        assert_eq!(read(words, &play.session).await, SlashOutcome::None, "{words:?}");
    }
    assert_eq!(read("  /compact", &play.session).await, SlashOutcome::Compact);
}

#[tokio::test]
async fn help_and_the_list_of_commands_name_all_of_them() {
    let play = Play::new().await;
    put(&play, "review.md", "# Review the change\nLook at $ARGUMENTS closely.\n");
    put(&play, "help.md", "not ours");
    put(&play, "not plain.md", "no");
    put(&play, "empty.md", "\n\n");
    let SlashOutcome::Done(help) = read("/help", &play.session).await else { panic!("not done") };
    let available = available(&play.session);
    let names: Vec<&str> =
        available.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["compact", "clear", "model", "help", "review"]);
    for name in names {
        assert!(help.contains(&format!("`/{name}")), "{help}");
    }
    assert!(help.contains("Review the change"), "{help}");
}

#[tokio::test]
async fn a_command_in_a_file_is_a_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let users = dir.path().join("commands");
    std::fs::create_dir(&users).unwrap();
    std::fs::write(users.join("review.md"), "of the user").unwrap();
    std::fs::write(users.join("mine.md"), "Do it.\n").unwrap();
    let settings = Box::new(move |settings: &mut crate::native::settings::ToolSettings| {
        settings.commands_dir = Some(users);
    });
    let play = Play::with(Cast { settings, ..Cast::default() }).await;
    put(&play, "review.md", "Look at $ARGUMENTS, and $ARGUMENTS again.");

    let read = async |words: &str| match read(words, &play.session).await {
        SlashOutcome::Prompt(text) => text,
        other => panic!("{words}: {other:?}"),
    };

    assert_eq!(read("/review a b ").await, "Look at a b, and a b again.");
    assert_eq!(read("/mine").await, "Do it.\n");
    assert_eq!(read("/mine now").await, "Do it.\n\nnow");
    play.server.answer(text("Reviewed."));
    play.prompt("/review it").await;
    assert_eq!(play.server.last_chat().last_user(), "Look at it, and it again.");
}

#[tokio::test]
async fn clear_forgets_without_losing() {
    let play = Play::new().await;
    play.server.answer(text("Hello.")).answer(text("Who?"));
    play.prompt("I am Ann").await;
    let ended = play.prompt("/clear").await;
    assert_eq!(ended["stopReason"], "end_turn");
    play.prompt("who am I?").await;
    let last = play.server.last_chat();
    assert_eq!(last.roles(), ["system", "user"]);
    assert_eq!(last.last_user(), "who am I?");
    let has_ann = |entry: &crate::native::journal::JournalEntry| matches!(&*entry.item, JournalItem::Prompt { blocks, .. } if blocks[0]["text"] == "I am Ann");
    assert!(play.items().iter().any(has_ann));
}

#[tokio::test]
async fn model_shows_and_changes_the_model() {
    let play = Play::new().await;
    play.server.models([MODEL, "other"]);
    let SlashOutcome::Done(shown) = read("/model", &play.session).await else { panic!("not done") };
    assert!(shown.contains(MODEL) && shown.contains("`other`"), "{shown}");
    let SlashOutcome::Done(said) = read("/model other", &play.session).await else {
        panic!("not done")
    };
    assert_eq!(said, "The model is now `other`.");
    assert_eq!(play.session.options().model, "other");
    let SlashOutcome::Done(said) = read("/model third", &play.session).await else {
        panic!("not done")
    };
    assert!(said.contains("third"), "{said}");
    assert_eq!(play.session.options().model, "other");
    play.settle().await;
    let told = play.updates_of("config_option_update");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["configOptions"][0]["currentValue"], json!("other"));
}
