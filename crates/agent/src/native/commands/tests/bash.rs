//! The tool: what is asked, and what a model is told.

use serde_json::{Value, json};

use super::rehearse;
use crate::native::commands::bash_tool;
use crate::native::testing::rehearsal::{Rehearsal, text_of, work};
use crate::native::tool::{CallContent, CallNeed, PreparedCall, ToolError};

async fn prepare(stage: &Rehearsal, arguments: Value) -> Result<PreparedCall, ToolError> {
    bash_tool().prepare(arguments, &stage.context).await
}

fn key_of(prepared: &PreparedCall) -> &str {
    match &prepared.need {
        CallNeed::Permission { key } => key,
        CallNeed::Nothing => "",
    }
}

#[tokio::test]
async fn somebody_is_asked_with_the_whole_command() {
    let stage = rehearse();
    let command = "cargo test && rm -rf \u{1b}[8m~";
    let prepared = prepare(&stage, json!({ "command": command, "description": "tests" })).await;
    let prepared = prepared.unwrap();
    assert_eq!(prepared.shown.title, "cargo test && rm -rf \\x1b[8m~");
    assert_eq!(key_of(&prepared), format!("execute:{command}"));
    let CallContent::Text(shown) = &prepared.shown.content[0] else { panic!("no text") };
    assert_eq!(shown, "```sh\ncargo test && rm -rf \\x1b[8m~\n```\ntests");
    // Nothing has run so far.
    drop(prepared);
}

#[tokio::test]
async fn a_failing_command_is_a_result() {
    let stage = rehearse();
    let prepared = prepare(&stage, json!({ "command": "echo oops >&2; exit 7" })).await.unwrap();
    let output = prepared.work.await.unwrap();
    let told = text_of(&output);
    assert!(told.starts_with("Failed with exit code 7 after "), "{told}");
    assert!(told.ends_with("\n\noops"), "{told}");
    let CallContent::Text(shown) = &output.content[0] else { panic!("no text") };
    assert!(shown.contains("oops"), "{shown}");
    assert_eq!(output.raw, Some(json!({ "output": "oops\n", "exitCode": 7 })));
}

#[tokio::test]
async fn silence_is_said() {
    let stage = rehearse();
    let told = work(prepare(&stage, json!({ "command": "true" })).await.unwrap()).await;
    assert!(told.starts_with("Exit code 0 after ") && told.ends_with("(no output)"), "{told}");
}

#[tokio::test]
async fn the_end_of_its_time_is_told_with_what_to_do() {
    let stage = rehearse();
    let arguments = json!({ "command": "sleep 1000", "timeout": 100.0 });
    let output = prepare(&stage, arguments).await.unwrap().work.await.unwrap();
    let told = text_of(&output);
    assert!(told.contains("longer than 0.1 s") && told.contains("`timeout`"), "{told}");
    assert_eq!(output.raw, Some(json!({ "output": "", "timedOut": true })));
}

#[tokio::test]
async fn a_directory_inside_is_worked_in_and_is_another_key() {
    let stage = rehearse();
    std::fs::create_dir(stage.cwd().join("sub")).unwrap();
    let arguments = json!({ "command": "pwd", "workdir": "sub" });
    let prepared = prepare(&stage, arguments).await.unwrap();
    let sub = stage.cwd().join("sub");
    assert_eq!(key_of(&prepared), format!("execute in {:?}:pwd", sub.to_str().unwrap()));
    assert!(work(prepared).await.ends_with(sub.to_str().unwrap()));

    let here = prepare(&stage, json!({ "command": "pwd", "workdir": "./sub/.." })).await.unwrap();
    assert_eq!(key_of(&here), "execute:pwd");
}

#[tokio::test]
async fn directories_outside_are_refused() {
    let stage = rehearse();
    std::os::unix::fs::symlink("/", stage.cwd().join("link")).unwrap();
    std::fs::create_dir(stage.dir.path().join("work-evil")).unwrap();
    for workdir in ["/", "..", "link", "../work-evil", "link/etc", "missing"] {
        let arguments = json!({ "command": "pwd", "workdir": workdir });
        let refused = prepare(&stage, arguments).await.unwrap_err();
        assert!(refused.to_string().starts_with("workdir"), "{refused}");
    }
}

#[tokio::test]
async fn what_cannot_be_run_is_said_before_anybody_is_asked() {
    let stage = rehearse();
    let bad = [
        json!({}),
        json!({ "command": "" }),
        json!({ "command": " \n" }),
        json!({ "command": 7 }),
        json!({ "command": "a\0b" }),
        json!({ "command": "x".repeat(200_000) }),
        json!(null),
    ];
    for arguments in bad {
        assert!(prepare(&stage, arguments.clone()).await.is_err(), "{arguments}");
    }
}
