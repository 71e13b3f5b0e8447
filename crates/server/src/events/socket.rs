//! A stream of frames as the text messages of a WebSocket.
//!
//! In: a handshake and a stream. Out: one message a frame, or an array of all that is there for
//! those who ask for it: a script in a browser needs fifty times as long for a message as for a
//! frame. Messages of the client are ignored; pings are answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::Request;
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::io::InspectWriter;

use super::ending::StreamEnd;
use super::frame_buffer::{FrameBuffer, FrameEncoding};
use super::query::FrameId;
use super::slow_reader::{CHUNK_BYTES, SlowReaderStep, SlowReaderTimer};
use super::stream::{FrameStream, LAST_FRAME_WITHIN, StreamOutput};
use crate::metrics::OpenStream;
use crate::web_socket::Handshake;

/// Limit of a client's message, which is ignored anyway.
const MAX_HEARD_BYTES: usize = 4 << 10;
/// Subprotocols that are supported here.
pub(super) const PROTOCOLS: [&str; 3] = [BATCH, "switchyard.v1", "acp.v1"];
/// Every message is an array of frames.
const BATCH: &str = "switchyard.batch.v1";

pub(super) fn respond(handshake: Handshake, request: Request, stream: FrameStream) -> Response {
    let is_batched = handshake.protocol == Some(BATCH);
    handshake.accept(request, move |io| serve(io, stream, is_batched))
}

async fn serve(io: TokioIo<Upgraded>, stream: FrameStream, is_batched: bool) {
    let n_written = Arc::new(AtomicU64::new(0));
    let counted = n_written.clone();
    let count = move |bytes: &[u8]| {
        counted.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    };
    let io = InspectWriter::new(io, count);
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_HEARD_BYTES))
        .max_frame_size(Some(MAX_HEARD_BYTES))
        .read_buffer_size(MAX_HEARD_BYTES)
        .write_buffer_size(CHUNK_BYTES);
    let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let open = stream.metrics.stream("ws");
    let mut line = EventSocket { socket, n_written, stream, open, is_batched, last_id: None };
    if let Some((ending, last)) = line.run().await {
        line.close(&ending, last).await;
    }
}

struct EventSocket<S> {
    socket: WebSocketStream<S>,
    /// Bytes that the connection has taken.
    n_written: Arc<AtomicU64>,
    stream: FrameStream,
    open: OpenStream,
    is_batched: bool,
    /// Id of the last frame that was handed out.
    last_id: Option<FrameId>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> EventSocket<S> {
    /// Runs the stream, and returns why it is over and what is left to be sent, if the client is
    /// still there.
    async fn run(&mut self) -> Option<(StreamEnd, Vec<Message>)> {
        loop {
            let mut buffer = FrameBuffer::new(FrameEncoding::Object);
            let next = tokio::select! {
                next = self.stream.next(&mut buffer) => next,
                () = until_gone(&mut self.socket) => return None,
            };
            let mut messages = Vec::new();
            if matches!(next, StreamOutput::Silence) {
                // For those who see pings; scripts in browsers do not, and get a frame.
                messages.push((None, Message::Ping(bytes::Bytes::new())));
                buffer.push_notice("heartbeat", &serde_json::json!({}));
            }
            messages.extend(self.messages(&buffer));
            self.stream.n_held = buffer.text.len();
            drop(buffer);
            match self.write(messages).await {
                // The client has gone, in one way or another.
                Err(_) => return None,
                Ok(Some(ending)) => {
                    let mut buffer = FrameBuffer::new(FrameEncoding::Object);
                    ending.write(&mut buffer);
                    let last = self.messages(&buffer);
                    return Some((ending, last.into_iter().map(|(_, message)| message).collect()));
                }
                Ok(None) => self.stream.n_held = 0,
            }
            if let StreamOutput::Over(ending) = next {
                return Some((ending, Vec::new()));
            }
        }
    }

    /// The buffer's frames as messages, in an array if this client asked for that.
    fn messages(&self, buffer: &FrameBuffer) -> Vec<(Option<FrameId>, Message)> {
        if !self.is_batched {
            return buffer.frames().map(|(id, text)| (id, Message::text(text))).collect();
        }
        if buffer.text.is_empty() {
            return Vec::new();
        }
        let frames: Vec<&str> = buffer.frames().map(|(_, text)| text).collect();
        vec![(buffer.last_id(), Message::text(format!("[{}]", frames.join(","))))]
    }

    /// Writes everything, as long as the client takes it.
    async fn write(
        &mut self,
        messages: Vec<(Option<FrameId>, Message)>,
    ) -> Result<Option<StreamEnd>, tungstenite::Error> {
        let Self { socket, n_written, stream, open, last_id, is_batched: _ } = self;
        let n_written = || n_written.load(Ordering::Relaxed);
        let (mut is_slow, n_before) = (false, n_written());
        let ending = {
            let writing = async {
                for (id, message) in messages {
                    socket.feed(message).await?;
                    *last_id = id.or(*last_id);
                }
                socket.flush().await
            };
            tokio::pin!(writing);
            let mut timer = SlowReaderTimer::new(stream.pace);
            let mut n_bytes = n_written();
            loop {
                tokio::select! {
                    biased;
                    written = &mut writing => break written.map(|()| None)?,
                    ending = stream.cut_off() => break Some(ending),
                    step = timer.next() => {
                        // A message can be much larger than what a reader must take in time.
                        if n_written() - n_bytes >= CHUNK_BYTES as u64 {
                            n_bytes = n_written();
                            timer = SlowReaderTimer::new(stream.pace);
                            continue;
                        }
                        match step {
                            _ if step == SlowReaderStep::Evict || stream.is_too_much() => {
                                break Some(StreamEnd::Evicted { resume_after: None });
                            }
                            SlowReaderStep::Rest => stream.drop_read_ahead(),
                            SlowReaderStep::Warn | SlowReaderStep::Evict => is_slow = true,
                        }
                    }
                }
            }
        };
        open.sent(usize::try_from(n_written() - n_before).unwrap_or(0));
        if is_slow {
            stream.warn();
        }
        Ok(ending.map(|ending| match ending {
            StreamEnd::Evicted { .. } => {
                stream.evict();
                StreamEnd::Evicted { resume_after: *last_id }
            }
            ending => ending,
        }))
    }

    /// Sends the last messages and closes the WebSocket as far as the client takes part, in bounded
    /// time.
    async fn close(&mut self, ending: &StreamEnd, last: Vec<Message>) {
        let frame = CloseFrame { code: ending.close_code().into(), reason: ending.name().into() };
        let (within, guard) = self.stream.time_for_last_frame(ending, self.stream.n_held);
        let Self { socket, stream, .. } = self;
        let telling = async {
            for message in last {
                socket.feed(message).await?;
            }
            socket.close(Some(frame)).await
        };
        let told = tokio::select! {
            told = timeout(within, telling) => told,
            _ = stream.cut_off(), if guard.is_some() => return,
        };
        if let Ok(Ok(())) = told {
            let _ = timeout(LAST_FRAME_WITHIN, until_gone(socket)).await;
        }
    }
}

/// Reads and drops the client's messages until it goes.
async fn until_gone<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocketStream<S>) {
    while let Some(Ok(_)) = socket.next().await {}
}
