//! What changes in the list of sessions, for pages that show it.
//!
//! In: looks at the records, shared with all who watch the same list. Out: a frame for each
//! session that is new among the newest, renamed, in another state, waiting for an answer or gone.
//! There is no cursor: whoever comes back reads the list anew. The newest sessions are watched, as
//! many as one listing holds.

mod look;

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use store::StoreError;
use wire::SessionId;

use super::ending::Ending;
use super::page::Page;
use crate::daemon::Daemon;
use crate::principal::Principal;
pub(crate) use look::Looks;
use look::{Entry, Listed, Look, Sessions};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What is written at a time; the rest waits for the reader.
const MAX_PAGE_BYTES: usize = 48 << 10;

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
            page.remark("session", &json!({ "session": id, "kind": "deleted", "seq": seq.0 }));
        }
        (_, Entry::Deleted { .. }) => {}
        (before, Entry::Listed(now)) => {
            let Some(kind) = change(before, now) else { return };
            let Listed { status, title, n_pending, seq } = now;
            let data = json!({
                "session": id, "kind": kind, "seq": seq.0,
                "status": status, "title": title, "pending": n_pending,
            });
            page.remark("session", &data);
        }
    }
}

fn change(before: Option<&Entry>, now: &Listed) -> Option<&'static str> {
    let Some(Entry::Listed(before)) = before else { return Some("created") };
    if before.status != now.status {
        Some("status")
    } else if before.n_pending != now.n_pending {
        Some("pending")
    } else if before.title != now.title {
        Some("title")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
