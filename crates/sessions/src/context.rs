//! The context that all sessions of a process share, and the repair of what an earlier one left.

pub(crate) mod unfinished;

use std::sync::Arc;

use store::{
    Batch, Durability, EventLog, PageStart, RecordChanges, SessionFilter, SessionRecord, StoreError,
};
use tokio::task::JoinSet;
use wire::event::{DropReason, LogRecovered, TurnEnded};
use wire::{Draft, Kind, OwnEvent, Seq, SessionId};

use crate::details::SessionDetails;
use crate::halted::HaltedSessions;
use crate::mint;
use crate::notices::{Notice, Notices};
use crate::pending::PendingQuestions;
use crate::permission::RuleBook;
use crate::settings::{SessionSettings, WorkerSetup};
use unfinished::UnfinishedTurns;
pub(crate) use unfinished::WaitingPrompt;

/// Sessions that are put right at a time: enough to share the syncs of the disk.
const MAX_RECOVERED_AT_ONCE: usize = 32;

#[derive(Clone)]
pub struct SessionContext {
    pub log: Arc<dyn EventLog>,
    pub settings: SessionSettings,
    pub setup: WorkerSetup,
    /// Rules that every session is held to, beside its own.
    pub rules: RuleBook,
    /// Questions that wait for a person.
    pub pending: Arc<PendingQuestions>,
    pub notices: Arc<Notices>,
    /// Sessions that could not go on, until they are put right.
    pub halted: Arc<HaltedSessions>,
}

