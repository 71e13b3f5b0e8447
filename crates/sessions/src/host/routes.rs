//! Routes each message of an agent to the session that it belongs to.
//!
//! In: batches from the agent's connection. Out: each session's own messages, in order.
//! A session that is slow slows the agent's pipe and with it the agent; nothing is dropped.
//! Messages about a session that is just being opened wait until it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bus::{ExitReport, StderrLine, StderrLines, StopLadder, WorkerHandle};
use tokio::sync::{mpsc, watch};
use wire::{Json, Kind, Message, RpcError, UpdatePeek};

use bus::connection::{Connection, Inbox, IncomingMessage, RpcResult};

use crate::lock::lock;

/// A message of an agent to one session.
#[derive(Debug)]
pub(crate) enum AgentMessage {
    /// A `session/update`, its session id already replaced by ours.
    Update {
        kind: Kind,
        payload: Json,
    },
    Request(Message),
    Notification(Message),
    /// The answer to a tagged request of this session.
    Answer {
        tag: u64,
        outcome: RpcResult,
    },
    Stderr(StderrLine),
    /// A line that is no message, as it was.
    Garbage(String),
}

impl AgentMessage {
    /// The size of its content, which the agent chooses.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Self::Update { payload, .. } => payload.as_str().len(),
            Self::Request(message) | Self::Notification(message) => message.line().len(),
            Self::Answer { outcome, .. } => {
                outcome.as_ref().map_or(0, |answer| answer.as_str().len())
            }
            Self::Stderr(line) => line.text.len(),
            Self::Garbage(what) => what.len(),
        }
    }
}

pub(crate) type AgentMessages = mpsc::Receiver<Vec<AgentMessage>>;

/// Batches that may wait for one session; a batch may be one huge line.
const QUEUE_BATCHES: usize = 1;
/// Messages that may wait for sessions that are being opened.
const MAX_PARKED: usize = 1024;
/// Bytes of those; an agent chooses how much it says to sessions that nobody knows yet.
const MAX_PARKED_BYTES: usize = 16 << 20;
/// Lines kept of a command that speaks no ACP, to show the user what it is instead.
const MAX_EARLY_GARBAGE: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct Routes {
    table: Mutex<RouteTable>,
}

#[derive(Debug, Default)]
struct RouteTable {
    by_session: HashMap<String, Route>,
    by_tag: HashMap<u64, String>,
    last_tag: u64,
    n_opening: usize,
    parked: Vec<(UpdatePeek, Message)>,
    sessionless: Option<mpsc::Sender<Vec<AgentMessage>>>,
    /// Lines that are no ACP, from before there was a session to log them.
    garbage: Vec<String>,
    is_over: bool,
}

impl RouteTable {
    fn has_room_for(&self, message: &Message) -> bool {
        let bytes = |message: &Message| message.body().len();
        let n_bytes: usize = self.parked.iter().map(|(_, message)| bytes(message)).sum();
        self.parked.len() < MAX_PARKED && n_bytes + bytes(message) <= MAX_PARKED_BYTES
    }
}

#[derive(Debug, Clone)]
struct Route {
    /// The id by which clients call the session.
    public_id: String,
    sender: mpsc::Sender<Vec<AgentMessage>>,
}

/// While one exists, messages about unknown sessions are kept.
#[derive(Debug)]
pub(crate) struct OpeningGuard {
    routes: Arc<Routes>,
}

impl Drop for OpeningGuard {
    fn drop(&mut self) {
        let mut table = lock(&self.routes.table);
        table.n_opening -= 1;
        if table.n_opening == 0 {
            table.parked.clear();
        }
    }
}

impl Routes {
    pub(crate) fn opening(self: &Arc<Self>) -> OpeningGuard {
        lock(&self.table).n_opening += 1;
        OpeningGuard { routes: self.clone() }
    }

    /// Sends the agent's messages about `agent_session` to the receiver from now on, those
    /// that came early first. `None` if they go to another session already.
    pub(crate) fn add(&self, agent_session: &str, public_id: &str) -> Option<AgentMessages> {
        let (sender, receiver) = mpsc::channel(QUEUE_BATCHES);
        let mut table = lock(&self.table);
        if table.by_session.contains_key(agent_session) {
            return None;
        }
        let mut early = Vec::new();
        let is_ours =
            |(peek, _): &mut (UpdatePeek, Message)| peek.session_id() == Some(agent_session);
        for (peek, message) in table.parked.extract_if(.., is_ours) {
            early.push(to_session(message, &peek, public_id));
        }
        if !early.is_empty() {
            // The channel is new and has room.
            let _ = sender.try_send(early);
        }
        // After the end nobody would drop the sender, and the session would wait for ever.
        if !table.is_over {
            let route = Route { public_id: public_id.to_owned(), sender };
            table.by_session.insert(agent_session.to_owned(), route);
        }
        Some(receiver)
    }

