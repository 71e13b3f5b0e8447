//! `run --stdin`: messages in, turns of one session out.
//!
//! In: the real binary with lines on its stdin. Out: one turn for each, in order, in the words of
//! the format, and an exit code that tells how it went.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome};

use crate::cli::{Ran, last};
use crate::front::home;

const ENVELOPES: [&str; 5] = ["run", "demo", "--stdin", "--format", "envelopes"];

fn start(home: &TestHome, args: &[&str]) -> Child {
    let mut command = home.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs it with all of `input`, to its end.
fn run(home: &TestHome, args: &[&str], input: &[u8]) -> Ran {
    let mut child = start(home, args);
    // It may have ended already, because the words were wrong.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap().into()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What was said by whom, and how turns ended.
fn told(envelopes: &[Value]) -> Vec<String> {
    let told = |envelope: &Value| {
        let ev = &envelope["ev"];
        let words = ev["text"].as_str().or(ev["status"].as_str()).unwrap_or_default();
        format!("{} {} {}", envelope["role"].as_str()?, ev["t"].as_str()?, words.trim()).into()
    };
    envelopes.iter().filter_map(told).collect()
}

/// Reads envelopes until one of them is a `t`.
fn read_until(stdout: &mut BufReader<ChildStdout>, t: &str) -> Vec<Value> {
    let mut read = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "it ended before {t}: {read:?}");
        read.push(serde_json::from_str::<Value>(&line).unwrap());
        if read.last().unwrap()["ev"]["t"] == t {
            return read;
        }
    }
}

#[test]
fn every_line_is_a_turn_of_one_session_and_a_failed_one_ends_nothing() {
    let home = home();
    for with_daemon in [false, true] {
        let _daemon = with_daemon.then(|| Daemon::start(&home));
        let ran = run(&home, &ENVELOPES, b"echo one\n\nfail -32603 boom\r\necho three");
        let told = told(&lines(&ran.out));
        let expected = [
            "user text echo one",
            "agent turn-start ",
            "agent text one",
            "agent turn-end completed",
            "user text fail -32603 boom",
            "agent turn-start ",
            "agent service Error: ",
            "agent turn-end failed",
            "user text echo three",
            "agent turn-start ",
            "agent text three",
            "agent turn-end completed",
        ];
        let is_as_expected = |(told, expected): (&String, &&str)| match expected.ends_with(": ") {
            true => told.starts_with(expected.trim_end()),
            false => told == expected,
        };
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        assert!(told.iter().zip(&expected).all(is_as_expected), "{told:#?}");
        assert_eq!(ran.code, 1, "of the turn that failed: {ran:?}");
        assert_eq!(last(&home)["status"], "idle");
    }
}

#[test]
fn one_agent_answers_all_and_the_session_can_be_an_earlier_one() {
    let home = home();
    let quiet = ["run", "demo", "--stdin", "--format", "quiet"];
    let ran = run(&home, &quiet, b"pid\npid\nremember the sea\n");
    let said: Vec<&str> = ran.out.lines().collect();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(said[0], said[1], "the agent was started anew: {ran:?}");

    let again = run(&home, &["run", "-s", "last", "--stdin", "--format", "quiet"], b"recall\n");
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.out.contains("the sea"), "{again:?}");
    let sessions = run(&home, &["sessions", "list", "--json"], b"");
    assert_eq!(serde_json::from_str::<Vec<Value>>(&sessions.out).unwrap().len(), 1);
}

#[test]
fn the_next_message_may_depend_on_the_answer_before() {
    let home = home();
    let mut child = start(&home, &ENVELOPES);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for words in ["first", "second"] {
        writeln!(stdin, "echo {words}").unwrap();
        let turn = read_until(&mut stdout, "turn-end");
        assert!(turn.iter().any(|one| one["ev"]["text"] == words), "{turn:?}");
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_line_that_cannot_be_read_is_told_with_its_number_and_passed_over() {
    let home = home();
    let ran = run(&home, &ENVELOPES, b"echo one\nb\xffd\necho three\n");
    let told = told(&lines(&ran.out));
    assert!(told.iter().any(|told| told == "agent text three"), "{told:?}");
    assert!(ran.err.contains("message 2 on stdin"), "{ran:?}");
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn nothing_is_started_for_nothing_and_words_that_make_no_sense_are_refused() {
    let home = home();
    let ran = run(&home, &ENVELOPES, b"\n \n");
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "", ""));
    let sessions = run(&home, &["sessions", "list", "--json"], b"");
    assert_eq!(sessions.out.trim(), "[]");

    for (args, expected) in [
        (&["run", "demo", "hello", "--stdin"][..], "every prompt is a line on stdin"),
        (&["run", "word", "--stdin", "--", "cmd"][..], "every prompt is a line on stdin"),
        (&["run", "--stdin"][..], "which agent"),
        (&["run"][..], "required"),
    ] {
        let ran = run(&home, args, b"echo x\n");
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{args:?}: {ran:?}");
    }
}

#[test]
fn questions_that_nobody_can_answer_are_rejected_turn_by_turn() {
    let home = home();
    for with_daemon in [false, true] {
        let _daemon = with_daemon.then(|| Daemon::start(&home));
        let ran = run(&home, &ENVELOPES, b"permission\necho after\n");
        let told = told(&lines(&ran.out));
        assert!(told.iter().any(|told| told == "agent text after"), "{told:?}");
        assert_eq!(ran.code, 5, "{ran:?}");
        let allowed = [&ENVELOPES[..], &["--approve-all"]].concat();
        assert_eq!(run(&home, &allowed, b"permission\n").code, 0);
    }
}

#[test]
fn a_signal_cancels_the_turn_and_ends_the_run() {
    for (message, sent, code) in [
        // In a turn, with another message behind it; and while the next message is awaited.
        ("echo begun\necho again ; hang\necho never", Signal::INT, 130),
        ("echo begun", Signal::TERM, 143),
    ] {
        let home = home();
        let mut child = start(&home, &ENVELOPES);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        writeln!(stdin, "{message}").unwrap();
        read_until(&mut stdout, "turn-end");
        if message.contains("hang") {
            while read_until(&mut stdout, "text").last().unwrap()["ev"]["text"] != "again" {}
        }
        kill_process(Pid::from_child(&child), sent).unwrap();
        let rest: Vec<_> = stdout.lines().map(Result::unwrap).collect();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{message}");
        let rest = told(&lines(&rest.join("\n")));
        assert!(!rest.iter().any(|told| told.contains("never")), "{rest:?}");
        assert_eq!(rest.iter().any(|told| told.contains("cancelled")), message.contains("hang"));
        assert_eq!(last(&home)["status"], "idle");
        drop(stdin);
        home.assert_empty_within(PATIENCE);
    }
}

#[test]
fn a_prompt_that_is_not_taken_has_its_end_too() {
    let home = home();
    for format in ["envelopes", "ui"] {
        let args = ["run", "demo", "--stdin", "--max-turns", "1", "--format", format];
        let ran = run(&home, &args, b"echo one\necho two\n");
        let told = lines(&ran.out);
        let is_end = |told: &&Value| told["ev"]["t"] == "turn-end" || told["event"] == "end";
        assert_eq!(told.iter().filter(is_end).count(), 2, "{format}: {}", ran.out);
        assert_eq!(ran.code, 5, "{}", ran.err);
    }
}
