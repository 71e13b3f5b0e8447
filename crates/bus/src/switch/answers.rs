//! Answers of workers to requests of clients, and what the switch learns from them.

use std::sync::Arc;

use bytes::Bytes;
use wire::{Envelope, MessageKind, Span};

use super::fan_out::FanOutAnswer;
use super::hash::NameKey;
use super::ids::{PoolId, SessionKey};
use super::line_edits::{LineEdits, number, quoted};
use super::routed_message::CallKind;
use super::timers::Timer;
use super::worker::{WorkerCall, WorkerStage};
use super::{ClientId, Switch, SwitchOutput, WorkerId};

impl Switch {
    pub(super) fn worker_answer(&mut self, from: WorkerId, line: &[u8], envelope: &Envelope) {
        let n = number(envelope.id.of(line));
        let Some(worker) = self.workers.get_mut(&from) else { return };
        let (is_ping, is_proved) = (n == Some(worker.ping), worker.is_proved);
        let Some((n, call)) = n.and_then(|n| Some((n, worker.take_call(n, self.now)?))) else {
            let is_ours = is_ping || n.is_some_and(|n| self.session_closed(from, n));
            self.counters.unasked += u64::from(!is_ours);
            return;
        };
        self.unlist_call(from, n, &call);
        let is_ok = envelope.kind == MessageKind::Response;
        if !is_proved {
            self.worker_proved(from);
        }
        match call.kind {
            CallKind::Replay => {
                self.note_capabilities(from, line, envelope);
                if let Some(client) = call.client {
                    self.link_opened(client, from);
                }
            }
            CallKind::Fan(fan, part) => {
                let answer = FanOutAnswer::Line(Bytes::copy_from_slice(line), *envelope);
                self.fan_part(fan, part, answer);
            }
            CallKind::Move => {
                if let Some(session) = call.session {
                    self.move_answered(session, is_ok);
                }
            }
            CallKind::Initialize => {
                self.note_capabilities(from, line, envelope);
                self.pass_answer(from, &call, line, envelope);
            }
            CallKind::Plain | CallKind::Prompt | CallKind::Open | CallKind::Load => {
                self.pass_answer(from, &call, line, envelope);
            }
            CallKind::Close => {
                let session = call.session.filter(|_| is_ok);
                self.pass_answer(from, &call, line, envelope);
                if let Some(session) = session {
                    self.forget_session(session);
                }
            }
        }
        self.call_ended(from);
    }

    /// Passes an answer on under the asker's own id, with the names of sessions that the asker
    /// knows.
    fn pass_answer(&mut self, from: WorkerId, call: &WorkerCall, line: &[u8], envelope: &Envelope) {
        let Some(id) = call.client else { return self.note_orphan(from, line, envelope) };
        let is_ok = envelope.kind == MessageKind::Response;
        let alias = self.name_in_answer(from, call, line, envelope.session, is_ok);
        let top_alias = self.name_in_answer(from, call, line, envelope.top_session, is_ok);
        if call.kind == CallKind::Load
            && is_ok
            && let Some(session) = call.session.and_then(|key| self.sessions.get_mut(key))
        {
            session.load.clone_from(&call.load);
        }
        let mut edits = LineEdits::default();
        edits.set(envelope.id, call.id.as_bytes());
        if let Some(name) = &alias {
            edits.set(envelope.session, name.as_bytes());
        }
        if let Some(name) = &top_alias {
            edits.set(envelope.top_session, name.as_bytes());
        }
        self.counters.answered_by_workers += 1;
        self.count_answer(id);
        self.out.push(SwitchOutput::ToClient { client: id, line: edits.apply(line) });
        if !is_ok
            && call.is_first_use
            && let Some(session) = call.session
        {
            self.forget_unused(session);
        }
    }

    /// Looks up the session that an answer names, and enters it if it is new; returns its alias, if
    /// it has one.
    fn name_in_answer(
        &mut self,
        from: WorkerId,
        call: &WorkerCall,
        line: &[u8],
        span: Span,
        is_ok: bool,
    ) -> Option<String> {
        let name = span.bytes(line)?;
        let is_opened = call.kind == CallKind::Open && is_ok;
        // Nearly always it is the one that the request was about.
        let asked = call.session.and_then(|key| self.sessions.get(key));
        let is_asked = asked.is_some_and(|session| {
            session.owner == call.client && *session.worker_name.as_bytes() == *name
        });
        let key = match call.session {
            Some(key) if is_asked && !is_opened => key,
            _ => {
                let name = span.text(line)?;
                let key = match self.workers.get(&from)?.sessions.get(name.as_bytes()) {
                    Some(key) => *key,
                    None => self.enter_session(from, &name)?,
                };
                self.claim(call.client?, key, is_opened);
                if is_opened && let Some(session) = self.sessions.get_mut(key) {
                    session.load.clone_from(&call.load);
                }
                self.deliver_early(from, &name);
                key
            }
        };
        let session = self.sessions.get(key).filter(|session| session.has_alias());
        session.map(|session| quoted(&session.name))
    }

