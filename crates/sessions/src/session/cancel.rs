//! From asking the agent to stop to making it stop; and other things that time brings.
//!
//! Each step is an event. A turn that is cancelled ends as `cancelled`, whichever step it
//! took. An idle agent is not told to cancel: some keep that for the next prompt.
//!
//! Commands that we run for the agent are its own to end. Those of a cancelled turn that it
//! leaves running are ended for it, and so is what earlier turns left when nothing else runs.

use std::time::Instant;

use bus::StopStep;
use store::Changes;
use wire::event::{
    AgentQuiet, CancelRequested, CancelRung, CancelStep, DecidedBy, DropReason, PromptDropped,
    StopReason, TurnEnded,
};
use wire::{Fault, Json, Own};

use super::actor::{Actor, Halt, LinkState};
use super::{Command, Reply};
use crate::permission::Decider;
use crate::terminals::Stopped;
use crate::yard::draft;

#[derive(Debug, Default)]
pub(super) struct Cancelling {
    /// They are told how many commands were ended.
    waiting: Vec<Reply<usize>>,
    /// When asking is over.
    deadline: Option<Instant>,
    commands: Stopped,
    /// Why the turn is stopped, if nobody wanted it to be.
    pub(super) gave_up: Option<Fault>,
}

impl Cancelling {
    /// No turn runs any more. Who waits hears of it when the commands have gone, too.
    pub(super) fn finish(&mut self) {
        (self.deadline, self.gave_up) = (None, None);
        let (waiting, commands) =
            (std::mem::take(&mut self.waiting), std::mem::take(&mut self.commands));
        let n_commands = commands.n_commands;
        let tell = move || {
            for done in waiting {
                let _ = done.send(n_commands);
            }
        };
        if commands.is_none() {
            return tell();
        }
        task::spawn(async move {
            commands.gone().await;
            tell();
        });
    }
}

impl Actor {
    pub(super) async fn cancel(
        &mut self,
        by: &str,
        done: Option<Reply<usize>>,
    ) -> Result<(), Halt> {
        self.cancelling.waiting.extend(done);
        let dropped = self.turns.drop_all_queued();
        let reason = if by == "limit" { DropReason::Limit } else { DropReason::Cancelled };
        let dropped = dropped.into_iter().map(|turn| draft(Some(turn), PromptDropped { reason }));
        let dropped: Vec<_> = dropped.collect();
        if !dropped.is_empty() {
            let changes = self.next_turn_is_active();
            self.append(dropped, changes).await?;
        }
        if self.turns.running().is_none() {
            self.withdraw_limit(&Decider::new(DecidedBy::Cancel)).await?;
            self.unpause().await?;
            self.cancelling.commands.add(self.services.terminals.stop_all(self.last_turn));
            self.cancelling.finish();
            return Ok(());
        }
        if self.turns.cancel().is_none() {
            return Ok(());
        }
        self.note(CancelRequested { by: by.to_owned() }).await?;
        if let Some(again) = self.again.take() {
            // The agent has not been given the prompt yet.
            return self.end_turn(again.turn, TurnEnded::of(StopReason::Cancelled)).await;
        }
        // An agent that is stopped would not hear it.
        self.unpause().await?;
        if let LinkState::Linked { linkage, .. } = &self.link {
            let params = linkage.params_for_agent(&Json::trusted("{}"));
            // A full pipe is no reason to wait: the ladder goes on by itself.
            let _ = linkage.host.connection.notify("session/cancel", &params);
        }
        self.note(CancelStep { step: CancelRung::Notified }).await?;
        if !self.questions.is_empty() {
            self.cancel_questions().await?;
            self.note(CancelStep { step: CancelRung::PermissionsCancelled }).await?;
        }
        self.cancelling.deadline = Some(Instant::now() + self.yard.settings.cancel_grace);
        Ok(())
    }

