//! The thread of a bus: waits for descriptors, feeds the switch, carries out its outputs.
//!
//! In: bytes, messages and time. Out: bytes and processes. Nothing is decided here that the
//! switch could decide. Everything that one wake-up brings is read first and written last,
//! so that a burst costs one write per party however many lines it holds.

mod clients;
mod snapshot;
mod workers;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::BusError;
use super::inbox::ReadBuffer;
use super::listener::{ClientTransport, Listener};
use super::mailbox::{LoopMessage, Mailbox, clear_bell};
use super::setup::{IoLimits, KernelSetup, PoolSetup};
use crate::switch::history;
use crate::switch::{
    BusCommand, ClientId, IdMap, MonotonicMillis, PoolState, Switch, SwitchInput, SwitchOutput,
    WorkerId,
};
use clients::ClientConnection;
use workers::WorkerConnection;

/// Events per wait: enough that a thousand busy clients take a few system calls.
const MAX_EVENTS: usize = 512;
/// Bytes that one wake-up may read before it writes: a flood of many must not hold up the answers
/// of the rest for long.
const MAX_UNWRITTEN_BYTES: usize = 1 << 20;
/// How often parties that may be late are looked at, while there are any.
const TICK: u64 = 250;
/// How long all clients together may take to read their last answers when the bus ends.
const LAST_ANSWERS_WAIT: u64 = 30_000;

