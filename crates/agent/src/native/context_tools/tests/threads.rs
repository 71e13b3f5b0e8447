//! Threads: found, put aside, taken up again, distilled.

use serde_json::json;
use testkit::model_server::{calls, text};

use super::{assert_valid, call, play};
use crate::native::journal::{JournalEntry, JournalItem};
use crate::native::testing::play::Play;

/// Two subjects, in parts 1 to 4.
async fn talk() -> Play {
    let play = play().await;
    play.server.answer(text("Cats purr.")).answer(text("Dogs bark."));
    play.prompt("about cats").await;
    play.prompt("about dogs").await;
    play
}

fn told(play: &Play) -> String {
    let chat = play.server.last_chat();
    assert_valid(&chat);
    chat.body["messages"].to_string()
}

async fn classify(play: &Play) -> String {
    play.server.answer(calls([("classifier_threads", json!({ "hint": "animals" }))]));
    play.server.answer(text(
        "```json\n{\"threads\":[{\"name\":\"cats\",\"about\":\"purring\",\"parts\":[1,2]},\
         {\"name\":\"dogs\",\"about\":\"barking\",\"parts\":[3,4,5,6]}]}\n```",
    ));
    play.server.answer(text("Sorted."));
    play.prompt("sort it").await;
    play.results().pop().unwrap()
}

#[tokio::test]
async fn a_thread_is_put_aside_and_taken_up_again() {
    let play = talk().await;
    let park = json!({
        "action": "park", "name": "cats", "note": "They purr.\nNext: why.", "from": 1, "to": 2,
    });

    let said = call(&play, "thread_park", park.clone()).await;

    assert!(said.starts_with("`cats` is put aside: 2 parts."), "{said}");
    let now = told(&play);
    assert!(
        now.contains("[Put aside: the thread `cats`, 2 parts. They purr. Next: why.]"),
        "{now}"
    );
    assert!(!now.contains("about cats") && now.contains("about dogs"), "{now}");
    let said = call(&play, "thread_park", park).await;
    assert!(said.contains("There is a `cats` already"), "{said}");
    let said = call(&play, "thread_park", json!({ "action": "list" })).await;
    assert_eq!(said, "`cats` (put aside, 2 parts): They purr. Next: why.");
    let said = call(&play, "thread_park", json!({ "action": "recall", "name": "cats" })).await;
    assert!(said.starts_with("`cats` is back in its place."), "{said}");
    let now = told(&play);
    assert!(now.contains("about cats") && now.contains("Cats purr."), "{now}");
    let said = call(&play, "thread_park", json!({ "action": "recall", "name": "cats" })).await;
    assert!(said.contains("Nothing is put aside as `cats`"), "{said}");
}

#[tokio::test]
async fn a_thread_whose_place_is_gone_is_told_when_it_is_recalled() {
    let play = talk().await;
    let park = json!({ "action": "park", "name": "cats", "note": "x", "from": 1, "to": 2 });
    call(&play, "thread_park", park).await;
    play.server.answer(text("Dogs bark, they said."));
    play.prompt("/compact").await;
    let said = call(&play, "thread_park", json!({ "action": "recall", "name": "cats" })).await;
    assert!(said.contains("[user]\nabout cats\n\n[answer]\nCats purr."), "{said}");
}

#[tokio::test]
async fn what_cannot_be_parked_is_said() {
    for (arguments, expected) in [
        (json!({ "action": "park", "name": "x", "from": 1, "to": 2 }), "`note` is missing"),
        (json!({ "action": "park", "note": "x", "from": 1, "to": 2 }), "`name` is missing"),
        (json!({ "action": "park", "name": "x", "note": "x", "from": 1 }), "go together"),
        (json!({ "action": "park", "name": "x", "note": "x" }), "No thread `x` is known"),
        (
            json!({ "action": "park", "name": "x", "note": "x", "from": 5, "to": 99 }),
            "nothing to put aside",
        ),
        (json!({ "action": "park", "name": " ", "note": "x", "from": 1, "to": 2 }), "1 to 60"),
    ] {
        let play = talk().await;
        let said = call(&play, "thread_park", arguments).await;
        assert!(said.contains(expected), "{said}");
        let is_cover = |entry: &JournalEntry| matches!(*entry.item, JournalItem::Covered { .. });
        assert!(!play.items().iter().any(is_cover));
    }
}

