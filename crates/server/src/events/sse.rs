//! A stream of frames as server-sent events.
//!
//! In: a stream. Out: the body of a response, in chunks. The HTTP connection asks for the
//! next chunk; it gets one when the one before has left. Everything happens while it asks,
//! so a connection that is gone takes all of this with it.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use tokio::time::timeout;

use super::ending::Ending;
use super::page::{Dress, Page};
use super::patience::{CHUNK_BYTES, Gate, Pass, Patience, Step};
use super::stream::{GOODBYE, Next, Stream};
use super::wanted::FrameId;
use crate::metrics::OpenStream;

pub(super) fn respond(stream: Stream) -> Response {
    let outflow = Outflow {
        open: stream.opened("sse"),
        stream,
        gate: Gate::new(),
        rest: Bytes::new(),
        last_id: None,
        stage: Stage::Open,
    };
    let chunks = stream::unfold(outflow, async |mut outflow| {
        let chunk = outflow.next().await?;
        Some((chunk, outflow))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that buffer would keep events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The error that breaks off the body of a reader that is evicted.
#[derive(Debug, thiserror::Error)]
#[error("the reader of a stream of events takes nothing")]
struct Evicted;

struct Outflow {
    stream: Stream,
    open: OpenStream,
    gate: Gate,
    /// What is left of a page that is larger than a chunk.
    rest: Bytes,
    /// Id of the last frame that was handed out.
    last_id: Option<FrameId>,
    stage: Stage,
}

enum Stage {
    Open,
    /// What is in `rest` is the last.
    Closing,
    /// The last frame is on its way to a reader that takes nothing.
    Evicting(Gate),
    Closed,
}

impl Outflow {
    async fn next(&mut self) -> Option<Result<Bytes, Evicted>> {
        match std::mem::replace(&mut self.stage, Stage::Closed) {
            Stage::Closed => return None,
            Stage::Evicting(gate) => {
                return timeout(GOODBYE, gate.pass()).await.is_err().then_some(Err(Evicted));
            }
            Stage::Closing if self.rest.is_empty() => return None,
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
                    self.stream.set_held(0);
                }
                Some(Ok(pass.stamp(chunk)))
            }
            Err(ending) => self.end(&ending).await,
        }
    }

    async fn fill(&mut self) {
        let mut page = Page::new(Dress::Sse);
        match self.stream.next(&mut page).await {
            Next::Frames => {}
            Next::Silence => page.aside(": heartbeat"),
            Next::Over(_) => self.stage = Stage::Closing,
        }
        self.last_id = page.last_id().or(self.last_id);
        self.rest = Bytes::from(page.into_text());
        self.stream.set_held(self.rest.len());
    }

    /// Waits until the reader has taken the chunk before, as long as we wait for readers.
    async fn pass(&mut self) -> Result<Pass, Ending> {
        let mut patience = Patience::new(self.stream.pace);
        let mut is_slow = false;
        let passing = self.gate.pass();
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
                ending = self.stream.cut() => return Err(ending),
                step = patience.next() => match step {
                    _ if step == Step::Evict || self.stream.is_too_much() => {
                        self.stream.evict();
                        return Err(Ending::Evicted { resume_after: self.last_id });
                    }
                    Step::Rest => self.stream.rest(),
                    Step::Warn | Step::Evict => is_slow = true,
                },
            }
        }
    }

    /// Sends the last frame to a reader that takes nothing just now. In the middle of another frame
    /// there is no place for it.
    async fn end(&mut self, ending: &Ending) -> Option<Result<Bytes, Evicted>> {
        tracing::info!(why = ending.name(), "a stream of events is cut");
        if !self.rest.is_empty() {
            self.stage = Stage::Closed;
            return Some(Err(Evicted));
        }
        let mut page = Page::new(Dress::Sse);
        ending.write(&mut page);
        let gate = Gate::new();
        let last = gate.pass().await.stamp(Bytes::from(page.into_text()));
        self.stage = Stage::Evicting(gate);
        Some(Ok(last))
    }
}

#[cfg(test)]
mod tests;