    pub(crate) fn remove(&self, agent_session: &str) {
        lock(&self.table).by_session.remove(agent_session);
    }

    /// Does `act` if no more than one session uses the agent, and none is being opened; returns
    /// whether it did. The lock is held meanwhile.
    pub(super) fn if_alone(&self, act: impl FnOnce()) -> bool {
        let table = lock(&self.table);
        let is_alone = table.by_session.len() <= 1 && table.n_opening == 0;
        if is_alone {
            act();
        }
        is_alone
    }

    /// A tag for a request whose answer goes to `agent_session`.
    pub(crate) fn tag(&self, agent_session: &str) -> u64 {
        let mut table = lock(&self.table);
        table.last_tag += 1;
        let tag = table.last_tag;
        table.by_tag.insert(tag, agent_session.to_owned());
        tag
    }

    /// Messages that belong to no session go to the receiver from now on.
    pub(crate) fn take_sessionless(&self) -> AgentMessages {
        let (sender, receiver) = mpsc::channel(QUEUE_BATCHES);
        lock(&self.table).sessionless = Some(sender);
        receiver
    }

    fn everyone(&self) -> Vec<mpsc::Sender<Vec<AgentMessage>>> {
        lock(&self.table).by_session.values().map(|route| route.sender.clone()).collect()
    }

    fn note_early_garbage(&self, what: &str) {
        let mut table = lock(&self.table);
        if table.by_session.is_empty() && table.garbage.len() < MAX_EARLY_GARBAGE {
            table.garbage.push(what.to_owned());
        }
    }

    /// The lines from before any session that were no ACP.
    pub(super) fn early_garbage(&self) -> String {
        lock(&self.table).garbage.join("\n")
    }

    fn end(&self) {
        let mut table = lock(&self.table);
        table.is_over = true;
        table.by_session.clear();
        table.sessionless = None;
    }

    /// The destination of `incoming`; `None` when nothing is left to do with it.
    fn route(&self, incoming: IncomingMessage) -> Option<DispatchTarget> {
        let message = match incoming {
            IncomingMessage::Reply(reply) => return Some(DispatchTarget::Settle(reply)),
            IncomingMessage::Tagged { tag, outcome } => {
                let mut table = lock(&self.table);
                let session = table.by_tag.remove(&tag)?;
                let sender = table.by_session.get(&session)?.sender.clone();
                return Some(DispatchTarget::Session(
                    sender,
                    AgentMessage::Answer { tag, outcome },
                ));
            }
            IncomingMessage::Unmatched(message) => {
                return Some(DispatchTarget::Everyone(format!(
                    "an answer to nothing: {}",
                    message.id()
                )));
            }
            IncomingMessage::BadLine(error) => {
                return Some(DispatchTarget::Everyone(error.to_string()));
            }
            IncomingMessage::BadMessage { error, line, .. } => {
                return Some(DispatchTarget::Everyone(format!("{error}: `{line}`")));
            }
            IncomingMessage::Request(message) | IncomingMessage::Notification(message) => message,
        };
        let peek = match message.peek() {
            Ok(peek) => peek,
            Err(error) => return Some(DispatchTarget::Refuse(message, error.to_rpc().1)),
        };
        let mut table = lock(&self.table);
        let Some(session) = peek.session_id() else {
            let sessionless = table.sessionless.clone();
            drop(table);
            return Some(match sessionless {
                Some(sender) => DispatchTarget::Session(sender, to_session(message, &peek, "")),
                None => DispatchTarget::nobody(message),
            });
        };
        if let Some(route) = table.by_session.get(session) {
            let (sender, public_id) = (route.sender.clone(), route.public_id.clone());
            drop(table);
            return Some(DispatchTarget::Session(sender, to_session(message, &peek, &public_id)));
        }
        if table.n_opening > 0 && table.has_room_for(&message) {
            table.parked.push((peek, message));
            return None;
        }
        Some(DispatchTarget::nobody(message))
    }
}

enum DispatchTarget {
    Session(mpsc::Sender<Vec<AgentMessage>>, AgentMessage),
    Settle(bus::connection::CallReply),
    Everyone(String),
    Refuse(Message, RpcError),
}

impl DispatchTarget {
    fn nobody(message: Message) -> Self {
        tracing::debug!(method = message.method(), "message for no session");
        let error = RpcError::method_not_found(message.method());
        Self::Refuse(message, error)
    }
}

fn to_session(message: Message, peek: &UpdatePeek, public_id: &str) -> AgentMessage {
    if message.kind() == wire::MessageKind::Request {
        return AgentMessage::Request(message);
    }
    if message.method() != "session/update" {
        return AgentMessage::Notification(message);
    }
    AgentMessage::Update {
        kind: Kind::update(peek.update_name().unwrap_or_default()),
        payload: message.body_for_session(peek, public_id),
    }
}

