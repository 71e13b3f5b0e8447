//! The end of a session that nobody has claimed.
//!
//! Its worker is told with `session/close`, where it said that it can be; or it would keep the
//! session for ever. Until it has answered the name stays taken, so that what it still says
//! about the session reaches nobody.

use std::sync::Arc;

use bytes::Bytes;
use wire::{Json, RpcId};

use super::hash::Name;
use super::session::{Place, SessionKey};
use super::timers::Timer;
use super::worker::Stage;
use super::{Output, Switch, WorkerId};

/// Sessions that a worker may be closing at once. One that answers none of them is not told of
/// more: what is remembered for it must end somewhere.
const MAX_CLOSING: usize = 1024;

/// A session that a worker was told to close, and the id of the request.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) n: u64,
    pub(super) name: Arc<str>,
}

impl Switch {
    pub(super) fn grace_ended(&mut self, key: SessionKey) {
        let now = self.now;
        let grace = self.limits.session_grace;
        let Some(session) = self.sessions.get_mut(key) else { return };
        if session.grace_until.is_none_or(|until| until > now) {
            return;
        }
        // Others may wait for it.
        if matches!(session.place, Place::Moving { .. }) || session.n_calls > 0 {
            let until = now.after(grace.max(1));
            session.grace_until = Some(until);
            return self.set_timer(until, Timer::Grace(key));
        }
        let (at, name) = (session.worker(), session.worker_name.clone());
        self.forget_session(key);
        if let Some(at) = at {
            self.close_at(at, key, name);
        }
    }

    /// Tells a worker to close a session that is no longer known.
    fn close_at(&mut self, at: WorkerId, key: SessionKey, name: Arc<str>) {
        let Some(worker) = self.workers.get_mut(&at) else { return };
        let is_up = worker.stage == Stage::Running;
        if !(is_up && worker.can_close && worker.closing.len() < MAX_CLOSING) {
            return;
        }
        worker.sessions.insert(Name(name.clone()), key);
        worker.n_called += 1;
        let n = worker.n_called;
        let params = format!("{{\"sessionId\":{}}}", Json::of(&&*name).as_str());
        let line = wire::request_line(&RpcId::number(n), "session/close", &params);
        worker.closing.push(Closing { n, name });
        self.counters.sessions_closed += 1;
        self.out.push(Output::ToWorker { worker: at, line: Bytes::from(line) });
    }

    /// The worker has answered; whether it was asked.
    pub(super) fn session_closed(&mut self, at: WorkerId, n: u64) -> bool {
        let Some(worker) = self.workers.get_mut(&at) else { return false };
        let Some(place) = worker.closing.iter().position(|closing| closing.n == n) else {
            return false;
        };
        let closing = worker.closing.swap_remove(place);
        worker.sessions.remove(closing.name.as_bytes());
        worker.used = self.now;
        self.retries.push(worker.pool);
        true
    }
}
