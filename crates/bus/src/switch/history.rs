//! A run of the switch as text, to be recorded, read and replayed.
//!
//! One line per entry. The first two are `seed N` and `plan {…}`; then `> TIME INPUT` and, below
//! it, a `< OUTPUT` for each output. `#` starts a comment. Lines of clients and workers stand as
//! they are; bytes that would not survive that are written as `hex:…`.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use wire::Json;

use super::{
    BusCommand, ClientId, CloseReason, MonotonicMillis, QueueLevel, StopHow, Switch, SwitchInput,
    SwitchOutput, SwitchPlan, WorkerId,
};

/// Writes a run down, step by step.
#[derive(Debug)]
pub struct Recorder {
    text: String,
}

impl Recorder {
    pub fn new(plan: &SwitchPlan, seed: u64) -> Self {
        Self { text: format!("seed {seed}\nplan {}\n", Json::of(plan).as_str()) }
    }

    pub fn step(&mut self, at: MonotonicMillis, input: &SwitchInput, outputs: &[SwitchOutput]) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "> {} {}", at.0, input_text(input));
        for output in outputs {
            let _ = writeln!(self.text, "< {}", output_text(output));
        }
    }

    /// Takes the text that was written since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error("line {line}: {why}")]
    Unreadable { line: usize, why: String },
    #[error("line {line}: recorded was\n{recorded}\nbut now it is\n{now}")]
    Different { line: usize, recorded: String, now: String },
}

/// Runs a recorded history again and compares what comes out.
pub fn replay(text: &str) -> Result<(), HistoryError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .peekable();
    let unreadable = |line: usize, why: String| HistoryError::Unreadable { line, why };
    let mut header = |word: &str| match lines.next() {
        Some((line, text)) => match text.strip_prefix(word) {
            Some(rest) => Ok((line, rest.trim().to_owned())),
            None => Err(unreadable(line, format!("`{word}` is missing"))),
        },
        None => Err(unreadable(1, format!("`{word}` is missing"))),
    };
    let (at_line, seed) = header("seed ")?;
    let seed = seed.parse().map_err(|_| unreadable(at_line, "the seed is no number".into()))?;
    let (at_line, plan) = header("plan ")?;
    let plan: SwitchPlan =
        serde_json::from_str(&plan).map_err(|error| unreadable(at_line, error.to_string()))?;
    let mut switch =
        Switch::new(plan, seed).map_err(|error| unreadable(at_line, error.to_string()))?;

    let mut outputs = Vec::new();
    while let Some((line, text)) = lines.next() {
        let (at, input) = read_step(text).map_err(|why| unreadable(line, why))?;
        let mut recorded = String::new();
        while let Some((_, text)) = lines.next_if(|(_, text)| text.starts_with("< ")) {
            recorded.push_str(text);
            recorded.push('\n');
        }
        outputs.clear();
        switch.take(at, input, &mut outputs);
        let mut now = String::new();
        for output in &outputs {
            let _ = writeln!(now, "< {}", output_text(output));
        }
        if now != recorded {
            return Err(HistoryError::Different { line, recorded, now });
        }
    }
    Ok(())
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

/// Reads `> TIME INPUT`.
fn read_step(text: &str) -> Result<(MonotonicMillis, SwitchInput), String> {
    let step = text.strip_prefix("> ").ok_or("it is neither an input nor an output")?;
    let (at, input) = step.split_once(' ').ok_or("the input is missing")?;
    let at = MonotonicMillis(at.parse().map_err(|_| "the time is no number")?);
    Ok((at, read_input(input)?))
}

/// Tests write their inputs in the same format.
#[cfg(test)]
pub(super) fn read_input_for_tests(text: &str) -> Result<SwitchInput, String> {
    read_input(text)
}

fn read_input(text: &str) -> Result<SwitchInput, String> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (id, tail) = rest.split_once(' ').unwrap_or((rest, ""));
    let number = || id.parse::<u64>().map_err(|_| format!("`{id}` is no id"));
    let client = || number().map(ClientId);
    let worker = || number().map(WorkerId);
    let said = || String::from_utf8(bytes(tail)?.to_vec()).map_err(|error| error.to_string());
    let pool = || Arc::<str>::from(rest);
    Ok(match word {
        "client-came" => SwitchInput::ClientCame {
            client: client()?,
            pool: (!tail.is_empty()).then(|| tail.into()),
        },
        "client-line" => SwitchInput::ClientLine { client: client()?, line: bytes(tail)? },
        "client-long" => SwitchInput::ClientLineTooLong { client: client()?, head: bytes(tail)? },
        "client-left" => SwitchInput::ClientLeft { client: client()? },
        "client-finished" => SwitchInput::ClientFinished {
            client: client()?,
            wait: match tail {
                "" => None,
                wait => Some(wait.parse().map_err(|_| "the time to wait is no number")?),
            },
        },
        "client-outbox" => {
            SwitchInput::ClientOutbox { client: client()?, level: read_level(tail)? }
        }
        "worker-runs" => SwitchInput::WorkerRuns { worker: worker()? },
        "worker-not-started" => SwitchInput::WorkerNotStarted { worker: worker()?, why: said()? },
        "worker-line" => SwitchInput::WorkerLine { worker: worker()?, line: bytes(tail)? },
        "worker-long" => SwitchInput::WorkerLineTooLong { worker: worker()?, head: bytes(tail)? },
        "worker-ended" | "worker-died" => SwitchInput::WorkerExited {
            worker: worker()?,
            is_success: word == "worker-ended",
            status: said()?,
        },
        "worker-mute" => SwitchInput::WorkerMute { worker: worker()? },
        "worker-stuck" => SwitchInput::WorkerStuck { worker: worker()? },
        "worker-memory" => SwitchInput::WorkerMemory {
            worker: worker()?,
            n_bytes: tail.parse().map_err(|_| "the size is no number")?,
        },
        "worker-outbox" => {
            SwitchInput::WorkerOutbox { worker: worker()?, level: read_level(tail)? }
        }
        "time-passed" => SwitchInput::TimePassed,
        "new-plan" => {
            SwitchInput::NewPlan(serde_json::from_str(rest).map_err(|error| error.to_string())?)
        }
        "drain-all" => SwitchInput::Command(BusCommand::DrainAll),
        "drain-pool" => SwitchInput::Command(BusCommand::DrainPool(pool())),
        "recover-pool" => SwitchInput::Command(BusCommand::RecoverPool(pool())),
        "restart-pool" => SwitchInput::Command(BusCommand::RestartPool(pool())),
        _ => return Err(format!("`{word}` is no input")),
    })
}

fn level_text(level: QueueLevel) -> &'static str {
    match level {
        QueueLevel::Low => "low",
        QueueLevel::High => "high",
        QueueLevel::Full => "full",
    }
}

fn read_level(text: &str) -> Result<QueueLevel, String> {
    match text {
        "low" => Ok(QueueLevel::Low),
        "high" => Ok(QueueLevel::High),
        "full" => Ok(QueueLevel::Full),
        _ => Err(format!("`{text}` is no level")),
    }
}

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

fn bytes(text: &str) -> Result<Bytes, String> {
    let Some(hex) = text.strip_prefix(HEX) else {
        return Ok(Bytes::copy_from_slice(text.as_bytes()));
    };
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).map_err(|error| error.to_string())?;
        u8::from_str_radix(pair, 16).map_err(|error| error.to_string())
    };
    hex.as_bytes().chunks(2).map(byte).collect::<Result<Vec<u8>, _>>().map(Bytes::from)
}
