//! A run of the switch as text, to be recorded. What reads and replays it stands with the tests.
//!
//! One line per entry. The first two are `seed N` and `plan {…}`; then `> TIME INPUT` and, below
//! it, a `< OUTPUT` for each output. `#` starts a comment. Lines of clients and workers stand as
//! they are; bytes that would not survive that are written as `hex:…`.

use std::fmt::Write as _;

use bytes::Bytes;
use wire::Json;

use super::{
    BusCommand, CloseReason, MonotonicMillis, QueueLevel, StopHow, SwitchInput, SwitchOutput,
    SwitchPlan,
};

/// The beginning of a recorded run.
pub fn beginning(plan: &SwitchPlan, seed: u64) -> String {
    format!("seed {seed}\nplan {}\n", Json::of(plan).as_str())
}

/// Adds an input to a recorded run, and what came of it.
pub fn record_step(
    text: &mut String,
    at: MonotonicMillis,
    input: &SwitchInput,
    outputs: &[SwitchOutput],
) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "> {} {}", at.0, input_text(input));
    for output in outputs {
        let _ = writeln!(text, "< {}", output_text(output));
    }
}

pub fn input_text(input: &SwitchInput) -> String {
    match input {
        SwitchInput::ClientCame { client, pool } => {
            format!("client-came {} {}", client.0, pool.as_deref().unwrap_or_default())
        }
        SwitchInput::ClientLine { client, line } => {
            format!("client-line {} {}", client.0, shown(line))
        }
        SwitchInput::ClientLineTooLong { client, head } => {
            format!("client-long {} {}", client.0, shown(head))
        }
        SwitchInput::ClientLeft { client } => format!("client-left {}", client.0),
        SwitchInput::ClientFinished { client, wait: None } => {
            format!("client-finished {}", client.0)
        }
        SwitchInput::ClientFinished { client, wait: Some(wait) } => {
            format!("client-finished {} {wait}", client.0)
        }
        SwitchInput::ClientOutbox { client, level } => {
            format!("client-outbox {} {}", client.0, level_text(*level))
        }
        SwitchInput::WorkerRuns { worker } => format!("worker-runs {}", worker.0),
        SwitchInput::WorkerNotStarted { worker, why } => {
            format!("worker-not-started {} {}", worker.0, shown(why.as_bytes()))
        }
        SwitchInput::WorkerLine { worker, line } => {
            format!("worker-line {} {}", worker.0, shown(line))
        }
        SwitchInput::WorkerLineTooLong { worker, head } => {
            format!("worker-long {} {}", worker.0, shown(head))
        }
        SwitchInput::WorkerExited { worker, is_success, status } => {
            let how = if *is_success { "worker-ended" } else { "worker-died" };
            format!("{how} {} {}", worker.0, shown(status.as_bytes()))
        }
        SwitchInput::WorkerMute { worker } => format!("worker-mute {}", worker.0),
        SwitchInput::WorkerStuck { worker } => format!("worker-stuck {}", worker.0),
        SwitchInput::WorkerLineUnfinished { worker, n_millis } => {
            format!("worker-line-unfinished {} {n_millis}", worker.0)
        }
        SwitchInput::WorkerMemory { worker, n_bytes } => {
            format!("worker-memory {} {n_bytes}", worker.0)
        }
        SwitchInput::WorkerOutbox { worker, level } => {
            format!("worker-outbox {} {}", worker.0, level_text(*level))
        }
        SwitchInput::TimePassed => "time-passed".into(),
        SwitchInput::NewPlan(plan) => format!("new-plan {}", Json::of(plan).as_str()),
        SwitchInput::Command(command) => match command {
            BusCommand::DrainAll => "drain-all".into(),
            BusCommand::DrainPool(pool) => format!("drain-pool {pool}"),
            BusCommand::RecoverPool(pool) => format!("recover-pool {pool}"),
            BusCommand::RestartPool(pool) => format!("restart-pool {pool}"),
        },
    }
}

pub fn output_text(output: &SwitchOutput) -> String {
    let without_end = |line: &Bytes| shown(line.strip_suffix(b"\n").unwrap_or(line));
    match output {
        SwitchOutput::ToClient { client, line } => {
            format!("to-client {} {}", client.0, without_end(line))
        }
        SwitchOutput::ToWorker { worker, line } => {
            format!("to-worker {} {}", worker.0, without_end(line))
        }
        SwitchOutput::CloseClient { client, reason } => {
            let reason = match reason {
                CloseReason::TooManyClients => "too-many-clients",
                CloseReason::SlowReader => "slow-reader",
                CloseReason::Garbage => "garbage",
                CloseReason::Draining => "draining",
                CloseReason::Finished => "finished",
            };
            format!("close-client {} {reason}", client.0)
        }
        SwitchOutput::StartWorker { worker, pool, slot } => {
            format!("start-worker {} {pool}/{slot}", worker.0)
        }
        SwitchOutput::StopWorker { worker, how: StopHow::Gently } => {
            format!("stop-worker {} gently", worker.0)
        }
        SwitchOutput::StopWorker { worker, how: StopHow::AtOnce } => {
            format!("stop-worker {} at-once", worker.0)
        }
        SwitchOutput::PauseClient { client } => format!("pause-client {}", client.0),
        SwitchOutput::ResumeClient { client } => format!("resume-client {}", client.0),
        SwitchOutput::PauseWorker { worker } => format!("pause-worker {}", worker.0),
        SwitchOutput::ResumeWorker { worker } => format!("resume-worker {}", worker.0),
    }
}

fn level_text(level: QueueLevel) -> &'static str {
    match level {
        QueueLevel::Low => "low",
        QueueLevel::High => "high",
        QueueLevel::Full => "full",
    }
}

/// What stands before bytes that would not survive as text.
const HEX: &str = "hex:";

fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(HEX) && !text.chars().any(char::is_control) => text.into(),
        _ => {
            let mut text = String::from(HEX);
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text
        }
    }
}
