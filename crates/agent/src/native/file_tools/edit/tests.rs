mod replacing;

use serde_json::{Value, json};

use super::*;
use crate::native::file_tools::read;
use crate::native::testing::{TestSession, text_of};
use crate::native::tool::{CallContent, CallNeed};

fn ask(old: &str, new: &str) -> Value {
    json!({ "path": "a.txt", "old_string": old, "new_string": new })
}

async fn read(stage: &TestSession) {
    stage.say(&read::tool(), json!({ "path": "a.txt" })).await;
}

#[tokio::test]
async fn an_edit_shows_its_diff_and_asks_before_it_happens() {
    let stage = TestSession::new();
    stage.put("a.txt", "one\ntwo\n");
    read(&stage).await;
    let prepared = stage.prepare(&tool(), ask("two", "three")).await.unwrap();
    assert_eq!(prepared.need, CallNeed::Permission { key: "edit".into() });
    assert_eq!(prepared.shown.title, "Edit a.txt");
    assert_eq!(prepared.shown.locations[0].line, Some(2));
    assert_eq!(
        prepared.shown.content,
        [CallContent::Diff {
            path: stage.path("a.txt"),
            old: Some("one\ntwo\n".into()),
            new: "one\nthree\n".into(),
        }]
    );
    assert_eq!(stage.get("a.txt"), "one\ntwo\n");
    drop(prepared.work);
    assert_eq!(stage.get("a.txt"), "one\ntwo\n");

    let said = stage.say(&tool(), ask("two", "three")).await;
    assert!(said.contains("line 2"), "{said}");
    assert_eq!(stage.get("a.txt"), "one\nthree\n");
    // What it wrote it has seen.
    stage.say(&tool(), ask("three", "four")).await;
}

#[tokio::test]
async fn what_was_not_read_or_has_changed_is_not_edited() {
    for stage in [TestSession::new(), TestSession::of_editor()] {
        stage.put("a.txt", "one\n");
        assert!(stage.fail(&tool(), ask("one", "two")).await.contains("read it first"));
        read(&stage).await;
        let prepared = stage.prepare(&tool(), ask("one", "two")).await.unwrap();
        stage.put("a.txt", "one\nby others\n");
        assert!(prepared.work.await.unwrap_err().0.contains("changed since"));
        assert!(stage.fail(&tool(), ask("one", "two")).await.contains("changed since"));
        assert_eq!(stage.get("a.txt"), "one\nby others\n");
        read(&stage).await;
        stage.say(&tool(), ask("one", "two")).await;
    }
}

#[tokio::test]
async fn calls_that_were_prepared_together_both_count() {
    let stage = TestSession::new();
    stage.put("a.txt", "one\ntwo\n");
    read(&stage).await;
    let first = stage.prepare(&tool(), ask("one", "1")).await.unwrap();
    let second = stage.prepare(&tool(), ask("two", "2")).await.unwrap();
    let third = stage.prepare(&tool(), ask("one", "uno")).await.unwrap();
    let (first, second) = tokio::join!(first.work, second.work);
    first.unwrap();
    assert!(text_of(&second.unwrap()).contains("line 2"));
    assert_eq!(stage.get("a.txt"), "1\n2\n");
    assert!(third.work.await.unwrap_err().0.contains("not in the file"));
}

#[tokio::test]
async fn line_ends_and_marks_are_kept() {
    for (old, new) in [
        ("one\r\ntwo\r\n", "one\r\n2\r\n2b\r\n"),
        ("\u{feff}one\ntwo", "\u{feff}one\n2\n2b"),
        ("one\ntwo\nrest\r\n", "one\n2\n2b\nrest\r\n"),
    ] {
        let stage = TestSession::new();
        stage.put("a.txt", old);
        read(&stage).await;
        stage.say(&tool(), ask("one\ntwo", "one\n2\n2b")).await;
        assert_eq!(stage.get("a.txt"), new);
    }
}

#[tokio::test]
async fn an_editor_gets_the_change_into_its_buffer() {
    let stage = TestSession::of_editor();
    stage.put("a.txt", "saved\n");
    stage.client.hold(&stage.path("a.txt"), "unsaved\n");
    read(&stage).await;
    stage.say(&tool(), ask("unsaved", "changed")).await;
    assert_eq!(stage.client.held(&stage.path("a.txt")).unwrap(), "changed\n");
    assert_eq!(stage.get("a.txt"), "saved\n");
}

#[tokio::test]
async fn protected_places_have_a_key_of_their_own() {
    let stage = TestSession::new();
    stage.put(".git/config", "[core]\n");
    std::os::unix::fs::symlink(".git/config", stage.path("innocent")).unwrap();
    stage.say(&read::tool(), json!({ "path": ".git/config" })).await;
    for path in [".git/config", "./x/../.git/config", "innocent"] {
        std::fs::create_dir_all(stage.path("x")).unwrap();
        let asked = json!({ "path": path, "old_string": "core", "new_string": "x" });
        let prepared = stage.prepare(&tool(), asked).await.unwrap();
        let key = "edit:protected:.git/config".into();
        assert_eq!(prepared.need, CallNeed::Permission { key }, "{path}");
    }
}

#[tokio::test]
async fn an_empty_old_string_makes_a_file_and_nothing_else() {
    let stage = TestSession::new();
    stage.say(&tool(), ask("", "new\n")).await;
    assert_eq!(stage.get("a.txt"), "new\n");
    assert!(stage.fail(&tool(), ask("", "newer\n")).await.contains("`write`"));
    let missing = json!({ "path": "b.txt", "old_string": "x", "new_string": "y" });
    assert!(stage.fail(&tool(), missing).await.contains("does not exist"));
}
