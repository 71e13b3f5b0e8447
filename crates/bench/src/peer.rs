//! One end of a connection in an epoll set: a socket, or a pair of pipes.
//!
//! It is always watched for input; for room to write only while something could not be written.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::inbox::{FillOutcome, Inbox};
use crate::outbox::{FlushOutcome, Outbox};

#[derive(Debug)]
pub struct Peer {
    pub inbox: Inbox,
    pub outbox: Outbox,
    source: OwnedFd,
    /// The same as `source` for a socket.
    sink: Option<OwnedFd>,
    token: u64,
    is_full: bool,
}

impl Peer {
    /// `token` is what epoll reports for it.
    pub fn socket(epoll: &OwnedFd, socket: OwnedFd, token: u64) -> Result<Self, Errno> {
        Self::watched(epoll, socket, None, token)
    }

    pub fn pipes(
        epoll: &OwnedFd,
        source: OwnedFd,
        sink: OwnedFd,
        token: u64,
    ) -> Result<Self, Errno> {
        epoll::add(epoll, &sink, EventData::new_u64(token), EventFlags::empty())?;
        rustix::io::ioctl_fionbio(&sink, true)?;
        Self::watched(epoll, source, Some(sink), token)
    }

    fn watched(
        epoll: &OwnedFd,
        source: OwnedFd,
        sink: Option<OwnedFd>,
        token: u64,
    ) -> Result<Self, Errno> {
        rustix::io::ioctl_fionbio(&source, true)?;
        epoll::add(epoll, &source, EventData::new_u64(token), EventFlags::IN)?;
        let (inbox, outbox) = (Inbox::default(), Outbox::default());
        Ok(Self { inbox, outbox, source, sink, token, is_full: false })
    }

    /// Whether it takes nothing more for now; epoll tells when that has changed.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    pub fn fill(&mut self) -> Result<FillOutcome, Errno> {
        self.inbox.fill(&self.source)
    }

    pub fn flush(&mut self, epoll: &OwnedFd) -> Result<(), Errno> {
        let sink = self.sink.as_ref().unwrap_or(&self.source);
        let is_full = self.outbox.flush(sink)? == FlushOutcome::Part;
        if is_full == self.is_full {
            return Ok(());
        }
        self.is_full = is_full;
        let mut flags = if self.sink.is_some() { EventFlags::empty() } else { EventFlags::IN };
        flags.set(EventFlags::OUT, is_full);
        epoll::modify(epoll, sink, EventData::new_u64(self.token), flags)
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

/// Lets this process and those it starts have as many connections as the system allows.
pub fn allow_many() -> Result<(), Errno> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)
}
