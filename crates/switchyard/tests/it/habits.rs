//! Agents with habits of their own, imitated: what each of them does was seen with a real one.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use testkit::test_home::{PATIENCE, TestHome, wait_until};

use crate::attacks::{agent, agent_that_can};
use crate::chat_stage::Pane;
use crate::faults::configured;

fn home() -> TestHome {
    testkit::test_home::switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

fn run(home: &TestHome, args: &[&str], agent: &str) -> Output {
    let args = [&["run"], args, &["--", "sh", agent]].concat();
    home.command(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A line of shell that sends an update of session `s`.
fn says(update: &str) -> String {
    let params = format!(r#"{{"sessionId":"s","update":{update}}}"#);
    let line = format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#);
    format!("printf '%s\\n' '{line}'")
}

fn chunk(kind: &str, text: &str) -> String {
    says(&format!(r#"{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"{text}"}}}}"#))
}

#[test]
fn an_agent_that_replays_while_it_resumes_is_not_heard_twice() {
    let home = home();
    let replay = [
        chunk("user_message_chunk", "the first question"),
        chunk("agent_thought_chunk", "an old thought"),
        says(
            r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"old","status":"completed"}"#,
        ),
        chunk("agent_message_chunk", "the first answer"),
        says(r#"{"sessionUpdate":"session_info_update","title":"a title of its own"}"#),
    ]
    .join("\n");
    let cases = format!(
        "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n\
         *'\"session/resume\"'*) {replay}; answer '{{}}';;\n\
         *'the first question'*) {first}; answer '{{\"stopReason\":\"end_turn\"}}';;\n\
         *'\"session/prompt\"'*) {second}; answer '{{\"stopReason\":\"end_turn\"}}';;",
        first = chunk("agent_message_chunk", "the first answer"),
        second = chunk("agent_message_chunk", "the second answer"),
    );
    let agent = agent_that_can(&home, r#"{"sessionCapabilities":{"resume":{}}}"#, &cases);
    assert!(run(&home, &["the first question"], &agent).status.success());

    let again = ["run", "-s", "last", "and then", "--format", "quiet"];
    let again = home.command(again).output().unwrap();

    assert_eq!(text(&again.stdout), "the second answer\n", "{again:?}");
    let log = home.command(["sessions", "export", "last", "--format", "json"]).output().unwrap();
    let log = text(&log.stdout);
    assert_eq!(log.matches("the first answer").count(), 1, "{log}");
    assert!(!log.contains("an old thought") && !log.contains(r#""toolCallId":"t""#), "{log}");
    assert!(log.contains("a title of its own"), "{log}");
    assert!(log.contains(r#""how":"resume","verified":"replayed""#), "{log}");
    home.assert_empty_within(PATIENCE);
}

/// A line of shell that asks whether to go on, as request 77.
fn asks(kind: &str, options: &[(&str, &str)]) -> String {
    let options: Vec<String> = options
        .iter()
        .map(|(id, kind)| format!(r#"{{"optionId":"{id}","name":"{id}","kind":"{kind}"}}"#))
        .collect();
    let call = format!(r#"{{"toolCallId":"c","title":"Confirm","kind":"{kind}"}}"#);
    let params =
        format!(r#"{{"sessionId":"s","toolCall":{call},"options":[{}]}}"#, options.join(","));
    let method = "session/request_permission";
    let line = format!(r#"{{"jsonrpc":"2.0","id":77,"method":"{method}","params":{params}}}"#);
    format!("printf '%s\\n' '{line}'")
}

fn heard(home: &TestHome) -> String {
    fs::read_to_string(home.work().join("heard")).unwrap_or_default()
}

const GRANTS: [(&str, &str); 4] = [
    ("accept", "allow_once"),
    ("reject", "reject_once"),
    ("always_proceed", "allow_always"),
    ("risk_based", "allow_once"),
];

#[test]
fn of_two_options_that_allow_once_the_first_is_taken_and_named() {
    let home = home();
    let cases = format!(
        "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n\
         *'\"session/prompt\"'*) prompt=$id; {};;\n\
         *'\"outcome\"'*) id=$prompt; answer '{{\"stopReason\":\"end_turn\"}}';;",
        asks("other", &GRANTS)
    );
    let agent = agent(&home, &cases);

    let output = run(&home, &["hi", "--approve-all"], &agent);

    assert!(output.status.success(), "{output:?}");
    assert!(heard(&home).contains(r#""optionId":"accept""#), "{}", heard(&home));
    let shown = text(&output.stdout);
    assert!(shown.contains("allowed once (“accept”) by the permission mode (auto)"), "{shown}");
    home.assert_empty_within(PATIENCE);
}

#[test]
fn an_agent_that_cancels_its_turn_when_it_is_told_no_is_not_said_to_be_interrupted() {
    let home = home();
    let cases = format!(
        "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n\
         *'\"session/prompt\"'*) prompt=$id; {};;\n\
         *'\"outcome\"'*) id=$prompt; answer '{{\"stopReason\":\"cancelled\"}}';;",
        asks("execute", &GRANTS)
    );
    let agent = agent(&home, &cases);

    let output = run(&home, &["hi"], &agent);

    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(text(&output.stderr).contains("hint: nobody was there to ask"), "{output:?}");
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_question_that_comes_while_a_mode_is_set_is_asked_at_the_terminal() {
    let home = home();
    let modes = r#"{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}}"#;
    // It sets nothing before it has its answer.
    let cases = format!(
        "*'\"session/new\"'*) answer '{modes}';;\n\
         *'\"session/set_mode\"'*) setting=$id; {};;\n\
         *'\"outcome\"'*) id=$setting; answer '{{}}';;\n\
         *'\"session/prompt\"'*) answer '{{\"stopReason\":\"end_turn\"}}';;",
        asks("other", &GRANTS)
    );
    let agent = agent(&home, &cases);
    let pane = Pane::open(&home, 100, 30);

    pane.line(&format!("\"$EXE\" run hi --mode b -- sh '{agent}'; echo ended-$?"));
    pane.wait_for("(1-4, y is 1, n;");
    pane.line("y");
    pane.wait_for("ended-0");

    assert!(heard(&home).contains(r#""optionId":"accept""#), "{}", heard(&home));
    assert!(heard(&home).contains("session/prompt"), "{}", heard(&home));
}

/// A command with a program called `name` on its `PATH`, which is the agent.
fn by_name(home: &TestHome, name: &str, agent: &str, args: &[&str]) -> Command {
    let bin = home.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && exec echo 1.2.3\nexec sh '{agent}'\n");
    testkit::test_executables::write(&bin.join(name), &script);
    let mut command = home.command(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

/// All events of the last session.
fn log(home: &TestHome) -> Vec<Value> {
    let export = ["sessions", "export", "last", "--format", "json"];
    let output = home.command(export).output().unwrap();
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_error_that_goose_gives_as_its_answer_is_one() {
    let home = home();
    let cases = format!(
        "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n\
         *'\"session/prompt\"'*) {}; answer '{{\"stopReason\":\"end_turn\"}}';;",
        chunk("agent_message_chunk", "Ran into this error: Authentication failed. Status: 401."),
    );
    let agent = agent(&home, &cases);

    let output = by_name(&home, "goose", &agent, &["run", "goose", "hi"]).output().unwrap();

    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let end = log(&home).into_iter().find(|event| event["kind"] == "turn_ended").unwrap();
    assert_eq!(end["payload"]["error"]["category"], "auth", "{end}");
    home.assert_empty_within(PATIENCE);
}

#[test]
fn nobody_waits_for_the_end_of_an_agent_that_is_known_to_stay() {
    let home = configured("[waits]\nafter_eof = \"1h\"\n");
    let cases = "*'\"session/new\"'*) answer '{\"sessionId\":\"s\"}';;\n\
         *'\"session/prompt\"'*) answer '{\"stopReason\":\"end_turn\"}';;";
    let agent = agent(&home, cases);
    let stays = format!("{}sleep 7200\n", fs::read_to_string(&agent).unwrap());
    fs::write(&agent, stays).unwrap();

    let output = by_name(&home, "goose", &agent, &["run", "goose", "hi"]).output().unwrap();

    assert!(output.status.success(), "{output:?}");
    home.assert_empty_within(PATIENCE);
}

/// Runs two turns of an agent that tells `sums` of tokens; what the turns are said to have taken.
fn tokens_of_turns(name: &str, sums: [u32; 2]) -> (Vec<Value>, String) {
    let home = home();
    let told = |sum: u32| {
        format!(
            r#"{{"stopReason":"end_turn","usage":{{"inputTokens":{sum},"outputTokens":1,"totalTokens":{sum}}}}}"#
        )
    };
    let cases = format!(
        "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n\
         *'\"session/load\"'*) {}; answer '{{}}';;\n\
         *'first'*) answer '{}';;\n\
         *'\"session/prompt\"'*) answer '{}';;",
        chunk("user_message_chunk", "first"),
        told(sums[0]),
        told(sums[1]),
    );
    let agent = agent_that_can(&home, r#"{"loadSession":true}"#, &cases);
    let permit = "--permissions=auto";
    assert!(
        by_name(&home, name, &agent, &["run", name, "first", permit])
            .output()
            .unwrap()
            .status
            .success()
    );
    let args = ["run", "-s", "last", "second", permit];
    let second = by_name(&home, name, &agent, &args).output().unwrap();
    assert!(second.status.success(), "{second:?}");
    let ends = log(&home).into_iter().filter(|event| event["kind"] == "turn_ended");
    let tokens = ends.map(|end| end["payload"]["usage"]["totalTokens"].clone()).collect();
    (tokens, text(&second.stdout))
}

#[test]
fn tokens_are_those_of_the_turn_whatever_the_agent_counts() {
    // The whole session, also after another start.
    let (tokens, shown) = tokens_of_turns("copilot", [1200, 2500]);
    assert_eq!(tokens, [1200, 1300]);
    assert!(shown.contains("1300 tokens in"), "{shown}");
    // The last request of a turn to the model.
    let (tokens, shown) = tokens_of_turns("goose", [1200, 2500]);
    assert_eq!(tokens, [1200, 2500]);
    assert!(shown.contains("at least 2500 tokens in"), "{shown}");
}

#[test]
fn a_command_that_runs_is_shown_while_it_runs() {
    for call in [
        r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"make the world","status":"pending"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"make the world","kind":"execute"}"#,
    ] {
        let home = home();
        let go = home.work().join("go");
        let cases = format!(
            "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n\
             *'\"session/prompt\"'*) {}\nwhile [ ! -e '{}' ]; do sleep 0.05; done\n\
             answer '{{\"stopReason\":\"end_turn\"}}';;",
            says(call),
            go.display(),
        );
        let agent = agent(&home, &cases);
        let mut command = home.command(["run", "hi", "--", "sh", &agent]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, shown) = std::sync::mpsc::channel();
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stdout.read(&mut buffer) {
                let _ = sender.send(text(buffer.get(..n).unwrap_or_default()));
            }
        });

        let mut so_far = String::new();
        let is_shown = wait_until(PATIENCE, || {
            so_far.extend(shown.try_iter());
            so_far.contains("make the world")
        });

        fs::write(&go, "").unwrap();
        assert!(child.wait().unwrap().success());
        reading.join().unwrap();
        assert!(is_shown, "{so_far}");
        home.assert_empty_within(PATIENCE);
    }
}
