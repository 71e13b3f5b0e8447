//! The chat at a real terminal, and without one.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome, switchyard, wait_until};

use crate::chat_stage::Pane;

fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

fn run(home: &TestHome, words: &[&str]) -> Output {
    home.command(words).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// The chat's process, found by what it was started as.
fn chat_pid(home: &TestHome) -> Pid {
    let found = home.left_over().into_iter().find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&b"chat".as_slice())
    });
    Pid::from_raw(i32::try_from(found.unwrap()).unwrap()).unwrap()
}

#[test]
fn a_conversation_with_a_permission() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("say hello");
    pane.wait_for("demo agent");
    pane.line("plan ; diff src/main.rs ; permission execute rm -rf build");
    pane.wait_for("a number or letter answers");
    let screen = pane.screen();
    assert!(screen.contains("Allow once (y)") && screen.contains("rm -rf build"), "{screen}");
    pane.press(&["1"]);
    let screen = pane.wait_for("allowed by you");
    assert!(screen.contains("Plan") || screen.contains('+'), "{screen}");
    pane.line("permission execute rm -rf /");
    pane.wait_for("a number or letter answers");
    pane.press(&["n"]);
    pane.wait_for("rejected by you");
    let exported = text(&run(&home, &["sessions", "export", "last"]));
    assert_eq!(exported.matches("\"kind\":\"permission_resolved\"").count(), 2, "{exported}");
    pane.line("/quit");
    pane.assert_given_back();
    assert!(pane.screen().contains("goes on with it"), "{}", pane.screen());
}

#[test]
fn a_turn_is_cancelled_and_what_waits_with_it() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("slow 100000 20");
    pane.wait_for("working");
    pane.line("say never");
    pane.wait_for("waits: say never");
    pane.press(&["Escape"]);
    pane.wait_for("cancelled");
    pane.wait_for("not sent");
    pane.line("say after");
    pane.wait("an answer after", |screen| screen.lines().any(|line| line.trim() == "after"));
}

#[test]
fn the_screen_follows_its_size() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("markdown");
    pane.wait_for("A small sample");
    for (columns, rows) in [(30, 8), (10, 3), (160, 50)] {
        pane.resize(columns, rows);
        let size = format!("{columns}x{rows}");
        pane.wait("the size", |_| pane.ask("#{pane_width}x#{pane_height}") == size);
    }
    pane.wait_for("A small sample");
    pane.line("say still there");
    pane.wait("the answer", |screen| screen.lines().any(|line| line.trim() == "still there"));
    pane.press(&["PageUp"]);
    pane.press(&["C-End"]);
}

#[test]
fn keys_that_come_with_another_size_are_not_left_lying() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    for (n, word) in ["ham", "eggs", "tea", "jam", "rye"].into_iter().enumerate() {
        pane.resize(80 + u16::try_from(n).unwrap(), 30);
        pane.type_in(word);
        pane.wait_for(word);
    }
    pane.wait_for("hameggsteajamrye");
}

#[test]
fn a_signal_gives_the_terminal_back_and_ends_the_agent() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let home = home();
        let pane = Pane::chat(&home, "demo");
        pane.line("slow 100000 20");
        pane.wait_for("working");
        kill_process(chat_pid(&home), signal).unwrap();
        pane.assert_given_back();
        drop(pane);
        home.assert_empty_within(PATIENCE);
    }
}

#[test]
fn a_terminal_that_is_closed_ends_the_chat() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("slow 100000 20");
    pane.wait_for("working");
    drop(pane);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn several_lines_are_pasted_as_one_prompt() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.paste("echo first-line\necho second-line\n");
    let screen = pane.wait_for("echo second-line");
    assert!(screen.contains("echo first-line"), "{screen}");
    // A paste sends nothing by itself.
    let exported = text(&run(&home, &["sessions", "export", "last"]));
    assert!(!exported.contains("prompt_received"), "{exported}");
    pane.press(&["Enter"]);
    pane.wait("the answer", |screen| {
        screen.contains("first-linesecond-line") || screen.matches("second-line").count() > 1
    });
    let exported = text(&run(&home, &["sessions", "export", "last"]));
    assert_eq!(exported.matches("\"kind\":\"prompt_received\"").count(), 1, "{exported}");
}

