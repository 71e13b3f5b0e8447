//! Messages from other tasks to the thread of a bus.
//!
//! A bounded queue and a bell (an eventfd), because the thread waits for descriptors only.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use tokio::sync::{mpsc, oneshot};

use super::listener::Listener;
use super::snapshot::BusSnapshot;
use super::{BusError, KernelSetup};
use crate::hello::BusToken;
use crate::processes::exit::ExitReport;
use crate::processes::worker::WorkerHandle;
use crate::switch::{BusCommand, WorkerId};

/// Messages that may be queued. For most the sender waits for an answer, or they come once in a
/// worker's life.
const QUEUED_MESSAGES: usize = 256;

#[derive(Debug)]
pub(super) enum LoopMessage {
    WorkerStarted { worker: WorkerId, started: Result<StartedWorker, String> },
    WorkerExited { worker: WorkerId, report: ExitReport, last_words: String },
    Memory(Vec<(WorkerId, u64)>),
    Listen(Box<Listener>),
    Port { socket: OwnedFd, token: Option<BusToken>, pool: Option<Arc<str>> },
    Snapshot(oneshot::Sender<BusSnapshot>),
    Reload { setup: Box<KernelSetup>, done: oneshot::Sender<Result<(), BusError>> },
    Command { command: BusCommand, done: oneshot::Sender<()> },
    Drain,
}

#[derive(Debug)]
pub(super) struct StartedWorker {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) handle: WorkerHandle,
}

#[derive(Debug, Clone)]
pub(super) struct Mailbox {
    messages: mpsc::Sender<LoopMessage>,
    bell: Arc<OwnedFd>,
    /// A flag and no message: it must get through when the queue is full.
    is_aborted: Arc<AtomicBool>,
}

impl Mailbox {
    pub(super) fn new() -> std::io::Result<(Self, mpsc::Receiver<LoopMessage>)> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (messages, received) = mpsc::channel(QUEUED_MESSAGES);
        Ok((Self { messages, bell, is_aborted: Arc::default() }, received))
    }

    pub(super) fn bell(&self) -> &Arc<OwnedFd> {
        &self.bell
    }

    pub(super) async fn send(&self, message: LoopMessage) -> Result<(), BusError> {
        self.messages.send(message).await.map_err(|_| BusError::Ended)?;
        self.ring();
        Ok(())
    }

    /// Ends the bus at once.
    pub(super) fn abort(&self) {
        self.is_aborted.store(true, Ordering::Relaxed);
        self.ring();
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }

    /// Resolves when the bus has ended.
    pub(super) async fn closed(&self) {
        self.messages.closed().await;
    }

    fn ring(&self) {
        // It can only be refused when it already rings.
        let _rings = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

pub(super) fn clear_bell(bell: &OwnedFd) {
    let mut count = [0; 8];
    let _was_silent = rustix::io::read(bell, &mut count);
}
