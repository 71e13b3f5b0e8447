//! What changes in the list of sessions, for pages that show it.
//!
//! In: looks at the records, shared with all who watch the same list; they are read again when the
//! last look is old and somebody asks. Out: a frame for each session that is new among the newest,
//! renamed, in another state, waiting for an answer or gone. There is no cursor: whoever comes back
//! reads the list anew. The newest sessions are watched, as many as one listing holds.
//!
//! A look in which nothing is new is the same allocation as the one before, and so is each session
//! in it that did not change.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use sessions::desk::{Desk, Status};
use store::{Filter, SessionRecord, StoreError};
use tokio::time::Instant;
use utoipa::ToSchema;
use wire::{Millis, Seq, SessionId};

use super::page::Page;
use super::stream::Ending;
use crate::api::SessionStatus;
use crate::daemon::Daemon;
use crate::principal::Principal;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What is written at a time; the rest waits for the reader.
const MAX_PAGE_BYTES: usize = 48 << 10;

/// What has changed in a session, and how it stands now; of one that is deleted nothing is told.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionChange<'a> {
    #[schema(value_type = String)]
    session: SessionId,
    kind: ChangeKind,
    /// The session's last event.
    seq: u64,
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<SessionStatus>,
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[allow(clippy::option_option, reason = "`null` is no title; of what is gone none is told")]
    title: Option<Option<&'a str>>,
    /// Questions that wait for a person.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<usize>,
}

/// The first of what has changed; several things may have.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeKind {
    /// It is new, or again among the newest, which are watched.
    Created,
    Status,
    /// Other questions wait than before.
    Pending,
    Title,
    Deleted,
}

#[derive(Debug)]
pub(super) struct Lists {
    daemon: Arc<Daemon>,
    look: Arc<Look>,
    /// What was told; none before the first look.
    told: Option<Arc<Sessions>>,
    /// What is being told.
    telling: Option<Telling>,
}

#[derive(Debug)]
struct Telling {
    now: Arc<Sessions>,
    /// The last session that was told of.
    after: Bound<SessionId>,
}

impl Lists {
    pub(super) fn new(daemon: &Arc<Daemon>, principal: &Principal) -> Self {
        let look = daemon.looks.at(principal.only());
        Self { daemon: daemon.clone(), look, told: None, telling: None }
    }

    /// Waits for a change and writes it to `page`. Dropping the future loses nothing.
    pub(super) async fn next(&mut self, page: &mut Page) -> Option<Ending> {
        match self.look_until_changed(page).await {
            Ok(()) => None,
            Err(error) => Some(error.into()),
        }
    }

    async fn look_until_changed(&mut self, page: &mut Page) -> Result<(), StoreError> {
        if self.told.is_none() {
            self.told = Some(self.look.sessions(&self.daemon.desk).await?);
            page.aside("retry: 1000");
            page.remark("stream", &json!({}));
            return Ok(());
        }
        loop {
            self.tell(page);
            if !page.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.look.sessions(&self.daemon.desk).await?;
            self.telling = Some(Telling { now, after: Bound::Unbounded });
        }
    }

    /// Writes what is new, as much as a page holds.
    fn tell(&mut self, page: &mut Page) {
        let (Some(told), Some(telling)) = (&self.told, &mut self.telling) else { return };
        if !Arc::ptr_eq(told, &telling.now) {
            for (id, entry) in telling.now.range((telling.after, Bound::Unbounded)) {
                if page.len() >= MAX_PAGE_BYTES {
                    return;
                }
                telling.after = Bound::Excluded(*id);
                tell_one(*id, told.get(id).map(|before| &**before), entry, page);
            }
        }
        self.told = self.telling.take().map(|told| told.now);
    }
}

fn tell_one(id: SessionId, before: Option<&Entry>, now: &Entry, page: &mut Page) {
    match (before, now) {
        (Some(Entry::Listed(_)), Entry::Deleted { seq }) => {
            let (session, kind, seq) = (id, ChangeKind::Deleted, seq.0);
            let (status, title, pending) = (None, None, None);
            let gone = SessionChange { session, kind, seq, status, title, pending };
            page.remark("session", &gone);
        }
        (_, Entry::Deleted { .. }) => {}
        (before, Entry::Listed(now)) => {
            let Some(kind) = change(before, now) else { return };
            let Listed { status, title, n_pending, seq, .. } = now;
            let change = SessionChange {
                session: id,
                kind,
                seq: seq.0,
                status: Some((*status).into()),
                title: Some(title.as_deref()),
                pending: Some(*n_pending),
            };
            page.remark("session", &change);
        }
    }
}

