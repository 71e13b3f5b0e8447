//! Messages of workers: answers, updates, and requests of their own.
//!
//! A message with a session goes to the session's owner. One without goes to the worker's
//! client if it has only one; if it has several nobody can say whose it is, so it goes to none.

use bytes::Bytes;
use wire::{Envelope, MessageKind};

use super::client::WorkerRequest;
use super::client_messages::{beginning_of, is_cancellation};
use super::ids::SessionKey;
use super::line_edits::{Digits, LineEdits, RawId, number, quoted, replaced};
use super::refusal::{CLIENT_GONE, Refusal};
use super::routed_message::CallKind;
use super::session::SessionLocation;
use super::worker::{WorkerCall, WorkerStage};
use super::{ClientId, Switch, SwitchOutput, WorkerId};

/// Requests of one worker that clients may have open.
const MAX_ASKS: usize = 8192;
/// Those that one client may have open of it: a client that answers none leaves room for others.
const MAX_ASKS_OF_CLIENT: usize = 1024;
/// Bytes of notifications about a session that a worker may send before the answer that names it.
const MAX_EARLY_BYTES: usize = 4 << 20;

enum Recipient {
    Client(ClientId, Option<SessionKey>),
    /// Nobody, because the session is being moved to the worker: its client knows what is replayed.
    Swallow(SessionKey),
    /// A client that is not known yet: an open request is about to name the session.
    Early,
    Nobody,
}

impl Switch {
    pub(super) fn worker_line(&mut self, from: WorkerId, line: &[u8]) {
        let Some(worker) = self.workers.get_mut(&from) else { return };
        worker.last_heard = self.now;
        self.counters.lines_from_workers += 1;
        self.counters.bytes_from_workers += line.len() as u64;
        match Envelope::read(line) {
            Ok(envelope) => match envelope.kind {
                MessageKind::Response | MessageKind::Error => {
                    self.worker_answer(from, line, &envelope);
                }
                MessageKind::Notification => self.worker_notification(from, line, &envelope),
                MessageKind::Request => self.worker_request(from, line, &envelope),
            },
            Err(error) => {
                self.counters.bad_lines_from_workers += 1;
                let refusal = Refusal::worker_lost("its answer cannot be read");
                let raw_id = error.id.of(line);
                if error.has_method && !raw_id.is_empty() {
                    let refusal = Refusal::bad_line(error.is_parse_error, error.why);
                    self.out.push(SwitchOutput::ToWorker {
                        worker: from,
                        line: refusal.to_line(raw_id),
                    });
                } else if let Some(n) = number(raw_id) {
                    self.fail_call(from, n, &refusal.of_worker(from));
                }
            }
        }
    }

    /// An answer that was too long is still the end of its request.
    pub(super) fn worker_line_too_long(&mut self, from: WorkerId, head: &[u8]) {
        let Some(worker) = self.workers.get_mut(&from) else { return };
        worker.last_heard = self.now;
        self.counters.lines_from_workers += 1;
        self.counters.bad_lines_from_workers += 1;
        let found = beginning_of(head);
        let (raw_id, refusal) = (found.id.of(head), Refusal::line_too_long().of_worker(from));
        match (number(raw_id), found.has_method, &worker.call_numbers()[..]) {
            (_, true, _) if !raw_id.is_empty() => {
                self.out
                    .push(SwitchOutput::ToWorker { worker: from, line: refusal.to_line(raw_id) });
            }
            (_, true, _) => self.counters.undelivered += 1,
            (Some(n), false, _) => self.fail_call(from, n, &refusal),
            (None, false, []) => {}
            (None, false, [only]) => self.fail_call(from, *only, &refusal),
            // Some client would wait for ever, and it cannot be known which.
            (None, false, _) => self.worker_stuck(from, "its answer was too long to be read"),
        }
    }

    /// Nothing that the worker says is heard before that line ends, so it is ended if somebody has
    /// waited for an answer all the time.
    pub(super) fn worker_line_unfinished(&mut self, from: WorkerId, n_millis: u64) {
        let Some(worker) = self.workers.get(&from) else { return };
        let is_late = |call: &WorkerCall| self.now.since(call.received) >= n_millis;
        if worker.calls.values().any(is_late) {
            self.worker_stuck(from, "it does not end a line that it has begun");
        }
    }

