//! A second session that begins with what was said in a first one.
//!
//! The log is copied, not shared: either can be deleted. No agent is believed to be able to
//! fork; the new session's agent is told what was said with the first prompt.

use serde_json::json;
use store::{Batch, Changes, NewSession};
use wire::{Draft, Event, Json, Kind, Seq, SessionId};

use super::{Desk, DeskError};
use crate::details::{Details, prompt_text};
use crate::{mint, yard};

/// Events copied at once.
const PAGE: usize = 256;

impl Desk {
    /// Copies a session up to the end of its last turn that ended at or before `up_to`.
    pub async fn fork(
        &self,
        id: SessionId,
        up_to: Option<Seq>,
        made_by: Option<String>,
    ) -> Result<SessionId, DeskError> {
        self.check_open()?;
        let parent = self.record(id).await?;
        let (end, last_prompt) = self.whole_turns(id, up_to.unwrap_or(parent.head)).await?;
        let fork = mint::session_id();
        let mut details = Details::read(&parent);
        details.made_by = made_by;
        details.last_prompt = last_prompt;
        // Names of requests hold within one session.
        (details.made_for, details.requests) = (None, Vec::new());
        let new = NewSession {
            id: fork,
            agent: parent.agent.clone(),
            cwd: parent.cwd.clone(),
            created: mint::now(),
            details: details.to_json(),
        };
        self.yard.log.create(new).await?;
        let _claim = self.yard.log.claim(fork).await?;
        let payload = json!({
            "agent": parent.agent, "command": details.command, "cwd": parent.cwd,
            "forkedFrom": id, "at": end.0, "by": details.made_by,
        });
        let created = vec![yard::draft(Kind::SessionCreated, None, &payload)];
        let title = parent.title.map(|title| format!("{title} (fork)"));
        let changes = Changes { title: Some(title), ..Changes::default() };
        self.yard.log.append(Batch::new(fork, created).with(changes)).await?;
        let mut after = Seq(0);
        while after < end {
            let events = self.yard.log.read(id, after, PAGE).await?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            let kept = events.iter().filter(|event| event.seq <= end && is_said(&event.kind));
            let drafts: Vec<Draft> = kept.map(|event| copied(event, fork)).collect();
            if !drafts.is_empty() {
                self.yard.log.append(Batch::new(fork, drafts)).await?;
            }
        }
        Ok(fork)
    }

    /// Where the last whole turn ends, and the last prompt before it.
    async fn whole_turns(
        &self,
        id: SessionId,
        up_to: Seq,
    ) -> Result<(Seq, Option<String>), DeskError> {
        let (mut after, mut end, mut kept, mut last) = (Seq(0), Seq(0), None, None);
        while after < up_to {
            let events = self.yard.log.read(id, after, PAGE).await?;
            let Some(newest) = events.last() else { break };
            after = newest.seq;
            for event in events.iter().filter(|event| event.seq <= up_to) {
                match event.kind {
                    Kind::PromptReceived => last = Some(excerpt(&event.payload)),
                    Kind::TurnEnded => (end, kept) = (event.seq, last.clone()),
                    _ => {}
                }
            }
        }
        Ok((end, kept))
    }
}

/// Whether an event tells what was said, not what became of a process.
fn is_said(kind: &Kind) -> bool {
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

fn excerpt(prompt: &Json) -> String {
    prompt_text(prompt).chars().take(200).collect()
}