impl std::fmt::Debug for SessionContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionContext").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl SessionContext {
    /// A context without sessions and without rules.
    pub fn new(log: Arc<dyn EventLog>, settings: SessionSettings, setup: WorkerSetup) -> Self {
        Self {
            log,
            settings,
            setup,
            rules: RuleBook::default(),
            pending: Arc::default(),
            notices: Arc::default(),
            halted: Arc::default(),
        }
    }

    /// Ends the turns of sessions whose process died, so that they can be used again, and
    /// removes forks that were never whole. Returns the sessions in which prompts wait that never
    /// began, the oldest first. Sessions that a living process owns are left alone.
    pub async fn recover(&self) -> Result<Vec<SessionId>, StoreError> {
        let mut filter = SessionFilter {
            has_active_turn: Some(true),
            limit: SessionFilter::MAX_LIMIT,
            ..SessionFilter::default()
        };
        let mut waiting = Vec::new();
        loop {
            let page = self.log.sessions(filter.clone()).await?;
            let Some(last) = page.last() else { break };
            filter.before = Some(PageStart::of(last));
            let mut recovering = JoinSet::new();
            for record in page {
                if recovering.len() >= MAX_RECOVERED_AT_ONCE {
                    waiting.extend(recovering.join_next().await.and_then(Result::ok).flatten());
                }
                let context = self.clone();
                recovering.spawn(task::boxed(async move {
                    let has_waiting = context.try_recover(record.id).await;
                    has_waiting.then_some((record.updated, record.id))
                }));
            }
            waiting.extend(recovering.join_all().await.into_iter().flatten());
        }
        waiting.sort_unstable();
        Ok(waiting.into_iter().map(|(_, id)| id).collect())
    }

    /// Does the same for one session; true if prompts wait in it.
    pub async fn recover_session(&self, id: SessionId) -> Result<bool, StoreError> {
        let _claim = self.log.claim(id).await?;
        // It may have ended between the listing and the claim.
        match self.log.session(id).await? {
            Some(record) if SessionDetails::read(&record).is_partial => {
                self.remove_partial(id).await.map(|()| false)
            }
            Some(record) => Ok(!self.repair(&record).await?.is_empty()),
            None => Ok(false),
        }
    }

    /// As [`recover_session`](Self::recover_session); one that cannot be put right must not keep the
    /// others away.
    async fn try_recover(&self, id: SessionId) -> bool {
        match self.recover_session(id).await {
            Ok(has_waiting) => has_waiting,
            Err(StoreError::InUse { .. } | StoreError::NoSuchSession(_)) => false,
            Err(error) => {
                tracing::error!(session = %id, %error, "cannot repair a session");
                false
            }
        }
    }

    /// Removes a claimed session that nobody is copying any more.
    pub(crate) async fn remove_partial(&self, id: SessionId) -> Result<(), StoreError> {
        tracing::info!(session = %id, "removing an incomplete fork");
        self.log.delete(id).await.map(drop)
    }

    /// Ends whatever an earlier process, or a failed task of this one, left open in a session, and
    /// drops the prompts that wait.
    pub(crate) async fn end_unfinished(&self, id: SessionId) -> Result<(), StoreError> {
        let _claim = self.log.claim(id).await?;
        let Some(record) = self.log.session(id).await? else { return Ok(()) };
        self.put_right(&record, true).await.map(drop)
    }

    /// Puts one claimed session right: reports lost events, and ends the turn that an earlier
    /// process, or a failed task of this one, left open. Returns the prompts that wait.
    pub(crate) async fn repair(
        &self,
        record: &SessionRecord,
    ) -> Result<Vec<WaitingPrompt>, StoreError> {
        self.put_right(record, false).await
    }

    async fn put_right(
        &self,
        record: &SessionRecord,
        drops_waiting: bool,
    ) -> Result<Vec<WaitingPrompt>, StoreError> {
        let mut drafts = Vec::new();
        if let Some(damage) = self.log.recover(record.id).await? {
            let (lost_from, lost_to) = (damage.lost_from.0, damage.lost_to.0);
            drafts.push((draft(None, LogRecovered { lost_from, lost_to }), false));
        }
        let mut details = SessionDetails::read(record);
        let is_unfinished = record.active_turn.is_some() || !details.open_commands.is_empty();
        if !is_unfinished && drafts.is_empty() {
            self.halted.remove(record.id);
            return Ok(Vec::new());
        }
        let mut unfinished = match is_unfinished {
            true => UnfinishedTurns::find(&*self.log, record).await?,
            false => UnfinishedTurns::default(),
        };
        let halt = self.halted.get(record.id);
        let why = match &halt {
            Some(halt) => unfinished::not_logged(&halt.why),
            None => unfinished::interrupted(),
        };
        drafts.extend(unfinished.close(record, &why));
        let is_dropped =
            |turn| drops_waiting || halt.as_ref().is_some_and(|halt| halt.dropped.has(turn));
        let dropped = unfinished.drop_waiting(is_dropped, DropReason::Cancelled);
        drafts.extend(dropped.into_iter().map(|draft| (draft, false)));
        let waiting = unfinished.waiting();
        let active_turn = waiting.first().map(|prompt| prompt.turn);
        let has_noted = !std::mem::take(&mut details.open_commands).is_empty();
        if drafts.is_empty() && active_turn == record.active_turn && !has_noted {
            self.halted.remove(record.id);
            return Ok(waiting);
        }
        for (draft, _) in &drafts {
            let Some(turn) = draft.turn else { continue };
            match draft.kind {
                Kind::TurnEnded => {
                    let ended = TurnEnded::failed(why.clone());
                    details.note_end(turn, &ended);
                }
                Kind::PromptDropped => details.note_dropped(turn),
                _ => {}
            }
        }
        let details = Some(details.to_json());
        let active_turn = Some(active_turn);
        let changes = RecordChanges { active_turn, details, ..RecordChanges::default() };
        let told: Vec<(Kind, bool)> =
            drafts.iter().map(|(draft, is_news)| (draft.kind.clone(), *is_news)).collect();
        let drafts = drafts.into_iter().map(|(draft, _)| draft).collect();
        let batch = Batch::new(record.id, drafts).durable(Durability::Power).with(changes);
        let appended = self.log.append(batch).await?;
        self.halted.remove(record.id);
        for (seq, (kind, _)) in (appended.first.0..).zip(told).filter(|(_, (_, is_news))| *is_news)
        {
            let notice = match kind {
                Kind::PermissionResolved | Kind::ElicitationResolved => Notice::Answered(Seq(seq)),
                Kind::TurnEnded => Notice::TurnEnded(Seq(seq)),
                _ => continue,
            };
            self.notices.add(record.id, notice);
        }
        Ok(waiting)
    }

    /// Moves what a claimed session of an earlier version was made of out of its details.
    pub(crate) async fn move_creation_params(
        &self,
        record: &SessionRecord,
    ) -> Result<(), StoreError> {
        let Some(record) = self.log.session(record.id).await? else { return Ok(()) };
        let mut details = SessionDetails::read(&record);
        let Some(made_of) = details.take_creation_params() else { return Ok(()) };
        let origin = Some(made_of.to_origin(details.made_by.clone()));
        let details = Some(details.to_json());
        self.log
            .update(record.id, RecordChanges { details, origin, ..RecordChanges::default() })
            .await
    }

    /// Puts right, of all sessions that nobody has claimed, what is seen in their records alone, and
    /// seen by others before the session is woken: commands that ran when no turn did, and where an
    /// earlier version kept what they were made of, because lists by maker read the origins.
    pub async fn look_through_records(&self) -> Result<(), StoreError> {
        let mut filter =
            SessionFilter { limit: SessionFilter::MAX_LIMIT, ..SessionFilter::default() };
        loop {
            let page = self.log.sessions(filter.clone()).await?;
            let Some(last) = page.last() else { return Ok(()) };
            filter.before = Some(PageStart::of(last));
            for record in &page {
                let details = SessionDetails::read(record);
                if !details.open_commands.is_empty() {
                    self.try_recover(record.id).await;
                }
                if details.creation_params().is_none() {
                    continue;
                }
                let renewed = match self.log.claim(record.id).await {
                    Ok(_claim) => self.move_creation_params(record).await,
                    Err(error) => Err(error),
                };
                match renewed {
                    Ok(()) | Err(StoreError::InUse { .. } | StoreError::NoSuchSession(_)) => {}
                    // One that cannot be renewed must not keep the others away.
                    Err(error) => tracing::warn!(session = %record.id, %error, "not converted"),
                }
            }
        }
    }
}

/// A draft of an event of our own, with the time of now.
pub(crate) fn draft<'a>(turn: Option<wire::TurnId>, own: impl Into<OwnEvent<'a>>) -> Draft {
    Draft::own(mint::now(), turn, own)
}