    pub(super) fn worker_notification(&mut self, from: WorkerId, line: &[u8], envelope: &Envelope) {
        if envelope.request_id.is_some()
            && is_cancellation(&envelope.method.bytes(line).unwrap_or_default())
        {
            return self.worker_cancels(from, line, envelope);
        }
        match self.recipient(from, line, envelope) {
            Recipient::Client(client, session) => {
                let line = self.for_client(session, line, envelope, None);
                self.out.push(SwitchOutput::ToClient { client, line });
            }
            Recipient::Swallow(_) => self.counters.swallowed += 1,
            Recipient::Early => self.keep_early(from, line, *envelope),
            Recipient::Nobody => self.counters.undelivered += 1,
        }
    }

    fn keep_early(&mut self, from: WorkerId, line: &[u8], envelope: Envelope) {
        let Some(worker) = self.workers.get_mut(&from) else { return };
        if worker.n_early_bytes + line.len() > MAX_EARLY_BYTES {
            self.counters.undelivered += 1;
            return;
        }
        worker.n_early_bytes += line.len();
        worker.early.push((Bytes::copy_from_slice(line), envelope));
    }

    fn recipient(&self, from: WorkerId, line: &[u8], envelope: &Envelope) -> Recipient {
        let Some(worker) = self.workers.get(&from) else { return Recipient::Nobody };
        let sole = || match worker.sole_client() {
            Some(client) => Recipient::Client(client, None),
            None => Recipient::Nobody,
        };
        if !envelope.session.is_some() && !envelope.top_session.is_some() {
            return sole();
        }
        let spans = [envelope.session, envelope.top_session];
        let known = spans.iter().find_map(|span| worker.sessions.get(&*span.bytes(line)?).copied());
        match known.map(|key| (key, self.sessions.get(key))) {
            // It has been opened at another worker since.
            Some((_, None)) => Recipient::Nobody,
            Some((_, Some(session))) if session.worker() != Some(from) => Recipient::Nobody,
            Some((key, Some(session)))
                if matches!(session.location, SessionLocation::Moving { .. }) =>
            {
                Recipient::Swallow(key)
            }
            Some((key, Some(session))) => match session.owner {
                Some(client) => Recipient::Client(client, Some(key)),
                None => Recipient::Nobody,
            },
            None if worker.n_opening > 0 => Recipient::Early,
            // Agents have sessions inside sessions, which nobody has opened.
            None if worker.stage != WorkerStage::Stopping => sole(),
            None => Recipient::Nobody,
        }
    }

    /// The line with the client's names of the session, and with an id of the client's space.
    fn for_client(
        &self,
        session: Option<SessionKey>,
        line: &[u8],
        envelope: &Envelope,
        id: Option<&[u8]>,
    ) -> Bytes {
        let mut edits = LineEdits::default();
        if let Some(id) = id {
            edits.set(envelope.id, id);
        }
        let session = session.and_then(|key| self.sessions.get(key));
        let alias = session.filter(|session| session.has_alias());
        let alias = alias.map(|session| (quoted(&session.name), &session.worker_name));
        if let Some((name, worker_name)) = &alias {
            for span in [envelope.session, envelope.top_session] {
                if span.text(line).is_some_and(|text| *text == ***worker_name) {
                    edits.set(span, name.as_bytes());
                }
            }
        }
        edits.apply(line)
    }

    fn has_asked_enough(&self, from: WorkerId, client: ClientId) -> bool {
        let asks = self.workers.get(&from).map(|worker| &worker.asks[..]).unwrap_or_default();
        let to_client = || asks.iter().filter(|(asked, _)| *asked == client).count();
        asks.len() >= MAX_ASKS_OF_CLIENT && to_client() >= MAX_ASKS_OF_CLIENT
    }