#[test]
fn nothing_that_an_agent_says_reaches_the_terminal_as_more_than_text() {
    let home = home();
    // Wide enough for no line to be broken.
    let pane = Pane::open(&home, 400, 40);
    pane.line("\"$EXE\" chat demo");
    pane.wait_for("type a prompt");
    let title = pane.ask("#{pane_title}");
    let evil = r"\u001b]0;owned\u0007\u001b[2J\u009b31m\u001b]52;c;b3duZWQ=\u0007&#27;[5m\u202e end-of-evil";
    let chunk =
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"EVIL"}}"#;
    let tool = r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"EVIL","kind":"execute","status":"completed","content":[{"type":"content","content":{"type":"text","text":"EVIL"}}]}"#;
    for (update, n_times) in [(chunk, 1), (tool, 3)] {
        pane.paste(&format!("update {}", update.replace("EVIL", evil)));
        pane.wait_for("end-of-evil");
        pane.press(&["Enter"]);
        pane.wait("an answer", |screen| screen.matches(r"\x1b]0;owned\x07").count() >= n_times);
    }
    assert_eq!(pane.ask("#{pane_title}"), title);
    let bytes = std::fs::read(&pane.record).unwrap();
    let has = |what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
    assert!(!has(b"\x1b]0;owned") && !has(b"\x1b]52") && !has("\u{202e}".as_bytes()));
    assert!(!has(b"\xc2\x9b"), "a control character of two bytes got through");
}

#[test]
fn it_is_suspended_and_comes_back() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("say before");
    pane.wait("the answer", |screen| screen.lines().any(|line| line.trim() == "before"));
    pane.press(&["C-z"]);
    pane.wait("the shell", |screen| screen.contains("Stopped") || screen.contains("Suspended"));
    assert_eq!(pane.ask("#{alternate_on}"), "0");
    pane.line("fg");
    pane.wait_for("type a prompt");
    pane.line("say afterwards");
    pane.wait("the answer", |screen| screen.lines().any(|line| line.trim() == "afterwards"));
    pane.press(&["C-d"]);
    pane.assert_given_back();
    // A terminal that is slow to answer must not end the chat, so it is asked for nothing.
    let bytes = std::fs::read(&pane.record).unwrap();
    assert!(
        !bytes.windows(4).any(|window| window == b"\x1b[6n"),
        "the cursor's place is asked for"
    );
}

#[test]
fn what_was_typed_is_there_in_the_next_run() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("say remember-me");
    pane.wait("the answer", |screen| screen.matches("remember-me").count() > 1);
    pane.press(&["C-c"]);
    pane.wait_for("Ctrl-C again quits");
    pane.press(&["C-c"]);
    pane.assert_given_back();
    let mode = home.path().join("chat-history").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    pane.line("clear; \"$EXE\" chat --continue");
    pane.wait_for("type a prompt");
    pane.wait("the session", |screen| screen.matches("remember-me").count() > 1);
    pane.press(&["Up"]);
    pane.wait_for("› say remember-me");
}

