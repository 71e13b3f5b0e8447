//! Recorded histories run again, and come out the same.

use super::replaying::{HistoryError, replay};
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
    let ping = Some(PingPolicy { method: "ping".into(), interval: 1, timeout: 2 });
    let sharing = Sharing::OneClient;
    let (prompt_timeout, idle_stop) = (Some(4), Some(3));
    let plan = PoolPlan { sharing, ping, prompt_timeout, idle_stop, ..pool("p q", 2) };
    let plan = plan_of(vec![plan]);
    for input in [
        SwitchInput::ClientCame { client, pool: None },
        SwitchInput::ClientCame { client, pool: Some("p q".into()) },
        SwitchInput::ClientLine { client, line },
        SwitchInput::ClientLineTooLong { client, head: head.clone() },
        SwitchInput::ClientLine { client, line: "hex:zz".into() },
        SwitchInput::ClientLeft { client },
        SwitchInput::ClientFinished { client, wait: None },
        SwitchInput::ClientFinished { client, wait: Some(5000) },
        SwitchInput::ClientOutbox { client, level: QueueLevel::Full },
        SwitchInput::WorkerRuns { worker },
        SwitchInput::WorkerNotStarted { worker, why: "no such\nfile".into() },
        SwitchInput::WorkerLine { worker, line: "{}".into() },
        SwitchInput::WorkerLineTooLong { worker, head },
        SwitchInput::WorkerExited { worker, is_success: true, status: "exit 0".into() },
        SwitchInput::WorkerExited { worker, is_success: false, status: String::new() },
        SwitchInput::WorkerStuck { worker },
        SwitchInput::WorkerLineUnfinished { worker, n_millis: 9 },
        SwitchInput::WorkerMemory { worker, n_bytes: 9 },
        SwitchInput::WorkerOutbox { worker, level: QueueLevel::High },
        SwitchInput::TimePassed,
        SwitchInput::NewPlan(Box::new(plan)),
        SwitchInput::Command(BusCommand::DrainAll),
        SwitchInput::Command(BusCommand::DrainPool("p q".into())),
        SwitchInput::Command(BusCommand::RecoverPool("p".into())),
        SwitchInput::Command(BusCommand::RestartPool("p".into())),
    ] {
        let text = history::input_text(&input);
        assert_eq!(read_input(&text), Ok(input), "{text}");
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
    let mut text = history::beginning(&plan, 42);
    let mut switch = Switch::new(plan, 42).unwrap();
    for step in inputs {
        let (at, input) = step.split_once(' ').unwrap();
        let (at, input) = (MonotonicMillis(at.parse().unwrap()), read_input(input).unwrap());
        let mut out = Vec::new();
        switch.take(at, input.clone(), &mut out);
        history::record_step(&mut text, at, &input, &out);
    }
    println!("{text}");
}
