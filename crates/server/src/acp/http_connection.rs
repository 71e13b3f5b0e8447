//! A client over HTTP: its messages come one by one, and ours go out on several streams.
//!
//! Answers to what belongs to a session, and everything that names one, go to that session's
//! stream; the rest to the connection's. The answer to `initialize` is the body of the response to
//! its request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use wire::{LineSplitter, Message, MessageKind};

use super::message_stream::MessageStream;
use crate::daemon::Daemon;
use crate::limits::ByteQuota;
use crate::locking::Locking as _;
use crate::principal::Principal;

/// Connections of all clients together.
const MAX_CONNECTIONS: usize = 1024;
/// Connections of one client, so that none can keep all others out.
const MAX_CONNECTIONS_EACH: usize = 256;
/// Sessions that one connection may have open.
const MAX_STREAMS: usize = 256;
/// Requests of one client that may wait for their answers.
const MAX_WAITING: usize = 1024;
/// A connection without a reader and without messages ends after this.
const IDLE: Duration = Duration::from_secs(600);

/// All ACP connections over HTTP.
#[derive(Debug, Default)]
pub(super) struct HttpConnections {
    all: Mutex<HashMap<String, Arc<HttpConnection>>>,
    /// Quota of messages that streams keep for readers that come back.
    quota: Arc<ByteQuota>,
}

#[derive(Debug)]
pub(super) struct HttpConnection {
    pub(super) id: String,
    /// Name of the owner's token; to anybody else the connection does not exist.
    owner: String,
    to_front: tokio::sync::Mutex<WriteHalf<DuplexStream>>,
    state: Mutex<HttpConnectionState>,
    own: Arc<MessageStream>,
    quota: Arc<ByteQuota>,
    /// Cancelled when the connection is evicted or was never finished.
    over: CancellationToken,
}

/// A new connection; dropping this ends it, unless it is kept.
#[derive(Debug)]
pub(super) struct NewConnection {
    connections: Arc<HttpConnections>,
    pub(super) connection: Arc<HttpConnection>,
    is_kept: bool,
}

impl NewConnection {
    pub(super) fn keep(mut self) -> Arc<HttpConnection> {
        self.is_kept = true;
        self.connection.clone()
    }
}

impl Drop for NewConnection {
    fn drop(&mut self) {
        if !self.is_kept {
            self.connections.remove(&self.connection.id);
            self.connection.over.cancel();
        }
    }
}

#[derive(Debug)]
struct HttpConnectionState {
    sessions: HashMap<String, Arc<MessageStream>>,
    /// Which session's stream an answer belongs to, by the request's id.
    waiting: HashMap<String, Option<String>>,
    introduction: Option<(String, oneshot::Sender<Bytes>)>,
    used_at: Instant,
}

/// Why a message was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PostError {
    TooMuch,
    Over,
}

impl HttpConnections {
    /// Begins a connection; `None` when there are too many that are in use.
    pub(super) fn open(
        self: &Arc<Self>,
        daemon: &Arc<Daemon>,
        principal: &Principal,
        agent: Option<String>,
    ) -> Option<NewConnection> {
        let (near, far) = tokio::io::duplex(super::PIPE_BYTES);
        let (from_front, to_front) = tokio::io::split(near);
        let quota = self.quota.clone();
        let connection = Arc::new(HttpConnection {
            id: sessions::mint::session_id().to_string(),
            owner: principal.name.clone(),
            to_front: tokio::sync::Mutex::new(to_front),
            state: Mutex::new(HttpConnectionState {
                sessions: HashMap::new(),
                waiting: HashMap::new(),
                introduction: None,
                used_at: Instant::now(),
            }),
            own: Arc::new(MessageStream::new(quota.reserve(&principal.name))),
            quota,
            over: CancellationToken::new(),
        });
        self.make_room(&principal.name)?.insert(connection.id.clone(), connection.clone());
        let max_line = daemon.registry.context().settings.limits.worker_line_bytes;
        let front =
            super::serve(daemon.clone(), principal.clone(), agent, "http", tokio::io::split(far));
        let (connections, carried) = (self.clone(), connection.clone());
        task::spawn(async move {
            let front = task::spawn(front);
            tokio::select! {
                () = carried.forward(from_front, max_line) => {}
                () = carried.until_idle() => {}
                () = carried.over.cancelled() => {}
            }
            connections.remove(&carried.id);
            carried.end().await;
            let _ = front.await;
        });
        Some(NewConnection { connections: self.clone(), connection, is_kept: false })
    }

