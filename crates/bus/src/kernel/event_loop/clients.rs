//! The sockets of clients: bytes in, lines to the switch, and back.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use bytes::Bytes;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::Shutdown;

use super::{EventLoop, Party};
use crate::hello::{BusToken, Greeting, greet};
use crate::kernel::inbox::{LineCut, LineCutter};
use crate::kernel::listener::ClientTransport;
use crate::kernel::outbox::{FlushOutcome, Outbox};
use crate::switch::{ClientId, MonotonicMillis, SwitchInput};

/// The longest first line of a client that has not shown its token.
const MAX_HELLO_BYTES: usize = 64 << 10;
/// How long a client that is being closed may read nothing of what waits for it.
const CLOSE_WAIT: u64 = 2_000;
/// Clients accepted in one go, before others are served again.
const MAX_ACCEPTED: usize = 64;
/// Connections that have not shown their token yet; a further one replaces the oldest.
const MAX_UNAUTHENTICATED: usize = 256;
/// Connections beyond the switch's limit, so that they can be told why they are closed.
const N_BEYOND_LIMIT: usize = 64;

pub(super) struct ClientConnection {
    pub(super) socket: OwnedFd,
    pub(super) via: ClientTransport,
    pub(super) inbox: LineCutter,
    pub(super) outbox: Outbox,
    stage: ClientStage,
    pub(super) is_paused: bool,
    /// Its sending side is closed.
    has_ended: bool,
    is_blocked: bool,
    is_touched: bool,
    interest: EventFlags,
    last_read: MonotonicMillis,
}

enum ClientStage {
    /// Its first message has not come yet.
    Guest {
        since: MonotonicMillis,
        token: Option<BusToken>,
        pool: Option<Arc<str>>,
    },
    Served,
    /// Its last lines are being written; what it sends is thrown away.
    Leaving {
        until: MonotonicMillis,
        is_shut: bool,
    },
}

impl ClientConnection {
    pub(super) fn is_guest(&self) -> bool {
        matches!(self.stage, ClientStage::Guest { .. })
    }

    fn is_served(&self) -> bool {
        matches!(self.stage, ClientStage::Served)
    }

    /// It is leaving, and nothing waits for it any more.
    pub(super) fn has_all(&self) -> bool {
        matches!(self.stage, ClientStage::Leaving { is_shut: true, .. })
    }

    fn is_leaving(&self) -> bool {
        matches!(self.stage, ClientStage::Leaving { .. })
    }

    fn wanted(&self) -> EventFlags {
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, !self.has_ended && (self.is_leaving() || !self.is_paused));
        wanted.set(EventFlags::OUT, self.is_blocked);
        wanted
    }
}

impl EventLoop {
    pub(super) fn accept(&mut self, id: u64) {
        for _ in 0..MAX_ACCEPTED {
            let Some(listener) = self.listeners.get_mut(&id) else { return };
            match listener.accept() {
                Ok(None) => return,
                Ok(Some((socket, via))) => {
                    let (token, pool) =
                        (listener.listen.token.clone(), listener.listen.pool.clone());
                    self.add_client(socket, via, token, pool);
                }
                Err(errno) => {
                    // Out of descriptors or memory: it would be reported again and again.
                    tracing::warn!(error = %errno, "cannot accept a client");
                    listener.is_resting = true;
                    let _removed = epoll::delete(&self.epoll, &*listener);
                    return self.watch();
                }
            }
        }
    }

    pub(super) fn wake_listeners(&mut self) {
        for (id, listener) in &mut self.listeners {
            if std::mem::take(&mut listener.is_resting) {
                let token = Party::Listener(*id).token();
                let _woken = epoll::add(&self.epoll, &*listener, token, EventFlags::IN);
            }
        }
    }

