//! `bus-reference`: the cheapest router that can be thought of, to know what the way from
//! client to router to worker and back costs on this machine in any case.
//!
//! Not a bus: it parses nothing, limits nothing and supervises nothing. It looks for the load
//! client's session number in the id, and trusts it. One thread; what one wake-up brought for
//! a party leaves in one `write`.

use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;
use bench::inbox::FillOutcome;
use bench::peer::Peer;
use bench::request::{id_finder, session_of};
use clap::Parser;
use memchr::memmem::Finder;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, listen, sockopt};

/// The listen backlog: a thousand clients may connect at the same moment.
const BACKLOG: i32 = 1024;
const MAX_EVENTS: usize = 512;

const LISTENER: u64 = 0;
const WORKER: u64 = 1;
const FIRST_CLIENT: u64 = 2;

#[derive(Parser)]
#[command(about = "The cheapest router there can be, as a yardstick")]
struct Args {
    #[command(flatten)]
    listen: Listen,
    /// The worker's program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Listen {
    #[arg(long)]
    tcp: Option<SocketAddr>,
    #[arg(long)]
    unix: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    bench::peer::allow_many()?;
    let listener: OwnedFd = match args.listen {
        Listen { tcp: Some(address), .. } => TcpListener::bind(address)?.into(),
        Listen { unix, .. } => UnixListener::bind(unix.unwrap_or_default())?.into(),
    };
    listen(&listener, BACKLOG)?;
    rustix::io::ioctl_fionbio(&listener, true)?;

    let (program, arguments) = args.command.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start the worker")?;
    let stdout = child.stdout.take().context("no stdout")?;
    let stdin = child.stdin.take().context("no stdin")?;

    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let worker = Peer::pipes(&epoll, stdout.into(), stdin.into(), WORKER)?;
    let router = Router {
        epoll,
        listener,
        worker: Party { peer: worker, is_touched: false },
        clients: Vec::new(),
        owners: Vec::new(),
        touched: Vec::new(),
        id: id_finder(),
    };
    router.run()
}

struct Router {
    epoll: OwnedFd,
    listener: OwnedFd,
    worker: Party,
    /// The clients by token; those that left stay as `None`, so that no token is used twice.
    clients: Vec<Option<Party>>,
    /// The client of each session, to which its answers go.
    owners: Vec<usize>,
    /// Clients with output that waits to be written.
    touched: Vec<usize>,
    id: Finder<'static>,
}

struct Party {
    peer: Peer,
    is_touched: bool,
}

impl Router {
    fn run(mut self) -> anyhow::Result<()> {
        let mut events = Vec::with_capacity(MAX_EVENTS);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let (token, flags) = (event.data.u64(), event.flags);
                let is_readable = flags.intersects(EventFlags::IN | EventFlags::HUP);
                if token == LISTENER {
                    self.accept()?;
                } else if token == WORKER {
                    if flags.contains(EventFlags::OUT) {
                        self.worker.peer.flush(&self.epoll)?;
                    }
                    if is_readable && !self.read_worker()? {
                        return Ok(());
                    }
                } else {
                    let index = usize::try_from(token - FIRST_CLIENT)?;
                    if flags.contains(EventFlags::OUT) {
                        self.flush_client(index);
                    }
                    if is_readable {
                        self.read_client(index);
                    }
                }
            }
            self.flush_touched()?;
        }
    }

    fn accept(&mut self) -> anyhow::Result<()> {
        loop {
            let socket = match accept_with(&self.listener, SocketFlags::CLOEXEC) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            // Unix sockets have no such option and need none.
            let _ = sockopt::set_tcp_nodelay(&socket, true);
            let token = u64::try_from(self.clients.len())? + FIRST_CLIENT;
            let peer = Peer::socket(&self.epoll, socket, token)?;
            self.clients.push(Some(Party { peer, is_touched: false }));
        }
    }

    fn read_client(&mut self, index: usize) {
        let Some(client) = self.clients.get_mut(index) else { return };
        let Some(party) = client else { return };
        if !matches!(party.peer.fill(), Ok(FillOutcome::Some | FillOutcome::NothingYet)) {
            *client = None;
            return;
        }
        while let Some(line) = party.peer.inbox.next_line() {
            let session = session_of(&self.id, line).unwrap_or_default();
            if session >= self.owners.len() {
                self.owners.resize(session + 1, usize::MAX);
            }
            if let Some(owner) = self.owners.get_mut(session) {
                *owner = index;
            }
            self.worker.peer.outbox.push(line);
            self.worker.is_touched = true;
        }
    }

    /// Whether the worker is still there.
    fn read_worker(&mut self) -> Result<bool, Errno> {
        if self.worker.peer.fill()? == FillOutcome::End {
            return Ok(false);
        }
        let inbox = &mut self.worker.peer.inbox;
        while let Some(line) = inbox.next_line() {
            let session = session_of(&self.id, line).unwrap_or_default();
            let Some(index) = self.owners.get(session) else { continue };
            let Some(Some(client)) = self.clients.get_mut(*index) else { continue };
            client.peer.outbox.push(line);
            if !client.is_touched {
                client.is_touched = true;
                self.touched.push(*index);
            }
        }
        Ok(true)
    }

    fn flush_touched(&mut self) -> Result<(), Errno> {
        if self.worker.is_touched && !self.worker.peer.is_full() {
            self.worker.peer.flush(&self.epoll)?;
        }
        self.worker.is_touched = false;
        let mut touched = std::mem::take(&mut self.touched);
        for index in touched.drain(..) {
            if let Some(Some(client)) = self.clients.get_mut(index) {
                client.is_touched = false;
                if !client.peer.is_full() {
                    self.flush_client(index);
                }
            }
        }
        self.touched = touched;
        Ok(())
    }

    fn flush_client(&mut self, index: usize) {
        if let Some(client) = self.clients.get_mut(index)
            && let Some(party) = client
            && party.peer.flush(&self.epoll).is_err()
        {
            *client = None;
        }
    }
}
