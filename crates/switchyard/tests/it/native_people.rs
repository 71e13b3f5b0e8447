//! The built-in agent for people at a shell: what they see of commands and failures, and what
//! their rules and modes hold.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::model_server::{ScriptedAnswer, calls, status};

use crate::cli::Ran;
use crate::native::Stage;

fn call(name: &str, arguments: Value) -> ScriptedAnswer {
    calls([(name, arguments)])
}

/// Runs the binary with other variables than a stage has.
async fn run(stage: &Stage, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = stage.command(args);
    command.env_remove("OPENAI_BASE_URL").envs(variables.iter().copied());
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    tokio::process::Command::from(command).output().await.unwrap().into()
}

#[tokio::test]
async fn what_a_command_printed_and_its_code_are_shown_and_kept() {
    let stage = Stage::new().await;
    let line = "for n in $(seq 1 15); do echo line $n; done; exit 3";
    stage.model.answer(call("bash", json!({ "command": line })));
    stage.model.answer("done");

    let ran = stage.run(&["go", "--approve-all"]).await;

    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let shown = |text: &str| {
        assert!(text.contains("failed with exit code 3\n  … 5 lines before\n  line 6\n"), "{text}");
        assert!(text.contains("  line 15\n"), "{text}");
    };
    shown(&ran.out);
    for args in
        [&["sessions", "show", "last"][..], &["sessions", "export", "last", "--format", "text"]]
    {
        let output = stage.command(args).output().unwrap();
        shown(&String::from_utf8_lossy(&output.stdout));
    }
    let output = stage.command(&["sessions", "export", "last", "--format", "ui"]).output().unwrap();
    let ui = String::from_utf8_lossy(&output.stdout);
    let result = ui.lines().find(|line| line.contains("tool_result")).unwrap();
    assert!(result.contains("line 15") && result.contains("exit code 3"), "{result}");
}

#[tokio::test]
async fn a_failure_is_told_once_and_is_no_answer() {
    let stage = Stage::with_config("", "").await;
    let refusal = || status(401).json(&json!({ "error": { "message": "bad key" } }));
    stage.model.answer_with(move |_| refusal());

    let quiet = stage.run(&["hello", "--format", "quiet"]).await;
    assert_eq!(quiet.code, 1, "{}{}", quiet.out, quiet.err);
    assert_eq!(quiet.out, "", "{}", quiet.err);
    assert!(quiet.err.contains("Authentication error (HTTP 401)"), "{}", quiet.err);

    let text = stage.run(&["hello"]).await;
    let all = format!("{}{}", text.out, text.err);
    assert_eq!(all.matches("Authentication error (HTTP 401)").count(), 1, "{all}");
}

#[tokio::test]
async fn accepting_edits_does_not_reach_hooks() {
    let stage = Stage::new().await;
    std::fs::create_dir_all(stage.work().join(".git/hooks")).unwrap();
    let write = |path: &str| call("write", json!({ "path": path, "content": "#!/bin/sh\n" }));
    stage.model.answer(write("plain.sh"));
    stage.model.answer(write(".git/hooks/pre-commit"));
    stage.model.answer("done");

    let ran = stage.run(&["go", "--permissions", "accept-edits"]).await;

    assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err);
    assert_eq!(stage.read("plain.sh"), "#!/bin/sh\n");
    assert!(!stage.work().join(".git/hooks/pre-commit").exists(), "{}", ran.out);
}

#[tokio::test]
async fn a_rule_that_denies_a_path_holds_for_reading_and_searching() {
    let stage = Stage::new().await;
    stage.put(".env", "KEY=s3cret-value\n");
    stage.put("open.txt", "KEY=public\n");
    let rules = "[[rules]]\nname = \"no-env\"\naction = \"deny\"\npaths = [\"**/.env\"]\n";
    let policy = stage.home.path().join("rules.toml");
    std::fs::write(&policy, rules).unwrap();
    stage.model.answer(call("read", json!({ "path": ".env" })));
    stage.model.answer(call("grep", json!({ "pattern": "KEY" })));
    stage.model.answer(call("grep", json!({ "pattern": "KEY", "path": ".env" })));
    stage.model.answer("done");

    let ran = stage.run(&["go", "--policy", policy.to_str().unwrap()]).await;

    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let last = stage.model.last_chat().body.to_string();
    assert!(last.contains("denied by rule no-env"), "{last}");
    assert!(last.contains("KEY=public"), "{last}");
    assert!(!last.contains("s3cret-value"), "{last}");
}

#[tokio::test]
async fn what_is_wrong_with_the_setup_is_named() {
    let stage = Stage::with_config("", "").await;
    let ran = run(&stage, &["config", "check"], &[("OPENAI_MAX_TOKENS", "abc")]).await;
    assert_ne!(ran.code, 0);
    assert!(
        ran.err.contains("OPENAI_MAX_TOKENS") && !ran.err.contains("correct [native]"),
        "{}",
        ran.err
    );
    let ran = run(&stage, &["config", "show"], &[]).await;
    assert!(ran.out.contains("[native.providers.test]"), "{}", ran.out);
    let ran = run(&stage, &["agents", "show", "native"], &[("OPENAI_API_KEY", "")]).await;
    assert!(ran.out.contains("key         OPENAI_API_KEY (not set)"), "{}", ran.out);
    assert!(ran.out.contains("sandbox     off"), "{}", ran.out);

    stage.model.on("/v1/models", status(401).json(&json!({ "error": { "message": "no" } })));
    let ran = run(&stage, &["agents", "show", "native"], &[]).await;
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let ran = run(&stage, &["agents", "doctor"], &[]).await;
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("native"), "{}", ran.out);
}

#[tokio::test]
async fn what_was_typed_wrongly_is_told_with_what_to_type() {
    let stage = Stage::new().await;
    for (args, said) in [
        (&["run", "hello you"][..], "switchyard run native \"hello you\""),
        (&["run", "hello"], "switchyard run AGENT PROMPT"),
        (&["run", "native", "fix", "the", "test"], "switchyard run native \"fix the test\""),
        (&["run", "native", "hello", "--json"], "--format json"),
    ] {
        let mut command = stage.command(args);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(said), "{args:?}: {err}");
    }
}
