//! CLIs that do not speak ACP, as agents.
//!
//! In: an imitated CLI that follows a script, in front of it the real binary. Out: what became
//! of its words, what it was started with, what it was told, and what is left of it.

use crate::faults::{Live, Ran, SHORT_WAITS, configured, run};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::Validator;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::{PATIENCE, TestHome};

/// A home whose agent `name` is an imitated CLI with this script. `extra` goes into the
/// agent's entry of the configuration.
pub(crate) fn imitated(name: &str, extra: &str, steps: &[Value]) -> TestHome {
    let home = configured("");
    let entry = format!(
        "{SHORT_WAITS}\n[agents.{name}]\nbase = '{name}'\ncommand = '{}'\n{extra}\n",
        bin(&home).display()
    );
    std::fs::write(home.path().join("switchyard.toml"), entry).unwrap();
    script(&home, steps);
    let help = "--include-partial-messages --session-id --effort --add-dir app-server \
                --append-system-prompt --output-format stream-json";
    let imitator = home.tool("cli-imitator");
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in\n*' --version '*) echo 2.1.325; exit ;;\n\
         *' --help '*) echo '{help}'; exit ;;\n*' auth status '*|*' login status '*) exit ;;\n\
         *' debug models '*) exit 1 ;;\nesac\nexec {} {} {} \"$@\"\n",
        imitator.display(),
        script_path(&home).display(),
        log_path(&home).display()
    );
    testkit::test_executables::write(&bin(&home), &text);
    home
}

pub(crate) fn bin(home: &TestHome) -> PathBuf {
    home.path().join("imitated-cli")
}

fn script_path(home: &TestHome) -> PathBuf {
    home.path().join("script.jsonl")
}

fn log_path(home: &TestHome) -> PathBuf {
    home.path().join("imitated.log")
}

/// Another script for the processes to come.
pub(crate) fn script(home: &TestHome, steps: &[Value]) {
    let lines: Vec<String> = steps.iter().map(Value::to_string).collect();
    std::fs::write(script_path(home), lines.join("\n")).unwrap();
}

/// What the imitated CLI was started with, one list for each process.
pub(crate) fn starts(home: &TestHome) -> Vec<String> {
    let noted = noted(home).into_iter().filter_map(|entry| {
        let args: Vec<String> = serde_json::from_value(entry["args"].clone()).ok()?;
        Some(args.join(" "))
    });
    noted.collect()
}

/// What it was told.
pub(crate) fn heard(home: &TestHome) -> Vec<Value> {
    noted(home)
        .into_iter()
        .map(|mut entry| entry["heard"].take())
        .filter(|h| !h.is_null())
        .collect()
}

