//! Recorded histories run again, and come out the same.

use super::super::history::{HistoryError, Recorder, replay};
use super::*;

/// Two clients, two pools, an alias, a death, a move, a reload and a drain.
const RECORDED: &str = include_str!("recorded.txt");

#[test]
fn a_recorded_run_comes_out_the_same() {
    replay(RECORDED).unwrap();
}

#[test]
fn a_difference_is_found() {
    let changed = RECORDED.replacen("s~2", "s~3", 1);
    assert!(matches!(replay(&changed), Err(HistoryError::Different { .. })));
    let shorter = RECORDED.replacen("< stop-worker", "# stop-worker", 1);
    assert!(matches!(replay(&shorter), Err(HistoryError::Different { .. })));
    assert!(matches!(replay("seed x"), Err(HistoryError::Unreadable { line: 1, .. })));
}

#[test]
fn every_input_survives_being_written_down() {
    let (client, worker) = (ClientId(7), WorkerId(8));
    let (line, head) = ("{\"a\":\"é\"}".into(), bytes::Bytes::from_static(b"\xff\n"));
    let ping = Some(Ping { method: "ping".into(), interval: 1, timeout: 2 });
    let sharing = Sharing::OneClient;
    let (prompt_timeout, idle_stop) = (Some(4), Some(3));
    let plan = PoolPlan { sharing, ping, prompt_timeout, idle_stop, ..pool("p q", 2) };
    let plan = plan_of(vec![plan]);
    for input in [
        Input::ClientCame { client, pool: None },
        Input::ClientCame { client, pool: Some("p q".into()) },
        Input::ClientLine { client, line },
        Input::ClientLineTooLong { client, head: head.clone() },
        Input::ClientLine { client, line: "hex:zz".into() },
        Input::ClientLeft { client },
        Input::ClientFinished { client, wait: None },
        Input::ClientFinished { client, wait: Some(5000) },
        Input::ClientOutbox { client, level: Level::Full },
        Input::WorkerRuns { worker },
        Input::WorkerNotStarted { worker, why: "no such\nfile".into() },
        Input::WorkerLine { worker, line: "{}".into() },
        Input::WorkerLineTooLong { worker, head },
        Input::WorkerExited { worker, is_success: true, status: "exit 0".into() },
        Input::WorkerExited { worker, is_success: false, status: String::new() },
        Input::WorkerStuck { worker },
        Input::WorkerMemory { worker, n_bytes: 9 },
        Input::WorkerOutbox { worker, level: Level::High },
        Input::TimePassed,
        Input::NewPlan(Box::new(plan)),
        Input::Command(Command::DrainAll),
        Input::Command(Command::DrainPool("p q".into())),
        Input::Command(Command::RecoverPool("p".into())),
        Input::Command(Command::RestartPool("p".into())),
    ] {
        let text = super::super::history::input_text(&input);
        assert_eq!(read_input_for_tests(&text), Ok(input), "{text}");
    }
}

/// Writes the recording anew after a change that is meant:
/// `cargo test -p bus rerecord -- --ignored --nocapture`, and put it into `recorded.txt`.
#[test]
#[ignore = "prints; not a test"]
fn rerecord() {
    let inputs = RECORDED.lines().filter_map(|line| line.strip_prefix("> "));
    let mut plan = plan_of(vec![pool("p", 2), pool("q", 1)]);
    plan.limits.session_grace = 1000;
    let mut recorder = Recorder::new(&plan, 42);
    let mut switch = Switch::new(plan, 42).unwrap();
    for step in inputs {
        let (at, input) = step.split_once(' ').unwrap();
        let (at, input) = (Millis(at.parse().unwrap()), read_input_for_tests(input).unwrap());
        let mut out = Vec::new();
        switch.take(at, input.clone(), &mut out);
        recorder.step(at, &input, &out);
    }
    println!("{}", recorder.take());
}
