//! Cancelling a turn: the agent is asked to stop, then made to; and closing a session, which begins
//! with that.
//!
//! Each step is an event. A turn that is cancelled ends as `cancelled`, whichever step it
//! took. An idle agent is not told to cancel: some keep that for the next prompt.
//!
//! Commands that we run for the agent are its own to end. Those of a cancelled turn that it
//! leaves running are ended for it, and so is what earlier turns left when nothing else runs.

use std::time::Instant;

use bus::StopStep;
use store::RecordChanges;
use wire::event::{
    CancelRequested, CancelRung, CancelStep, DecidedBy, Decider, DropReason, PromptDropped,
    SessionClosed, StopReason, TurnEnded,
};
use wire::{Json, TurnId};

use super::{LogFailure, SessionTask};
use crate::context::draft;
use crate::session::cancelling::CancelResult;
use crate::session::{ReplySender, SessionTaskCommand};

impl SessionTask {
    /// Drops the prompts that wait, and has the running turn come to its end.
    pub(super) async fn cancel(
        &mut self,
        by: &str,
        done: Option<ReplySender<usize>>,
    ) -> Result<(), LogFailure> {
        let reason = if by == "limit" { DropReason::Limit } else { DropReason::Cancelled };
        self.drop_waiting(reason).await?;
        self.stop_turn(by, done).await
    }

    pub(super) async fn drop_waiting(&mut self, reason: DropReason) -> Result<(), LogFailure> {
        let dropped = self.turns.drop_all_queued();
        match dropped.is_empty() {
            true => Ok(()),
            false => self.log_dropped(&dropped, reason).await,
        }
    }

    /// Has the running turn come to its end; prompts that wait stay as they are.
    pub(super) async fn stop_turn(
        &mut self,
        by: &str,
        done: Option<ReplySender<usize>>,
    ) -> Result<(), LogFailure> {
        if let Some(done) = done {
            self.cancelling.wait(done);
        }
        if self.turns.running().is_none() {
            self.withdraw_limit(&Decider::new(DecidedBy::Cancel)).await?;
            self.unpause().await?;
            self.cancelling.add(self.services.terminals.stop_all(self.turns.current()));
            self.notify_cancelled();
            return Ok(());
        }
        let Some(turn) = self.turns.cancel() else { return Ok(()) };
        self.append_event(CancelRequested { by: by.to_owned() }).await?;
        if self.progress.waiting().is_some() {
            // The agent has not been given the prompt yet.
            return self.end_turn(turn, TurnEnded::of(StopReason::Cancelled)).await;
        }
        // An agent that is stopped would not hear it.
        self.unpause().await?;
        if let Some(agent) = self.link.agent() {
            // A full pipe is no reason to wait: the ladder goes on by itself.
            agent.notify("session/cancel", &Json::trusted("{}"));
        }
        self.append_event(CancelStep { step: CancelRung::Notified }).await?;
        if !self.questions.is_empty() {
            self.cancel_questions().await?;
            self.append_event(CancelStep { step: CancelRung::PermissionsCancelled }).await?;
        }
        self.cancelling.asked(Instant::now() + self.context.settings.cancel_grace);
        Ok(())
    }

    /// Logs that prompts were taken out of the queue.
    pub(super) async fn log_dropped(
        &mut self,
        turns: &[TurnId],
        reason: DropReason,
    ) -> Result<(), LogFailure> {
        let drafts = turns.iter().map(|turn| draft(Some(*turn), PromptDropped { reason }));
        let drafts = drafts.collect();
        for turn in turns {
            self.details.note_dropped(*turn);
        }
        let details = Some(self.details.to_json());
        let changes = RecordChanges { details, ..self.next_turn_is_active() };
        // A session that is full has room for the ends of what it has taken.
        self.append_durably(drafts, changes).await
    }

    /// No turn runs any more: tells whoever waited for that.
    pub(super) fn notify_cancelled(&mut self) {
        let CancelResult { waiting, commands } = self.cancelling.finish();
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

    /// Frees the agent's side, marks the session as closed and ends its task. Whoever prompted
    /// since it was cancelled is told like the others; whoever prompts from now on wakes it.
    pub(super) async fn close(&mut self) -> Result<(), LogFailure> {
        self.cancel("close", None).await?;
        if let Some(running) = self.turns.running() {
            self.end_turn(running.turn, TurnEnded::of(StopReason::Cancelled)).await?;
        }
        self.cancel_questions().await?;
        self.is_closed = true;
        if let Some(agent) = self.release() {
            agent.close_soon();
        }
        let closed = vec![draft(None, SessionClosed {})];
        self.append(closed, RecordChanges { is_closed: Some(true), ..RecordChanges::default() })
            .await
    }

    pub(super) async fn cancel_questions(&mut self) -> Result<(), LogFailure> {
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
            self.cancelling.add(self.services.terminals.stop_turn(running.turn));
        }
    }

    pub(super) fn spawn_stop(&self) {
        let (Some(agent), Some(commands)) = (self.link.agent(), self.commands.upgrade()) else {
            return;
        };
        let host = agent.host.clone();
        task::spawn(async move {
            host.stop(|step| {
                // The session may be busy with what the agent still says; a step that is
                // not logged is still taken.
                let _ = commands.try_send(SessionTaskCommand::Stopping(step));
            })
            .await;
        });
    }

    pub(super) async fn note_stop_step(&mut self, step: StopStep) -> Result<(), LogFailure> {
        let step = match step {
            StopStep::AwaitExit => CancelRung::Eof,
            StopStep::Terminate => CancelRung::Terminate,
            StopStep::Kill => CancelRung::Kill,
        };
        self.append_event(CancelStep { step }).await
    }
}
