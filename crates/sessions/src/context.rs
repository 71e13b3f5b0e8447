//! The context that all sessions of a process share, and the repair of what an earlier one left.

mod unfinished;

use std::sync::Arc;

use store::{
    Batch, Durability, EventLog, PageStart, RecordChanges, SessionFilter, SessionRecord, StoreError,
};
use wire::event::LogRecovered;
use wire::{Draft, Kind, OwnEvent, Seq, SessionId};

use crate::details::{SessionDetails, TurnEndSummary};
use crate::mint;
use crate::notices::{Notice, Notices};
use crate::pending::PendingQuestions;
use crate::permission::RuleBook;
use crate::settings::{SessionSettings, WorkerSetup};
use unfinished::UnfinishedTurns;

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
        }
    }

    /// Ends the turns of sessions whose process died, so that they can be used again, and
    /// removes forks that were never whole.
    /// Sessions that a living process owns are left alone.
    pub async fn recover(&self) -> Result<Vec<SessionId>, StoreError> {
        let filter = SessionFilter {
            has_active_turn: Some(true),
            limit: SessionFilter::MAX_LIMIT,
            ..SessionFilter::default()
        };
        let mut recovered = Vec::new();
        for record in self.log.sessions(filter).await? {
            match self.recover_one(record.id).await {
                Ok(is_there) => recovered.extend(is_there.then_some(record.id)),
                Err(StoreError::InUse { .. } | StoreError::NoSuchSession(_)) => {}
                // One session that cannot be put right must not keep the others away.
                Err(error) => {
                    tracing::error!(session = %record.id, %error, "cannot repair a session");
                }
            }
        }
        Ok(recovered)
    }

    /// False if it was a fork that had to be removed.
    async fn recover_one(&self, id: SessionId) -> Result<bool, StoreError> {
        let _claim = self.log.claim(id).await?;
        // It may have ended between the listing and the claim.
        match self.log.session(id).await? {
            Some(record) if SessionDetails::read(&record).is_partial => {
                self.remove_partial(id).await.map(|()| false)
            }
            Some(record) => self.repair(&record).await.map(|()| true),
            None => Ok(true),
        }
    }

    /// Removes a claimed session that nobody is copying any more.
    pub(crate) async fn remove_partial(&self, id: SessionId) -> Result<(), StoreError> {
        tracing::info!(session = %id, "removing an incomplete fork");
        self.log.delete(id).await.map(drop)
    }

    /// Puts one claimed session right: reports lost events, ends an interrupted turn, drops
    /// prompts that never got their turn.
    pub async fn repair(&self, record: &SessionRecord) -> Result<(), StoreError> {
        let mut drafts = Vec::new();
        if let Some(damage) = self.log.recover(record.id).await? {
            let (lost_from, lost_to) = (damage.lost_from.0, damage.lost_to.0);
            drafts.push((draft(None, LogRecovered { lost_from, lost_to }), false));
        }
        if record.active_turn.is_some() {
            drafts.extend(UnfinishedTurns::find(&*self.log, record).await?.close(record));
        }
        let active_turn = record.active_turn.map(|_| None);
        let ended = drafts.iter().rev().find(|(draft, _)| draft.kind == Kind::TurnEnded);
        let details = ended.map(|_| {
            let mut details = SessionDetails::read(record);
            details.last_end = Some(TurnEndSummary::of(&unfinished::interrupted()));
            details.to_json()
        });
        let changes = RecordChanges { active_turn, details, ..RecordChanges::default() };
        if drafts.is_empty() && active_turn.is_none() {
            return Ok(());
        }
        let told: Vec<(Kind, bool)> =
            drafts.iter().map(|(draft, is_news)| (draft.kind.clone(), *is_news)).collect();
        let drafts = drafts.into_iter().map(|(draft, _)| draft).collect();
        let batch = Batch::new(record.id, drafts).durable(Durability::Power).with(changes);
        let appended = self.log.append(batch).await?;
        for (seq, (kind, _)) in (appended.first.0..).zip(told).filter(|(_, (_, is_news))| *is_news)
        {
            let notice = match kind {
                Kind::PermissionResolved | Kind::ElicitationResolved => Notice::Answered(Seq(seq)),
                Kind::TurnEnded => Notice::TurnEnded(Seq(seq)),
                _ => continue,
            };
            self.notices.add(record.id, notice);
        }
        Ok(())
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

    /// The same for all sessions that nobody has claimed: lists by maker read the origins.
    pub async fn move_all_creation_params(&self) -> Result<(), StoreError> {
        let mut filter =
            SessionFilter { limit: SessionFilter::MAX_LIMIT, ..SessionFilter::default() };
        loop {
            let page = self.log.sessions(filter.clone()).await?;
            let Some(last) = page.last() else { return Ok(()) };
            filter.before = Some(PageStart::of(last));
            for record in page
                .iter()
                .filter(|record| SessionDetails::read(record).creation_params().is_some())
            {
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
