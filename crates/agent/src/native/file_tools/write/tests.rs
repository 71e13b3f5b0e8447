use serde_json::{Value, json};

use super::*;
use crate::native::file_tools::read;
use crate::native::testing::TestSession;
use crate::native::tool::CallContent;

fn ask(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

#[tokio::test]
async fn a_new_file_is_made_with_the_directories_above_it() {
    for stage in [TestSession::new(), TestSession::of_editor()] {
        let prepared = stage.prepare(&tool(), ask("x/y/new.txt", "text\n")).await.unwrap();
        assert_eq!(prepared.need, CallNeed::Permission { key: "edit".into() });
        assert_eq!(prepared.shown.title, "Write x/y/new.txt");
        let path = stage.path("x/y/new.txt");
        let diff = CallContent::Diff { path: path.clone(), old: None, new: "text\n".into() };
        assert_eq!(prepared.shown.content, [diff]);
        prepared.work.await.unwrap();
        let is_editor = stage.context.workspace.client.can.writes_files;
        match is_editor {
            true => assert_eq!(stage.client.held(&path).unwrap(), "text\n"),
            false => assert_eq!(stage.get("x/y/new.txt"), "text\n"),
        }
        // What it made it may replace.
        stage.say(&tool(), ask("x/y/new.txt", "other\n")).await;
    }
}

#[tokio::test]
async fn a_file_is_replaced_only_as_it_was_read() {
    let stage = TestSession::new();
    stage.put("a", "one\r\n");
    assert!(stage.fail(&tool(), ask("a", "two")).await.contains("read it first"));
    stage.say(&read::tool(), json!({ "path": "a" })).await;
    stage.say(&tool(), ask("a", "two\nthree")).await;
    assert_eq!(stage.get("a"), "two\r\nthree\r\n");

    let prepared = stage.prepare(&tool(), ask("a", "four")).await.unwrap();
    stage.put("a", "in between");
    assert!(prepared.work.await.unwrap_err().0.contains("meantime"));
    assert_eq!(stage.get("a"), "in between");

    let prepared = stage.prepare(&tool(), ask("new", "x")).await.unwrap();
    stage.put("new", "in between");
    assert!(prepared.work.await.unwrap_err().0.contains("meantime"));
    assert_eq!(stage.get("new"), "in between");
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_changes() {
    let stage = TestSession::new();
    stage.put("a", "one\n");
    stage.say(&read::tool(), json!({ "path": "a" })).await;
    let prepared = stage.prepare(&tool(), ask("a", "one\n")).await.unwrap();
    assert_eq!(prepared.need, CallNeed::Nothing);
    prepared.work.await.unwrap();
}

#[tokio::test]
async fn what_is_outside_or_no_text_is_not_written() {
    let stage = TestSession::new();
    let outside = stage.root.with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, stage.path("link")).unwrap();
    stage.put("bin", b"\0");
    for path in ["../x", "link/x", "/x", "~/x", "bin", ".", "link"] {
        stage.fail(&tool(), ask(path, "x")).await;
    }
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
    let prepared = stage.prepare(&tool(), ask(".claude/settings.json", "{}")).await.unwrap();
    let key = "edit:protected:.claude/settings.json".into();
    assert_eq!(prepared.need, CallNeed::Permission { key });
}