    /// Makes room for one more connection of `owner`. If it has too many, the unread one that was
    /// unused for the longest is evicted: clients leave without closing theirs.
    fn make_room(
        &self,
        owner: &str,
    ) -> Option<MutexGuard<'_, HashMap<String, Arc<HttpConnection>>>> {
        let mut all = self.all.locked();
        let its = all.values().filter(|connection| connection.owner == owner);
        if its.clone().count() >= MAX_CONNECTIONS_EACH || all.len() >= MAX_CONNECTIONS {
            let left = its.filter(|connection| !connection.is_read());
            let left = left.min_by_key(|connection| connection.state.locked().used_at)?.clone();
            all.remove(&left.id);
            left.over.cancel();
        }
        Some(all)
    }

    /// A connection by its id, if it is `principal`'s.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<HttpConnection>> {
        let connection = self.all.locked().get(id)?.clone();
        (connection.owner == principal.name).then(|| {
            connection.state.locked().used_at = Instant::now();
            connection
        })
    }

    pub(super) fn remove(&self, id: &str) -> Option<Arc<HttpConnection>> {
        self.all.locked().remove(id)
    }
}

impl HttpConnection {
    /// Passes the client's `initialize` on; its answer comes to the receiver.
    pub(super) async fn initialize(
        &self,
        message: &Message,
    ) -> Result<oneshot::Receiver<Bytes>, PostError> {
        let (sender, answer) = oneshot::channel();
        self.state.locked().introduction = Some((message.id().as_str().to_owned(), sender));
        self.write(message).await?;
        Ok(answer)
    }

    /// Passes a message of the client on.
    pub(super) async fn send(
        &self,
        message: &Message,
        session: Option<String>,
    ) -> Result<(), PostError> {
        if message.kind() == MessageKind::Request {
            let mut state = self.state.locked();
            if state.waiting.len() >= MAX_WAITING {
                return Err(PostError::TooMuch);
            }
            state.waiting.insert(message.id().as_str().to_owned(), session);
        }
        self.write(message).await
    }

    async fn write(&self, message: &Message) -> Result<(), PostError> {
        let line = super::one_line(message.line());
        let mut to_front = self.to_front.lock().await;
        to_front.write_all(&line).await.map_err(|_| PostError::Over)
    }

    /// The stream of a session, or of the connection itself.
    pub(super) fn stream(&self, session: Option<&str>) -> Option<Arc<MessageStream>> {
        let Some(session) = session else { return Some(self.own.clone()) };
        let mut state = self.state.locked();
        if !state.sessions.contains_key(session) && state.sessions.len() >= MAX_STREAMS {
            return None;
        }
        let new = || Arc::new(MessageStream::new(self.quota.reserve(&self.owner)));
        Some(state.sessions.entry(session.to_owned()).or_insert_with(new).clone())
    }

    /// Forwards the front's messages to their streams, until the front ends.
    async fn forward(&self, mut from_front: ReadHalf<DuplexStream>, max_line: usize) {
        let mut lines = LineSplitter::new(max_line);
        while let Some(line) = super::next_line(&mut from_front, &mut lines).await {
            if let Ok(message) = Message::parse(line) {
                self.route(message).await;
            }
        }
    }

    async fn route(&self, message: Message) {
        let session = match message.kind() {
            MessageKind::Request | MessageKind::Notification => {
                let peek = message.peek().ok();
                peek.and_then(|peek| peek.session_id().map(str::to_owned))
            }
            _ => {
                let id = message.id();
                let mut state = self.state.locked();
                if state.introduction.as_ref().is_some_and(|(asked, _)| asked == id.as_str())
                    && let Some((_, answer)) = state.introduction.take()
                {
                    let _ = answer.send(message.line().clone());
                    return;
                }
                let session = state.waiting.remove(id.as_str()).flatten();
                // On the stream of a session that nobody has opened, an answer would never be read.
                session.filter(|session| state.sessions.contains_key(session))
            }
        };
        let stream = self.stream(session.as_deref()).unwrap_or_else(|| self.own.clone());
        stream.push(message.line().clone()).await;
    }

    fn is_read(&self) -> bool {
        self.own.is_read() || self.state.locked().sessions.values().any(|stream| stream.is_read())
    }

    /// Waits until the connection was unused for [`IDLE`].
    async fn until_idle(&self) {
        loop {
            let is_read = self.is_read();
            let idle = {
                let mut state = self.state.locked();
                if is_read {
                    state.used_at = Instant::now();
                }
                state.used_at.elapsed()
            };
            if idle >= IDLE {
                return;
            }
            tokio::time::sleep(IDLE.saturating_sub(idle)).await;
        }
    }

    /// Ends the connection: the front sees its client leave, and all streams end.
    pub(super) async fn end(&self) {
        self.own.end();
        let streams: Vec<_> = self.state.locked().sessions.drain().collect();
        for (_, stream) in streams {
            stream.end();
        }
        let _ = self.to_front.lock().await.shutdown().await;
    }
}

#[cfg(test)]
mod tests;