    pub(super) async fn cancel_questions(&mut self) -> Result<(), Halt> {
        for pending in self.questions.take_all() {
            let settled = pending.asks.cancel();
            self.settle(pending, &settled, &Decider::new(DecidedBy::Cancel)).await?;
        }
        Ok(())
    }

    /// The agent had its chance to end what the turn started.
    pub(super) fn stop_commands_if_cancelled(&mut self) {
        let cancelled = self.turns.running().filter(|running| running.is_cancelling);
        if let Some(running) = cancelled {
            self.cancelling.commands.add(self.services.terminals.stop_turn(running.turn));
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let all = [
            self.cancelling.deadline,
            self.questions.next_deadline(),
            self.quiet_deadline(),
            self.worker_deadline(),
            self.aside_deadline(),
            self.limit_deadline(),
            self.services.terminals.telling.due(Instant::now()),
        ];
        all.into_iter().flatten().min()
    }

    pub(super) async fn on_time(&mut self) -> Result<(), Halt> {
        let now = Instant::now();
        if self.cancelling.deadline.is_some_and(|deadline| deadline <= now) {
            self.cancelling.deadline = None;
            self.stop_commands_if_cancelled();
            self.spawn_stop();
        }
        for pending in self.questions.take_overdue(now) {
            let (settled, is_limit) = (pending.asks.reject(), pending.asks.is_limit());
            self.settle(pending, &settled, &Decider::new(DecidedBy::Timeout)).await?;
            if is_limit {
                self.cancelling.gave_up = Some(self.fell_silent());
                self.obey_limit_answer(&settled).await?;
            }
        }
        if self.worker_deadline().is_some_and(|deadline| deadline <= now) {
            self.let_worker_go().await?;
        }
        if self.quiet_deadline().is_some_and(|deadline| deadline <= now) {
            self.n_quiet_reports += 1;
            let quiet_ms = u64::try_from(now.duration_since(self.heard_at).as_millis());
            let quiet_ms = quiet_ms.unwrap_or(u64::MAX);
            let waiting_for = Some(self.last_act.in_words());
            self.note(AgentQuiet { quiet_ms, waiting_for }).await?;
        }
        Ok(())
    }

    /// When silence is worth a word. A person who is thinking is not silence.
    fn quiet_deadline(&self) -> Option<Instant> {
        /// Beyond this the interval no longer doubles.
        const MAX_DOUBLINGS: u32 = 6;
        if self.turns.running().is_none() || !self.questions.is_empty() {
            return None;
        }
        let factor = 2_u32.pow((self.n_quiet_reports + 1).min(MAX_DOUBLINGS)) - 1;
        Some(self.heard_at + self.yard.settings.quiet_after * factor)
    }

    /// A silence begins anew: something is going on, or a person's answer has just come.
    pub(super) fn still_at_work(&mut self) {
        (self.heard_at, self.n_quiet_reports) = (Instant::now(), 0);
    }

    fn spawn_stop(&self) {
        let (LinkState::Linked { linkage, .. }, Some(commands)) =
            (&self.link, self.commands.upgrade())
        else {
            return;
        };
        let host = linkage.host.clone();
        task::spawn(async move {
            host.stop(|step| {
                // The session may be busy with what the agent still says; a step that is
                // not logged is still taken.
                let _ = commands.try_send(Command::Stopping(step));
            })
            .await;
        });
    }

    pub(super) async fn note_stop_step(&mut self, step: StopStep) -> Result<(), Halt> {
        let step = match step {
            StopStep::AwaitExit => CancelRung::Eof,
            StopStep::Terminate => CancelRung::Terminate,
            StopStep::Kill => CancelRung::Kill,
        };
        self.note(CancelStep { step }).await
    }

    async fn note(&mut self, own: impl Into<Own<'_>>) -> Result<(), Halt> {
        let drafts = vec![self.event(own)];
        self.append(drafts, Changes::default()).await
    }
}
