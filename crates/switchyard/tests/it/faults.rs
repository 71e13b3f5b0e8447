//! Agents that break the protocol, and the means to watch a run that goes wrong.
//!
//! In: scripts for the demo agent, run with the real binary. Out: verdicts on the events it
//! printed. A line counts as acknowledged when it was received with its newline. A run that is
//! dropped is killed, and its home kills whatever is left, so a failed test leaves nothing behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use testkit::test_home::{PATIENCE, TestHome, switchyard, wait_until};

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_switchyard");

/// Waits that a test can afford to see run out.
pub(crate) const SHORT_WAITS: &str = "[waits]\nwrite_stall = '1s'\n\
    cancel_grace = '1s'\nafter_eof = '500ms'\nafter_term = '500ms'\n";

/// A home with [`SHORT_WAITS`].
pub(crate) fn home() -> TestHome {
    configured(SHORT_WAITS)
}

pub(crate) fn configured(config: &str) -> TestHome {
    let home = switchyard(EXE);
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    home
}

/// A command in progress whose stdout is read line by line.
pub(crate) struct Live {
    child: Child,
    stdout: Receiver<String>,
    stderr: JoinHandle<String>,
    pub(crate) lines: Vec<String>,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Nothing if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<String>,
    pub(crate) stderr: String,
}

impl Live {
    /// `run demo PROMPT --format json`
    pub(crate) fn demo(home: &TestHome, prompt: &str) -> Self {
        Self::start(home.command(["run", "demo", prompt, "--format", "json"]))
    }

    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null());
        Self::start_with_stdin(command)
    }

    pub(crate) fn start_with_stdin(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|n| n > 0) && line.ends_with('\n') {
                if sender.send(line.trim_end().to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { child, stdout: receiver, stderr, lines: Vec::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line; nothing if there is no more.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let line = self.stdout.recv_timeout(PATIENCE).ok()?;
        let event = serde_json::from_str(&line).expect("every line is one event");
        self.lines.push(line);
        Some(event)
    }

    #[track_caller]
    pub(crate) fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        while let Some(event) = self.next() {
            if fits(&event) {
                return event;
            }
        }
        panic!("the awaited event did not come: {:#?}", self.lines);
    }

    #[track_caller]
    pub(crate) fn wait_for_kind(&mut self, kind: &str) -> Value {
        self.wait_for(|event| event["kind"] == kind)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn finish(mut self) -> Ran {
        let has_ended = wait_until(PATIENCE, || self.child.try_wait().unwrap().is_some());
        assert!(has_ended, "does not end; it said {:#?}", self.lines);
        let code = self.child.wait().unwrap().code();
        while self.next().is_some() {}
        let stderr = std::mem::replace(&mut self.stderr, std::thread::spawn(String::new));
        let ran =
            Ran { code, lines: std::mem::take(&mut self.lines), stderr: stderr.join().unwrap() };
        assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
        ran
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    pub(crate) fn events(&self) -> Vec<Value> {
        self.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn of_kind(&self, kind: &str) -> Vec<Value> {
        let events = self.events().into_iter().filter(|event| event["kind"] == kind);
        events.map(|event| event["payload"].clone()).collect()
    }

    /// How the turn ended, which it does once.
    #[track_caller]
    pub(crate) fn end(&self) -> Value {
        let mut ends = self.of_kind("turn_ended");
        assert_eq!(ends.len(), 1, "{self:#?}");
        ends.remove(0)
    }

    /// What the agent said.
    pub(crate) fn text(&self) -> String {
        let chunks = self.of_kind("agent_message_chunk");
        chunks.iter().filter_map(|chunk| chunk["update"]["content"]["text"].as_str()).collect()
    }

    /// What was reported as an error that did not end the turn.
    pub(crate) fn errors(&self) -> String {
        self.of_kind("error").iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn steps(&self) -> Vec<String> {
        let steps = self.of_kind("cancel_step");
        steps.iter().map(|step| step["step"].as_str().unwrap().to_owned()).collect()
    }
}

/// A whole command.
#[track_caller]
pub(crate) fn run<'a>(home: &TestHome, args: impl IntoIterator<Item = &'a str>) -> Ran {
    Live::start(home.command(args)).finish()
}

/// Cancels the last session from another process.
#[track_caller]
pub(crate) fn cancel(home: &TestHome) {
    // Says so on stderr, not as an event.
    let cancelled = run(home, ["cancel", "last"]);
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.stderr);
}

/// One turn of the demo agent, after which nothing is left.
#[track_caller]
fn demo(prompt: &str) -> Ran {
    let home = home();
    let ran = Live::demo(&home, prompt).finish();
    home.assert_empty_within(PATIENCE);
    ran
}

/// The turn ended well, and the agent said this among other things.
#[track_caller]
fn assert_went_on(ran: &Ran, said: &str) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.end()["stopReason"], "end_turn");
    assert!(ran.text().contains(said), "{}", ran.text());
}

