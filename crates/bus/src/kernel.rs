//! The transport kernel: pools of workers, and clients that reach them.
//!
//! In: a [`KernelSetup`] and clients. Out: their lines, each where it belongs. One thread per bus
//! waits for all descriptors and feeds the [`switch`](crate::switch), which decides
//! everything; processes are started and watched by tasks of the runtime in which the bus was
//! started, with the same supervision as every other worker.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use bus::switch::{PoolPlan, SwitchLimits};
//! use bus::{Bus, IoLimits, KernelSetup, Launch, PoolSetup};
//!
//! let pool = PoolSetup::new(PoolPlan::fixed("echo", "", 2), Launch::new("my-agent", "/"));
//! let bus = Bus::start(KernelSetup {
//!     pools: vec![pool],
//!     limits: SwitchLimits::default(),
//!     edges: IoLimits::default(),
//!     record: None,
//! })?;
//! let mut port = bus.port(Some("echo")).await?;
//! port.sender.send(br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await?;
//! let answer = port.receiver.receive().await?;
//! bus.drain().await?;
//! # Ok(())
//! # }
//! ```

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use crate::hello::BusToken;
use crate::switch::{BusCommand, PlanError};

mod event_loop;
mod inbox;
mod listener;
mod mailbox;
mod outbox;
mod port;
mod setup;
mod snapshot;

pub use listener::{ListenAddress, ListenConfig};
pub use port::{Port, PortReceiver, PortSender};
pub use setup::{IoLimits, KernelSetup, PoolSetup};
pub use snapshot::{BusSnapshot, ClientSnapshot};

use event_loop::EventLoop;
use listener::Listener;
use mailbox::{LoopMessage, Mailbox};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BusError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("listening on {place}: {source}")]
    Listen { place: String, source: io::Error },
    #[error("{0} can be reached from other machines; without a token only loopback is allowed")]
    OpenToAll(SocketAddr),
    #[error("recording into {}: {source}", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("the bus needs descriptors and a thread: {0}")]
    NoResources(#[source] io::Error),
    #[error("the bus has ended")]
    Ended,
    #[error("the bus's thread has failed")]
    Crashed,
}

/// A running bus; a cheap clone. When the last one is dropped, its workers are killed.
#[derive(Debug, Clone)]
pub struct Bus {
    shared: Arc<BusState>,
}

#[derive(Debug)]
struct BusState {
    mailbox: Mailbox,
    tracker: TaskTracker,
    has_ended_well: Arc<AtomicBool>,
}

impl Bus {
    /// Starts the thread and the first workers. Call it in a tokio runtime that lives as long.
    pub fn start(setup: KernelSetup) -> Result<Self, BusError> {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| BusError::NoResources(error.into()))?;
        let (mailbox, messages) = Mailbox::new().map_err(BusError::NoResources)?;
        let tracker = TaskTracker::new();
        let seed = u64::from_ne_bytes(seed);
        let has_ended_well = Arc::new(AtomicBool::new(false));
        let ended_well = Arc::clone(&has_ended_well);
        let event_loop = EventLoop::new(setup, seed, mailbox.clone(), messages, tracker.clone())?;
        std::thread::Builder::new()
            .name("bus".into())
            .spawn(move || event_loop.run(&ended_well))
            .map_err(BusError::NoResources)?;
        let shared = BusState { mailbox, tracker, has_ended_well };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Lets clients in; the address is the one that a port of 0 became.
    pub async fn listen(&self, listen: ListenConfig) -> Result<Option<SocketAddr>, BusError> {
        let listener = Listener::open(listen)?;
        let address = listener.address();
        self.shared.mailbox.send(LoopMessage::Listen(Box::new(listener))).await?;
        Ok(address)
    }

    /// A client inside this program.
    pub async fn port(&self, pool: Option<&str>) -> Result<Port, BusError> {
        self.guarded_port(pool, None).await
    }

    /// A client for a connection from outside of this program, which must show the token in its
    /// first message.
    pub async fn guarded_port(
        &self,
        pool: Option<&str>,
        token: Option<BusToken>,
    ) -> Result<Port, BusError> {
        let (port, socket) = Port::open(setup::MAX_LINE_BYTES).map_err(BusError::NoResources)?;
        let pool = pool.map(Into::into);
        self.shared.mailbox.send(LoopMessage::Port { socket, token, pool }).await?;
        Ok(port)
    }

    /// A snapshot of the bus: its state at this moment, and what it has counted.
    pub async fn snapshot(&self) -> Result<BusSnapshot, BusError> {
        let (reply, answer) = oneshot::channel();
        self.shared.mailbox.send(LoopMessage::Snapshot(reply)).await?;
        answer.await.map_err(|_| BusError::Ended)
    }

    /// Goes on with another setup. Pools that stay as they are do not notice.
    pub async fn reload(&self, setup: KernelSetup) -> Result<(), BusError> {
        let (done, answer) = oneshot::channel();
        self.shared.mailbox.send(LoopMessage::Reload { setup: Box::new(setup), done }).await?;
        answer.await.map_err(|_| BusError::Ended)?
    }

    pub async fn command(&self, command: BusCommand) -> Result<(), BusError> {
        let (done, answer) = oneshot::channel();
        self.shared.mailbox.send(LoopMessage::Command { command, done }).await?;
        answer.await.map_err(|_| BusError::Ended)
    }

    /// Refuses new requests, lets those in flight end, stops all workers; resolves when
    /// nothing is left of them.
    pub async fn drain(&self) -> Result<(), BusError> {
        let _already_ended = self.shared.mailbox.send(LoopMessage::Drain).await;
        self.ended().await
    }

    /// Kills all workers; resolves when nothing is left of them.
    pub async fn abort(&self) -> Result<(), BusError> {
        self.shared.mailbox.abort();
        self.ended().await
    }

    /// Resolves when the bus has ended, for whatever reason.
    pub async fn ended(&self) -> Result<(), BusError> {
        self.shared.mailbox.closed().await;
        self.shared.tracker.close();
        self.shared.tracker.wait().await;
        match self.shared.has_ended_well.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(BusError::Crashed),
        }
    }
}

impl Drop for BusState {
    fn drop(&mut self) {
        self.mailbox.abort();
    }
}

impl BusError {
    fn no_descriptors(error: rustix::io::Errno) -> Self {
        Self::NoResources(error.into())
    }
}

#[cfg(test)]
mod tests;
