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
const PAUSE_FACTOR: u32 = 2;

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
    /// Works on the sessions in which something has happened since the last round. Whichever has
    /// grown last comes first, also if it grows meanwhile: somebody is more likely to read it.
    async fn round(&mut self, daemon: &Daemon) -> Result<(), StoreError> {
        let mut newest = self.seen;
        while let Some(record) = self.next(daemon, &mut newest).await? {
            if let Err(error) = self.build(daemon, &record).await {
                tracing::debug!(session = %record.id, %error, "no snapshots of a log");
            }
        }
        self.seen = newest;
        Ok(())
    }

    /// The next session to be worked on. `newest` becomes the newest activity of all.
    async fn next(
        &mut self,
        daemon: &Daemon,
        newest: &mut Option<Millis>,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let limit = SessionFilter::MAX_LIMIT;
        let mut filter = SessionFilter { limit, ..SessionFilter::default() };
        loop {
            let page = daemon.registry.log().sessions(filter.clone()).await?;
            let Some(last) = page.last() else { return Ok(None) };
            filter.before = Some(PageStart::of(last));
            *newest = (*newest).max(page.first().map(|record| record.updated));
            for record in page {
                // What came in the same millisecond is looked at twice.
                if self.seen.is_some_and(|seen| record.updated < seen) {
                    return Ok(None);
                }
                if record.head.0 >= MAX_UNCOVERED && self.is_due(daemon, &record).await {
                    return Ok(Some(record));
                }
            }
        }
    }

    /// Whether enough of a log is covered by no snapshot.
    async fn is_due(&mut self, daemon: &Daemon, record: &SessionRecord) -> bool {
        let SessionRecord { id, epoch, head, .. } = *record;
        let read_to = match self.built.get(&id) {
            Some((of, read_to)) if *of == epoch => *read_to,
            _ => daemon.vocabulary_snapshots.kept_to(id, epoch).await,
        };
        self.built.insert(id, (epoch, read_to));
        head.0.saturating_sub(read_to.0) >= MAX_UNCOVERED
    }

    async fn build(&mut self, daemon: &Daemon, record: &SessionRecord) -> Result<(), StoreError> {
        let SessionRecord { id: session, epoch, head, .. } = *record;
        let snapshots = &daemon.vocabulary_snapshots;
        // One that cannot be read is tried again when it has grown as much.
        self.built.insert(session, (epoch, head));
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
