//! The runs of sessions, read from their logs.
//!
//! In: a session's log. Out: its runs and how they stand. An index is kept up to date by
//! reading what is new, so that asking again and again costs little. All of it can be
//! forgotten at any time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use store::{EventLog, SessionRecord, StoreError};
use tokio::sync::{OwnedMutexGuard, Semaphore};
use wire::event::{DropReason, PromptDropped, PromptReceived, TurnEnded, TurnOutcome};
use wire::{Category, Event, Fault, OwnEvent, Seq, SessionId, TurnId};

use super::conversation::RunNote;
use crate::locking::Locking as _;
use crate::problem::kinds::run_code;

/// Indexes that are kept.
const MAX_INDEXES: usize = 256;
/// Runs of a session that are listed; older ones are found by their id.
pub(super) const MAX_RUNS: usize = 200;
/// Limit of an error's text in memory; the log has all of it.
const MAX_ERROR_CHARS: usize = 2000;
/// Events read at once.
const PAGE: usize = 512;
/// Pages of logs in memory at a time: a request for a run that is not there reads all of a log.
static READERS: Semaphore = Semaphore::const_new(4);

/// A run as it stands, in Open Design's fields.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) id: TurnId,
    pub(super) status: RunStatus,
    pub(super) agent_id: String,
    #[serde(flatten)]
    pub(super) note: RunNote,
    pub(super) session_id: SessionId,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) cancel_requested: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) error: Option<String>,
    pub(super) error_code: Option<&'static str>,
    pub(super) failure_category: Option<Category>,
    #[serde(skip)]
    had_worker: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RunStatus {
    Queued,
    Running,
    Succeeded,
    Failed,
    Canceled,
}

