//! What a session does because of the time: each thing has a deadline, and the earliest is waited for.
//!
//! A cancelled agent is stopped, questions are answered for want of a person, an idle worker is let
//! go, an unused session is put aside, and silence is reported.

use std::time::Instant;

use store::RecordChanges;
use wire::event::{DecidedBy, Decider, WorkerExited};
use wire::{Category, Fault};

use super::{LogFailure, SessionTask};
use crate::budget::Limit;
use crate::context::draft;

impl SessionTask {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let all = [
            self.cancelling.deadline(),
            self.questions.next_deadline(),
            self.quiet_deadline(),
            self.worker_deadline(),
            self.aside_deadline(),
            self.limit_deadline(),
            self.services.terminals.log.due(Instant::now()),
        ];
        all.into_iter().flatten().min()
    }

    pub(super) async fn on_deadline(&mut self) -> Result<(), LogFailure> {
        let now = Instant::now();
        if self.cancelling.is_due(now) {
            self.stop_commands_if_cancelled();
            self.spawn_stop();
        }
        for pending in self.questions.take_overdue(now) {
            let (settled, is_limit) = (pending.asks.reject(), pending.asks.is_limit());
            self.settle(pending, &settled, &Decider::new(DecidedBy::Timeout)).await?;
            if is_limit {
                self.cancelling.give_up(self.fell_silent());
                self.obey_limit_answer(&settled).await?;
            }
        }
        if self.worker_deadline().is_some_and(|deadline| deadline <= now) {
            self.let_worker_go().await?;
        }
        if self.quiet_deadline().is_some_and(|deadline| deadline <= now) {
            let quiet = self.silence.report(now);
            self.append_event(quiet).await?;
        }
        Ok(())
    }

    /// When silence is reported next. A person who is thinking is not silence.
    fn quiet_deadline(&self) -> Option<Instant> {
        let is_watched = self.turns.running().is_some() && self.questions.is_empty();
        is_watched.then(|| self.silence.deadline(self.context.settings.quiet_after))
    }

    /// The fault of a turn whose agent fell silent, when nobody has said whether to wait.
    fn fell_silent(&self) -> Fault {
        let limit = self.details.budget.limits().value(Limit::InactiveSeconds);
        let limit = limit.map_or_else(String::new, |limit| limit.to_string());
        Fault::new(
            Category::Timeout,
            format!("the agent said nothing for {limit} s, and nobody answered whether to wait"),
        )
    }

    /// When a worker that has nothing to do is let go.
    fn worker_deadline(&self) -> Option<Instant> {
        let is_unused = self.link.agent().is_some() && self.is_idle();
        let idle = self.context.settings.worker_idle.filter(|_| is_unused)?;
        Some(self.used_at.max(self.silence.since()) + idle)
    }

    /// Whether nobody would miss this task.
    pub(super) fn is_out_of_use(&self) -> bool {
        self.aside_deadline().is_some_and(|deadline| deadline <= Instant::now())
    }

    fn aside_deadline(&self) -> Option<Instant> {
        let is_unused = self.link.is_unlinked() && self.clients.is_empty() && self.is_idle();
        Some(self.used_at + self.context.settings.put_aside_after.filter(|_| is_unused)?)
    }

    /// Has an unlinked session put aside as if it had not been used for long.
    pub(super) fn put_aside_if_unlinked(&mut self) {
        if !self.link.is_unlinked() {
            return;
        }
        let long_ago = |after| self.used_at.checked_sub(after);
        self.used_at =
            self.context.settings.put_aside_after.and_then(long_ago).unwrap_or(self.used_at);
    }

    fn is_idle(&self) -> bool {
        self.turns.is_idle() && !self.link.is_awaited()
    }

    /// Ends a worker that has had nothing to do for long; the session stays.
    async fn let_worker_go(&mut self) -> Result<(), LogFailure> {
        let Some(agent) = self.release() else { return Ok(()) };
        tracing::info!(session = %self.id, pid = agent.host.pid(), "idle worker let go");
        agent.close_soon();
        self.slot.rest();
        let reason = Some("idle".to_owned());
        let exited = WorkerExited { stopped: true, reason, ..WorkerExited::default() };
        self.append(vec![draft(None, exited)], RecordChanges::default()).await
    }
}