#[test]
fn a_line_over_the_limit_is_reported_and_skipped_and_the_turn_goes_on() {
    let ran = demo("big 70000000 ; echo after");
    assert_went_on(&ran, "after");
    assert!(ran.errors().contains("longer than 67108864 bytes"), "{}", ran.errors());
}

#[test]
fn a_line_below_the_limit_passes_whole() {
    let ran = demo("big 20000000 ; echo after");
    assert_went_on(&ran, "after");
    assert_eq!(ran.text().len(), 20_000_000 + "after".len());
}

#[test]
fn garbage_and_bad_utf8_between_messages_cost_only_themselves() {
    let ran = demo("garbage ; bad-utf8");
    assert_went_on(
        &ran,
        "before garbage\ngood line with CRLF\nline after a byte order mark\nafter garbage\n\
         before bad utf-8\nafter bad utf-8\n",
    );
    assert!(ran.errors().contains("not valid UTF-8"), "{}", ran.errors());
    assert_eq!(ran.of_kind("error").len(), 8, "{}", ran.errors());
}

#[test]
fn nesting_is_carried_up_to_the_limit_and_reported_beyond_it() {
    let ran = demo("deep 100 ; deep 1000000 ; echo after");
    assert_went_on(&ran, "100 arrays deep\nafter");
    assert!(ran.errors().contains("nested deeper"), "{}", ran.errors());
}

#[test]
fn a_request_with_the_id_of_the_prompt_is_answered_and_ends_nothing() {
    let home = home();
    std::fs::write(home.work().join("README.md"), "found it").unwrap();
    let ran = Live::demo(&home, "collide ; echo after").finish();
    assert_went_on(&ran, "found it");
    assert!(ran.text().ends_with("after"), "{}", ran.text());
}

#[test]
fn answers_that_nobody_asked_for_are_reported_and_end_nothing() {
    let ran = demo("unknown-response ; dup-response ; echo after");
    assert_went_on(&ran, "after");
    assert!(ran.errors().contains("an answer to nothing: 987654321"), "{}", ran.errors());
    assert_eq!(ran.of_kind("error").len(), 2, "{}", ran.errors());
}

#[test]
fn updates_after_the_answer_are_logged_and_do_not_reopen_the_turn() {
    let ran = demo("echo before ; late 3");
    assert_went_on(&ran, "beforelate 1\nlate 2\nlate 3\n");
    assert_eq!(ran.of_kind("turn_started").len(), 1);
}

#[test]
fn updates_after_a_cancel_are_logged_and_the_turn_ends_once_as_cancelled() {
    let home = home();
    let mut live = Live::demo(&home, "echo before ; after-cancel 3");
    live.wait_for_kind("agent_message_chunk");
    cancel(&home);
    let ran = live.finish();
    assert_eq!((ran.code, &ran.end()["stopReason"]), (Some(130), &"cancelled".into()));
    assert!(ran.text().ends_with("after cancel 1\nafter cancel 2\nafter cancel 3\n"));
    assert_eq!(ran.steps(), ["notified"]);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_last_line_without_its_newline_is_read() {
    let ran = demo("no-newline goodbye");
    assert_eq!((ran.code, &*ran.text()), (Some(1), "goodbye"));
    assert_eq!(ran.end()["error"]["category"], "process_exit");
}

#[test]
fn stderr_is_drained_before_the_first_word_on_stdout() {
    let home = home();
    let args = ["run", "stderr-flood 10000000 ; echo after", "--format", "json"];
    let agent = ["--", EXE, "demo-agent", "--stderr-flood", "10000000"];
    let ran = Live::start(home.command(args.into_iter().chain(agent))).finish();
    assert_went_on(&ran, "after");
    home.assert_empty_within(PATIENCE);
}