pub(super) struct EventLoop {
    epoll: OwnedFd,
    switch: Switch,
    edges: IoLimits,
    pools: HashMap<Arc<str>, PoolSetup>,
    clients: IdMap<ClientId, ClientConnection>,
    workers: IdMap<WorkerId, WorkerConnection>,
    listeners: BTreeMap<u64, Listener>,
    n_clients: u64,
    n_unauthorized: u64,
    /// Pools that have failed, and have been reported as such.
    failed: BTreeSet<Arc<str>>,
    n_failures: u64,
    n_unfinished_bytes: usize,
    /// Bytes read since something was last written.
    n_read_bytes: usize,
    buffer: ReadBuffer,
    /// Parties to be settled: there is something to write, or reading is to be paused or resumed.
    touched: Vec<Party>,
    mailbox: Mailbox,
    tracker: TaskTracker,
    runtime: tokio::runtime::Handle,
    now: MonotonicMillis,
    messages: mpsc::Receiver<LoopMessage>,
    /// Inputs that arose while outputs were being carried out.
    afterwards: VecDeque<SwitchInput>,
    outputs: Vec<SwitchOutput>,
    started: Instant,
    tick_at: Option<MonotonicMillis>,
    memory_at: Option<MonotonicMillis>,
    recording: Option<Recording>,
    n_listeners: u64,
    last_answers_until: Option<MonotonicMillis>,
    is_aborted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Party {
    Client(ClientId),
    WorkerInput(WorkerId),
    WorkerOutput(WorkerId),
    Listener(u64),
    Bell,
}

struct Recording {
    /// What was not written into the file yet.
    text: String,
    file: File,
}

impl EventLoop {
    pub(super) fn new(
        setup: KernelSetup,
        seed: u64,
        mailbox: Mailbox,
        messages: mpsc::Receiver<LoopMessage>,
        tracker: TaskTracker,
    ) -> Result<Self, BusError> {
        let plan = setup.plan()?;
        let recording = match &setup.record {
            None => None,
            Some(path) => Some(Recording {
                text: history::beginning(&plan, seed),
                file: private_file(path)
                    .map_err(|source| BusError::Record { path: path.clone(), source })?,
            }),
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(BusError::no_descriptors)?;
        epoll::add(&epoll, mailbox.bell(), Party::Bell.token(), EventFlags::IN)
            .map_err(BusError::no_descriptors)?;
        let mut event_loop = Self {
            epoll,
            switch: Switch::new(plan, seed)?,
            edges: setup.edges,
            pools: HashMap::new(),
            clients: IdMap::default(),
            workers: IdMap::default(),
            listeners: BTreeMap::new(),
            n_clients: 0,
            n_unauthorized: 0,
            failed: BTreeSet::new(),
            n_failures: 0,
            n_unfinished_bytes: 0,
            n_read_bytes: 0,
            buffer: ReadBuffer::default(),
            touched: Vec::new(),
            mailbox,
            tracker,
            runtime: tokio::runtime::Handle::current(),
            now: MonotonicMillis::default(),
            messages,
            afterwards: VecDeque::new(),
            outputs: Vec::new(),
            started: Instant::now(),
            tick_at: None,
            memory_at: None,
            recording,
            n_listeners: 0,
            last_answers_until: None,
            is_aborted: false,
        };
        event_loop.set_pools(setup.pools);
        Ok(event_loop)
    }

    /// Runs until everything has been drained, or until the bus is aborted.
    pub(super) fn run(mut self, has_ended_well: &AtomicBool) {
        keep_freed_memory();
        let mut events = Vec::with_capacity(MAX_EVENTS);
        self.feed(SwitchInput::TimePassed);
        while !self.is_over() {
            self.settle();
            events.clear();
            let timeout = self.timeout();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "the bus cannot wait any more and ends");
                    return;
                }
            }
            let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.now = MonotonicMillis(elapsed);
            for event in &events {
                self.event(Party::of(event.data), event.flags);
                if self.n_read_bytes > MAX_UNWRITTEN_BYTES {
                    self.settle();
                }
            }
            self.on_time();
            if self.switch.counters().pool_failures != self.n_failures {
                self.look_at_pools();
            }
        }
        has_ended_well.store(true, Ordering::Release);
    }

    fn event(&mut self, party: Party, flags: EventFlags) {
        match party {
            Party::Client(id) => self.client_event(id, flags),
            Party::WorkerOutput(id) => self.worker_readable(id),
            Party::WorkerInput(_) => self.touched.push(party),
            Party::Listener(id) => self.accept(id),
            Party::Bell => self.read_messages(),
        }
    }

    /// Hands one input to the switch and carries out all that follows from it.
    fn feed(&mut self, input: SwitchInput) {
        self.step(input);
        self.feed_rest();
    }

    fn feed_rest(&mut self) {
        while let Some(input) = self.afterwards.pop_front() {
            self.step(input);
        }
    }

    /// Feeds a client's line, the most frequent input, without a [`SwitchInput`] for it.
    fn feed_client_line(&mut self, client: ClientId, line: Bytes) {
        if self.recording.is_some() {
            return self.feed(SwitchInput::ClientLine { client, line });
        }
        self.step_by(|switch, now, out| switch.take_client_line(now, client, &line, out));
        self.feed_rest();
    }

    fn feed_worker_line(&mut self, worker: WorkerId, line: Bytes) {
        if self.recording.is_some() {
            return self.feed(SwitchInput::WorkerLine { worker, line });
        }
        self.step_by(|switch, now, out| switch.take_worker_line(now, worker, &line, out));
        self.feed_rest();
    }

    fn step(&mut self, input: SwitchInput) {
        let Some(recording) = &mut self.recording else {
            return self.step_by(|switch, now, out| switch.take(now, input, out));
        };
        let mut outputs = Vec::new();
        self.switch.take(self.now, input.clone(), &mut outputs);
        history::record_step(&mut recording.text, self.now, &input, &outputs);
        let text = std::mem::take(&mut recording.text);
        if let Err(error) = recording.file.write_all(text.as_bytes()) {
            tracing::error!(%error, "the run is no longer recorded");
            self.recording = None;
        }
        self.step_by(|_, _, out| out.append(&mut outputs));
    }

    /// Lets the switch do something and carries out its outputs.
    fn step_by(&mut self, act: impl FnOnce(&mut Switch, MonotonicMillis, &mut Vec<SwitchOutput>)) {
        let mut outputs = std::mem::take(&mut self.outputs);
        act(&mut self.switch, self.now, &mut outputs);
        for output in outputs.drain(..) {
            self.carry_out(output);
        }
        self.outputs = outputs;
    }

    /// Queues an input that arose in the middle of a step, for the switch to take next.
    fn feed_afterwards(&mut self, input: SwitchInput) {
        self.afterwards.push_back(input);
    }

    fn carry_out(&mut self, output: SwitchOutput) {
        match output {
            SwitchOutput::ToClient { client, line } => self.write_to_client(client, line),
            SwitchOutput::ToWorker { worker, line } => self.write_to_worker(worker, line),
            SwitchOutput::CloseClient { client, reason } => {
                tracing::info!(client = client.0, ?reason, "closing a client");
                self.close_gracefully(client);
            }
            SwitchOutput::StartWorker { worker, pool, slot } => {
                self.start_worker(worker, &pool, slot);
            }
            SwitchOutput::StopWorker { worker, how } => self.stop_worker(worker, how),
            SwitchOutput::PauseClient { client } => self.pause_client(client, true),
            SwitchOutput::ResumeClient { client } => self.pause_client(client, false),
            SwitchOutput::PauseWorker { worker } => self.pause_worker(worker, true),
            SwitchOutput::ResumeWorker { worker } => self.pause_worker(worker, false),
        }
    }

    /// Writes what waits and asks for the events that are now of interest.
    fn settle(&mut self) {
        self.n_read_bytes = 0;
        while !self.touched.is_empty() {
            let touched = std::mem::take(&mut self.touched);
            for party in &touched {
                match *party {
                    Party::Client(id) => self.settle_client(id),
                    Party::WorkerInput(id) => self.settle_worker_input(id),
                    Party::WorkerOutput(id) => self.settle_worker_output(id),
                    Party::Listener(_) | Party::Bell => {}
                }
                self.feed_rest();
            }
            // Keeps the room of the list for the next time.
            if self.touched.is_empty() {
                self.touched = touched;
                self.touched.clear();
                break;
            }
        }
    }

    fn timeout(&self) -> Option<rustix::event::Timespec> {
        let next = [self.switch.wake_at(), self.tick_at, self.memory_at, self.last_answers_until];
        let next = next.into_iter().flatten().min()?;
        Duration::from_millis(next.since(self.now)).try_into().ok()
    }

    fn on_time(&mut self) {
        let is_due =
            |at: Option<MonotonicMillis>, now: MonotonicMillis| at.is_some_and(|at| at <= now);
        if is_due(self.switch.wake_at(), self.now) {
            self.feed(SwitchInput::TimePassed);
        }
        if is_due(self.tick_at, self.now) {
            self.tick_at = None;
            self.tick_clients();
            self.tick_workers();
            self.wake_listeners();
            self.look_at_pools();
        }
        if is_due(self.memory_at, self.now) {
            self.look_at_memory();
        }
    }

    /// Logs when a pool has failed, and when it serves again; both as errors, because the default
    /// log level shows only these.
    fn look_at_pools(&mut self) {
        let n_failures =
            std::mem::replace(&mut self.n_failures, self.switch.counters().pool_failures);
        if n_failures == self.n_failures && self.failed.is_empty() {
            return;
        }
        let pools = self.switch.status(self.now).pools;
        self.failed.retain(|name| pools.iter().any(|pool| pool.name == *name));
        for pool in pools {
            match pool.state {
                PoolState::Failed if !self.failed.contains(&pool.name) => {
                    let why = pool.last_failure.unwrap_or_default();
                    let seconds = pool.retry_in_ms.unwrap_or_default().div_ceil(1000);
                    tracing::error!(
                        "pool `{}` has failed, one worker is tried in {seconds} s: {why}",
                        pool.name
                    );
                    self.failed.insert(pool.name);
                }
                PoolState::Serving if self.failed.remove(&pool.name) => {
                    tracing::error!("pool `{}` serves again", pool.name);
                }
                _ => {}
            }
        }
        if !self.failed.is_empty() {
            self.watch();
        }
    }

    /// Schedules a tick soon, because some party may be late.
    fn watch(&mut self) {
        self.tick_at.get_or_insert(self.now.after(TICK));
    }

    fn is_over(&mut self) -> bool {
        if self.is_aborted {
            return true;
        }
        if !self.switch.is_drained() {
            return false;
        }
        let until =
            *self.last_answers_until.get_or_insert_with(|| self.now.after(LAST_ANSWERS_WAIT));
        self.listeners.clear();
        let ids: Vec<_> = self.clients.keys().copied().collect();
        for id in ids {
            self.close_gracefully(id);
        }
        self.settle();
        // A client that has read its last answers need not be waited for.
        self.clients.values().all(ClientConnection::has_all) || until <= self.now
    }

    fn read_messages(&mut self) {
        clear_bell(self.mailbox.bell());
        self.is_aborted = self.mailbox.is_aborted();
        while let Ok(message) = self.messages.try_recv() {
            match message {
                LoopMessage::WorkerStarted { worker, started } => {
                    self.worker_started(worker, started);
                }
                LoopMessage::WorkerExited { worker, report, last_words } => {
                    self.worker_exited(worker, report, &last_words);
                }
                LoopMessage::Memory(seen) => {
                    for (worker, n_bytes) in seen {
                        self.feed(SwitchInput::WorkerMemory { worker, n_bytes });
                    }
                }
                LoopMessage::Listen(listener) => self.listen(*listener),
                LoopMessage::Port { socket, token, pool } => {
                    self.add_client(socket, ClientTransport::Port, token, pool);
                }
                LoopMessage::Snapshot(reply) => {
                    let _asker_gone = reply.send(self.snapshot());
                }
                LoopMessage::Reload { setup, done } => {
                    let _asker_gone = done.send(self.reload(*setup));
                }
                LoopMessage::Command { command, done } => {
                    self.feed(SwitchInput::Command(command));
                    let _asker_gone = done.send(());
                }
                LoopMessage::Drain => self.feed(SwitchInput::Command(BusCommand::DrainAll)),
            }
        }
    }

    fn reload(&mut self, setup: KernelSetup) -> Result<(), BusError> {
        let plan = setup.plan()?;
        self.edges = setup.edges;
        self.set_pools(setup.pools);
        self.feed(SwitchInput::NewPlan(Box::new(plan)));
        Ok(())
    }

    fn set_pools(&mut self, pools: Vec<PoolSetup>) {
        self.pools = pools.into_iter().map(|pool| (pool.plan.name.clone(), pool)).collect();
        let has_limit = self.pools.values().any(|pool| pool.plan.max_memory_bytes.is_some());
        self.memory_at = has_limit.then(|| self.now.after(self.edges.memory_interval));
    }

    fn listen(&mut self, listener: Listener) {
        self.n_listeners += 1;
        let party = Party::Listener(self.n_listeners);
        if let Err(error) = epoll::add(&self.epoll, &listener, party.token(), EventFlags::IN) {
            tracing::error!(%error, listener = %listener.listen.at, "cannot listen");
            return;
        }
        self.listeners.insert(self.n_listeners, listener);
    }
}