fn noted(home: &TestHome) -> Vec<Value> {
    let text = std::fs::read_to_string(log_path(home)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn hear(what: Value) -> Value {
    json!({ "hear": what })
}

pub(crate) fn print(what: Value) -> Value {
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

pub(crate) fn events(home: &TestHome, args: &[&str]) -> Ran {
    run(home, [args, &["--format", "json"]].concat())
}

#[tokio::test]
async fn one_process_serves_turn_after_turn_and_every_message_is_acp() {
    let steps = [claude_opens(), claude_turn("first"), claude_turn("second")].concat();
    let home = imitated("claude", "", &steps);
    let client =
        SdkClient::ready(home.command(["acp", "claude"]), ClientBehavior::default()).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;

    assert_eq!(client.prompt(&session, "one").await.unwrap().text(), "first");
    assert_eq!(client.prompt(&session, "two").await.unwrap().text(), "second");

    let (exit, seen) = client.stop().await;
    assert!(exit.success(), "{exit}");
    Validator::v1().assert_valid(&seen);
    assert_eq!(starts(&home).len(), 1);
    let prompts: Vec<Value> = heard(&home).into_iter().filter(|h| h["type"] == "user").collect();
    assert_eq!(prompts[1]["message"]["content"][0]["text"], "two");
    home.assert_empty_within(PATIENCE);
}

#[tokio::test]
async fn a_question_of_the_cli_is_asked_and_the_answer_reaches_it() {
    for (permission, behavior) in
        [(PermissionReply::Allow, "allow"), (PermissionReply::Reject, "deny")]
    {
        let input = json!({ "file_path": "a.txt", "content": "hi" });
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
        let home = imitated("claude", "", &steps);
        let client_behavior = ClientBehavior::default().permission(permission);
        let client =
            SdkClient::ready(home.command(["acp", "claude"]), client_behavior).await.unwrap();
        let session = client.new_session(home.work()).await.unwrap().session_id;

        client.prompt(&session, "write").await.unwrap();

        let asked = client.permissions_asked();
        assert_eq!(asked.len(), 1);
        let call = serde_json::to_value(&asked[0].tool_call).unwrap();
        assert_eq!((&call["kind"], &call["rawInput"]), (&json!("edit"), &input));
        let path = home.work().canonicalize().unwrap().join("a.txt");
        assert_eq!(call["locations"][0]["path"], json!(path), "paths are absolute in ACP");
        assert_eq!(call["content"][0]["path"], json!(path));
        let (_, seen) = client.stop().await;
        Validator::v1().assert_valid(&seen);
        let told = heard(&home).into_iter().find(|h| h["type"] == "control_response").unwrap();
        assert_eq!(told["response"]["response"]["behavior"], behavior, "{told}");
    }
}

#[test]
fn a_flood_of_questions_is_refused_beyond_a_limit() {
    let ask = |n: usize| {
        print(json!({
            "type": "control_request", "request_id": format!("q{n}"),
            "request": { "subtype": "can_use_tool", "tool_name": "Bash",
                         "input": { "command": "true" }, "tool_use_id": format!("t{n}") },
        }))
    };
    let mut asks = vec![hear(json!({ "type": "user" }))];
    asks.extend((0..400).map(ask));
    asks.extend((0..400).map(|_| hear(json!({ "type": "control_response" }))));
    let home = imitated("claude", "", &[claude_opens(), asks, claude_says("done")].concat());
    let ran = events(&home, &["run", "claude", "go"]);
    assert_eq!(ran.text(), "done", "{}", ran.stderr);
    let answered = heard(&home).iter().filter(|h| h["type"] == "control_response").count();
    assert_eq!(answered, 400, "each exactly once");
}

#[test]
fn an_agent_needs_no_configuration_file() {
    let home = imitated("claude", "", &[claude_opens(), claude_turn("fine")].concat());
    std::fs::remove_file(home.path().join("switchyard.toml")).unwrap();
    let mut command = home.command(["run", "claude", "go", "--format", "quiet"]);
    let output = command.env("CLAUDE_BIN", bin(&home)).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "fine", "{output:?}");
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
    let home = imitated("claude", "", &[claude_opens(), slow].concat());
    let mut live = Live::start(home.command(["run", "claude", "go", "--format", "json"]));
    live.wait_for_kind("agent_message_chunk");
    live.signal(rustix::process::Signal::INT);
    let ran = live.finish();
    assert_eq!(ran.end()["stopReason"], "cancelled");
    let steps: Vec<Value> =
        ran.of_kind("cancel_step").iter().map(|step| step["step"].clone()).collect();
    assert_eq!(steps, [json!("notified")], "no harder step was needed");
    home.assert_empty_within(PATIENCE);
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
        let home = imitated(agent, extra, &[opens, deaf].concat());
        let args = ["run", agent, "go", "--format", "json", "--permissions", "auto"];
        let mut live = Live::start(home.command(args));
        live.wait_for_kind("agent_message_chunk");
        live.signal(rustix::process::Signal::INT);
        let ran = live.finish();
        assert_eq!(ran.end()["stopReason"], "cancelled", "{agent}");
        home.assert_empty_within(PATIENCE);
    }
}

#[test]
fn a_cli_that_dies_in_its_turn_ends_the_turn_and_not_the_session() {
    let dies = vec![
        hear(json!({ "type": "user" })),
        json!({ "stderr": "Segmentation fault, honestly" }),
        json!({ "exit": 7 }),
    ];
    let home = imitated("claude", "", &[claude_opens(), dies].concat());
    let ran = events(&home, &["run", "claude", "go"]);
    assert_eq!(ran.code, Some(1));
    let error = &ran.end()["error"];
    assert_eq!(error["category"], "process_exit", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("Segmentation fault") && message.contains('7'), "{message}");

    script(&home, &[claude_opens(), claude_turn("back again")].concat());
    let next = events(&home, &["run", "-s", "last", "and now"]);
    assert_eq!((next.code, &*next.text()), (Some(0), "back again"));
}

#[test]
fn the_next_process_resumes_by_the_id_that_we_chose() {
    let home = imitated("claude", "", &[claude_opens(), claude_turn("a")].concat());
    assert_eq!(events(&home, &["run", "claude", "one"]).code, Some(0));
    let next = events(&home, &["run", "-s", "last", "two"]);
    let resumed = &next.of_kind("session_resumed")[0];
    assert_eq!((&resumed["how"], &resumed["verified"]), (&json!("resume"), &json!("confirmed")));
    let starts = starts(&home);
    let id = starts[0].split("--session-id ").nth(1).unwrap().split(' ').next().unwrap();
    // The CLI said another one in its stream, and that is the one that counts.
    assert_eq!(id.len(), 36);
    assert!(starts[1].contains("--resume 11111111-1111-4111-8111-111111111111"), "{}", starts[1]);
}

#[test]
fn a_conversation_that_the_cli_has_lost_is_told_again() {
    let home = imitated("claude", "", &[claude_opens(), claude_turn("the answer")].concat());
    assert_eq!(events(&home, &["run", "claude", "the question"]).code, Some(0));
    let lost = vec![
        json!({ "if_args": "--resume", "then": 2 }),
        json!({ "stderr": "No conversation found with session ID: 1" }),
        json!({ "exit": 1 }),
    ];
    script(&home, &[lost, claude_opens(), claude_turn("I know")].concat());
    let next = events(&home, &["run", "-s", "last", "and?"]);
    assert_eq!((next.code, &*next.text()), (Some(0), "I know"), "{}", next.stderr);
    let resumed = &next.of_kind("session_resumed")[0];
    assert_eq!(resumed["how"], "reseed", "{resumed}");
    let prompt = heard(&home).into_iter().rfind(|h| h["type"] == "user").unwrap().to_string();
    assert!(prompt.contains("the question") && prompt.contains("the answer"), "{prompt}");
    assert!(prompt.contains("and?"), "{prompt}");
}

#[tokio::test]
async fn a_setting_that_takes_a_new_process_says_so_and_keeps_the_conversation() {
    let steps = [claude_opens(), claude_turn("first"), claude_turn("never")].concat();
    let home = imitated("claude", "", &steps);
    let client =
        SdkClient::ready(home.command(["acp", "claude"]), ClientBehavior::default()).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    client.prompt(&session, "one").await.unwrap();
    let params = json!({ "sessionId": session, "configId": "effort", "value": "high" });
    client.call("session/set_config_option", params).await.unwrap();
    script(&home, &[claude_opens(), claude_turn("second")].concat());

    let said = client.prompt(&session, "two").await.unwrap().text();
    // A client that takes no notices reads them as words.
    assert!(said.starts_with("\n\neffort_changed") && said.ends_with("\n\nsecond"), "{said}");

    Validator::v1().assert_valid(&client.stop().await.1);
    let starts = starts(&home);
    assert!(starts[1].contains("--effort high") && starts[1].contains("--resume"), "{starts:?}");
    let log = run(&home, ["sessions", "export", "last"]);
    assert!(log.lines.iter().any(|line| line.contains("effort_changed")), "{:#?}", log.lines);
}

#[tokio::test]
async fn a_session_that_is_resumed_in_another_directory_says_so() {
    let home = imitated("claude", "", &[claude_opens(), claude_turn("first")].concat());
    let start = || SdkClient::ready(home.command(["acp", "claude"]), ClientBehavior::default());
    let client = start().await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    client.prompt(&session, "one").await.unwrap();
    client.stop().await;
    let elsewhere = home.user().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();

    let client = start().await.unwrap();
    client.resume_session(&session, &elsewhere).await.unwrap();
    client.stop().await;

    let log = run(&home, ["sessions", "export", "last"]);
    let changed = log.of_kind("session_resumed")[0]["changed"][0].to_string();
    assert!(changed.contains("cwd_changed") && changed.contains("elsewhere"), "{changed}");
}