impl RunStatus {
    pub(super) fn is_active(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

/// The runs of one session.
#[derive(Debug)]
struct RunIndex {
    session: SessionId,
    agent: String,
    epoch: u64,
    read_to: Seq,
    /// The oldest first.
    runs: VecDeque<Run>,
    /// Only this run is kept.
    only: Option<TurnId>,
    is_cut: bool,
    has_worker: bool,
}

impl RunIndex {
    fn new(record: &SessionRecord, only: Option<TurnId>) -> Self {
        Self {
            session: record.id,
            agent: record.agent.clone(),
            epoch: record.epoch,
            read_to: Seq(0),
            runs: VecDeque::new(),
            only,
            is_cut: false,
            has_worker: false,
        }
    }

    async fn read(&mut self, log: &dyn EventLog) -> Result<(), StoreError> {
        loop {
            let _place = READERS.acquire().await;
            let events = log.read(self.session, self.read_to, PAGE).await?;
            let Some(last) = events.last() else { return Ok(()) };
            self.read_to = last.seq;
            for event in &events {
                self.apply(event);
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        let own = event.own();
        match &own {
            Some(OwnEvent::WorkerStarted(_)) => {
                self.has_worker = true;
                self.active().for_each(|run| run.had_worker = true);
            }
            Some(OwnEvent::WorkerExited(exited)) => {
                self.has_worker = false;
                self.active().for_each(|run| run.signal = exited.signal);
            }
            Some(OwnEvent::CancelRequested(_)) => {
                self.active().for_each(|run| run.cancel_requested = true);
            }
            _ => {}
        }
        let Some(turn) = event.turn.filter(|turn| self.only.is_none_or(|only| only == *turn))
        else {
            return;
        };
        if let Some(OwnEvent::PromptReceived(received)) = &own {
            return self.received(turn, event, received);
        }
        let Some(run) = self.runs.iter_mut().rev().find(|run| run.id == turn) else { return };
        run.updated_at = event.at.0;
        match own {
            Some(OwnEvent::TurnStarted(_)) => run.status = RunStatus::Running,
            Some(OwnEvent::TurnEnded(ended)) => run.end(&ended),
            Some(OwnEvent::PromptDropped(dropped)) => run.drop(dropped),
            _ => {}
        }
    }

    fn received(&mut self, turn: TurnId, event: &Event, received: &PromptReceived<'_>) {
        // Other prompts of the session are no runs.
        let Some(note) = RunNote::read(received) else { return };
        if self.runs.len() >= MAX_RUNS {
            self.runs.pop_front();
            self.is_cut = true;
        }
        self.runs.push_back(Run {
            id: turn,
            status: RunStatus::Queued,
            agent_id: self.agent.clone(),
            note,
            session_id: self.session,
            created_at: event.at.0,
            updated_at: event.at.0,
            cancel_requested: false,
            exit_code: None,
            signal: None,
            error: None,
            error_code: None,
            failure_category: None,
            had_worker: self.has_worker,
        });
    }

    /// Those that are under way: the last ones.
    fn active(&mut self) -> impl Iterator<Item = &mut Run> {
        self.runs.iter_mut().filter(|run| run.status.is_active())
    }
}

impl Run {
    fn end(&mut self, ended: &TurnEnded<'_>) {
        match ended.outcome() {
            TurnOutcome::Completed => {
                (self.status, self.exit_code) = (RunStatus::Succeeded, Some(0));
            }
            TurnOutcome::Failed => {
                let unknown = || Fault::new(Category::Internal, "");
                self.fail(&ended.error.clone().unwrap_or_else(unknown));
            }
            TurnOutcome::Cancelled => self.status = RunStatus::Canceled,
        }
    }

    fn drop(&mut self, dropped: PromptDropped) {
        match dropped.reason {
            DropReason::Interrupted => self.fail(&never_began()),
            _ => self.status = RunStatus::Canceled,
        }
    }

    pub(super) fn fail(&mut self, fault: &Fault) {
        (self.status, self.exit_code) = (RunStatus::Failed, Some(1));
        self.error = Some(fault.message.chars().take(MAX_ERROR_CHARS).collect());
        self.error_code = Some(run_code(fault.category, self.had_worker));
        self.failure_category = Some(fault.category);
    }
}

/// The fault of a run whose prompt waited when the daemon ended.
pub(super) fn never_began() -> Fault {
    Fault::new(Category::Interrupted, "Switchyard ended before this run began")
        .remedy("send the prompt again")
}

/// The ledgers of the sessions that were asked about last.
#[derive(Debug, Default)]
pub(super) struct RunIndexes(Mutex<HashMap<SessionId, CachedRunIndex>>);

#[derive(Debug)]
struct CachedRunIndex {
    index: Arc<tokio::sync::Mutex<RunIndex>>,
    used: Instant,
}

impl RunIndexes {
    /// The last runs of a session, the newest first.
    pub(super) async fn runs(
        &self,
        log: &dyn EventLog,
        record: &SessionRecord,
    ) -> Result<Vec<Run>, StoreError> {
        Ok(self.current(log, record).await?.runs.iter().rev().cloned().collect())
    }

    /// One run of a session, and up to where the log was read.
    pub(super) async fn run(
        &self,
        log: &dyn EventLog,
        record: &SessionRecord,
        id: TurnId,
    ) -> Result<Option<(Run, Seq)>, StoreError> {
        let index = self.current(log, record).await?;
        if let Some(run) = index.runs.iter().find(|run| run.id == id) {
            return Ok(Some((run.clone(), index.read_to)));
        }
        if !index.is_cut {
            return Ok(None);
        }
        drop(index);
        let mut alone = RunIndex::new(record, Some(id));
        alone.read(log).await?;
        let heard = alone.read_to;
        Ok(alone.runs.pop_front().map(|run| (run, heard)))
    }

    /// The index of a session, brought up to date.
    async fn current(
        &self,
        log: &dyn EventLog,
        record: &SessionRecord,
    ) -> Result<OwnedMutexGuard<RunIndex>, StoreError> {
        let mut index = self.index(record).lock_owned().await;
        // The session was deleted and made again, or events were lost.
        if index.epoch != record.epoch {
            *index = RunIndex::new(record, None);
        }
        index.read(log).await?;
        Ok(index)
    }

    fn index(&self, record: &SessionRecord) -> Arc<tokio::sync::Mutex<RunIndex>> {
        let mut kept = self.0.locked();
        if !kept.contains_key(&record.id) && kept.len() >= MAX_INDEXES {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.used).map(|(id, _)| *id);
            oldest.map(|id| kept.remove(&id));
        }
        let entry = kept.entry(record.id).or_insert_with(|| CachedRunIndex {
            index: Arc::new(tokio::sync::Mutex::new(RunIndex::new(record, None))),
            used: Instant::now(),
        });
        entry.used = Instant::now();
        entry.index.clone()
    }
}

#[cfg(test)]
mod tests;