#[tokio::test]
async fn threads_are_found_kept_and_shown() {
    let play = talk().await;

    let said = classify(&play).await;

    assert_eq!(said, "`cats`: purring (parts 1, 2)\n`dogs`: barking (parts 3, 4, 5, 6)");
    let asked = &play.server.chats()[3];
    assert!(asked.tool_names().is_empty());
    let material = asked.last_user();
    assert!(material.starts_with("1 user: about cats\n2 answer: Cats purr.\n"), "{material}");
    assert!(material.ends_with("Tell apart: animals"), "{material}");
    let shown = call(&play, "classifier_threads", json!({ "show": true })).await;
    assert_eq!(shown, said);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_once_more() {
    let bad = [
        "cats and dogs",
        "{\"threads\":[]}",
        "{\"threads\":[{\"name\":\"a\",\"parts\":[1,2,3,4,5,6,7]}]}",
        "{\"threads\":[{\"name\":\"a\",\"parts\":[1,2,3,4,5]}]}",
        "{\"threads\":[{\"name\":\"a\",\"parts\":[1,2,3,3,4,5,6]}]}",
        "{\"threads\":[{\"name\":\"a\",\"parts\":[1,2,3]},{\"name\":\"a\",\"parts\":[4,5,6]}]}",
        "{\"threads\":[{\"name\":\"\",\"parts\":[1,2,3,4,5,6]}]}",
        "{\"threads\":[{\"name\":\"a\",\"parts\":[1,2,3,4,5,6]}],\"more\":1}",
    ];
    for bad in bad {
        let play = talk().await;
        play.server.answer(calls([("classifier_threads", json!({}))]));
        play.server.answer(text(bad));
        play.server.answer(text("{\"threads\":[{\"name\":\"all\",\"parts\":[1,2,3,4,5,6]}]}"));
        play.server.answer(text("Sorted."));
        play.prompt("sort it").await;
        let chats = play.server.chats();
        assert!(chats[4].last_user().starts_with("This does not fit: "), "{bad}");
        assert_eq!(play.results(), ["`all`:  (parts 1, 2, 3, 4, 5, 6)"], "{bad}");
    }
    let play = talk().await;
    play.server.answer(calls([("classifier_threads", json!({}))]));
    play.server.answer(text("no")).answer(text("never"));
    play.server.answer(text("It failed."));
    play.prompt("sort it").await;
    assert!(play.results()[0].contains("does not fit"), "{:?}", play.results());
}

#[tokio::test]
async fn a_thread_that_was_found_can_be_parked_by_its_name() {
    let play = talk().await;
    classify(&play).await;
    let park = json!({ "action": "park", "name": "cats", "note": "later" });
    let said = call(&play, "thread_park", park).await;
    assert!(said.starts_with("`cats` is put aside: 2 parts."), "{said}");
    assert!(!told(&play).contains("about cats"));
}

#[tokio::test]
async fn threads_become_a_note_and_come_back_when_they_are_recalled() {
    let play = talk().await;
    classify(&play).await;
    play.server.answer(calls([(
        "distill_threads",
        json!({ "threads": ["cats", "dogs"], "name": "pets" }),
    )]));
    play.server.answer(text("Cats purr; dogs bark."));
    play.server.answer(text("Distilled."));

    play.prompt("make it short").await;

    let material = play.server.chats()[play.server.chats().len() - 2].last_user();
    assert!(material.contains("[1 user]\nabout cats\n\n[2 answer]\nCats purr."), "{material}");
    let now = told(&play);
    assert!(now.contains("[Notes `pets`, in the place of"), "{now}");
    assert!(now.contains("Cats purr; dogs bark.") && !now.contains("about dogs"), "{now}");
    assert!(now.contains("make it short"));
    call(&play, "thread_park", json!({ "action": "recall", "name": "pets" })).await;
    let now = told(&play);
    assert!(now.contains("about cats") && now.contains("about dogs"), "{now}");
}

#[tokio::test]
async fn a_parked_thread_is_distilled_with_the_models_own_note() {
    let play = talk().await;
    let park = json!({ "action": "park", "name": "cats", "note": "x", "from": 1, "to": 2 });
    call(&play, "thread_park", park).await;
    let n_chats = play.server.chats().len();
    let distill = json!({ "threads": "cats", "note": "They purr." });
    let said = call(&play, "distill_threads", distill).await;
    assert!(said.starts_with("`cats` stands for 2 parts."), "{said}");
    // Nobody was asked to write it.
    assert_eq!(play.server.chats().len(), n_chats + 2);
    let now = told(&play);
    assert!(now.contains("They purr.") && !now.contains("Put aside"), "{now}");
    let said = call(&play, "distill_threads", json!({ "threads": ["mice"] })).await;
    assert!(said.contains("There is no thread `mice`"), "{said}");
}
