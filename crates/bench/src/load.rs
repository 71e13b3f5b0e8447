//! The load client: how many round trips per second there are, and how long they take.
//!
//! A closed loop: every session has one request outstanding, and the answer to it is followed
//! at once by the next. Every answer is checked: it must be the one its session waits for, on
//! its session's connection, and as long as an echo of the request. After the measurement the
//! last answers are waited for, so that a lost one shows however short the run was.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventFlags};

use crate::histogram::Histogram;
use crate::inbox::FillOutcome;
use crate::peer::Peer;
use crate::report::Report;
use crate::request::{AnswerReader, LoadAnswer, Request};

mod snapshot;

use snapshot::Snapshot;

/// A session that waits longer than this has lost its request.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// How often lost ones are looked for: rarely, because it looks at every session.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest wait for events, so that phases end in time when nothing comes.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
const MAX_EVENTS: usize = 512;

#[derive(Debug)]
pub struct Options {
    pub to: LoadTarget,
    pub n_sessions: usize,
    pub n_bytes: usize,
    pub connections: Connections,
    pub warm: Duration,
    pub measure: Duration,
    /// The process whose CPU time and memory is reported.
    pub bus: Option<u32>,
}

#[derive(Debug)]
pub enum LoadTarget {
    Tcp(SocketAddr),
    Unix(PathBuf),
    /// No bus: this worker is started with a socket pair for stdin and stdout.
    Worker(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    OneForEach,
    OneForAll,
}

pub fn run(options: &Options) -> anyhow::Result<Report> {
    let (mut load, worker) = Load::connect(options)?;
    let mut start = Snapshot::take(options.bus);
    load.ask_all();
    load.serve_until(options.warm)?;
    start.renew();
    load.is_measuring = true;
    load.serve_until(options.warm + options.measure)?;
    load.is_measuring = false;
    let used = start.passed();
    load.settle()?;
    if let Some(mut worker) = worker {
        worker.kill().and_then(|()| worker.wait()).context("cannot stop the worker")?;
    }

    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let n_answers = load.times.n() as f64;
    Ok(Report {
        n_sessions: options.n_sessions,
        n_connections: load.peers.len(),
        n_bytes: options.n_bytes,
        seconds: used.seconds,
        n_answers: load.times.n(),
        per_second: n_answers / used.seconds,
        p50_us: load.times.percentile(50),
        p99_us: load.times.percentile(99),
        longest_us: load.times.longest_micros(),
        n_errors: load.n_errors,
        n_wrong: load.n_wrong,
        n_lost: load.sessions.iter().filter(|session| session.is_lost).count(),
        n_lost_connections: load.n_lost_connections,
        client_cpu_seconds: used.client_cpu,
        bus: options.bus.map(|_| used.bus(n_answers)),
        other_cores: used.other_cores(),
    })
}

struct Load {
    epoll: OwnedFd,
    started: Instant,
    /// `None` once it is lost.
    peers: Vec<Option<Peer>>,
    sessions: Vec<Session>,
    reader: AnswerReader,
    times: Histogram,
    is_measuring: bool,
    /// No new requests are sent.
    is_settling: bool,
    n_errors: u64,
    n_wrong: u64,
    n_lost_connections: usize,
    looked_at: u64,
}

struct Session {
    connection: usize,
    request: Request,
    /// Nanoseconds after `started`.
    sent_at: u64,
    is_waiting: bool,
    is_lost: bool,
}

impl Session {
    fn ask(&mut self, peer: &mut Peer, now: u64) {
        peer.outbox.push(self.request.next_line());
        self.sent_at = now;
        self.is_waiting = true;
    }
}

impl Load {
    fn connect(options: &Options) -> anyhow::Result<(Self, Option<Child>)> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut worker = None;
        let n_connections = match (&options.to, options.connections) {
            (LoadTarget::Worker(_), _) | (_, Connections::OneForAll) => 1,
            (_, Connections::OneForEach) => options.n_sessions,
        };
        let mut peers = Vec::with_capacity(n_connections);
        for token in (0_u64..).take(n_connections) {
            let socket = match &options.to {
                LoadTarget::Tcp(address) => {
                    let stream = TcpStream::connect(address).context("cannot connect")?;
                    stream.set_nodelay(true)?;
                    stream.into()
                }
                LoadTarget::Unix(path) => {
                    UnixStream::connect(path).context("cannot connect")?.into()
                }
                LoadTarget::Worker(program) => {
                    let (ours, theirs) = UnixStream::pair()?;
                    let mut command = Command::new(program);
                    let stdin = OwnedFd::from(theirs.try_clone()?);
                    command.stdin(stdin).stdout(OwnedFd::from(theirs)).stderr(Stdio::null());
                    worker = Some(command.spawn().context("cannot start the worker")?);
                    ours.into()
                }
            };
            peers.push(Some(Peer::socket(&epoll, socket, token)?));
        }
        let session = |index| Session {
            connection: index % n_connections,
            request: Request::new(index, options.n_bytes),
            sent_at: 0,
            is_waiting: false,
            is_lost: false,
        };
        let load = Self {
            epoll,
            started: Instant::now(),
            peers,
            sessions: (0..options.n_sessions).map(session).collect(),
            reader: AnswerReader::default(),
            times: Histogram::default(),
            is_measuring: false,
            is_settling: false,
            n_errors: 0,
            n_wrong: 0,
            n_lost_connections: 0,
            looked_at: 0,
        };
        Ok((load, worker))
    }

