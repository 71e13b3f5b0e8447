//! Death in the middle of a turn: of the agent, of Switchyard, by cancel and by silence.
//!
//! In: scripts for the demo agent and signals at chosen or random points. Out: what the log says
//! afterwards, and what is left running.
//! Points are events that were seen, never moments; a random point is printed with its seed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::faults::{EXE, Live, Ran, cancel, configured, home, run};
use rustix::process::Signal;
use serde_json::Value;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead as _, BufReader};
use testkit::proc;
use testkit::sdk_client::{ClientBehavior, SdkClient};
use testkit::test_home::{PATIENCE, TestHome, wait_until};

/// The whole log of the last session.
#[track_caller]
pub(crate) fn export(home: &TestHome) -> Ran {
    let log = run(home, ["sessions", "export", "last"]);
    assert_eq!(log.code, Some(0), "{}", log.stderr);
    log
}

/// Numbers from 1 without a hole, and every acknowledged line as it was.
#[track_caller]
pub(crate) fn assert_whole(log: &Ran, acknowledged: &[String]) {
    for (event, seq) in log.events().iter().zip(1_u64..) {
        assert_eq!(event["seq"], seq, "a hole");
    }
    for line in acknowledged {
        let event: Value = serde_json::from_str(line).unwrap();
        let index = usize::try_from(event["seq"].as_u64().unwrap()).unwrap() - 1;
        assert_eq!(log.lines.get(index), Some(line), "lost or changed");
    }
}

