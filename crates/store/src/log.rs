//! The contract of every event log.
//!
//! Places start at 1 per session and have no gaps. What `append` has acknowledged is
//! visible to every later `read`, in this process and in others. Dropping any of the
//! returned futures is safe; a dropped `append` may or may not have happened, but never
//! in part.

use async_trait::async_trait;
use wire::{Event, Millis, Seq, SessionId};

use crate::{
    AppendedRange, Batch, Claim, ClaimOwner, Damage, DecisionFilter, LogHealth, LogUsage,
    LoggedDecision, NewSession, PageStart, PruneRule, RecordChanges, SessionFilter, SessionOrigin,
    SessionRecord, StoreError,
};

#[async_trait]
pub trait EventLog: Send + Sync + 'static {
    /// Starts an empty log.
    async fn create(&self, new: NewSession) -> Result<SessionRecord, StoreError>;

    /// Returns once the whole batch is committed, as durably as it asks for.
    ///
    /// With [`StoreError::SyncFailed`] the batch is committed but not synced, or, while an
    /// earlier failed sync is not repaired, not written at all: look at the head before
    /// trying again. With every other error nothing of it is in the log.
    async fn append(&self, batch: Batch) -> Result<AppendedRange, StoreError>;

    /// Everything committed before this call survives a power cut once it returns.
    async fn sync(&self) -> Result<(), StoreError>;

    /// Events after `after`, in order: at most `limit`, and no more than about 1 MiB of
    /// payload. Every event is checked; those before a damaged one are returned, and the
    /// damage is the error of the call that starts at it.
    async fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError>;

    /// Looks whether the log of a session can be gone on with: checks its last events, about as much
    /// as one `read` gives, and again the place where a read has met damage before. While damage is
    /// known of, [`StoreError::Corrupt`] refuses what is appended: a repair would cut it off again.
    async fn check_end(&self, session: SessionId) -> Result<(), StoreError> {
        let _ = session;
        Ok(())
    }

    /// Waits until the log holds an event after `after`, whoever appends it.
    async fn wait(&self, session: SessionId, after: Seq) -> Result<(), StoreError>;

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError>;

    /// The origin of a session, if it is known.
    async fn origin(&self, session: SessionId) -> Result<Option<SessionOrigin>, StoreError>;

    /// How many sessions `made_by` has made since then: counted up to `max`.
    async fn n_made_by(
        &self,
        made_by: &str,
        since: Millis,
        max: usize,
    ) -> Result<usize, StoreError>;

    /// The first ten sessions whose id starts with `prefix`, by id.
    async fn find(&self, prefix: &str) -> Result<Vec<SessionRecord>, StoreError>;

    /// Newest activity first.
    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRecord>, StoreError>;

    /// Answers to questions in all sessions, by time; found without reading the logs.
    async fn decisions(&self, filter: DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError>;

    async fn update(&self, session: SessionId, changes: RecordChanges) -> Result<(), StoreError>;

    /// Says whether there was such a session. Refused while another owner has claimed it.
    async fn delete(&self, session: SessionId) -> Result<bool, StoreError>;

    /// Makes this log the only one that may host the session, until the claim is dropped
    /// or the process dies. The log trusts its callers to append only with a claim. The session
    /// need not be there: whoever makes one claims it first.
    async fn claim(&self, session: SessionId) -> Result<Claim, StoreError>;

    /// The owner of the session's claim just now.
    async fn owner(&self, session: SessionId) -> Result<ClaimOwner, StoreError>;

    /// Accepts that events are lost: starts a new epoch, after which appending works
    /// again. Returns what was lost; `None`, and no new epoch, when nothing was.
    async fn recover(&self, session: SessionId) -> Result<Option<Damage>, StoreError>;

    async fn usage(&self) -> Result<LogUsage, StoreError>;

    /// What is wrong with the log just now, as far as it was noticed.
    fn health(&self) -> LogHealth {
        LogHealth::default()
    }

    /// Tries whether the log takes appends, and so finds out that it does again.
    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Removes old sessions and returns their ids.
    async fn prune(&self, rule: PruneRule) -> Result<Vec<SessionId>, StoreError> {
        let mut removed = Vec::new();
        for candidate in candidates(self, &rule).await? {
            if remove_if_idle(self, &candidate).await? {
                removed.push(candidate.id);
            }
        }
        Ok(removed)
    }
}

/// Refuses what cannot be the beginning of a session's id.
pub fn check_prefix(prefix: &str) -> Result<(), StoreError> {
    // An empty one would match everything, which nobody means.
    let is_valid =
        !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    match is_valid {
        true => Ok(()),
        false => Err(StoreError::InvalidPrefix(prefix.chars().take(80).collect())),
    }
}

/// Walks the listing from the newest on and returns what `rule` wants gone.
async fn candidates<L: EventLog + ?Sized>(
    log: &L,
    rule: &PruneRule,
) -> Result<Vec<SessionRecord>, StoreError> {
    let mut filter = SessionFilter { limit: SessionFilter::MAX_LIMIT, ..SessionFilter::default() };
    let mut candidates = Vec::new();
    let (mut n_seen, mut total_bytes) = (0, 0_u64);
    loop {
        let page = log.sessions(filter.clone()).await?;
        let Some(last) = page.last() else { break };
        filter.before = Some(PageStart::of(last));
        for record in page {
            n_seen += 1;
            total_bytes = total_bytes.saturating_add(record.bytes);
            let is_old = rule.before.is_some_and(|before| record.updated < before);
            let is_over = rule.max_total_bytes.is_some_and(|max| total_bytes > max);
            if n_seen > rule.keep && (is_old || is_over) && record.active_turn.is_none() {
                candidates.push(record);
            }
        }
    }
    // The oldest go first, so that an interrupted pruning has removed the right ones.
    candidates.reverse();
    Ok(candidates)
}

async fn remove_if_idle<L: EventLog + ?Sized>(
    log: &L,
    seen: &SessionRecord,
) -> Result<bool, StoreError> {
    let _claim = match log.claim(seen.id).await {
        Ok(claim) => claim,
        Err(StoreError::InUse { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    // Somebody may have used the session between the listing and the claim.
    match log.session(seen.id).await? {
        Some(now) if now.head == seen.head && now.active_turn.is_none() => {
            log.delete(seen.id).await
        }
        _ => Ok(false),
    }
}
