//! Reads a recorded run of the switch and replays it.
//!
//! Part of two crates: of the tests of the switch, whose inputs are written in the same format, and
//! of those that record a whole bus. So it names the crate from outside.

use std::fmt::Write as _;
use std::sync::Arc;

use bus::switch::history::output_text;
use bus::switch::{
    BusCommand, ClientId, MonotonicMillis, QueueLevel, Switch, SwitchInput, SwitchPlan, WorkerId,
};
use bytes::Bytes;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HistoryError {
    #[error("line {line}: {why}")]
    Unreadable { line: usize, why: String },
    #[error("line {line}: recorded was\n{recorded}\nbut now it is\n{now}")]
    Different { line: usize, recorded: String, now: String },
}

/// Runs a recorded history again and compares what comes out.
pub(super) fn replay(text: &str) -> Result<(), HistoryError> {
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

/// Reads `> TIME INPUT`.
fn read_step(text: &str) -> Result<(MonotonicMillis, SwitchInput), String> {
    let step = text.strip_prefix("> ").ok_or("it is neither an input nor an output")?;
    let (at, input) = step.split_once(' ').ok_or("the input is missing")?;
    let at = MonotonicMillis(at.parse().map_err(|_| "the time is no number")?);
    Ok((at, read_input(input)?))
}

/// Reads an input as it stands in a recorded run.
pub(super) fn read_input(text: &str) -> Result<SwitchInput, String> {
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
        "worker-line-unfinished" => SwitchInput::WorkerLineUnfinished {
            worker: worker()?,
            n_millis: tail.parse().map_err(|_| "the time is no number")?,
        },
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

fn read_level(text: &str) -> Result<QueueLevel, String> {
    match text {
        "low" => Ok(QueueLevel::Low),
        "high" => Ok(QueueLevel::High),
        "full" => Ok(QueueLevel::Full),
        _ => Err(format!("`{text}` is no level")),
    }
}

fn bytes(text: &str) -> Result<Bytes, String> {
    let Some(hex) = text.strip_prefix("hex:") else {
        return Ok(Bytes::copy_from_slice(text.as_bytes()));
    };
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).map_err(|error| error.to_string())?;
        u8::from_str_radix(pair, 16).map_err(|error| error.to_string())
    };
    hex.as_bytes().chunks(2).map(byte).collect::<Result<Vec<u8>, _>>().map(Bytes::from)
}