/// The session goes on with the next prompt.
#[track_caller]
pub(crate) fn assert_usable(home: &TestHome) -> Ran {
    let next = run(home, ["run", "-s", "last", "echo once more", "--format", "json"]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert_eq!(next.text(), "once more");
    assert_eq!(next.of_kind("session_resumed").len(), 1);
    home.assert_empty_within(PATIENCE);
    next
}

#[track_caller]
fn assert_worker_death(home: &TestHome, ran: &Ran, said: &str) {
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let end = ran.end();
    assert_eq!(
        (&end["stopReason"], &end["error"]["category"]),
        (&"error".into(), &"process_exit".into())
    );
    assert_eq!(ran.of_kind("worker_exited").len(), 1);
    assert!(ran.text().starts_with(said), "{}", ran.text());
    home.assert_empty_within(PATIENCE);
    assert_usable(home);
    assert_whole(&export(home), &ran.lines);
}

#[test]
fn an_agent_that_crashes_around_a_tool_call_ends_its_turn_and_not_its_session() {
    for (when, n_updates) in [("before-tool", 0), ("during-tool", 1), ("after-tool", 2)] {
        let home = home();
        let ran = Live::demo(&home, &format!("echo kept ; crash {when}")).finish();
        assert_eq!(ran.of_kind("tool_call").len(), 1);
        assert_eq!(ran.of_kind("tool_call_update").len(), n_updates, "{when}");
        assert_worker_death(&home, &ran, "kept");
    }
}

#[test]
fn an_agent_that_is_killed_around_a_tool_call_ends_its_turn_and_not_its_session() {
    let script = "echo kept ; slow 2 200 ; tool execute ; slow 1000 20";
    for awaited in ["agent_message_chunk", "tool_call", "tool_call_update"] {
        let home = home();
        let mut live = Live::demo(&home, script);
        let pid = live.wait_for_kind("worker_started")["payload"]["pid"].as_u64().unwrap();
        live.wait_for_kind(awaited);
        proc::kill9(u32::try_from(pid).unwrap());
        let ran = live.finish();
        assert_eq!(ran.of_kind("worker_exited")[0]["signal"], 9, "{awaited}");
        assert_worker_death(&home, &ran, "kept");
    }
}

#[test]
fn a_killed_switchyard_loses_nothing_it_has_shown() {
    let n_rounds = soak::size(6_u64, 24);
    let scripts = [
        "slow 400 3",
        "flood 200000 200",
        "children 5 1 ; slow 400 3",
        "tool execute ; text 30 5000 ; slow 400 3",
    ];
    let base = RandomState::new().hash_one("seed");
    for round in 0..n_rounds {
        let seed = base.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let script = scripts[usize::try_from(round % 4).unwrap()];
        // From the fifth line on, the turn has started.
        let n_lines = 5 + (seed >> 33) % 120;
        println!("round {round}: base seed {base:#x}, killed after {n_lines} lines of `{script}`");
        let home = home();
        let mut live = Live::demo(&home, script);
        for _ in 0..n_lines {
            live.next().expect("the script is longer");
        }
        live.signal(Signal::KILL);
        let killed = live.finish();
        assert_eq!(killed.code, None);
        home.assert_empty_within(PATIENCE);
        assert_whole(&export(&home), &killed.lines);
        assert_usable(&home);
        let log = export(&home);
        assert_whole(&log, &killed.lines);
        let ends = log.of_kind("turn_ended");
        assert_eq!(ends.len(), 2, "{ends:#?}");
        assert_eq!(ends[0]["error"]["category"], "interrupted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_waited_when_switchyard_was_killed_runs_when_its_session_is_opened() {
    let home = home();
    let client = SdkClient::ready(home.tokio_command(["acp", "demo"]), ClientBehavior::default())
        .await
        .unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let running = client.start_prompt(&session, "echo started ; hang");
    client.wait_for(&session, |update| format!("{update:?}").contains("started")).await;
    let waiting = client.start_prompt(&session, "echo before it, ");
    let is_logged = wait_until(PATIENCE, || export(&home).of_kind("prompt_received").len() == 2);
    assert!(is_logged, "the second prompt is not in the log");
    proc::kill9(client.pid());
    drop((running, waiting, client));
    home.assert_empty_within(PATIENCE);
    // A command that has nothing to do with the session leaves it alone.
    assert_eq!(run(&home, ["run", "demo", "echo elsewhere", "--format", "json"]).code, Some(0));
    let session = session.to_string();
    let log = run(&home, ["sessions", "export", &session]);
    assert_eq!(log.of_kind("turn_started").len(), 1, "{:#?}", log.lines);

    let next = run(&home, ["run", "-s", &session, "echo once more", "--format", "json"]);

    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert_eq!(next.text(), "before it,once more");
    let log = run(&home, ["sessions", "export", &session]);
    let n_of = |kind| log.of_kind(kind).len();
    assert_eq!((n_of("prompt_received"), n_of("turn_ended"), n_of("prompt_dropped")), (3, 3, 0));
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_signal_ends_the_turn_as_cancelled_and_leaves_nothing() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        for script in
            ["echo kept ; slow 1000 20", "echo kept ; children 5 1 ; hang", "flood 400000 200"]
        {
            let home = home();
            let mut live = Live::demo(&home, script);
            live.wait_for_kind("agent_message_chunk");
            live.signal(signal);
            let ran = live.finish();
            assert_eq!(ran.code, Some(code), "{script}: {}", ran.stderr);
            assert_eq!(ran.end()["stopReason"], "cancelled", "{script}");
            assert_eq!(ran.steps().first().map(String::as_str), Some("notified"));
            home.assert_empty_within(PATIENCE);
            assert_usable(&home);
        }
    }
}

#[test]
fn a_cancel_climbs_the_ladder_rung_by_rung() {
    let home = home();
    let agent = ["--", EXE, "demo-agent", "--ignore-eof", "--ignore-term"];
    for by_signal in [true, false] {
        let args = ["run", "echo here ; hang-hard", "--format", "json"];
        let mut live = Live::start(home.command(args.into_iter().chain(agent)));
        live.wait_for_kind("agent_message_chunk");
        match by_signal {
            true => live.signal(Signal::INT),
            false => cancel(&home),
        }
        let ran = live.finish();
        assert_eq!(ran.steps(), ["notified", "eof", "terminate", "kill"]);
        assert_eq!((ran.code, &ran.end()["stopReason"]), (Some(130), &"cancelled".into()));
        assert_eq!(ran.of_kind("worker_exited")[0]["signal"], 9);
        home.assert_empty_within(PATIENCE);
    }
}

#[test]
fn a_cancel_from_another_process_is_confirmed_every_time() {
    let home = home();
    for _ in 0..20 {
        let mut live = Live::demo(&home, "echo here ; hang");
        live.wait_for_kind("agent_message_chunk");
        cancel(&home);
        assert_eq!(live.finish().end()["stopReason"], "cancelled");
    }
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_second_signal_does_not_wait_for_the_ladder_and_leaves_nothing() {
    let home = configured("[waits]\ncancel_grace = '1h'\n");
    let args = ["run", "echo here ; children 2 1 ; hang-hard", "--format", "json", "--"];
    let agent = [EXE, "demo-agent", "--ignore-eof", "--ignore-term"];
    let mut live = Live::start(home.command(args.into_iter().chain(agent)));
    live.wait_for(|event| event.to_string().contains("pids "));
    live.signal(Signal::INT);
    live.wait_for_kind("cancel_step");
    live.signal(Signal::INT);
    assert_eq!(live.finish().code, Some(130));
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_signal_while_the_agent_starts_leaves_nothing() {
    let home = home();
    let args = ["run", "echo here", "--", EXE, "demo-agent", "--slow-start", "600000"];
    let live = Live::start(home.command(args));
    let is_agent = |pid: &u32| proc::command_line(*pid).contains("slow-start 600000");
    // Switchyard itself names it too.
    assert!(
        wait_until(PATIENCE, || home.left_over().iter().filter(|pid| is_agent(pid)).count() > 1)
    );
    live.signal(Signal::TERM);
    assert_eq!(live.finish().code, Some(143));
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_reader_that_goes_away_ends_the_turn() {
    let home = home();
    let mut command = home.command(["run", "demo", "slow 1000000 5", "--format", "json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Whoever leaves before the prompt is sent has nothing begun.
    assert!(lines.any(|line| line.unwrap().contains("turn_started")));
    drop(lines);
    let has_ended = wait_until(PATIENCE, || child.try_wait().unwrap().is_some());
    let _ = child.kill();
    assert!(has_ended, "goes on for nobody");
    assert_eq!(export(&home).end()["stopReason"], "cancelled");
    home.assert_empty_within(PATIENCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_front_ends_its_turn_and_leaves_nothing() {
    let home = home();
    let command = home.tokio_command(["acp", "demo"]);
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let running = client.start_prompt(&session, "echo here ; children 2 1 ; hang");
    client.wait_for(&session, |update| format!("{update:?}").contains("pids ")).await;
    let pid = rustix::process::Pid::from_raw(client.pid().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    client.closed_by_agent().await;
    drop(running);
    client.stop().await;
    home.assert_empty_within(PATIENCE);
    assert_eq!(export(&home).end()["stopReason"], "cancelled");
}

#[test]
fn an_agent_that_stops_reading_can_be_cancelled() {
    let home = home();
    let mut live = Live::demo(&home, "stuck ; echo deaf ; hang");
    live.wait_for_kind("agent_message_chunk");
    live.signal(Signal::INT);
    let ran = live.finish();
    assert_eq!((ran.code, &ran.end()["stopReason"]), (Some(130), &"cancelled".into()));
    home.assert_empty_within(PATIENCE);
}

#[test]
fn an_agent_that_never_takes_its_prompt_is_given_up() {
    const DEAF: &str = r#"read _; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
        read _; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"deaf"}}'; exec sleep 300"#;
    let home = home();
    let prompt = home.path().join("prompt");
    std::fs::write(&prompt, "x".repeat(8 << 20)).unwrap();
    let mut command = home.command(["run", "-", "--format", "json", "--", "sh", "-c", DEAF]);
    command.stdin(std::fs::File::open(prompt).unwrap());
    let mut live = Live::start_with_stdin(command);
    let pid = live.pid();
    live.wait_for_kind("error");
    println!("a deaf agent and an 8 MiB prompt: {:?}", proc::memory(pid));
    let ran = live.finish();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.errors().contains("does not read its stdin"), "{}", ran.errors());
    assert_eq!(ran.end()["stopReason"], "error");
    home.assert_empty_within(PATIENCE);
}