#[test]
fn others_take_part_and_questions_from_before_are_answered() {
    let home = home();
    let daemon = Daemon::start(&home);
    let mut other = home
        .command(["run", "demo", "permission execute make", "--format", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Unattended, it rejects; what matters is that the session is there.
    other.wait().unwrap();
    let pane = Pane::chat(&home, "-s last");
    pane.wait_for("make");
    let id = pane_session(&home);
    let url = daemon.url(&format!("/v1/sessions/{id}/prompt"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let body = serde_json::json!({ "prompt": "permission execute from-elsewhere" });
    let sent = runtime.block_on(daemon.client().post(url).json(&body).send()).unwrap();
    assert!(sent.status().is_success(), "{sent:?}");
    pane.wait_for("from-elsewhere");
    pane.wait_for("a number or letter answers");
    // Left and found again: the question is still there.
    pane.press(&["C-d"]);
    pane.assert_given_back();
    pane.line("clear; \"$EXE\" chat -s last");
    pane.wait_for("a number or letter answers");
    pane.press(&["y"]);
    pane.wait_for("allowed by you");
}

fn pane_session(home: &TestHome) -> String {
    let listed = run(home, &["sessions", "list", "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    all[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_daemon_that_was_killed_is_found_again_and_nothing_is_doubled() {
    let home = home();
    let daemon = Daemon::start(&home);
    let pane = Pane::chat(&home, "demo");
    pane.line("say one-answer");
    pane.wait("the answer", |screen| screen.lines().any(|line| line.trim() == "one-answer"));
    daemon.kill9();
    pane.wait_for("the connection is lost");
    let _daemon = Daemon::start(&home);
    pane.wait("the connection", |screen| !screen.contains("the connection is lost"));
    pane.line("say two-answer");
    let screen =
        pane.wait("the answer", |screen| screen.lines().any(|line| line.trim() == "two-answer"));
    let n_said = screen.lines().filter(|line| line.trim() == "one-answer").count();
    assert_eq!(n_said, 1, "{screen}");
}

#[test]
fn agents_and_sessions_are_picked() {
    let home = home();
    let pane = Pane::open(&home, 100, 30);
    pane.line("\"$EXE\" chat demo");
    pane.wait_for("type a prompt");
    // In the bar at the bottom; while it is typed it also stands in the prompt.
    let is_titled = |screen: &str| {
        screen.trim_end().lines().last().is_some_and(|bar| bar.contains("The first one"))
    };
    pane.line("/title The first one");
    pane.wait("the title", is_titled);
    pane.line("/new");
    pane.wait("another session", |screen| !is_titled(screen));
    pane.line("/sessions");
    pane.wait("the list", |screen| screen.contains("Sessions") && screen.contains("The first one"));
    pane.type_in("first");
    pane.press(&["Enter"]);
    pane.wait("the first session", is_titled);
    pane.line("/help");
    pane.wait_for("Commands");
    pane.press(&["Escape"]);
    pane.wait("the end of help", |screen| !screen.contains("Commands"));
}

#[test]
fn a_session_in_which_nothing_was_said_does_not_stay() {
    let listed = |home: &TestHome| text(&run(home, &["sessions", "list", "--json"]));
    let leave = |pane: &Pane<'_>| {
        pane.line("/quit");
        pane.assert_given_back();
        pane.screen()
    };
    for is_daemon_there in [false, true] {
        let home = home();
        let _daemon = is_daemon_there.then(|| Daemon::start_with(&home, &[]));
        let screen = leave(&Pane::chat(&home, "demo"));
        assert!(!screen.contains("goes on with it"), "{screen}");
        assert_eq!(listed(&home).trim(), "[]");

        // One that is used stays, also when somebody comes back and says nothing.
        let pane = Pane::chat(&home, "demo");
        pane.line("echo kept");
        pane.wait("an answer", |screen| screen.lines().any(|line| line.trim() == "kept"));
        assert!(leave(&pane).contains("goes on with it"));
        leave(&Pane::chat(&home, "--continue"));
        assert!(listed(&home).contains("echo kept"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_somebody_else_stays_although_nothing_was_said() {
    let home = home();
    let daemon = Daemon::start_with(&home, &["--agent", "demo"]);
    let order = serde_json::json!({ "cwd": home.work() });
    let made = daemon.client().post(daemon.url("/v1/sessions")).json(&order).send().await.unwrap();
    let made: serde_json::Value = made.json().await.unwrap();
    let id = made["id"].as_str().unwrap().to_owned();
    let pane = Pane::chat(&home, &format!("-s {id}"));
    pane.line("/quit");
    pane.assert_given_back();
    assert!(text(&run(&home, &["sessions", "list", "--json"])).contains(&id));
}

fn piped(home: &TestHome, words: &[&str], input: &str) -> Output {
    let mut child = home
        .command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn without_a_terminal_each_line_is_a_prompt() {
    let home = home();
    let said = piped(&home, &["chat", "demo"], "say one\n\nsay two\n");
    assert!(said.status.success(), "{}", text(&said));
    let out = String::from_utf8_lossy(&said.stdout).into_owned();
    let (one, two) = (out.find("one").unwrap(), out.find("two").unwrap());
    assert!(one < two && !out.contains('\u{1b}'), "{out:?}");
    home.assert_empty_within(PATIENCE);
    let again = piped(&home, &["chat", "--continue"], "recall");
    assert!(again.status.success(), "{}", text(&again));
    assert_eq!(piped(&home, &["chat", "demo"], "permission\n").status.code(), Some(5));
    assert_eq!(piped(&home, &["chat", "demo"], "fail 1 broken\n").status.code(), Some(1));
    assert!(!piped(&home, &["chat", "nobody"], "hello\n").status.success());
    assert!(piped(&home, &["chat", "demo"], "").status.success());
}

#[test]
fn a_signal_stops_the_turn_of_plain_lines() {
    let home = home();
    let mut child = home
        .command(["chat", "demo"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(b"slow 100000 10\n").unwrap();
    let begun = wait_until(PATIENCE, || {
        text(&run(&home, &["sessions", "export", "last"])).contains("agent_message_chunk")
    });
    assert!(begun);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    // A reader that goes away would be another reason to end.
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    home.assert_empty_within(PATIENCE);
}
