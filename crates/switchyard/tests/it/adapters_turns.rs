//! CLIs with a process for each turn, as agents; and what translating their output gives.

use crate::adapters::{bin, events, heard, imitated, print, script, starts};
use crate::faults::{Live, configured, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::Validator;
use testkit::sdk_client::{ClientBehavior, SdkClient};

fn recording(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtimes/recordings").join(path)
}

const CODEX: &str = "dialect = 'codex-exec'";

/// One turn of `codex exec --json`.
fn codex_turn(thread: &str, text: &str) -> Vec<Value> {
    vec![
        json!({ "hear_all": true }),
        print(json!({ "type": "thread.started", "thread_id": thread })),
        print(json!({ "type": "turn.started" })),
        print(json!({ "type": "item.completed",
                      "item": { "id": "item_0", "type": "agent_message", "text": text } })),
        print(json!({ "type": "turn.completed",
                      "usage": { "input_tokens": 10, "output_tokens": 2 } })),
    ]
}

#[test]
fn a_cli_with_a_process_for_each_turn_goes_on_by_its_own_id() {
    let home = imitated("codex", CODEX, &codex_turn("t-1", "first"));
    let auto = ["--permissions", "auto"];
    let ran = events(&home, &[&["run", "codex", "one"], &auto[..]].concat());
    assert_eq!((ran.code, &*ran.text()), (Some(0), "first"), "{}", ran.stderr);
    let next = events(&home, &[&["run", "-s", "last", "two"], &auto[..]].concat());
    assert_eq!((next.code, &*next.text()), (Some(0), "first"), "{}", next.stderr);
    let starts = starts(&home);
    assert!(starts[0].starts_with("exec --json") && !starts[0].contains("resume"), "{starts:?}");
    assert!(starts[1].ends_with("resume t-1"), "{starts:?}");
    assert_eq!(heard(&home), [json!("one"), json!("two")], "the prompt came by stdin");
}

#[test]
fn a_cli_that_took_the_resume_and_started_something_else_is_told_again() {
    let home = imitated("codex", CODEX, &codex_turn("t-1", "first answer"));
    let auto = ["--permissions", "auto"];
    events(&home, &[&["run", "codex", "first question"], &auto[..]].concat());
    script(&home, &codex_turn("t-2", "second answer"));
    let next = events(&home, &[&["run", "-s", "last", "go on"], &auto[..]].concat());
    assert_eq!((next.code, &*next.text()), (Some(0), "second answer"), "{}", next.stderr);
    let last = heard(&home).pop().unwrap();
    let last = last.as_str().unwrap();
    assert!(last.contains("first answer") && last.ends_with("go on"), "{last}");
}

#[test]
fn model_effort_directories_and_mode_become_arguments() {
    let home = imitated("codex", CODEX, &codex_turn("t-1", "x"));
    let dir = home.user().join("lib");
    std::fs::create_dir(&dir).unwrap();
    let dir = dir.canonicalize().unwrap();
    let flags = ["--model", "m-1", "--effort", "high", "--add-dir", dir.to_str().unwrap()];
    let ran = events(
        &home,
        &[&["run", "codex", "go", "--permissions", "read-only"], &flags[..]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let args = starts(&home).remove(0);
    for part in ["--model m-1", "model_reasoning_effort=\"high\"", "--sandbox read-only"] {
        assert!(args.contains(part), "{args}");
    }
    assert!(args.contains(&format!("--add-dir {}", dir.display())), "{args}");
}

#[test]
fn what_cannot_be_had_is_refused_before_anything_starts() {
    let home = imitated("codex", CODEX, &codex_turn("t-1", "x"));
    let auto = ["--permissions", "auto"];
    for (args, says) in [
        (vec!["run", "codex", "go"], "permission mode `ask`"),
        ([&["run", "codex", "go", "--model", "--yolo"], &auto[..]].concat(), "--yolo"),
        ([&["run", "codex", "go", "--model", "a b"], &auto[..]].concat(), "cannot be a model"),
        ([&["run", "codex", "go", "--effort", "huge"], &auto[..]].concat(), "no effort `huge`"),
    ] {
        let ran = run(&home, args);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
    assert_eq!(starts(&home), Vec::<String>::new());
}

#[test]
fn an_error_in_the_stream_is_an_error_whatever_the_exit_code_says() {
    let fails = vec![
        json!({ "hear_all": true }),
        print(json!({ "type": "thread.started", "thread_id": "t" })),
        print(json!({ "type": "turn.failed",
                      "error": { "message": "unexpected status 401 Unauthorized: bad key" } })),
        json!({ "exit": 0 }),
    ];
    let home = imitated("codex", CODEX, &fails);
    let ran = events(&home, &["run", "codex", "go", "--permissions", "auto"]);
    assert_eq!(ran.code, Some(1));
    let error = &ran.end()["error"];
    assert_eq!(error["category"], "auth", "{error}");
    assert!(error["remedy"].as_str().unwrap().contains("codex login"), "{error}");
}

#[test]
fn a_line_that_means_nothing_is_in_the_log() {
    let odd = vec![json!({ "print": "Warning: the moon is full" })];
    let home = imitated("codex", CODEX, &[odd, codex_turn("t", "x")].concat());
    let ran = events(&home, &["run", "codex", "go", "--permissions", "auto"]);
    assert_eq!(ran.code, Some(0));
    let raw = ran.of_kind("agent_notification");
    let raw = raw.iter().find(|e| e["method"] == "_switchyard/raw").unwrap();
    assert_eq!(raw["params"]["line"], "Warning: the moon is full");
}

#[test]
fn a_prompt_that_no_argument_holds_is_too_large() {
    let home = imitated("codex", "dialect = 'codex-exec'", &codex_turn("t", "x"));
    let config = format!(
        "[agents.argy]\ncommand = '{}'\ndialect = 'plain'\nprompt = 'argv'\n",
        bin(&home).display()
    );
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let prompt = home.work().join("prompt");
    std::fs::write(&prompt, "x".repeat(130_000)).unwrap();
    let mut command =
        home.command(["run", "argy", "-", "--permissions", "auto", "--format", "json"]);
    command.stdin(std::fs::File::open(&prompt).unwrap());
    let ran = Live::start_with_stdin(command).finish();
    assert_eq!(ran.end()["error"]["category"], "prompt_too_large", "{}", ran.stderr);
    assert_eq!(starts(&home), Vec::<String>::new());
}

#[test]
fn recordings_of_real_clis_come_out_as_acp() {
    let dialects = [
        ("claude", "claude-stream-json"),
        ("qwen", "claude-stream-json"),
        ("codex", "codex-exec"),
        ("gemini", "gemini-stream-json"),
        ("opencode", "opencode-json"),
        ("copilot", "copilot-json"),
    ];
    let home = configured("");
    let mut n_updates = 0;
    for (cli, dialect) in dialects {
        for scenario in scenarios(cli) {
            let Ok(stdout) = std::fs::File::open(scenario.join("stdout.jsonl")) else { continue };
            let mut command = home.command(["translate", "--dialect", dialect, "--to", "acp"]);
            let output = command.stdin(stdout).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            for line in text.lines() {
                let message: Value = serde_json::from_str(line).unwrap();
                if message["method"] != "session/update" {
                    continue;
                }
                n_updates += 1;
                let direction = testkit::Direction::AgentToClient;
                let problems = Validator::v1().check_call(direction, &message);
                assert!(problems.is_empty(), "{}: {problems:?}\n{line}", scenario.display());
            }
        }
    }
    assert!(n_updates > 500, "only {n_updates} updates");
}

fn scenarios(cli: &str) -> Vec<PathBuf> {
    let below = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    below(recording(cli)).into_iter().flat_map(below).collect()
}

#[tokio::test]
async fn a_cli_without_a_memory_is_told_everything_again() {
    let home = configured("[agents.echo]\ncommand = '/bin/cat'\ndialect = 'plain'\n");
    let command = home.command(["acp", "echo", "--approve-all"]);
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;

    assert_eq!(client.prompt(&session, "first").await.unwrap().text(), "first");
    let second = client.prompt(&session, "second").await.unwrap().text();

    assert!(second.contains("User: first") && second.ends_with("second"), "{second}");
    Validator::v1().assert_valid(&client.stop().await.1);
    let log = run(&home, ["sessions", "export", "last"]);
    assert_eq!(log.of_kind("session_resumed")[0]["how"], "reseed");
}
