//! Forks: a second session that begins with a copy of the first one's conversation.
//!
//! The log is copied, not shared: either can be deleted. No agent is believed to be able to
//! fork; the new session's agent gets the conversation with the first prompt. A fork is whole
//! or it is not there; until it is whole its status is `copying`, and nobody can prompt it.

use store::{Batch, NewSession, RecordChanges, SessionRecord};
use wire::event::SessionCreated;
use wire::{Draft, Event, Json, Kind, Seq, SessionId, TurnId};

use super::{RegistryError, SessionRegistry};
use crate::context::unfinished::{UnfinishedTurns, interrupted};
use crate::details::{CreationParams, SessionDetails, excerpt, prompt_text};
use crate::open::OpenError;
use crate::order::Maker;
use crate::{context, mint};

/// The end of a fork's title; a fork of a fork has it once.
const FORK: &str = " (fork)";
/// Events copied at once: a commit of some milliseconds, so that the appends of others, which wait
/// for it, hardly notice.
const PAGE: usize = 512;
/// Events read at once to find the last whole turn.
const SCANNED: usize = 2048;

/// The part of a session's log that a fork copies.
#[derive(Debug, Default)]
struct ForkRange {
    /// The end of the last whole turn.
    end: Seq,
    /// The last prompt that had its turn by then.
    last_prompt: Option<String>,
    /// Prompts that were queued at that point; neither they nor their turns are copied.
    waiting: Vec<TurnId>,
}

impl ForkRange {
    fn takes(&self, event: &Event) -> bool {
        let is_open = event.turn.is_some_and(|turn| self.waiting.contains(&turn));
        event.seq <= self.end && is_conversation(&event.kind) && !is_open
    }
}

impl SessionRegistry {
    /// Copies a session up to the end of its last turn that ended at or before `up_to`.
    pub async fn fork(
        &self,
        id: SessionId,
        up_to: Option<Seq>,
        maker: Option<Maker>,
    ) -> Result<SessionId, RegistryError> {
        self.fork_telling(id, up_to, maker, |_| {}).await
    }

    /// As [`fork`](Self::fork); `made` is told the fork's id as soon as there is one, before the
    /// conversation is copied.
    pub async fn fork_telling(
        &self,
        id: SessionId,
        up_to: Option<Seq>,
        maker: Option<Maker>,
        made: impl FnOnce(SessionId) + Send,
    ) -> Result<SessionId, RegistryError> {
        self.check_open()?;
        let _place = self.forks.enter(maker.as_ref().map_or("", |maker| &maker.name)).await;
        let _making = self.check_room(maker.as_ref()).await?;
        let parent = self.record(id).await?;
        // What is not whole itself would be taken for all of it.
        if SessionDetails::read(&parent).is_partial {
            return Err(OpenError::Copying(id).into());
        }
        let fork = mint::session_id();
        let copied = self.copy(&parent, fork, up_to, maker.as_ref(), made).await;
        if let Err(error) = &copied {
            tracing::info!(session = %parent.id, %error, "a fork could not be made");
            if let Err(error) = self.context.log.delete(fork).await {
                tracing::warn!(session = %fork, %error, "cannot remove an incomplete fork");
            }
        }
        copied.map(|()| fork)
    }

