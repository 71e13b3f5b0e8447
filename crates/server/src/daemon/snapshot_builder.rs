//! Makes the snapshots that no reader has made.
//!
//! In: the sessions that have grown. Out: snapshots of each vocabulary, so that also the first
//! reader of a long log need not wait until it was read from its beginning.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use projection::Vocabulary;
use store::{PageStart, SessionFilter, SessionRecord, StoreError};
use tokio_util::sync::CancellationToken;
use wire::{Millis, Seq, SessionId};

use super::Daemon;
use super::vocabulary_snapshots::{SPACING, SnapshotFormat, SnapshotKey};

/// How often the sessions are looked at. A log that grows by tens of thousands of events meanwhile
/// is read in tenths of a second.
const EVERY: Duration = Duration::from_secs(30);
/// Events that no snapshot covers, at which new ones are made.
const MAX_UNCOVERED: u64 = 2 * SPACING;
/// Events read at once.
const PAGE: usize = 256;
/// After each page there is a pause of so many times what it took: agents and readers come first.
const PAUSE_FACTOR: u32 = 3;

/// What is known of the long sessions.
#[derive(Debug, Default)]
struct SnapshotBuilder {
    /// Up to where each was read, in which epoch.
    built: HashMap<SessionId, (u64, Seq)>,
    /// The newest activity that was seen.
    seen: Option<Millis>,
}

impl Daemon {
    /// Goes on until `stopping`.
    pub async fn build_snapshots(&self, stopping: &CancellationToken) {
        let mut builder = SnapshotBuilder::default();
        let rounds = async {
            loop {
                tokio::time::sleep(EVERY).await;
                if let Err(error) = builder.round(self).await {
                    tracing::debug!(%error, "snapshots of vocabularies have to wait");
                }
            }
        };
        stopping.run_until_cancelled(rounds).await;
    }
}

impl SnapshotBuilder {
    /// Looks at the sessions in which something has happened since the last round.
    async fn round(&mut self, daemon: &Daemon) -> Result<(), StoreError> {
        let limit = SessionFilter::MAX_LIMIT;
        let mut filter = SessionFilter { limit, ..SessionFilter::default() };
        let mut newest = self.seen;
        loop {
            let page = daemon.registry.log().sessions(filter.clone()).await?;
            let Some(last) = page.last() else { break };
            filter.before = Some(PageStart::of(last));
            newest = newest.max(page.first().map(|record| record.updated));
            // What came in the same millisecond is looked at twice.
            let is_old =
                |record: &SessionRecord| self.seen.is_some_and(|seen| record.updated < seen);
            let is_done = page.iter().any(is_old);
            for record in page.into_iter().filter(|record| record.head.0 >= MAX_UNCOVERED) {
                if let Err(error) = self.build(daemon, &record).await {
                    tracing::debug!(session = %record.id, %error, "no snapshots of a log");
                }
            }
            if is_done {
                break;
            }
        }
        self.seen = newest;
        Ok(())
    }

    async fn build(&mut self, daemon: &Daemon, record: &SessionRecord) -> Result<(), StoreError> {
        let SessionRecord { id: session, epoch, head, .. } = *record;
        let snapshots = &daemon.vocabulary_snapshots;
        let read_to = match self.built.get(&session) {
            Some((of, read_to)) if *of == epoch => *read_to,
            _ => snapshots.kept_to(session, epoch).await,
        };
        let is_due = head.0.saturating_sub(read_to.0) >= MAX_UNCOVERED;
        // One that cannot be read is tried again when it has grown as much.
        self.built.insert(session, (epoch, if is_due { head } else { read_to }));
        if !is_due {
            return Ok(());
        }
        let key = |format| SnapshotKey { session, epoch, format };
        let mut readers: Vec<(SnapshotKey, Seq, Vocabulary)> = Vec::new();
        for format in SnapshotFormat::ALL {
            let (after, vocabulary) = snapshots.before(key(format), head).await;
            readers.push((key(format), after, vocabulary));
        }
        let mut after = readers.iter().map(|(_, after, _)| *after).min().unwrap_or_default();
        while after < head {
            let events = daemon.registry.log().read(session, after, PAGE).await?;
            let began = Instant::now();
            let Some(last) = events.last() else { break };
            after = last.seq;
            let snapshots = snapshots.clone();
            // Large events take long.
            let reading = tokio::task::spawn_blocking(move || {
                for event in events.iter().filter(|event| event.seq <= head) {
                    for (key, read_to, vocabulary) in &mut readers {
                        if event.seq > *read_to {
                            vocabulary.frames(event);
                            snapshots.keep(*key, event.seq, vocabulary);
                        }
                    }
                }
                readers
            });
            // Nothing in it panics; if it did, these snapshots are not worth the daemon.
            let Ok(read) = reading.await else { break };
            readers = read;
            tokio::time::sleep(began.elapsed() * PAUSE_FACTOR).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