    pub(super) fn add_client(
        &mut self,
        socket: OwnedFd,
        via: ClientTransport,
        token: Option<BusToken>,
        pool: Option<Arc<str>>,
    ) {
        // Unauthenticated clients have a limit of their own: they can only crowd out each other.
        if self.clients.len() >= MAX_UNAUTHENTICATED {
            let has_to_show_token = |client: &ClientConnection| {
                matches!(client.stage, ClientStage::Guest { token: Some(_), .. })
            };
            let unauthenticated =
                self.clients.iter().filter(|(_, client)| has_to_show_token(client));
            let n_unauthenticated = unauthenticated.clone().count();
            let n_known = self.clients.len() - n_unauthenticated;
            if token.is_some() && n_unauthenticated >= MAX_UNAUTHENTICATED {
                let oldest = unauthenticated.map(|(id, _)| *id).min();
                if let Some(id) = oldest {
                    self.lose_client(id);
                }
            } else if n_known >= self.switch.limits().max_clients + N_BEYOND_LIMIT {
                return;
            }
        }
        self.n_clients += 1;
        let id = ClientId(self.n_clients);
        let interest = EventFlags::IN;
        let token_of_party = Party::Client(id).token();
        if let Err(error) = epoll::add(&self.epoll, &socket, token_of_party, interest) {
            tracing::warn!(%error, "cannot serve a client");
            return;
        }
        if token.is_some() {
            self.watch();
        }
        let edge = ClientConnection {
            socket,
            via,
            inbox: LineCutter::default(),
            outbox: Outbox::default(),
            stage: ClientStage::Guest { since: self.now, token, pool },
            is_paused: false,
            has_ended: false,
            is_blocked: false,
            is_touched: false,
            interest,
            last_read: self.now,
        };
        self.clients.insert(id, edge);
    }