    /// Counts one open request of a client less.
    pub(super) fn count_answer(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.n_open = client.n_open.saturating_sub(1);
        if client.finish.is_some() {
            self.finishing.push(id);
        }
    }

    /// Enters a session whose client left before it was opened: it can still be claimed by name.
    fn note_orphan(&mut self, from: WorkerId, line: &[u8], envelope: &Envelope) {
        self.counters.unasked += 1;
        let Some(name) = envelope.session.text(line) else { return };
        let worker = self.workers.get(&from);
        if worker.is_none_or(|worker| worker.sessions.contains_key(name.as_bytes())) {
            return;
        }
        let until = self.now.after(self.limits.session_grace);
        if let Some(key) = self.enter_session(from, &name)
            && let Some(session) = self.sessions.get_mut(key)
        {
            session.grace_until = Some(until);
            self.set_timer(until, Timer::Grace(key));
        }
        self.deliver_early(from, &name);
    }

    /// Enters a session that a worker has named.
    pub(super) fn enter_session(&mut self, at: WorkerId, name: &str) -> Option<SessionKey> {
        if self.sessions.len() >= self.limits.max_sessions {
            return None;
        }
        let worker = self.workers.get_mut(&at)?;
        let name: Arc<str> = name.into();
        let key = self.sessions.add(name.clone(), worker.pool, at);
        worker.sessions.insert(NameKey(name), key);
        Some(key)
    }

    /// Delivers the notifications that came about a session before the answer that named it.
    fn deliver_early(&mut self, from: WorkerId, name: &str) {
        let Some(worker) = self.workers.get_mut(&from).filter(|w| !w.early.is_empty()) else {
            return;
        };
        let is_about = |(line, envelope): &(Bytes, Envelope)| {
            [envelope.session, envelope.top_session]
                .iter()
                .any(|span| span.text(line).is_some_and(|text| text == name))
        };
        let early = std::mem::take(&mut worker.early);
        let (due, rest): (Vec<_>, Vec<_>) = early.into_iter().partition(is_about);
        worker.n_early_bytes = rest.iter().map(|(line, _)| line.len()).sum();
        worker.early = rest;
        for (line, envelope) in due {
            self.worker_notification(from, &line, &envelope);
        }
    }

    /// After an answer: delivers early notifications if no more answers will name a session, or
    /// stops the worker if it has drained.
    pub(super) fn call_ended(&mut self, at: WorkerId) {
        let Some(worker) = self.workers.get_mut(&at) else { return };
        if worker.n_opening == 0 && !worker.early.is_empty() {
            worker.n_early_bytes = 0;
            for (line, envelope) in std::mem::take(&mut worker.early) {
                self.worker_notification(at, &line, &envelope);
            }
            self.stop_if_drained(at);
        } else if worker.stage != WorkerStage::Running {
            self.stop_if_drained(at);
        }
    }

    /// Remembers whether sessions can be loaded again, and whether they can be closed.
    fn note_capabilities(&mut self, at: WorkerId, line: &[u8], envelope: &Envelope) {
        let body = std::str::from_utf8(envelope.body.of(line)).unwrap_or_default();
        let result: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let is_object = |path: &str| result.pointer(path).is_some_and(serde_json::Value::is_object);
        let can_load = result.pointer("/agentCapabilities/loadSession") == Some(&true.into());
        // In the second version of ACP every agent with sessions can close them.
        let can_close = is_object("/agentCapabilities/sessionCapabilities/close")
            || is_object("/capabilities/session");
        let Some(worker) = self.workers.get_mut(&at) else { return };
        worker.can_load |= can_load;
        worker.can_close |= can_close;
        let pool: PoolId = worker.pool;
        if let Some(pool) = self.pools.get_mut(&pool) {
            pool.can_load |= can_load;
        }
    }

    /// The client whose request has this id at a worker, and the id that it gave it.
    pub(super) fn asker_of(&self, at: WorkerId, raw_id: &[u8]) -> Option<(ClientId, &[u8])> {
        let call = self.workers.get(&at)?.calls.get(&number(raw_id)?)?;
        Some((call.client?, call.id.as_bytes()))
    }
}
