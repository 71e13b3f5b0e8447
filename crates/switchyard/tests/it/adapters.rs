//! CLIs that do not speak ACP, as agents.
//!
//! In: an imitated CLI that follows a script, in front of it the real binary. Out: what became
//! of its words, what it was started with, what it was told, and what is left of it.

use crate::faults::{Live, Ran, SHORT_WAITS, configured, run};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use testkit::Validator;
use testkit::process::{PATIENCE, Yard};
use testkit::sdk_client::{Manners, Permission, SdkClient};

/// A yard whose agent `name` is an imitated CLI with this script. `extra` goes into the
/// agent's entry of the configuration.
pub(crate) fn imitated(name: &str, extra: &str, steps: &[Value]) -> Yard {
    let yard = configured("");
    let entry = format!(
        "{SHORT_WAITS}\n[agents.{name}]\nbase = '{name}'\ncommand = '{}'\n{extra}\n",
        bin(&yard).display()
    );
    std::fs::write(yard.home().join("switchyard.toml"), entry).unwrap();
    script(&yard, steps);
    let help = "--include-partial-messages --session-id --effort --add-dir app-server \
                --append-system-prompt --output-format stream-json";
    let imitator = yard.tool("cli-imitator");
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in\n*' --version '*) echo 2.1.325; exit ;;\n\
         *' --help '*) echo '{help}'; exit ;;\n*' auth status '*|*' login status '*) exit ;;\n\
         *' debug models '*) exit 1 ;;\nesac\nexec {} {} {} \"$@\"\n",
        imitator.display(),
        script_path(&yard).display(),
        log_path(&yard).display()
    );
    std::fs::write(bin(&yard), text).unwrap();
    std::fs::set_permissions(bin(&yard), std::fs::Permissions::from_mode(0o755)).unwrap();
    yard
}

fn bin(yard: &Yard) -> PathBuf {
    yard.home().join("imitated-cli")
}

fn script_path(yard: &Yard) -> PathBuf {
    yard.home().join("script.jsonl")
}

fn log_path(yard: &Yard) -> PathBuf {
    yard.home().join("imitated.log")
}

/// Another script for the processes to come.
pub(crate) fn script(yard: &Yard, steps: &[Value]) {
    let lines: Vec<String> = steps.iter().map(Value::to_string).collect();
    std::fs::write(script_path(yard), lines.join("\n")).unwrap();
}

/// What the imitated CLI was started with, one list for each process.
pub(crate) fn starts(yard: &Yard) -> Vec<String> {
    let noted = noted(yard).into_iter().filter_map(|entry| {
        let args: Vec<String> = serde_json::from_value(entry["args"].clone()).ok()?;
        Some(args.join(" "))
    });
    noted.collect()
}

/// What it was told.
pub(crate) fn heard(yard: &Yard) -> Vec<Value> {
    noted(yard)
        .into_iter()
        .map(|mut entry| entry["heard"].take())
        .filter(|h| !h.is_null())
        .collect()
}