    pub(super) fn client_event(&mut self, id: ClientId, flags: EventFlags) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if flags.contains(EventFlags::OUT) && !client.is_touched {
            client.is_touched = true;
            self.touched.push(Party::Client(id));
        }
        let is_gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        // What a client sent before it went still counts; there is not much of it, so it is read
        // even from one that is paused.
        if (flags.contains(EventFlags::IN) || is_gone) && !client.has_ended {
            self.read_client(id, is_gone);
        } else if is_gone {
            self.lose_client(id);
        }
    }

    fn read_client(&mut self, id: ClientId, is_gone: bool) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let (buffer, n) = match self.buffer.receive(&client.socket) {
            Ok(read) => read,
            Err(Errno::AGAIN | Errno::INTR) if !is_gone => return,
            Err(_) => return self.lose_client(id),
        };
        client.last_read = self.now;
        self.n_read_bytes += n;
        if n == 0 {
            self.buffer.give_back(buffer);
            return self.client_stream_ended(id, is_gone);
        }
        let mut chunk = buffer.slice(..n);
        while let Some(cut) = self.cut_client(id, &mut chunk) {
            self.client_cut(id, cut);
        }
        drop(chunk);
        self.buffer.give_back(buffer);
    }

    fn cut_client(&mut self, id: ClientId, chunk: &mut Bytes) -> Option<LineCut> {
        let client = self.clients.get_mut(&id).filter(|client| !client.is_leaving())?;
        let max_line_bytes = match client.stage {
            ClientStage::Guest { token: Some(_), .. } => MAX_HELLO_BYTES,
            _ => self.edges.max_client_line_bytes,
        };
        let n_before = client.inbox.n_unfinished();
        let cut = client.inbox.cut(chunk, max_line_bytes);
        let n_after = client.inbox.n_unfinished();
        let n_all = (self.n_unfinished_bytes + n_after).saturating_sub(n_before);
        self.n_unfinished_bytes = n_all;
        if n_after > 0 {
            self.watch();
        }
        if n_after > 0 && n_all > self.edges.max_unfinished_bytes {
            return self.skip_largest(id);
        }
        cut
    }

    /// Gives up the largest unfinished line of all clients, because together they hold too much;
    /// returns the cut if that is the line of `id` itself.
    fn skip_largest(&mut self, id: ClientId) -> Option<LineCut> {
        let sizes = self.clients.iter().map(|(id, client)| (client.inbox.n_unfinished(), *id));
        let (n_bytes, largest) = sizes.max()?;
        self.n_unfinished_bytes = self.n_unfinished_bytes.saturating_sub(n_bytes);
        let cut = self.clients.get_mut(&largest)?.inbox.skip();
        if largest == id {
            return Some(cut);
        }
        self.client_cut(largest, cut);
        None
    }

    fn client_cut(&mut self, id: ClientId, cut: LineCut) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        match (&client.stage, cut) {
            (ClientStage::Served, LineCut::Line(line)) => self.feed_client_line(id, line),
            (ClientStage::Served, LineCut::TooLong(head)) => {
                self.feed(SwitchInput::ClientLineTooLong { client: id, head });
            }
            (ClientStage::Guest { token, .. }, LineCut::Line(line)) => {
                let greeting = greet(line, token.as_ref());
                self.greeted(id, greeting);
            }
            (ClientStage::Guest { token, .. }, LineCut::TooLong(head)) => match token {
                Some(_) => {
                    let greeting = greet(head, token.as_ref());
                    self.greeted(id, greeting);
                }
                None => {
                    self.admit(id, None);
                    self.feed(SwitchInput::ClientLineTooLong { client: id, head });
                }
            },
            (ClientStage::Leaving { .. }, _) => {}
        }
    }

    fn greeted(&mut self, id: ClientId, greeting: Greeting) {
        match greeting {
            Greeting::Message(line) => {
                self.admit(id, None);
                self.feed(SwitchInput::ClientLine { client: id, line });
            }
            Greeting::Hello { pool, answer } => {
                self.admit(id, pool);
                if let Some(answer) = answer {
                    self.write_to_client(id, answer);
                }
            }
            Greeting::Refused { answer, why } => {
                let via = self.clients.get(&id).map(|client| client.via.to_string());
                self.n_unauthorized += 1;
                tracing::warn!(via, why, "refused an unauthorized client");
                self.write_to_client(id, answer);
                self.close_gracefully(id);
            }
        }
    }

    /// Hands a client over to the switch. The listener's pool wins over the one that a hello names.
    fn admit(&mut self, id: ClientId, said: Option<Arc<str>>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if let ClientStage::Guest { pool, .. } =
            std::mem::replace(&mut client.stage, ClientStage::Served)
        {
            tracing::debug!(client = id.0, via = %client.via, "client");
            self.feed(SwitchInput::ClientCame { client: id, pool: pool.or(said) });
        }
    }

    /// A client that has stopped sending may still read its answers.
    fn client_stream_ended(&mut self, id: ClientId, is_gone: bool) {
        let max_line_bytes = self.edges.max_client_line_bytes;
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.has_ended = true;
        self.n_unfinished_bytes =
            self.n_unfinished_bytes.saturating_sub(client.inbox.n_unfinished());
        let is_leaving = client.is_leaving();
        let last = client.inbox.finish(max_line_bytes);
        if is_gone {
            return self.lose_client(id);
        }
        if is_leaving {
            // Its queued lines can still be read.
            return self.touch_client(id);
        }
        if let Some(cut) = last {
            self.client_cut(id, cut);
        }
        let Some(client) = self.clients.get(&id) else { return };
        match client.stage {
            ClientStage::Served => {
                let wait = match client.via {
                    ClientTransport::Tcp(_) => Some(self.edges.half_close_wait),
                    ClientTransport::Unix { .. } | ClientTransport::Port => None,
                };
                let is_tcp = wait.is_some();
                self.feed(SwitchInput::ClientFinished { client: id, wait });
                if is_tcp && self.clients.get(&id).is_some_and(ClientConnection::is_served) {
                    // A peer that is gone altogether looks the same, until something is sent
                    // to it. A space before the next line changes no message.
                    self.write_to_client(id, Bytes::from_static(b" "));
                }
                self.touch_client(id);
            }
            ClientStage::Guest { .. } => self.lose_client(id),
            ClientStage::Leaving { .. } => self.touch_client(id),
        }
    }

    /// Removes a client that is gone: nothing reaches it any more.
    fn lose_client(&mut self, id: ClientId) {
        let Some(client) = self.clients.remove(&id) else { return };
        self.n_unfinished_bytes =
            self.n_unfinished_bytes.saturating_sub(client.inbox.n_unfinished());
        if client.is_served() {
            self.feed(SwitchInput::ClientLeft { client: id });
        }
    }

    /// Closes a client after what waits for it was written, if that does not take long.
    pub(super) fn close_gracefully(&mut self, id: ClientId) {
        let until = self.now.after(CLOSE_WAIT);
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.is_leaving()) else {
            return;
        };
        client.stage = ClientStage::Leaving { until, is_shut: false };
        self.n_unfinished_bytes =
            self.n_unfinished_bytes.saturating_sub(client.inbox.n_unfinished());
        client.inbox = LineCutter::default();
        self.touch_client(id);
        self.watch();
    }

    pub(super) fn write_to_client(&mut self, id: ClientId, line: Bytes) {
        let marks = self.switch.limits().client_queue;
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.outbox.push(line);
        if client.outbox.n_bytes() > marks.high
            && !client.is_blocked
            && client.outbox.send(&client.socket) == FlushOutcome::Blocked
        {
            client.is_blocked = true;
        }
        let crossing = client.outbox.crossing(marks).filter(|_| client.is_served());
        self.touch_client(id);
        if let Some(level) = crossing {
            self.feed_afterwards(SwitchInput::ClientOutbox { client: id, level });
        }
    }

    pub(super) fn pause_client(&mut self, id: ClientId, is_paused: bool) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.is_paused = is_paused;
            self.touch_client(id);
        }
    }

    fn touch_client(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id)
            && !std::mem::replace(&mut client.is_touched, true)
        {
            self.touched.push(Party::Client(id));
        }
    }

    pub(super) fn settle_client(&mut self, id: ClientId) {
        let marks = self.switch.limits().client_queue;
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.is_touched = false;
        let n_before = client.outbox.n_bytes();
        let flushed = client.outbox.send(&client.socket);
        client.is_blocked = flushed == FlushOutcome::Blocked;
        if flushed == FlushOutcome::Broken {
            return self.lose_client(id);
        }
        if let ClientStage::Leaving { until, is_shut } = &mut client.stage {
            if flushed == FlushOutcome::All && client.has_ended {
                return self.lose_client(id);
            }
            if flushed == FlushOutcome::All && !std::mem::replace(is_shut, true) {
                // Closing at once would throw away what it has not read, if it still sends.
                let _gone = rustix::net::shutdown(&client.socket, Shutdown::Write);
            }
            if client.outbox.n_bytes() < n_before {
                *until = self.now.after(CLOSE_WAIT);
            }
        }
        let wanted = client.wanted();
        if wanted != client.interest {
            client.interest = wanted;
            let token = Party::Client(id).token();
            if epoll::modify(&self.epoll, &client.socket, token, wanted).is_err() {
                return self.lose_client(id);
            }
        }
        let crossing = client.outbox.crossing(marks).filter(|_| client.is_served());
        if let Some(level) = crossing {
            self.feed(SwitchInput::ClientOutbox { client: id, level });
        }
    }

    /// Clients that take too long to say hello, to end a line or to leave.
    pub(super) fn tick_clients(&mut self) {
        let (mut late, mut mute, mut is_watching) = (Vec::new(), Vec::new(), false);
        for (id, client) in &self.clients {
            match client.stage {
                ClientStage::Guest { since, token: Some(_), .. } => {
                    is_watching = true;
                    if self.now.since(since) >= self.edges.hello_timeout {
                        mute.push(*id);
                    }
                }
                ClientStage::Leaving { until, .. } => {
                    is_watching = true;
                    if until <= self.now {
                        late.push(*id);
                    }
                }
                ClientStage::Guest { token: None, .. } | ClientStage::Served => {
                    let is_unfinished = client.inbox.n_unfinished() > 0 && !client.is_paused;
                    is_watching |= is_unfinished;
                    if is_unfinished && self.now.since(client.last_read) >= self.edges.line_timeout
                    {
                        late.push(*id);
                    }
                }
            }
        }
        for id in mute {
            self.greeted(id, Greeting::refused(b"null", "it showed no token in time"));
        }
        for id in late {
            self.lose_client(id);
        }
        if is_watching {
            self.watch();
        }
    }
}
