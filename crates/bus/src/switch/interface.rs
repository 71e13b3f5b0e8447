//! The inputs and outputs of the switch.
//!
//! Ids of clients are given by the event loop, ids of workers by the switch; neither is ever used
//! twice. Input that names a client or worker which is already gone is ignored, so the event loop
//! need not care about what crosses on the way.

use std::sync::Arc;

use bytes::Bytes;

use super::SwitchPlan;

/// Milliseconds since any fixed moment; never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MonotonicMillis(pub u64);

impl MonotonicMillis {
    #[must_use]
    pub fn after(self, n_millis: u64) -> Self {
        Self(self.0.saturating_add(n_millis))
    }

    /// How long ago `earlier` was.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ClientId(pub u64);

/// One life of a worker; a restarted one has another id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct WorkerId(pub u64);

/// How many bytes wait for a party that is slow to read. Each crossing is reported once. A single
/// line that is larger than a mark counts as nothing while it waits alone, or it could never pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueLevel {
    /// Fell below the low mark.
    #[default]
    Low,
    /// Rose above the high mark.
    High,
    /// Rose above the limit.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchInput {
    /// `pool` is the one that its listener or its hello named.
    ClientCame {
        client: ClientId,
        pool: Option<Arc<str>>,
    },
    /// One complete line, without its end.
    ClientLine {
        client: ClientId,
        line: Bytes,
    },
    /// A line over the limit was skipped; `head` is its beginning, as much as is at hand (a
    /// few hundred bytes are enough to find its id).
    ClientLineTooLong {
        client: ClientId,
        head: Bytes,
    },
    ClientLeft {
        client: ClientId,
    },
    /// It has ended its sending side and still reads: it is closed when its requests are
    /// answered, after `wait` milliseconds at the latest.
    ClientFinished {
        client: ClientId,
        wait: Option<u64>,
    },
    ClientOutbox {
        client: ClientId,
        level: QueueLevel,
    },
    /// The process has started and its pipes are open.
    WorkerRuns {
        worker: WorkerId,
    },
    WorkerNotStarted {
        worker: WorkerId,
        why: String,
    },
    WorkerLine {
        worker: WorkerId,
        line: Bytes,
    },
    WorkerLineTooLong {
        worker: WorkerId,
        head: Bytes,
    },
    /// It has closed its output: it can answer nothing more, and most often exits next.
    WorkerMute {
        worker: WorkerId,
    },
    /// Comes after all its lines were handed over.
    WorkerExited {
        worker: WorkerId,
        is_success: bool,
        status: String,
    },
    /// Its pipe took nothing for too long.
    WorkerStuck {
        worker: WorkerId,
    },
    /// It has stopped in the middle of a line, or says one that is far too long, for so many
    /// milliseconds.
    WorkerLineUnfinished {
        worker: WorkerId,
        n_millis: u64,
    },
    WorkerMemory {
        worker: WorkerId,
        n_bytes: u64,
    },
    WorkerOutbox {
        worker: WorkerId,
        level: QueueLevel,
    },
    /// [`Switch::wake_at`](super::Switch::wake_at) has come.
    TimePassed,
    NewPlan(Box<SwitchPlan>),
    Command(BusCommand),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusCommand {
    /// Refuse new requests, let those in flight end, stop every worker.
    DrainAll,
    /// Drains one pool; `RecoverPool` starts it again.
    DrainPool(Arc<str>),
    /// Close the circuit of a failed pool, or serve again after a drain.
    RecoverPool(Arc<str>),
    /// Replace the workers of a pool one by one, each after its requests have ended.
    RestartPool(Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchOutput {
    /// One line with its newline.
    ToClient {
        client: ClientId,
        line: Bytes,
    },
    ToWorker {
        worker: WorkerId,
        line: Bytes,
    },
    /// Write what is queued if that is quick, then close. No more output for it follows.
    CloseClient {
        client: ClientId,
        reason: CloseReason,
    },
    StartWorker {
        worker: WorkerId,
        pool: Arc<str>,
        slot: u32,
    },
    StopWorker {
        worker: WorkerId,
        how: StopHow,
    },
    PauseClient {
        client: ClientId,
    },
    ResumeClient {
        client: ClientId,
    },
    PauseWorker {
        worker: WorkerId,
    },
    ResumeWorker {
        worker: WorkerId,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    TooManyClients,
    /// It left too much unread while its workers serve others too, or for too long.
    SlowReader,
    /// Not one of its lines was a message.
    Garbage,
    Draining,
    /// It had ended its input, and all its requests are answered or took too long.
    Finished,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopHow {
    /// End of input, SIGTERM, SIGKILL.
    Gently,
    /// SIGKILL.
    AtOnce,
}
