//! Real commands: how they end, what is kept of them, and that nothing of them is left.

mod bash;
mod terminals;

use std::path::Path;
use std::time::Duration;

use soak::PATIENCE;

use super::{CommandEnd, CommandRequest, FinishedCommand, run};
use crate::native::client::ClientAbilities;
use crate::native::testing::rehearsal::{Rehearsal, until};

fn rehearse() -> Rehearsal {
    Rehearsal::new(ClientAbilities::default(), |_| {})
}

fn order(stage: &Rehearsal, line: &str, timeout: Duration) -> CommandRequest {
    CommandRequest { line: line.into(), cwd: stage.cwd().to_path_buf(), timeout }
}

async fn run_line(stage: &Rehearsal, line: &str) -> FinishedCommand {
    run(&stage.context, order(stage, line, PATIENCE)).await.unwrap()
}

/// Whether the process whose number a command has written into `file` is gone.
fn is_gone(file: &Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    !Path::new("/proc").join(pid.trim()).exists()
}

fn is_written(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n'))
}

#[tokio::test]
async fn output_comes_in_order_with_the_exit_code() {
    let stage = rehearse();
    let finished = run_line(&stage, "echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!(finished.text, "one\ntwo\nthree\n");
    assert_eq!(finished.end, CommandEnd::Code(3));
    assert_eq!(finished.terminal, None);
}

#[tokio::test]
async fn a_signal_is_told_by_name() {
    let stage = rehearse();
    let finished = run_line(&stage, "kill -SEGV $$").await;
    assert_eq!(finished.end, CommandEnd::Signal("SIGSEGV (11)".into()));
}

#[tokio::test]
async fn a_command_has_no_input() {
    let stage = rehearse();
    assert_eq!(run_line(&stage, "cat; read x || echo nothing").await.text, "nothing\n");
}

#[tokio::test]
async fn our_keys_are_not_in_its_environment() {
    // Every process has a PATH; it stands for a key here.
    let stage = Rehearsal::new(ClientAbilities::default(), |settings| {
        settings.commands.secrets.insert("PATH".into());
        settings.commands.shell = "/bin/sh".into();
    });
    let finished = run_line(&stage, "/usr/bin/env").await;
    assert!(!finished.text.lines().any(|line| line.starts_with("PATH=") && line.contains("cargo")));
    assert!(finished.text.contains("GIT_TERMINAL_PROMPT=0"), "{}", finished.text);
}

#[tokio::test]
async fn a_flood_is_cut_in_the_middle() {
    let stage = rehearse();
    let finished = run_line(&stage, "echo first; seq 1 200000; echo last").await;
    assert!(finished.text.starts_with("first\n1\n2\n"));
    assert!(finished.text.ends_with("200000\nlast\n"));
    assert!(finished.text.contains("bytes left out here"));
    assert!(finished.text.len() < 31_000, "{}", finished.text.len());
}

#[tokio::test]
async fn bytes_that_are_no_text_are_made_visible() {
    let stage = rehearse();
    let finished = run_line(&stage, r"printf 'a\377b\033[31mred\033[0m\007\n10%%\r99%%\n'").await;
    assert_eq!(finished.text, "a\u{fffd}bred\\x07\n99%\n");
}

#[tokio::test]
async fn what_is_left_in_the_background_neither_holds_the_call_up_nor_stays() {
    let stage = rehearse();
    let pid = stage.cwd().join("pid");
    // It keeps the pipe open, ignores the polite signal and has left the session.
    let line = "setsid sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' & \
                while ! [ -s pid ]; do sleep 0.01; done; echo done";
    let finished = run_line(&stage, line).await;
    assert_eq!(finished.text, "done\n");
    assert_eq!(finished.end, CommandEnd::Code(0));
    until("the background ended", || is_gone(&pid)).await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let stage = rehearse();
    let pid = stage.cwd().join("pid");
    // The clock starts before the shell does, so the shell is given time to say something.
    let line = "echo begun; (trap '' TERM; sh -c 'echo $$ > pid; exec sleep 1000') & wait";
    let order = order(&stage, line, Duration::from_secs(3));
    let finished = run(&stage.context, order).await.unwrap();
    assert_eq!(finished.end, CommandEnd::TimedOut);
    assert!(finished.text.starts_with("begun\n"), "{}", finished.text);
    until("the child ended", || is_gone(&pid)).await;
}

#[tokio::test]
async fn a_dropped_call_ends_the_whole_tree() {
    let stage = rehearse();
    let pid = stage.cwd().join("pid");
    let line = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & wait";
    let running = tokio::spawn({
        let (context, order) = (stage.context.clone(), order(&stage, line, PATIENCE));
        async move { run(&context, order).await.map(drop) }
    });
    until("begun", || is_written(&pid)).await;
    running.abort();
    until("the tree ended", || is_gone(&pid)).await;
}

#[tokio::test]
async fn output_is_shown_while_it_comes() {
    let stage = rehearse();
    let line = "echo early; while ! [ -e go ]; do sleep 0.01; done; echo late";
    let running = tokio::spawn({
        let (context, order) = (stage.context.clone(), order(&stage, line, PATIENCE));
        async move { run(&context, order).await.unwrap() }
    });
    let shown = || {
        let updates = stage.client.updates();
        updates.last().map(|update| update["content"][0]["content"]["text"].clone())
    };
    until("shown", || shown().is_some_and(|text| text == "```\nearly\n```")).await;
    let update = stage.client.updates().pop().unwrap();
    assert_eq!(update["sessionUpdate"], "tool_call_update");
    assert_eq!(update["toolCallId"], "call");
    std::fs::write(stage.cwd().join("go"), "").unwrap();
    assert_eq!(running.await.unwrap().text, "early\nlate\n");
}

#[tokio::test]
async fn a_flood_is_not_shown_line_by_line() {
    let stage = rehearse();
    run_line(&stage, "seq 1 100000").await;
    // A tenth of a second each, and nothing takes a minute.
    assert!(stage.client.updates().len() < 600);
}

#[tokio::test]
async fn a_missing_directory_is_said() {
    let stage = rehearse();
    let mut order = order(&stage, "true", PATIENCE);
    order.cwd = stage.cwd().join("nowhere");
    let error = run(&stage.context, order).await.unwrap_err().to_string();
    assert!(error.contains("nowhere"), "{error}");
}