    /// Until it is whole, the copy has a turn that runs and says that it is partial, so that
    /// whoever starts after a crash finds it and removes it.
    async fn copy(
        &self,
        parent: &SessionRecord,
        fork: SessionId,
        up_to: Option<Seq>,
        maker: Option<&Maker>,
        made: impl FnOnce(SessionId) + Send,
    ) -> Result<(), RegistryError> {
        let log = &self.context.log;
        let made_by = maker.map(|maker| maker.name.clone());
        let made_of = CreationParams::read(&**log, parent).await?;
        let mut details = SessionDetails::read(parent);
        let _ = details.take_creation_params();
        let origin = Some(made_of.to_origin(made_by.clone()));
        details.made_by = made_by;
        // Request ids of clients hold within one session.
        (details.made_for, details.requests) = (None, Vec::new());
        // It has none of the parent's commands: those that still run are lost to it.
        let mut noted = std::mem::take(&mut details.open_commands);
        let mut unfinished = UnfinishedTurns::default();
        details.is_partial = true;
        let new = NewSession {
            id: fork,
            agent: parent.agent.clone(),
            cwd: parent.cwd.clone(),
            created: mint::now(),
            details: details.to_json(),
            origin,
        };
        let _claim = log.claim(fork).await?;
        log.create(new).await?;
        let active_turn = Some(Some(mint::turn_id()));
        log.update(fork, RecordChanges { active_turn, ..RecordChanges::default() }).await?;
        made(fork);
        let cut = self.whole_turns(parent.id, up_to.unwrap_or(parent.head)).await?;
        details.last_prompt.clone_from(&cut.last_prompt);
        let created = SessionCreated {
            agent: parent.agent.clone(),
            command: details.command.clone(),
            cwd: parent.cwd.clone(),
            forked_from: Some(parent.id.to_string()),
            at: Some(cut.end.0),
            by: details.made_by.clone(),
        };
        let created = vec![context::draft(None, created)];
        let title = parent.title.as_ref().map(|title| match title.ends_with(FORK) {
            true => title.clone(),
            false => format!("{title}{FORK}"),
        });
        let changes = RecordChanges { title: Some(title), ..RecordChanges::default() };
        let mut batch = Batch::new(fork, created).with(changes);
        let mut after = Seq(0);
        while after < cut.end {
            // The next events are read while the ones before are written.
            let (events, appended) =
                tokio::join!(log.read(parent.id, after, PAGE), log.append(batch));
            appended?;
            let events = events?;
            let Some(last) = events.last() else {
                return Err(RegistryError::NoSuchSession(parent.id.to_string()));
            };
            after = last.seq;
            maker.map_or(Ok(()), Maker::check)?;
            let kept = events.iter().filter(|event| cut.takes(event)).inspect(|event| {
                // A command that has printed nothing is known by the tool call that shows it.
                for shown in noted.extract_if(.., |id| event.payload.as_str().contains(&**id)) {
                    unfinished.see_command(shown, event.turn);
                }
                unfinished.see(event);
            });
            batch = Batch::new(fork, kept.map(|event| copied(event, fork)).collect());
        }
        let lost = unfinished.close(parent, &interrupted());
        batch.drafts.extend(lost.into_iter().map(|(draft, _)| draft));
        if !batch.drafts.is_empty() {
            log.append(batch).await?;
        }
        details.is_partial = false;
        let whole = RecordChanges {
            active_turn: Some(None),
            details: Some(details.to_json()),
            // The copied events may be old; the fork is not.
            updated: Some(mint::now()),
            ..RecordChanges::default()
        };
        Ok(log.update(fork, whole).await?)
    }

    async fn whole_turns(&self, id: SessionId, up_to: Seq) -> Result<ForkRange, RegistryError> {
        let mut cut = ForkRange::default();
        let (mut after, mut last) = (Seq(0), None);
        let mut waiting: Vec<(TurnId, String)> = Vec::new();
        while after < up_to {
            let events = self.context.log.read(id, after, SCANNED).await?;
            let Some(newest) = events.last() else { break };
            after = newest.seq;
            for event in events.iter().filter(|event| event.seq <= up_to) {
                let Some(turn) = event.turn else { continue };
                match event.kind {
                    Kind::PromptReceived => {
                        waiting.push((turn, excerpt(&prompt_text(&event.payload))));
                    }
                    Kind::TurnStarted => {
                        let started = waiting.iter().find(|(other, _)| *other == turn);
                        last = started.map(|(_, prompt)| prompt.clone()).or(last);
                    }
                    Kind::PromptDropped => waiting.retain(|(other, _)| *other != turn),
                    Kind::TurnEnded => {
                        waiting.retain(|(other, _)| *other != turn);
                        cut.end = event.seq;
                        cut.last_prompt.clone_from(&last);
                        cut.waiting = waiting.iter().map(|(other, _)| *other).collect();
                    }
                    _ => {}
                }
            }
        }
        Ok(cut)
    }
}

/// Whether an event is part of the conversation, not of the life of a process.
fn is_conversation(kind: &Kind) -> bool {
    !matches!(
        kind,
        Kind::SessionCreated
            | Kind::SessionResumed
            | Kind::SessionClosed
            | Kind::WorkerStarted
            | Kind::WorkerExited
            | Kind::LogRecovered
    )
}

fn copied(event: &Event, fork: SessionId) -> Draft {
    let payload = match event.kind.update_name() {
        Some(_) => wire::set_member(&event.payload, &["sessionId"], &Json::of(&fork)).ok(),
        None => None,
    };
    Draft {
        at: event.at,
        turn: event.turn,
        kind: event.kind.clone(),
        payload: payload.unwrap_or_else(|| event.payload.clone()),
    }
}