/// Hands out the agent's messages until it is gone, then ends what is left of its process tree.
pub(super) async fn dispatch(
    mut inbox: Inbox,
    connection: Connection,
    routes: Arc<Routes>,
    worker: WorkerHandle,
    ladder: StopLadder,
    ended: watch::Sender<Option<ExitReport>>,
) {
    loop {
        let batch = tokio::select! {
            batch = inbox.next() => batch,
            () = connection.stalled() => {
                hand_to_everyone(&routes, "the agent does not read its stdin").await;
                None
            }
        };
        let Some(batch) = batch else { break };
        hand_out(batch, &connection, &routes).await;
    }
    connection.close();
    let stopping = worker.stop(&ladder);
    tokio::pin!(stopping);
    let report = loop {
        tokio::select! {
            report = &mut stopping => break report,
            // Messages after a stall are read on, so that a full pipe does not keep it alive.
            Some(batch) = inbox.next() => hand_out(batch, &connection, &routes).await,
        }
    };
    let _ = ended.send(Some(report));
    routes.end();
}

async fn hand_out(batch: Vec<IncomingMessage>, connection: &Connection, routes: &Arc<Routes>) {
    let mut group: Option<(mpsc::Sender<Vec<AgentMessage>>, Vec<AgentMessage>)> = None;
    for incoming in batch {
        let n_bytes = incoming.n_bytes();
        let Some(target) = task::beside_others(n_bytes, || routes.route(incoming)) else {
            continue;
        };
        let goes_on = match (&group, &target) {
            (Some((current, _)), DispatchTarget::Session(next, _)) => current.same_channel(next),
            _ => false,
        };
        if !goes_on {
            // Everything before goes out first, so that an answer is never seen too early.
            hand_to(group.take()).await;
        }
        match target {
            DispatchTarget::Session(sender, message) => {
                group.get_or_insert_with(|| (sender, Vec::new())).1.push(message);
            }
            DispatchTarget::Settle(reply) => reply.settle(),
            DispatchTarget::Everyone(what) => hand_to_everyone(routes, &what).await,
            DispatchTarget::Refuse(message, error) => {
                if message.kind() == wire::MessageKind::Request {
                    let _ = connection.respond(&message.id(), Err(error)).await;
                }
            }
        }
    }
    hand_to(group).await;
}

async fn hand_to(group: Option<(mpsc::Sender<Vec<AgentMessage>>, Vec<AgentMessage>)>) {
    if let Some((sender, messages)) = group {
        // A session that is gone wants nothing any more.
        let _ = sender.send(messages).await;
    }
}

async fn hand_to_everyone(routes: &Arc<Routes>, what: &str) {
    routes.note_early_garbage(what);
    for sender in routes.everyone() {
        let _ = sender.send(vec![AgentMessage::Garbage(what.to_owned())]).await;
    }
}

/// Passes stderr on line by line. A session that is slow loses lines rather than blocking
/// the agent; the tail is kept elsewhere.
pub(super) async fn forward_stderr(mut stderr: StderrLines, routes: Arc<Routes>) {
    while let Some(line) = stderr.recv().await {
        for sender in routes.everyone() {
            let _ = sender.try_send(vec![AgentMessage::Stderr(line.clone())]);
        }
    }
}

#[cfg(test)]
mod tests {
    //! What may wait for sessions that nobody knows yet.

    use bytes::Bytes;

    use super::*;

    fn update(session: &str, n_bytes: usize) -> IncomingMessage {
        let text = "x".repeat(n_bytes);
        let line = serde_json::json!({
            "jsonrpc": "2.0", "method": "session/update",
            "params": { "sessionId": session, "update": { "sessionUpdate": "x", "text": text } },
        });
        IncomingMessage::Notification(Message::parse(Bytes::from(line.to_string())).unwrap())
    }

    #[test]
    fn early_messages_wait_up_to_a_bound_in_bytes() {
        let routes = Arc::new(Routes::default());
        let opening = routes.opening();
        assert!(routes.route(update("ours", 100)).is_none());
        for _ in 0..60 {
            routes.route(update("nobody", MAX_PARKED_BYTES / 4));
        }
        let n_bytes: usize =
            lock(&routes.table).parked.iter().map(|(_, one)| one.body().len()).sum();
        assert!(n_bytes <= MAX_PARKED_BYTES, "{n_bytes}");
        let mut early = routes.add("ours", "public").unwrap();
        assert_eq!(early.try_recv().unwrap().len(), 1, "what came in time is there");
        drop(opening);
        assert!(lock(&routes.table).parked.is_empty());
    }
}
