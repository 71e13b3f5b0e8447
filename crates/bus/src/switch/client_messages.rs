//! Messages of clients.
//!
//! Every line that is meant as a request gets exactly one answer, also one that cannot be read. A
//! client is closed for bad lines only if it never sent anything else.

use std::hash::BuildHasher as _;

use bytes::Bytes;
use wire::{Envelope, MessageKind, Span, UnreadableLine};

use crate::hello::{blanked, is_hello, welcome};

use super::ids::CallKey;
use super::line_edits::{Digits, number, replaced};
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage};
use super::worker::WorkerStage;
use super::{ClientId, CloseReason, Switch, SwitchOutput, WorkerId};

/// Unreadable lines after which a client without a single message is taken to speak another
/// protocol: more than the header of an HTTP request has lines to waste, few enough to be rid of
/// it soon.
const MAX_LINES_OF_GARBAGE: u32 = 8;
/// Bytes of one message (`initialize`, `notifications/initialized`) kept as long as its client is
/// there.
const MAX_KEPT_BYTES: usize = 64 << 10;
/// Bytes of an id of a request or a name of a session, which are kept as long as these are open or
/// known.
const MAX_NAME_BYTES: usize = 1024;

impl Switch {
    pub(super) fn client_line(&mut self, id: ClientId, line: &[u8]) {
        if !self.clients.contains_key(&id) {
            return;
        }
        self.counters.lines_from_clients += 1;
        self.counters.bytes_from_clients += line.len() as u64;
        self.client_message(id, line);
    }

    fn client_message(&mut self, id: ClientId, line: &[u8]) {
        let envelope = match Envelope::read(line) {
            Ok(envelope) => envelope,
            Err(error) => {
                let refusal = Refusal::bad_line(error.is_parse_error, error.why);
                return self.bad_client_line(id, line, error, &refusal);
            }
        };
        if envelope.meta.is_some()
            && let Some(line) = blanked(line, envelope.meta.of(line))
        {
            return self.client_message(id, &line);
        }
        if is_hello(line, &envelope) {
            // Said again, or late; the worker does not get it.
            if envelope.kind == MessageKind::Request {
                let line = welcome(envelope.id.of(line));
                self.out.push(SwitchOutput::ToClient { client: id, line });
            }
            return;
        }
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.has_sent_message = true;
        match envelope.kind {
            MessageKind::Request => {
                let is_one_too_many = client.n_open >= self.limits.max_open_per_client;
                client.n_open += 1;
                self.client_request(id, line, envelope, is_one_too_many);
            }
            MessageKind::Notification => self.client_notification(id, line, envelope),
            MessageKind::Response | MessageKind::Error => {
                self.client_answer(id, line, &envelope);
            }
        }
    }

    pub(super) fn client_line_too_long(&mut self, id: ClientId, head: &[u8]) {
        if !self.clients.contains_key(&id) {
            return;
        }
        self.counters.lines_from_clients += 1;
        let error = beginning_of(head);
        self.bad_client_line(id, head, error, &Refusal::line_too_long());
    }

    fn bad_client_line(
        &mut self,
        id: ClientId,
        line: &[u8],
        error: UnreadableLine,
        refusal: &Refusal,
    ) {
        self.counters.bad_lines_from_clients += 1;
        let raw_id = error.id.of(line);
        // A spoilt response is still the response to a request for which a worker waits.
        if !error.has_method
            && let Some(n) = number(raw_id)
            && self.has_ask(id, n)
        {
            return self.answer_ask(id, n, Err(refusal));
        }
        self.out.push(SwitchOutput::ToClient { client: id, line: refusal.to_line(raw_id) });
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.n_bad_lines += 1;
        if !client.has_sent_message && client.n_bad_lines >= MAX_LINES_OF_GARBAGE {
            self.close_client(id, CloseReason::Garbage);
        }
    }

    fn client_request(
        &mut self,
        id: ClientId,
        line: &[u8],
        envelope: Envelope,
        is_one_too_many: bool,
    ) {
        self.counters.requests += 1;
        let kind = kind_of(line, envelope.method);
        let routed = RoutedMessage::new(line, envelope, kind, self.now);
        let refusal = match () {
            () if self.is_draining => Refusal::draining(),
            () if is_one_too_many => {
                Refusal::overloaded("too many requests of this client are open")
            }
            () => match too_long(&routed) {
                Some(refusal) => refusal,
                None => return self.route(id, routed),
            },
        };
        self.refuse(id, &routed, &refusal);
    }

    fn client_notification(&mut self, id: ClientId, line: &[u8], envelope: Envelope) {
        if envelope.request_id.is_some()
            && is_cancellation(&envelope.method.bytes(line).unwrap_or_default())
        {
            return self.client_cancels(id, line, &envelope);
        }
        if envelope.method.of(line) == b"\"notifications/initialized\""
            && let Some(client) = self.clients.get_mut(&id)
        {
            client.initialized =
                (line.len() <= MAX_KEPT_BYTES).then(|| Bytes::copy_from_slice(line));
        }
        self.route(id, RoutedMessage::new(line, envelope, CallKind::Plain, self.now));
    }

