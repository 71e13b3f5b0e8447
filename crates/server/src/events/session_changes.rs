//! Changes in the list of sessions, for pages that show it.
//!
//! In: snapshots of the newest sessions. Out: a frame for each session that is new among the
//! newest, renamed, in another state, waiting for an answer or gone. There is no cursor: whoever
//! comes back reads the list anew. The newest sessions are watched, as many as one listing holds.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use serde_with::skip_serializing_none;
use sessions::registry::SessionStatus;
use store::StoreError;
use utoipa::ToSchema;
use wire::SessionId;

use super::ending::StreamEnd;
use super::frame_buffer::FrameBuffer;
use crate::daemon::Daemon;
use crate::daemon::session_snapshots::{
    ListedSession, SessionListEntry, SessionSnapshot, SessionSnapshotSource,
};
use crate::principal::Principal;

const POLL_EVERY: Duration = Duration::from_secs(1);
/// Bytes that are written at a time; the rest waits for the reader.
const MAX_BUFFER_BYTES: usize = 48 << 10;

/// A change in a session, and its state now; a deleted session has none.
#[skip_serializing_none]
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionChange<'a> {
    #[schema(value_type = String)]
    session: SessionId,
    kind: ChangeKind,
    /// The session's last event.
    seq: u64,
    #[schema(nullable = false)]
    status: Option<SessionStatus>,
    #[schema(value_type = Option<String>)]
    #[allow(clippy::option_option, reason = "`null` is no title; a deleted session has no title")]
    title: Option<Option<&'a str>>,
    /// Questions that wait for a person.
    #[schema(nullable = false)]
    pending: Option<usize>,
}

/// The first thing that has changed; others may have, too.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeKind {
    /// The session is new, or again among the newest, which are watched.
    Created,
    Status,
    /// Other questions wait than before.
    Pending,
    Title,
    Deleted,
}

#[derive(Debug)]
pub(super) struct SessionChanges {
    daemon: Arc<Daemon>,
    source: Arc<SessionSnapshotSource>,
    /// The snapshot that the client knows; none before the first.
    sent: Option<Arc<SessionSnapshot>>,
    /// The newer snapshot that is being sent.
    sending: Option<PendingSnapshot>,
}

#[derive(Debug)]
struct PendingSnapshot {
    now: Arc<SessionSnapshot>,
    /// The last session that was compared.
    after: Bound<SessionId>,
}

impl SessionChanges {
    pub(super) fn new(daemon: &Arc<Daemon>, principal: &Principal) -> Self {
        let source = daemon.session_snapshots.at(principal.owner_filter());
        Self { daemon: daemon.clone(), source, sent: None, sending: None }
    }

    /// Waits for a change and writes it to `buffer`. Dropping the future loses nothing.
    pub(super) async fn next(&mut self, buffer: &mut FrameBuffer) -> Option<StreamEnd> {
        self.look_until_changed(buffer).await.err().map(StreamEnd::from)
    }

    async fn look_until_changed(&mut self, buffer: &mut FrameBuffer) -> Result<(), StoreError> {
        if self.sent.is_none() {
            self.sent = Some(self.source.sessions(&self.daemon.registry).await?);
            buffer.push_comment("retry: 1000");
            buffer.push_notice("stream", &json!({}));
            return Ok(());
        }
        loop {
            self.write_changes(buffer);
            if !buffer.text.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(POLL_EVERY).await;
            let now = self.source.sessions(&self.daemon.registry).await?;
            self.sending = Some(PendingSnapshot { now, after: Bound::Unbounded });
        }
    }

    /// Writes what is new, as much as the buffer holds.
    fn write_changes(&mut self, buffer: &mut FrameBuffer) {
        let (Some(sent), Some(sending)) = (&self.sent, &mut self.sending) else { return };
        if !Arc::ptr_eq(sent, &sending.now) {
            for (id, entry) in sending.now.range((sending.after, Bound::Unbounded)) {
                if buffer.text.len() >= MAX_BUFFER_BYTES {
                    return;
                }
                sending.after = Bound::Excluded(*id);
                write_change(*id, sent.get(id).map(|before| &**before), entry, buffer);
            }
        }
        self.sent = self.sending.take().map(|sent| sent.now);
    }
}

fn write_change(
    id: SessionId,
    before: Option<&SessionListEntry>,
    now: &SessionListEntry,
    buffer: &mut FrameBuffer,
) {
    let now_listed = now.state.as_ref();
    let before_listed = before.and_then(|before| before.state.as_ref());
    let Some(kind) = change(before_listed, now_listed) else { return };
    let change = SessionChange {
        session: id,
        kind,
        seq: now.seq.0,
        status: now_listed.map(|now| now.status),
        title: now_listed.map(|now| now.title.as_deref()),
        pending: now_listed.map(|now| now.n_pending),
    };
    buffer.push_notice("session", &change);
}

/// What has changed; a session that was deleted, or is not known yet, has no state.
fn change(before: Option<&ListedSession>, now: Option<&ListedSession>) -> Option<ChangeKind> {
    let (before, now) = match (before, now) {
        (None, None) => return None,
        (None, Some(_)) => return Some(ChangeKind::Created),
        (Some(_), None) => return Some(ChangeKind::Deleted),
        (Some(before), Some(now)) => (before, now),
    };
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

#[cfg(test)]
mod tests;
