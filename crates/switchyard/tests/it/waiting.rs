//! What a person sees while something takes long, and what a script does not.

use std::process::Stdio;

use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome, switchyard, wait_until};

use crate::chat_stage::Pane;

/// An agent that takes its time.
const SLOW: &str = "-- sh -c 'sleep 4; exec \"$EXE\" demo-agent'";

fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

#[test]
fn a_slow_start_has_a_sign_of_life_that_leaves_no_trace() {
    let home = home();
    let pane = Pane::open(&home, 100, 30);
    pane.line(&format!("clear; \"$EXE\" run 'say it-answers' {SLOW}; echo ended-$((1 + 1))"));
    pane.wait("a spinner", |screen| screen.lines().any(is_turning));
    let screen = pane.wait_for("ended-2");
    assert!(screen.contains("it-answers") && !screen.lines().any(is_turning), "{screen}");
}

#[test]
fn a_chat_says_that_it_opens() {
    let home = home();
    let pane = Pane::open(&home, 100, 30);
    pane.line(&format!("\"$EXE\" chat {SLOW}"));
    pane.wait_for("opening");
    pane.wait_for("type a prompt");
}

#[test]
fn without_a_terminal_on_stderr_nothing_turns() {
    let home = home();
    let pane = Pane::open(&home, 100, 30);
    let (said, err) = (home.path().join("out"), home.path().join("err"));
    pane.line(&format!(
        "\"$EXE\" run 'say it-answers' {SLOW} 2>'{}' >'{}'; echo ended-$((1 + 1))",
        err.display(),
        said.display(),
    ));
    pane.wait_for("ended-2");
    let err = std::fs::read_to_string(err).unwrap();
    assert!(!err.lines().any(is_turning) && !err.contains('\u{1b}'), "{err:?}");
    assert!(!err.contains('…'), "{err:?}");
    assert!(std::fs::read_to_string(said).unwrap().contains("it-answers"));
}

fn is_turning(line: &str) -> bool {
    line.chars().next().is_some_and(|c| ('\u{2800}'..='\u{28ff}').contains(&c))
}

/// Attaches without anybody who types; gives back the exit code and what was shown.
fn attached(home: &TestHome) -> (Option<i32>, String) {
    let words = ["attach", "last"];
    let output = home.command(words).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text + &String::from_utf8_lossy(&output.stderr))
}

/// Somebody who is attached, and has seen what was said before.
fn attaching(home: &TestHome) -> std::process::Child {
    let shown = home.path().join("shown");
    let child = home
        .command(["attach", "last"])
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&shown).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(wait_until(PATIENCE, || std::fs::read_to_string(&shown).unwrap().contains("made")));
    child
}

fn begin(home: &TestHome, daemon: &Daemon, prompts: &[&str]) -> String {
    let output = home.command(["run", "demo", "say made"]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let listed = home.command(["sessions", "list", "--json"]).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = all[0]["id"].as_str().unwrap().to_owned();
    for prompt in prompts {
        post(
            daemon,
            &format!("/v1/sessions/{id}/prompt"),
            &serde_json::json!({ "prompt": prompt }),
        );
    }
    id
}

fn post(daemon: &Daemon, path: &str, body: &serde_json::Value) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let request = daemon.client().post(daemon.url(path)).json(body).send();
    let sent = runtime.block_on(request).unwrap();
    assert!(sent.status().is_success(), "{sent:?}");
}

#[test]
fn an_attachment_without_input_ends_with_the_turn_and_says_how_it_went() {
    let home = home();
    let daemon = Daemon::start(&home);
    begin(&home, &daemon, &[]);
    assert_eq!(attached(&home).0, Some(0));
    begin(&home, &daemon, &["slow 20 50 ; say first-done", "say second-done"]);
    let (code, text) = attached(&home);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("first-done") && text.contains("second-done"), "{text}");
    begin(&home, &daemon, &["slow 20 50 ; fail 1 broken"]);
    let (code, text) = attached(&home);
    assert_eq!(code, Some(1), "{text}");
}

#[test]
fn an_attachment_without_input_ends_when_the_turn_is_stopped_or_the_session_deleted() {
    let home = home();
    let daemon = Daemon::start(&home);
    let id = begin(&home, &daemon, &["slow 100000 20", "say never"]);
    let mut waiting = attaching(&home);
    post(&daemon, &format!("/v1/sessions/{id}/cancel"), &serde_json::json!({}));
    assert_eq!(waiting.wait().unwrap().code(), Some(130));

    let id = begin(&home, &daemon, &["slow 100000 20"]);
    let mut waiting = attaching(&home);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let gone = daemon.client().delete(daemon.url(&format!("/v1/sessions/{id}"))).send();
    assert!(runtime.block_on(gone).unwrap().status().is_success());
    let mut ended = None;
    assert!(wait_until(PATIENCE, || {
        ended = waiting.try_wait().unwrap();
        ended.is_some()
    }));
    assert!(!ended.unwrap().success());
}

#[test]
fn a_chat_that_nobody_says_anything_in_leaves_no_session() {
    let home = home();
    let words = ["chat", "demo"];
    let output = home.command(words).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let listed = home.command(["sessions", "list", "--json"]).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(all, serde_json::json!([]));
}
