//! A stream of frames, until somebody or something ends it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use serde_json::json;
use store::ReadBudget;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ending::StreamEnd;
use super::frame_buffer::FrameBuffer;
use super::reader::EventReader;
use super::session_changes::SessionChanges;
use crate::daemon::load::LoadPermit;
use crate::daemon::{Daemon, StreamPace};
use crate::guard::{ConnectionActivity, ConnectionInfo};
use crate::limits::LastWordsGuard;
use crate::metrics::{Metrics, SlowClient};
use crate::principal::Principal;
use crate::problem::Problem;

/// Time for a last frame to be written to a client that takes nothing.
pub(super) const LAST_FRAME_WITHIN: Duration = Duration::from_millis(250);

/// A reader that was evicted because it takes nothing has so many times what it was given before: it
/// may be a laptop that was closed, and reads why the stream is over when it comes back.
const LAST_WORDS_FACTOR: u32 = 10;

/// When the daemon stops, the rest of the log is still sent to those who take it, for so long.
const REST_WITHIN: Duration = Duration::from_secs(2);

/// The source of a stream's frames.
#[derive(Debug)]
pub(super) enum FrameSource {
    Log(Box<EventReader>),
    Lists(SessionChanges),
}

impl FrameSource {
    async fn next(&mut self, buffer: &mut FrameBuffer) -> Option<StreamEnd> {
        match self {
            Self::Log(reader) => reader.next(buffer).await,
            Self::Lists(lists) => lists.next(buffer).await,
        }
    }

    /// Writes what is left in the log when the daemon stops; returns the end if that is all.
    async fn write_rest(&mut self, buffer: &mut FrameBuffer) -> Option<StreamEnd> {
        match self {
            Self::Log(reader) => reader.write_rest(buffer).await,
            Self::Lists(_) => Some(StreamEnd::DaemonStopping),
        }
    }

    fn close(&mut self, ending: &StreamEnd, buffer: &mut FrameBuffer) {
        match self {
            Self::Log(reader) => reader.close(ending, buffer),
            Self::Lists(_) => ending.write(buffer),
        }
    }
}

#[derive(Debug)]
pub(super) struct FrameStream {
    source: FrameSource,
    revoked: CancellationToken,
    over: CancellationToken,
    /// Since when only the rest of the log is sent.
    over_since: Option<Instant>,
    pub(super) pace: StreamPace,
    pub(super) metrics: Metrics,
    is_slow: bool,
    /// The connection that it goes out on, if there is one.
    connection: Option<Arc<ConnectionActivity>>,
    budget: ReadBudget,
    /// Bytes of the buffer that its reader has not taken yet.
    pub(super) n_held: usize,
    /// None when it has made way for others.
    place: Option<LoadPermit>,
}

/// Outcome of waiting for the next frames.
#[derive(Debug)]
pub(super) enum StreamOutput {
    /// The buffer has frames.
    Frames,
    /// Nothing happened for as long as a heartbeat.
    Silence,
    /// The buffer has the last frames.
    Over(StreamEnd),
}

impl FrameStream {
    /// Begins a stream; refused when there are too many.
    pub(super) fn new(
        source: FrameSource,
        daemon: &Daemon,
        principal: &Principal,
    ) -> Result<Self, Problem> {
        Ok(Self {
            source,
            revoked: principal.revoked.clone(),
            over: daemon.ended.clone(),
            over_since: None,
            pace: daemon.settings.pace,
            metrics: daemon.metrics.clone(),
            is_slow: false,
            connection: None,
            budget: daemon.load.budget(&principal.name),
            n_held: 0,
            place: Some(daemon.load.stream(&principal.name)?),
        })
    }

    /// Notes the connection on which it goes out.
    #[must_use]
    pub(super) fn over(mut self, request: &Request) -> Self {
        if let Some(connection) = request.extensions().get::<ConnectionInfo>() {
            self.connection = Some(connection.activity.clone());
        }
        self
    }

    /// Fills an empty buffer. Dropping the future loses nothing.
    pub(super) async fn next(&mut self, buffer: &mut FrameBuffer) -> StreamOutput {
        if std::mem::take(&mut self.is_slow) {
            let StreamPace { warn_after, evict_after, .. } = self.pace;
            let data = json!({
                "warnedAfterMs": millis(warn_after),
                "evictedAfterMs": millis(evict_after),
            });
            buffer.push_notice("slow_client_warning", &data);
            return StreamOutput::Frames;
        }
        let ending = tokio::select! {
            biased;
            () = self.revoked.cancelled() => Some(StreamEnd::Revoked),
            () = self.over.cancelled() => self.write_rest(buffer).await,
            ending = self.source.next(buffer) => ending,
            () = tokio::time::sleep(self.pace.heartbeat) => return StreamOutput::Silence,
        };
        match ending {
            None => StreamOutput::Frames,
            Some(ending) => {
                self.source.close(&ending, buffer);
                StreamOutput::Over(ending)
            }
        }
    }

    /// Writes the rest of the log when the daemon stops: whoever follows a turn sees its end.
    async fn write_rest(&mut self, buffer: &mut FrameBuffer) -> Option<StreamEnd> {
        let since = *self.over_since.get_or_insert_with(Instant::now);
        let telling = tokio::time::timeout_at(since + REST_WITHIN, self.source.write_rest(buffer));
        telling.await.unwrap_or(Some(StreamEnd::DaemonStopping))
    }

    /// Ready when the stream is to end, whatever its reader does.
    pub(super) async fn cut_off(&self) -> StreamEnd {
        tokio::select! {
            biased;
            () = self.revoked.cancelled() => StreamEnd::Revoked,
            () = async {
                self.over.cancelled().await;
                tokio::time::sleep(REST_WITHIN).await;
            } => StreamEnd::DaemonStopping,
        }
    }

    /// Drops what was read ahead while the reader is slow.
    pub(super) fn drop_read_ahead(&mut self) {
        if let FrameSource::Log(reader) = &mut self.source {
            reader.drop_read_ahead(self.n_held);
        }
    }

    /// Whether this reader should not be waited for: it has a large buffer, and others of the same
    /// client wait for what it takes.
    pub(super) fn is_too_much(&self) -> bool {
        ReadBudget::is_large(self.n_held) && self.budget.has_waiting_readers()
    }

    /// Makes the next frame a warning.
    pub(super) fn warn(&mut self) {
        self.is_slow = true;
        self.metrics.slow_client(SlowClient::Warned);
    }

    /// Counts that the reader loses its connection. Until it has, others may have its place.
    pub(super) fn evict(&mut self) {
        self.metrics.slow_client(SlowClient::Evicted);
        self.place = None;
        if let Some(connection) = &self.connection {
            connection.give_back_stream();
        }
    }

    /// The time that the reader has for the last frame. An evicted one has long, unless much would
    /// stay in memory for it: its connection waits for as long as the guard is held.
    pub(super) fn time_for_last_frame(
        &self,
        ending: &StreamEnd,
        n_bytes: usize,
    ) -> (Duration, Option<LastWordsGuard>) {
        if !matches!(ending, StreamEnd::Evicted { .. }) || ReadBudget::is_large(n_bytes) {
            return (LAST_FRAME_WITHIN, None);
        }
        let within = self.pace.evict_after.saturating_mul(LAST_WORDS_FACTOR);
        let last_words = self.connection.as_ref().map(|connection| &connection.last_words);
        let waiting = last_words.cloned().unwrap_or_default().wait(within);
        (within, Some(waiting))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