fn noted(yard: &Yard) -> Vec<Value> {
    let text = std::fs::read_to_string(log_path(yard)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn recording(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtimes/recordings").join(path)
}

fn hear(what: Value) -> Value {
    json!({ "hear": what })
}

fn print(what: Value) -> Value {
    json!({ "print": what })
}

/// Claude's handshake.
fn claude_opens() -> Vec<Value> {
    vec![
        hear(json!({ "type": "control_request", "request": { "subtype": "initialize" } })),
        print(json!({
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "$/request_id",
                "response": {
                    "commands": [{ "name": "compact", "description": "Make room" }],
                    "models": [{ "value": "default", "displayName": "Default" },
                               { "value": "opus", "displayName": "Opus" }],
                },
            },
        })),
    ]
}

/// One whole answer of Claude.
fn claude_says(text: &str) -> Vec<Value> {
    let session = "11111111-1111-4111-8111-111111111111";
    let message = json!({ "role": "assistant", "id": "m", "model": "x",
                          "content": [{ "type": "text", "text": text }] });
    vec![
        print(json!({ "type": "system", "subtype": "init", "session_id": session, "model": "x" })),
        print(json!({ "type": "assistant", "message": message, "session_id": session })),
        print(json!({
            "type": "result", "subtype": "success", "is_error": false, "result": text,
            "session_id": session, "stop_reason": "end_turn",
            "usage": { "input_tokens": 3, "output_tokens": 2 },
        })),
    ]
}

fn claude_turn(text: &str) -> Vec<Value> {
    [vec![hear(json!({ "type": "user" }))], claude_says(text)].concat()
}

fn events(yard: &Yard, args: &[&str]) -> Ran {
    run(yard, [args, &["--format", "json"]].concat())
}

#[tokio::test]
async fn one_process_serves_turn_after_turn_and_every_message_is_acp() {
    let steps = [claude_opens(), claude_turn("first"), claude_turn("second")].concat();
    let yard = imitated("claude", "", &steps);
    let client =
        SdkClient::ready(yard.command(["acp", "claude"]), Manners::default()).await.unwrap();
    let session = client.new_session(yard.work()).await.unwrap().session_id;

    assert_eq!(client.prompt(&session, "one").await.unwrap().text(), "first");
    assert_eq!(client.prompt(&session, "two").await.unwrap().text(), "second");

    let (exit, seen) = client.stop().await;
    assert!(exit.success(), "{exit}");
    Validator::v1().assert_valid(&seen);
    assert_eq!(starts(&yard).len(), 1);
    let prompts: Vec<Value> = heard(&yard).into_iter().filter(|h| h["type"] == "user").collect();
    assert_eq!(prompts[1]["message"]["content"][0]["text"], "two");
    yard.assert_empty_within(PATIENCE);
}

#[tokio::test]
async fn a_question_of_the_cli_is_asked_and_the_answer_reaches_it() {
    for (permission, behavior) in [(Permission::Allow, "allow"), (Permission::Reject, "deny")] {
        let input = json!({ "file_path": "/x/a.txt", "content": "hi" });
        let asks = vec![
            hear(json!({ "type": "user" })),
            print(json!({
                "type": "control_request", "request_id": "q1",
                "request": { "subtype": "can_use_tool", "tool_name": "Write", "input": input,
                             "tool_use_id": "t1" },
            })),
            hear(json!({ "type": "control_response" })),
        ];
        let steps = [claude_opens(), asks, claude_says("done")].concat();
        let yard = imitated("claude", "", &steps);
        let manners = Manners::default().permission(permission);
        let client = SdkClient::ready(yard.command(["acp", "claude"]), manners).await.unwrap();
        let session = client.new_session(yard.work()).await.unwrap().session_id;

        client.prompt(&session, "write").await.unwrap();

        let asked = client.permissions_asked();
        assert_eq!(asked.len(), 1);
        let call = serde_json::to_value(&asked[0].tool_call).unwrap();
        assert_eq!((&call["kind"], &call["rawInput"]), (&json!("edit"), &input));
        let (_, seen) = client.stop().await;
        Validator::v1().assert_valid(&seen);
        let told = heard(&yard).into_iter().find(|h| h["type"] == "control_response").unwrap();
        assert_eq!(told["response"]["response"]["behavior"], behavior, "{told}");
    }
}

#[test]
fn a_cancelled_turn_is_interrupted_and_the_process_goes_on() {
    let slow = vec![
        hear(json!({ "type": "user" })),
        print(json!({ "type": "assistant", "session_id": "s",
                      "message": { "id": "m", "content": [{ "type": "text", "text": "going" }] } })),
        hear(json!({ "type": "control_request", "request": { "subtype": "interrupt" } })),
        print(json!({ "type": "control_response",
                      "response": { "subtype": "success", "request_id": "$/request_id" } })),
        print(json!({ "type": "result", "subtype": "error_during_execution", "is_error": true,
                      "session_id": "s" })),
    ];
    let yard = imitated("claude", "", &[claude_opens(), slow].concat());
    let mut live = Live::start(yard.command(["run", "claude", "go", "--format", "json"]));
    live.wait_for_kind("agent_message_chunk");
    live.signal(rustix::process::Signal::INT);
    let ran = live.finish();
    assert_eq!(ran.end()["stopReason"], "cancelled");
    let steps: Vec<Value> =
        ran.of_kind("cancel_step").iter().map(|step| step["step"].clone()).collect();
    assert_eq!(steps, [json!("notified")], "no harder step was needed");
    yard.assert_empty_within(PATIENCE);
}

#[test]
fn a_cli_that_does_not_listen_is_ended_with_everything_it_started() {
    for agent in ["claude", "codex"] {
        let deaf = vec![
            json!({ "grandchild": true }),
            print(json!({ "type": "thread.started", "thread_id": "t1" })),
            print(json!({ "type": "item.completed",
                          "item": { "id": "i", "type": "agent_message", "text": "going" } })),
            print(json!({ "type": "assistant", "session_id": "s", "message":
                          { "id": "m", "content": [{ "type": "text", "text": "going" }] } })),
            json!({ "wait": true }),
        ];
        let (extra, opens) = match agent {
            "claude" => ("", [claude_opens(), vec![hear(json!({ "type": "user" }))]].concat()),
            _ => ("dialect = 'codex-exec'", vec![json!({ "hear_all": true })]),
        };
        let yard = imitated(agent, extra, &[opens, deaf].concat());
        let args = ["run", agent, "go", "--format", "json", "--permissions", "auto"];
        let mut live = Live::start(yard.command(args));
        live.wait_for_kind("agent_message_chunk");
        live.signal(rustix::process::Signal::INT);
        let ran = live.finish();
        assert_eq!(ran.end()["stopReason"], "cancelled", "{agent}");
        yard.assert_empty_within(PATIENCE);
    }
}

#[test]
fn a_cli_that_dies_in_its_turn_ends_the_turn_and_not_the_session() {
    let dies = vec![
        hear(json!({ "type": "user" })),
        json!({ "stderr": "Segmentation fault, honestly" }),
        json!({ "exit": 7 }),
    ];
    let yard = imitated("claude", "", &[claude_opens(), dies].concat());
    let ran = events(&yard, &["run", "claude", "go"]);
    assert_eq!(ran.code, Some(1));
    let error = &ran.end()["error"];
    assert_eq!(error["category"], "process_exit", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("Segmentation fault") && message.contains('7'), "{message}");

    script(&yard, &[claude_opens(), claude_turn("back again")].concat());
    let next = events(&yard, &["run", "-s", "last", "and now"]);
    assert_eq!((next.code, &*next.text()), (Some(0), "back again"));
}

#[test]
fn the_next_process_resumes_by_the_id_that_we_chose() {
    let yard = imitated("claude", "", &[claude_opens(), claude_turn("a")].concat());
    assert_eq!(events(&yard, &["run", "claude", "one"]).code, Some(0));
    let next = events(&yard, &["run", "-s", "last", "two"]);
    assert_eq!(next.of_kind("session_resumed")[0]["how"], "resume");
    let starts = starts(&yard);
    let id = starts[0].split("--session-id ").nth(1).unwrap().split(' ').next().unwrap();
    // The CLI said another one in its stream, and that is the one that counts.
    assert_eq!(id.len(), 36);
    assert!(starts[1].contains("--resume 11111111-1111-4111-8111-111111111111"), "{}", starts[1]);
}

#[test]
fn a_conversation_that_the_cli_has_lost_is_told_again() {
    let yard = imitated("claude", "", &[claude_opens(), claude_turn("the answer")].concat());
    assert_eq!(events(&yard, &["run", "claude", "the question"]).code, Some(0));
    let lost = vec![
        json!({ "if_args": "--resume", "then": 2 }),
        json!({ "stderr": "No conversation found with session ID: 1" }),
        json!({ "exit": 1 }),
    ];
    script(&yard, &[lost, claude_opens(), claude_turn("I know")].concat());
    let next = events(&yard, &["run", "-s", "last", "and?"]);
    assert_eq!((next.code, &*next.text()), (Some(0), "I know"), "{}", next.stderr);
    let resumed = &next.of_kind("session_resumed")[0];
    assert_eq!(resumed["how"], "reseed", "{resumed}");
    let prompt = heard(&yard).into_iter().rfind(|h| h["type"] == "user").unwrap().to_string();
    assert!(prompt.contains("the question") && prompt.contains("the answer"), "{prompt}");
    assert!(prompt.contains("and?"), "{prompt}");
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
    let yard = imitated("codex", CODEX, &codex_turn("t-1", "first"));
    let auto = ["--permissions", "auto"];
    let ran = events(&yard, &[&["run", "codex", "one"], &auto[..]].concat());
    assert_eq!((ran.code, &*ran.text()), (Some(0), "first"), "{}", ran.stderr);
    let next = events(&yard, &[&["run", "-s", "last", "two"], &auto[..]].concat());
    assert_eq!((next.code, &*next.text()), (Some(0), "first"), "{}", next.stderr);
    let starts = starts(&yard);
    assert!(starts[0].starts_with("exec --json") && !starts[0].contains("resume"), "{starts:?}");
    assert!(starts[1].ends_with("resume t-1"), "{starts:?}");
    assert_eq!(heard(&yard), [json!("one"), json!("two")], "the prompt came by stdin");
}

#[test]
fn a_cli_that_took_the_resume_and_started_something_else_is_told_again() {
    let yard = imitated("codex", CODEX, &codex_turn("t-1", "first answer"));
    let auto = ["--permissions", "auto"];
    events(&yard, &[&["run", "codex", "first question"], &auto[..]].concat());
    script(&yard, &codex_turn("t-2", "second answer"));
    let next = events(&yard, &[&["run", "-s", "last", "go on"], &auto[..]].concat());
    assert_eq!((next.code, &*next.text()), (Some(0), "second answer"), "{}", next.stderr);
    let last = heard(&yard).pop().unwrap();
    let last = last.as_str().unwrap();
    assert!(last.contains("first answer") && last.ends_with("go on"), "{last}");
}

#[test]
fn model_effort_directories_and_mode_become_arguments() {
    let yard = imitated("codex", CODEX, &codex_turn("t-1", "x"));
    let dir = yard.home().join("lib");
    std::fs::create_dir(&dir).unwrap();
    let dir = dir.canonicalize().unwrap();
    let flags = ["--model", "m-1", "--effort", "high", "--add-dir", dir.to_str().unwrap()];
    let ran = events(
        &yard,
        &[&["run", "codex", "go", "--permissions", "read-only"], &flags[..]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let args = starts(&yard).remove(0);
    for part in ["--model m-1", "model_reasoning_effort=\"high\"", "--sandbox read-only"] {
        assert!(args.contains(part), "{args}");
    }
    assert!(args.contains(&format!("--add-dir {}", dir.display())), "{args}");
}

#[test]
fn what_cannot_be_had_is_refused_before_anything_starts() {
    let yard = imitated("codex", CODEX, &codex_turn("t-1", "x"));
    let auto = ["--permissions", "auto"];
    for (args, says) in [
        (vec!["run", "codex", "go"], "permission mode `ask`"),
        ([&["run", "codex", "go", "--model", "--yolo"], &auto[..]].concat(), "--yolo"),
        ([&["run", "codex", "go", "--model", "a b"], &auto[..]].concat(), "cannot be a model"),
        ([&["run", "codex", "go", "--effort", "huge"], &auto[..]].concat(), "no effort `huge`"),
    ] {
        let ran = run(&yard, args);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
    assert_eq!(starts(&yard), Vec::<String>::new());
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
    let yard = imitated("codex", CODEX, &fails);
    let ran = events(&yard, &["run", "codex", "go", "--permissions", "auto"]);
    assert_eq!(ran.code, Some(1));
    let error = &ran.end()["error"];
    assert_eq!(error["category"], "auth", "{error}");
    assert!(error["remedy"].as_str().unwrap().contains("codex login"), "{error}");
}

#[test]
fn a_line_that_means_nothing_is_in_the_log() {
    let odd = vec![json!({ "print": "Warning: the moon is full" })];
    let yard = imitated("codex", CODEX, &[odd, codex_turn("t", "x")].concat());
    let ran = events(&yard, &["run", "codex", "go", "--permissions", "auto"]);
    assert_eq!(ran.code, Some(0));
    let raw = ran.of_kind("agent_notification");
    let raw = raw.iter().find(|e| e["method"] == "_switchyard/raw").unwrap();
    assert_eq!(raw["params"]["line"], "Warning: the moon is full");
}

#[test]
fn a_prompt_that_no_argument_holds_is_too_large() {
    let yard = imitated("codex", "dialect = 'codex-exec'", &codex_turn("t", "x"));
    let config = format!(
        "[agents.argy]\ncommand = '{}'\ndialect = 'plain'\nprompt = 'argv'\n",
        bin(&yard).display()
    );
    std::fs::write(yard.home().join("switchyard.toml"), config).unwrap();
    let prompt = yard.work().join("prompt");
    std::fs::write(&prompt, "x".repeat(130_000)).unwrap();
    let mut command =
        yard.command(["run", "argy", "-", "--permissions", "auto", "--format", "json"]);
    command.stdin(std::fs::File::open(&prompt).unwrap());
    let ran = Live::start_with_stdin(command).finish();
    assert_eq!(ran.end()["error"]["category"], "prompt_too_large", "{}", ran.stderr);
    assert_eq!(starts(&yard), Vec::<String>::new());
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
    let yard = configured("");
    let mut n_updates = 0;
    for (cli, dialect) in dialects {
        for scenario in scenarios(cli) {
            let Ok(stdout) = std::fs::File::open(scenario.join("stdout.jsonl")) else { continue };
            let mut command = yard.command(["translate", "--dialect", dialect, "--to", "acp"]);
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
    let yard = configured("[agents.echo]\ncommand = '/bin/cat'\ndialect = 'plain'\n");
    let command = yard.command(["acp", "echo", "--approve-all"]);
    let client = SdkClient::ready(command, Manners::default()).await.unwrap();
    let session = client.new_session(yard.work()).await.unwrap().session_id;

    assert_eq!(client.prompt(&session, "first").await.unwrap().text(), "first");
    let second = client.prompt(&session, "second").await.unwrap().text();

    assert!(second.contains("User: first") && second.ends_with("second"), "{second}");
    Validator::v1().assert_valid(&client.stop().await.1);
    let log = run(&yard, ["sessions", "export", "last"]);
    assert_eq!(log.of_kind("session_resumed")[0]["how"], "reseed");
}