    fn now(&self) -> u64 {
        nanos(self.started.elapsed())
    }

    fn ask_all(&mut self) {
        self.started = Instant::now();
        for session in &mut self.sessions {
            if let Some(Some(peer)) = self.peers.get_mut(session.connection) {
                session.ask(peer, nanos(self.started.elapsed()));
            }
        }
        for connection in 0..self.peers.len() {
            self.flush(connection);
        }
    }

    fn serve_until(&mut self, end: Duration) -> anyhow::Result<()> {
        let end = nanos(end);
        let mut events = Vec::with_capacity(MAX_EVENTS);
        while self.now() < end {
            anyhow::ensure!(self.n_lost_connections < self.peers.len(), "no connection is left");
            self.serve(&mut events)?;
        }
        Ok(())
    }

    /// Takes the last answers, and gives those up that do not come.
    fn settle(&mut self) -> anyhow::Result<()> {
        self.is_settling = true;
        let mut events = Vec::with_capacity(MAX_EVENTS);
        while self.sessions.iter().any(|session| session.is_waiting) {
            self.serve(&mut events)?;
        }
        Ok(())
    }

    fn serve(&mut self, events: &mut Vec<Event>) -> anyhow::Result<()> {
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&TICK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.iter() {
            let connection = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            let flags = event.flags;
            if flags.contains(EventFlags::OUT) {
                self.flush(connection);
            }
            if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                self.read(connection);
            }
        }
        self.look_for_lost();
        Ok(())
    }

    fn read(&mut self, connection: usize) {
        let Some(Some(peer)) = self.peers.get_mut(connection) else { return };
        match peer.fill() {
            Ok(FillOutcome::Some) => {}
            Ok(FillOutcome::NothingYet) => return,
            Ok(FillOutcome::End) | Err(_) => return self.lose(connection),
        }
        let now = nanos(self.started.elapsed());
        while let Some(line) = peer.inbox.next_line() {
            let (index, count, is_error) = match self.reader.read(line) {
                LoadAnswer::Result { session, count } => (session, count, false),
                LoadAnswer::Error { session, count } => (session, count, true),
                LoadAnswer::Other => {
                    self.n_wrong += 1;
                    continue;
                }
            };
            let session = self.sessions.get_mut(index).filter(|session| {
                session.is_waiting
                    && session.connection == connection
                    && session.request.count() == count
            });
            let Some(session) = session else {
                self.n_wrong += 1;
                continue;
            };
            if is_error {
                self.n_errors += 1;
            } else if line.len() != session.request.n_answer_bytes() {
                self.n_wrong += 1;
            } else if self.is_measuring {
                self.times.add(now.saturating_sub(session.sent_at));
            }
            session.is_waiting = false;
            if !self.is_settling {
                session.ask(peer, nanos(self.started.elapsed()));
            }
        }
        self.flush(connection);
    }

    fn flush(&mut self, connection: usize) {
        let Some(Some(peer)) = self.peers.get_mut(connection) else { return };
        if !peer.outbox.is_empty() && peer.flush(&self.epoll).is_err() {
            self.lose(connection);
        }
    }

    fn lose(&mut self, connection: usize) {
        if self.peers.get_mut(connection).and_then(Option::take).is_none() {
            return;
        }
        self.n_lost_connections += 1;
        for session in &mut self.sessions {
            if session.connection == connection {
                session.is_waiting = false;
                session.is_lost = true;
            }
        }
    }

    fn look_for_lost(&mut self) {
        let now = self.now();
        if now - self.looked_at < nanos(LOOK_EVERY) {
            return;
        }
        self.looked_at = now;
        let mut asked = Vec::new();
        for session in &mut self.sessions {
            if !session.is_waiting || now.saturating_sub(session.sent_at) < nanos(LOST_AFTER) {
                continue;
            }
            session.is_lost = true;
            session.is_waiting = false;
            if let Some(Some(peer)) = self.peers.get_mut(session.connection)
                && !self.is_settling
            {
                session.ask(peer, now);
                asked.push(session.connection);
            }
        }
        for connection in asked {
            self.flush(connection);
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