/// A burst of large lines is freed at the end of every wake-up. glibc would give the memory
/// back to the system and ask for it again with the next burst, unless it has once seen a
/// large block come and go; then it keeps twice as much.
fn keep_freed_memory() {
    const BURST_BYTES: usize = 4 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(BURST_BYTES)));
}

impl Party {
    const KIND_BITS: u32 = 3;

    fn token(self) -> EventData {
        let (kind, id) = match self {
            Self::Bell => (0, 0),
            Self::Listener(id) => (1, id),
            Self::Client(id) => (2, id.0),
            Self::WorkerInput(id) => (3, id.0),
            Self::WorkerOutput(id) => (4, id.0),
        };
        EventData::new_u64(id << Self::KIND_BITS | kind)
    }

    fn of(token: EventData) -> Self {
        let id = token.u64() >> Self::KIND_BITS;
        match token.u64() & ((1 << Self::KIND_BITS) - 1) {
            1 => Self::Listener(id),
            2 => Self::Client(ClientId(id)),
            3 => Self::WorkerInput(WorkerId(id)),
            4 => Self::WorkerOutput(WorkerId(id)),
            _ => Self::Bell,
        }
    }
}

/// Creates a file that only this user can read, because messages may be secret, and never
/// overwrites one.
fn private_file(path: &std::path::Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}