fn change(before: Option<&Entry>, now: &Listed) -> Option<ChangeKind> {
    let Some(Entry::Listed(before)) = before else { return Some(ChangeKind::Created) };
    if before.status != now.status {
        Some(ChangeKind::Status)
    } else if (before.n_pending, before.last_asked) != (now.n_pending, now.last_asked) {
        // One may have been answered and another asked since.
        Some(ChangeKind::Pending)
    } else if before.title != now.title {
        Some(ChangeKind::Title)
    } else {
        None
    }
}

/// Soon enough for a list, and next to nothing for the log.
const FRESH_FOR: Duration = Duration::from_millis(500);
/// Sessions that were deleted and are remembered, until everybody who watches was told.
const MAX_DELETED: usize = Filter::MAX_LIMIT;

/// What is known of the newest sessions, as many as one listing holds, and of those that were
/// deleted lately.
type Sessions = BTreeMap<SessionId, Arc<Entry>>;

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Listed(Listed),
    Deleted { seq: Seq },
}

#[derive(Debug, PartialEq, Eq)]
struct Listed {
    status: Status,
    title: Option<String>,
    /// Questions that wait for a person.
    n_pending: usize,
    /// Where the last of these was asked.
    last_asked: Option<Seq>,
    seq: Seq,
}

/// Whose sessions are looked at, if not everybody's.
type MadeBy = Option<(String, Millis)>;

/// The looks that somebody has.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<HashMap<MadeBy, Weak<Look>>>);

impl Looks {
    fn at(&self, made_by: MadeBy) -> Arc<Look> {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = looks.get(&made_by).and_then(Weak::upgrade) {
            return look;
        }
        looks.retain(|_, look| look.strong_count() > 0);
        let look = Arc::new(Look { made_by: made_by.clone(), last: tokio::sync::Mutex::default() });
        looks.insert(made_by, Arc::downgrade(&look));
        look
    }
}

#[derive(Debug)]
struct Look {
    made_by: MadeBy,
    last: tokio::sync::Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// None before the first look.
    at: Option<Instant>,
    sessions: Arc<Sessions>,
    /// Those of them that were deleted, the oldest first.
    deleted: VecDeque<SessionId>,
}

impl Look {
    /// The sessions as they are, or were a moment ago.
    async fn sessions(&self, desk: &Desk) -> Result<Arc<Sessions>, StoreError> {
        let mut last = self.last.lock().await;
        if last.at.is_none_or(|at| at.elapsed() >= FRESH_FOR) {
            let (sessions, deleted) = self.read(desk, &last.sessions).await?;
            last.take(sessions, deleted);
        }
        Ok(last.sessions.clone())
    }

    /// What is listed now, and what was before and is deleted since.
    async fn read(
        &self,
        desk: &Desk,
        before: &Sessions,
    ) -> Result<(Sessions, Vec<SessionId>), StoreError> {
        let made_by = self.made_by.clone();
        let filter = Filter { made_by, limit: Filter::MAX_LIMIT, ..Filter::default() };
        let records = desk.log().sessions(filter).await?;
        let mut now = Sessions::new();
        for record in records {
            let (id, entry) = (record.id, entry(desk, record).await);
            now.insert(id, kept(before.get(&id), entry));
        }
        let mut deleted = Vec::new();
        for (id, entry) in before {
            if now.contains_key(id) {
                continue;
            }
            match &**entry {
                Entry::Deleted { .. } => drop(now.insert(*id, entry.clone())),
                // Else it is not one of the newest any more.
                Entry::Listed(Listed { seq, .. }) if desk.log().session(*id).await?.is_none() => {
                    now.insert(*id, Arc::new(Entry::Deleted { seq: *seq }));
                    deleted.push(*id);
                }
                Entry::Listed(_) => {}
            }
        }
        Ok((now, deleted))
    }
}

impl Last {
    fn take(&mut self, mut sessions: Sessions, deleted: Vec<SessionId>) {
        self.at = Some(Instant::now());
        self.deleted.extend(deleted);
        // One that was deleted may have been imported again.
        self.deleted.retain(|id| {
            sessions.get(id).is_some_and(|entry| matches!(**entry, Entry::Deleted { .. }))
        });
        while self.deleted.len() > MAX_DELETED
            && let Some(id) = self.deleted.pop_front()
        {
            sessions.remove(&id);
        }
        if *self.sessions != sessions {
            self.sessions = Arc::new(sessions);
        }
    }
}

async fn entry(desk: &Desk, record: SessionRecord) -> Entry {
    let status = desk.status(&record).await;
    let (n_pending, last_asked) = desk.yard().pending.mark(record.id);
    Entry::Listed(Listed { status, title: record.title, n_pending, last_asked, seq: record.head })
}

/// The one from before where it says the same.
fn kept(before: Option<&Arc<Entry>>, now: Entry) -> Arc<Entry> {
    match before {
        Some(before) if **before == now => before.clone(),
        _ => Arc::new(now),
    }
}

#[cfg(test)]
mod tests;
