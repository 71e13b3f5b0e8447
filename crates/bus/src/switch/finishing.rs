//! Clients that have said everything and still read, as in `printf … | nc`.
//!
//! What such a client has asked is answered and what it said goes its way; then it is closed.
//! It cannot answer any more, so workers that ask it something are told so.

use super::client::Client;
use super::line::RawId;
use super::refusal::{CLIENT_GONE, Refusal};
use super::timers::Timer;
use super::{ClientId, CloseReason, Millis, Switch, WorkerId};

/// A client's last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finish {
    /// When it is closed at the latest.
    pub(super) until: Option<Millis>,
}

impl Switch {
    pub(super) fn client_finished(&mut self, id: ClientId, wait: Option<u64>) {
        let Some(client) = self.clients.get_mut(&id).filter(|c| c.finish.is_none()) else { return };
        let until = wait.map(|wait| self.now.after(wait));
        client.finish = Some(Finish { until });
        let asks = std::mem::take(&mut client.asks);
        if let Some(until) = until {
            self.set_timer(until, Timer::Finish(id));
        }
        self.refuse_asks(id, asks, &cannot_answer());
        self.maybe_done(id);
    }

    /// Notes that something of a client has come to its end; it may have been the last.
    pub(super) fn maybe_done(&mut self, id: ClientId) {
        if self.clients.get(&id).is_some_and(|client| client.finish.is_some()) {
            self.finishing.push(id);
        }
    }

    /// Closes a client for which nothing is left to do; whether there was one to look at.
    pub(super) fn close_done(&mut self) -> bool {
        let Some(id) = self.finishing.pop() else { return false };
        if self.clients.get(&id).is_some_and(Client::is_done) {
            self.close_client(id, CloseReason::Finished);
        }
        true
    }

    pub(super) fn finish_timed_out(&mut self, id: ClientId) {
        let until = self.clients.get(&id).and_then(|client| client.finish?.until);
        if until.is_some_and(|until| until <= self.now) {
            self.close_client(id, CloseReason::Finished);
        }
    }

    /// Whether a client can answer a question; if not the worker is told.
    pub(super) fn can_be_asked(&mut self, id: ClientId, by: WorkerId, raw_id: &[u8]) -> bool {
        let can = self.clients.get(&id).is_some_and(|client| client.finish.is_none());
        if !can {
            self.refuse_ask(by, &RawId::new(raw_id), &cannot_answer());
        }
        can
    }
}

fn cannot_answer() -> Refusal {
    let message = "the client has ended its input, so it cannot answer";
    Refusal::new(CLIENT_GONE, "client_finished", message)
}
