//! A stream of frames as server-sent events.
//!
//! In: a stream. Out: the body of a response, in chunks. The HTTP connection asks for the
//! next chunk; it gets one when the one before has left. Everything happens while it asks,
//! so a connection that is gone takes all of this with it.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use super::ending::StreamEnd;
use super::frame_buffer::{FrameBuffer, FrameEncoding};
use super::query::FrameId;
use super::slow_reader::{CHUNK_BYTES, ChunkGate, SlowReaderStep, SlowReaderTimer};
use super::stream::{FrameStream, StreamOutput};
use crate::limits::{LastWordsGuard, holding};
use crate::metrics::OpenStream;

pub(super) fn respond(stream: FrameStream) -> Response {
    let body = SseBody {
        open: stream.metrics.stream("sse"),
        stream,
        gate: ChunkGate::default(),
        rest: Bytes::new(),
        n_page: 0,
        last_id: None,
        stage: SseStage::Open,
    };
    let chunks = stream::unfold(body, async |mut body| {
        let chunk = body.next().await?;
        Some((chunk, body))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that buffer would keep events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(chunks)).into_response()
}

/// The error that breaks off the body of a reader that is evicted.
#[derive(Debug, thiserror::Error)]
#[error("the reader of a stream of events takes nothing")]
struct Eviction;

struct SseBody {
    stream: FrameStream,
    open: OpenStream,
    gate: ChunkGate,
    /// What is left of a page that is larger than a chunk.
    rest: Bytes,
    /// Bytes of the page that the last chunk is of, which keeps all of it.
    n_page: usize,
    /// Id of the last frame that was handed out.
    last_id: Option<FrameId>,
    stage: SseStage,
}

enum SseStage {
    Open,
    /// What is in `rest` is the last.
    Closing,
    /// The last frame is on its way to a reader that takes nothing.
    Telling(LastFrame),
    Closed,
}

/// A last frame that waits for its reader.
struct LastFrame {
    gate: ChunkGate,
    within: Duration,
    /// The reader was evicted, so that something else may end the stream before it is back.
    guard: Option<LastWordsGuard>,
}

impl SseBody {
    async fn next(&mut self) -> Option<Result<Bytes, Eviction>> {
        match std::mem::replace(&mut self.stage, SseStage::Closed) {
            SseStage::Closed => return None,
            SseStage::Telling(last) => {
                let is_taken = tokio::select! {
                    taken = timeout(last.within, last.gate.lock()) => taken.is_ok(),
                    _ = self.stream.cut_off(), if last.guard.is_some() => false,
                };
                return (!is_taken).then_some(Err(Eviction));
            }
            SseStage::Closing if self.rest.is_empty() => return None,
            stage => self.stage = stage,
        }
        match self.pass().await {
            Ok(pass) => {
                if self.rest.is_empty() {
                    self.fill().await;
                }
                let n_bytes = self.rest.len().min(CHUNK_BYTES);
                self.open.sent(n_bytes);
                let chunk = self.rest.split_to(n_bytes);
                if self.rest.is_empty() {
                    self.stream.n_held = 0;
                }
                Some(Ok(holding(chunk, pass)))
            }
            Err(ending) => self.end(&ending).await,
        }
    }

    async fn fill(&mut self) {
        let mut buffer = FrameBuffer::new(FrameEncoding::Sse);
        match self.stream.next(&mut buffer).await {
            StreamOutput::Frames => {}
            StreamOutput::Silence => buffer.push_comment(": heartbeat"),
            StreamOutput::Over(_) => self.stage = SseStage::Closing,
        }
        self.last_id = buffer.last_id().or(self.last_id);
        self.rest = Bytes::from(buffer.text);
        self.stream.n_held = self.rest.len();
        self.n_page = self.rest.len();
    }

    /// Waits until the reader has taken the chunk before, as long as we wait for readers.
    async fn pass(&mut self) -> Result<OwnedMutexGuard<()>, StreamEnd> {
        let mut timer = SlowReaderTimer::new(self.stream.pace);
        let mut is_slow = false;
        let passing = self.gate.clone().lock_owned();
        tokio::pin!(passing);
        loop {
            tokio::select! {
                biased;
                pass = &mut passing => {
                    if is_slow {
                        self.stream.warn();
                    }
                    return Ok(pass);
                }
                ending = self.stream.cut_off() => return Err(ending),
                step = timer.next() => match step {
                    _ if step == SlowReaderStep::Evict || self.stream.is_too_much() => {
                        self.stream.evict();
                        return Err(StreamEnd::Evicted { resume_after: self.last_id });
                    }
                    SlowReaderStep::Rest => self.stream.drop_read_ahead(),
                    SlowReaderStep::Warn | SlowReaderStep::Evict => is_slow = true,
                },
            }
        }
    }

    /// Sends the last frame to a reader that takes nothing just now. In the middle of another frame
    /// there is no place for it.
    async fn end(&mut self, ending: &StreamEnd) -> Option<Result<Bytes, Eviction>> {
        tracing::info!(why = ending.name(), "a stream of events is cut");
        if !self.rest.is_empty() {
            self.stage = SseStage::Closed;
            return Some(Err(Eviction));
        }
        let mut buffer = FrameBuffer::new(FrameEncoding::Sse);
        ending.write(&mut buffer);
        let gate = ChunkGate::default();
        let pass = gate.clone().lock_owned().await;
        let last = holding(Bytes::from(buffer.text), pass);
        let (within, guard) = self.stream.time_for_last_frame(ending, self.n_page);
        self.stage = SseStage::Telling(LastFrame { gate, within, guard });
        Some(Ok(last))
    }
}

#[cfg(test)]
mod tests;