    fn worker_request(&mut self, from: WorkerId, line: &[u8], envelope: &Envelope) {
        let raw_id = envelope.id.of(line);
        let Some(worker) = self.workers.get(&from) else { return };
        if worker.asks.len() >= MAX_ASKS {
            let refusal = Refusal::overloaded("too many requests of this worker are open");
            self.out.push(SwitchOutput::ToWorker { worker: from, line: refusal.to_line(raw_id) });
            return;
        }
        let Some((client_id, session)) = self.whom_to_ask(from, line, envelope) else {
            let message = "no client can be asked: it left, or several share this worker";
            let refusal = Refusal::new(CLIENT_GONE, "no_client", message);
            return self.refuse_ask(from, raw_id, &refusal);
        };
        if !self.can_be_asked(client_id, from, raw_id) {
            return;
        }
        if self.has_asked_enough(from, client_id) {
            let refusal = Refusal::overloaded("the client has too many requests of this worker");
            self.out.push(SwitchOutput::ToWorker { worker: from, line: refusal.to_line(raw_id) });
            return;
        }
        let Some(client) = self.clients.get_mut(&client_id) else { return };
        client.n_asked += 1;
        let n = client.n_asked;
        client.asks.insert(n, WorkerRequest { worker: from, id: RawId::new(raw_id) });
        if let Some(worker) = self.workers.get_mut(&from) {
            worker.asks.push((client_id, n));
        }
        self.counters.asked_by_workers += 1;
        let digits = Digits::of(n);
        let asked_in = self.asker_of(from, envelope.request_id.of(line));
        let line = match (is_about_request(line, envelope), asked_in) {
            // About a request of the client, which knows it by another id.
            (true, Some((_, own_id))) => {
                let mut edits = LineEdits::default();
                edits.set(envelope.id, digits.as_bytes());
                edits.set(envelope.request_id, own_id);
                edits.apply(line)
            }
            _ => self.for_client(session, line, envelope, Some(digits.as_bytes())),
        };
        self.out.push(SwitchOutput::ToClient { client: client_id, line });
    }

    fn whom_to_ask(
        &mut self,
        from: WorkerId,
        line: &[u8],
        envelope: &Envelope,
    ) -> Option<(ClientId, Option<SessionKey>)> {
        if !envelope.session.is_some() && is_about_request(line, envelope) {
            let (client, _) = self.asker_of(from, envelope.request_id.of(line))?;
            return Some((client, None));
        }
        match self.recipient(from, line, envelope) {
            Recipient::Client(client, session) => Some((client, session)),
            Recipient::Swallow(session) => {
                Some((self.sessions.get(session)?.owner?, Some(session)))
            }
            Recipient::Nobody => None,
            // The worker may wait for this before it answers, so it cannot be put off.
            Recipient::Early => {
                let worker = self.workers.get(&from)?;
                let is_opening = |call: &&WorkerCall| call.kind == CallKind::Open;
                let mut openers = worker.calls.values().filter(is_opening).map(|call| call.client);
                let client = openers.next()?;
                if openers.any(|other| other != client) {
                    return None;
                }
                let client = client?;
                let name =
                    envelope.session.text(line).or_else(|| envelope.top_session.text(line))?;
                let key = self.enter_session(from, &name)?;
                self.claim(client, key, true);
                Some((client, Some(key)))
            }
        }
    }

    /// Passes on that a worker takes a request of its own back.
    fn worker_cancels(&mut self, from: WorkerId, line: &[u8], envelope: &Envelope) {
        let raw_id = envelope.request_id.of(line);
        let asks = self.workers.get(&from).map(|worker| &worker.asks[..]).unwrap_or_default();
        let ask = asks.iter().find(|(client, n)| {
            let ask = self.clients.get(client).and_then(|client| client.asks.get(n));
            ask.is_some_and(|ask| ask.id.as_bytes() == raw_id)
        });
        let Some((client, n)) = ask.copied() else {
            self.counters.undelivered += 1;
            return;
        };
        let line = replaced(line, envelope.request_id, Digits::of(n).as_bytes());
        self.out.push(SwitchOutput::ToClient { client, line });
    }
}

/// Whether `requestId` is the id of a request that the worker is working on.
fn is_about_request(line: &[u8], envelope: &Envelope) -> bool {
    envelope.request_id.is_some() && envelope.method.of(line) == b"\"elicitation/create\""
}
