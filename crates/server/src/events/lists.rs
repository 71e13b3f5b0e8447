//! What changes in the list of sessions, for pages that show it.
//!
//! In: the records, looked at again and again. Out: a frame for each session that is new,
//! renamed, in another state, waiting for an answer or gone. There is no cursor: whoever comes back reads the list
//! anew. The newest sessions are watched, as many as one listing holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sessions::desk::Status;
use store::{Filter, SessionRecord, StoreError};
use wire::{Seq, SessionId};

use super::ending::Ending;
use super::page::Page;
use crate::daemon::Daemon;
use crate::principal::Principal;

/// Soon enough for a list, and next to nothing for the log.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Lists {
    daemon: Arc<Daemon>,
    principal: Principal,
    /// None before the first look.
    known: Option<HashMap<SessionId, Entry>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    status: Status,
    title: Option<String>,
    /// Questions that wait for a person.
    n_pending: usize,
    seq: Seq,
}

impl Lists {
    pub(super) fn new(daemon: &Arc<Daemon>, principal: &Principal) -> Self {
        Self { daemon: daemon.clone(), principal: principal.clone(), known: None }
    }

    /// Waits for a change and writes it to `page`. Dropping the future loses nothing.
    pub(super) async fn next(&mut self, page: &mut Page) -> Option<Ending> {
        match self.look_until_changed(page).await {
            Ok(()) => None,
            Err(error) => Some(error.into()),
        }
    }

    async fn look_until_changed(&mut self, page: &mut Page) -> Result<(), StoreError> {
        loop {
            let Some(known) = &self.known else {
                self.known = Some(self.look().await?);
                page.aside("retry: 1000");
                page.remark("stream", &json!({}));
                return Ok(());
            };
            tokio::time::sleep(LOOK_EVERY).await;
            let mut now = self.look().await?;
            let mut gone = Vec::new();
            for (id, entry) in known {
                if !now.contains_key(id) {
                    match self.daemon.desk.log().session(*id).await? {
                        // Not one of the newest any more.
                        Some(_) => drop(now.insert(*id, entry.clone())),
                        None => gone.push((*id, entry.seq)),
                    }
                }
            }
            tell(known, &now, page);
            for (id, seq) in gone {
                let data = json!({ "session": id, "kind": "deleted", "seq": seq.0 });
                page.remark("session", &data);
            }
            self.known = Some(now);
            if !page.is_empty() {
                return Ok(());
            }
        }
    }

    async fn look(&self) -> Result<HashMap<SessionId, Entry>, StoreError> {
        let made_by = self.principal.only();
        let filter = Filter { made_by, limit: Filter::MAX_LIMIT, ..Filter::default() };
        let records = self.daemon.desk.log().sessions(filter).await?;
        let visible = records.into_iter().filter(|record| self.may_see(record));
        let entry = |record: SessionRecord| {
            let status = self.daemon.desk.status(&record);
            let n_pending = self.daemon.desk.yard().pending.of(record.id).len();
            (record.id, Entry { status, title: record.title, n_pending, seq: record.head })
        };
        Ok(visible.map(entry).collect())
    }

    fn may_see(&self, record: &SessionRecord) -> bool {
        self.principal.sees(record)
    }
}

/// What differs between two looks.
fn tell(known: &HashMap<SessionId, Entry>, now: &HashMap<SessionId, Entry>, page: &mut Page) {
    for (id, entry) in now {
        let kind = match known.get(id) {
            None => "created",
            Some(before) if before.status != entry.status => "status",
            Some(before) if before.n_pending != entry.n_pending => "pending",
            Some(before) if before.title != entry.title => "title",
            Some(_) => continue,
        };
        let Entry { status, title, n_pending, seq } = entry;
        let data = json!({
            "session": id, "kind": kind, "seq": seq.0,
            "status": status, "title": title, "pending": n_pending,
        });
        page.remark("session", &data);
    }
}

#[cfg(test)]
mod tests;
