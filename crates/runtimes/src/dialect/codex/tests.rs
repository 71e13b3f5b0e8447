//! The small readers that both dialects rest on.

use serde_json::json;

use super::items::{self, CodexItem, ItemPhase};
use super::patch::{Hunk, hunks};
use super::shell_command;
use super::texts::CodexTexts;
use crate::dialect::testing::text_of;
use crate::dialect::{DialectOutput, Outputs};
use crate::update::{SessionUpdate, TextKind, ToolCall, ToolCallContent, ToolCallStatus, ToolKind};

#[test]
fn the_shell_around_a_command_is_taken_off() {
    let check = |command: &str, script: &str| assert_eq!(shell_command::of(command), script);
    check("/bin/bash -lc 'echo hi'", "echo hi");
    check("bash -c ls", "ls");
    check(r#"/bin/zsh -lc "echo \"a b\" \$HOME""#, r#"echo "a b" $HOME"#);
    check(r"/bin/bash -lc 'echo '\''x'\'''", "echo 'x'");
    check("/bin/bash -lc 'a\nb'", "a\nb");
    // More than the one word: all of it is the command.
    check("/bin/bash -lc 'echo hi' extra", "/bin/bash -lc 'echo hi' extra");
    check("/bin/bash -lc 'echo hi'; rm x", "/bin/bash -lc 'echo hi'; rm x");
    check("/bin/bash -lc 'open", "/bin/bash -lc 'open");
    check("python3 -c 'print(1)'", "python3 -c 'print(1)'");
    check("", "");
}

#[test]
fn hunks_are_what_was_and_what_is() {
    let hunk = |line: u64, old: &str, new: &str| Hunk {
        line: Some(line),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    let two = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -9 +9,2 @@\n-x\n+-- y\n+++ z\n";
    assert_eq!(
        hunks(two),
        [hunk(1, "one\ntwo\nthree\n", "one\nTWO\nthree\n"), hunk(9, "x\n", "-- y\n++ z\n")]
    );
    let bare_end = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
    assert_eq!(hunks(bare_end), [hunk(1, "a", "b\n")]);
    let moved = "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /w/new";
    assert_eq!(hunks(moved), [hunk(1, "a\n", "b\n")]);
    assert_eq!(hunks("nothing of the kind"), []);
    assert_eq!(hunks("").len(), 0);
}

fn call(item: &serde_json::Value, phase: ItemPhase) -> ToolCall {
    match items::read(item, phase) {
        CodexItem::Call(call) => *call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_patch_is_as_grave_as_its_gravest_change() {
    let kind = |changes: serde_json::Value| {
        let item = json!({ "type": "fileChange", "id": "x", "changes": changes });
        call(&item, ItemPhase::Started).kind
    };
    let update = json!({ "path": "/w/a", "kind": { "type": "update", "move_path": null } });
    let moving = json!({ "path": "/w/a", "kind": { "type": "update", "move_path": "/w/b" } });
    let delete = json!({ "path": "/w/c", "kind": { "type": "delete" } });
    assert_eq!(kind(json!([update])), Some(ToolKind::Edit));
    assert_eq!(kind(json!([update, moving])), Some(ToolKind::Move));
    assert_eq!(kind(json!([moving, delete])), Some(ToolKind::Delete));
}

#[test]
fn a_command_shows_its_output_and_fails_by_its_exit_code() {
    let item = json!({
        "type": "commandExecution", "id": "c", "command": "/bin/sh -c 'false'", "cwd": "/w",
        "status": "completed", "aggregatedOutput": "oh\n", "exitCode": 1,
    });
    let call = call(&item, ItemPhase::Completed);
    assert_eq!(call.status, Some(ToolCallStatus::Failed));
    assert_eq!(call.title.as_deref(), Some("false"));
    assert_eq!(call.raw_input, Some(json!({ "command": "false", "cwd": "/w" })));
    assert_eq!(call.content, Some(vec![ToolCallContent::text("oh\n")]));
}

fn ids(said: &[DialectOutput]) -> Vec<&str> {
    let ids = said.iter().filter_map(|said| match said {
        DialectOutput::Update(SessionUpdate::AgentMessageChunk { message_id, .. }) => {
            message_id.as_deref()
        }
        _ => None,
    });
    ids.collect()
}

#[test]
fn a_message_that_comes_whole_after_its_pieces_is_said_once() {
    let (mut texts, mut out) = (CodexTexts::default(), Outputs::default());
    texts.piece("a", TextKind::Message, "Hel", &mut out);
    texts.piece("a", TextKind::Message, "lo", &mut out);
    texts.item("a", TextKind::Message, "Hello, you", ItemPhase::Completed, &mut out);
    texts.item("a", TextKind::Message, "Hello, you", ItemPhase::Completed, &mut out);
    texts.piece("a", TextKind::Message, "late", &mut out);
    texts.item("b", TextKind::Message, " Bye", ItemPhase::Completed, &mut out);
    assert_eq!(text_of(&out), "Hello, you Bye");
    assert!(texts.has_said("Hello, you"));
}

#[test]
fn a_message_that_is_begun_again_goes_on_where_it_broke_off() {
    let (mut texts, mut out) = (CodexTexts::default(), Outputs::default());
    texts.piece("a", TextKind::Message, "Hello, ", &mut out);
    texts.break_off();
    texts.piece("b", TextKind::Message, "Hel", &mut out);
    texts.break_off();
    texts.piece("c", TextKind::Message, "Hello", &mut out);
    texts.piece("c", TextKind::Message, ", wor", &mut out);
    texts.item("c", TextKind::Message, "Hello, world", ItemPhase::Completed, &mut out);
    assert_eq!(text_of(&out), "Hello, world");
    assert_eq!(ids(&out), ["a", "a", "a"]);
}

#[test]
fn a_message_that_takes_another_course_is_said_in_full() {
    let (mut texts, mut out) = (CodexTexts::default(), Outputs::default());
    texts.piece("a", TextKind::Message, "Hello", &mut out);
    texts.break_off();
    texts.piece("b", TextKind::Message, "He", &mut out);
    texts.piece("b", TextKind::Message, "y there", &mut out);
    texts.item("b", TextKind::Message, "Hey there", ItemPhase::Completed, &mut out);
    assert_eq!(text_of(&out), "HelloHey there");
    assert_eq!(ids(&out), ["a", "b"]);

    let (mut texts, mut out) = (CodexTexts::default(), Outputs::default());
    texts.piece("a", TextKind::Message, "Hello", &mut out);
    texts.break_off();
    texts.item("b", TextKind::Message, "Bye", ItemPhase::Completed, &mut out);
    assert_eq!(text_of(&out), "HelloBye");
}

#[test]
fn of_two_messages_that_broke_off_the_later_one_goes_on() {
    // Often: which one it is must not depend on the order of a map.
    for _ in 0..20 {
        let (mut texts, mut out) = (CodexTexts::default(), Outputs::default());
        texts.piece("a", TextKind::Message, "One. ", &mut out);
        texts.piece("b", TextKind::Message, "Two", &mut out);
        texts.break_off();
        texts.item("c", TextKind::Message, "Two more.", ItemPhase::Completed, &mut out);
        assert_eq!(text_of(&out), "One. Two more.");
        assert_eq!(ids(&out), ["a", "b", "b"]);
    }
}