    /// Passes a cancellation on to where its request went, with the id that it has there.
    fn client_cancels(&mut self, id: ClientId, line: &[u8], envelope: &Envelope) {
        let raw_id = envelope.request_id.of(line);
        let calls = self.calls_of_request(id, raw_id);
        if calls.is_empty() {
            if !self.withdraw(id, raw_id) {
                self.counters.undelivered += 1;
            }
            return;
        }
        for CallKey { worker, n } in calls {
            let line = replaced(line, envelope.request_id, Digits::of(n).as_bytes());
            self.out.push(SwitchOutput::ToWorker { worker, line });
        }
    }

    /// The keys of the calls that a client's request became, in order.
    fn calls_of_request(&self, id: ClientId, raw_id: &[u8]) -> Vec<CallKey> {
        let Some(client) = self.clients.get(&id) else { return Vec::new() };
        // A flood of cancellations must not look up every request for each of them.
        let print = self.names.hash_one(raw_id);
        let is_it = |key: &CallKey| {
            let call = self.workers.get(&key.worker).and_then(|worker| worker.calls.get(&key.n));
            call.is_some_and(|call| call.kind != CallKind::Replay && call.id.as_bytes() == raw_id)
        };
        let alike = client.calls.iter().filter(|(_, of_call)| **of_call == print);
        let mut calls: Vec<_> = alike.map(|(key, _)| *key).filter(is_it).collect();
        calls.sort_unstable();
        calls
    }

    fn client_answer(&mut self, id: ClientId, line: &[u8], envelope: &Envelope) {
        match number(envelope.id.of(line)) {
            Some(n) if self.has_ask(id, n) => {
                self.answer_ask(id, n, Ok((line, envelope)));
            }
            _ => self.counters.unasked += 1,
        }
    }

    fn has_ask(&self, id: ClientId, n: u64) -> bool {
        self.clients.get(&id).is_some_and(|client| client.asks.contains_key(&n))
    }

    /// Gives a worker the client's answer, or the reason why there is none.
    fn answer_ask(&mut self, id: ClientId, n: u64, answer: Result<(&[u8], &Envelope), &Refusal>) {
        let Some(ask) = self.clients.get_mut(&id).and_then(|client| client.asks.remove(&n)) else {
            return;
        };
        let Some(worker) = self.workers.get_mut(&ask.worker) else { return };
        worker.asks.retain(|key| *key != (id, n));
        if worker.stage == WorkerStage::Stopping {
            return;
        }
        let line = match answer {
            Ok((line, envelope)) => replaced(line, envelope.id, ask.id.as_bytes()),
            Err(refusal) => refusal.to_line(ask.id.as_bytes()),
        };
        self.send_line_to_worker(id, ask.worker, line);
    }

    /// Sends a line to a worker; the client is paused if that worker has too many unread bytes.
    pub(super) fn send_line_to_worker(&mut self, client: ClientId, worker: WorkerId, line: Bytes) {
        self.out.push(SwitchOutput::ToWorker { worker, line });
        self.pause_if_full(client, worker);
    }
}

/// The parts of an envelope that can be read from the beginning of a line that was too long.
pub(super) fn beginning_of(head: &[u8]) -> UnreadableLine {
    // A head cut inside a character would not be read at all.
    let n_whole = match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        Err(error) => error.valid_up_to(),
    };
    match Envelope::read(head.get(..n_whole).unwrap_or_default()) {
        Err(error) => error,
        // The whole line was not longer than its head after all.
        Ok(envelope) => UnreadableLine {
            is_parse_error: false,
            why: "the line is too long",
            id: envelope.id,
            has_method: envelope.method.is_some(),
        },
    }
}

/// The refusal of a request that would have to be kept in memory in a size that nobody needs.
fn too_long(routed: &RoutedMessage<'_>) -> Option<Refusal> {
    let Envelope { id, session, top_session, .. } = routed.envelope;
    let is_long = |span: Span| span.range().len() > MAX_NAME_BYTES;
    let what = match () {
        () if is_long(id) => "an id",
        () if is_long(session) || is_long(top_session) => "the name of a session",
        () if routed.kind == CallKind::Initialize && routed.line.len() > MAX_KEPT_BYTES => {
            return Some(Refusal::not_kept("`initialize`", MAX_KEPT_BYTES));
        }
        () => return None,
    };
    Some(Refusal::not_kept(what, MAX_NAME_BYTES))
}

/// Notifications whose `requestId` is the id of a request of their sender.
pub(super) fn is_cancellation(method: &[u8]) -> bool {
    matches!(method, b"$/cancel_request" | b"notifications/cancelled")
}

fn kind_of(line: &[u8], method: Span) -> CallKind {
    // As it nearly always stands there; the quotes tell a name from a longer one.
    if method.of(line) == b"\"session/prompt\"" {
        return CallKind::Prompt;
    }
    match &*method.bytes(line).unwrap_or_default() {
        b"session/prompt" => CallKind::Prompt,
        b"session/new" | b"session/fork" => CallKind::Open,
        b"session/load" | b"session/resume" => CallKind::Load,
        b"session/close" | b"session/delete" => CallKind::Close,
        b"initialize" => CallKind::Initialize,
        _ => CallKind::Plain,
    }
}
