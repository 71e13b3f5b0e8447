//! The events of a session, across lost connections to the daemon.
//!
//! In: a session and the last event that was received. Out: each event once and in order, and the
//! state of the connection. Silence is broken by the daemon every few seconds; a stream that is
//! silent for longer is dead. Dropping the future of `next` loses nothing.

use std::collections::VecDeque;
use std::time::Duration;

use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use wire::sse::{SseEvent, SseParser};
use wire::{Event, Json, Kind, Millis, Seq, TurnId};

use crate::transport::DaemonResponse;
use crate::{ClientError, DaemonClient};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Beyond the largest event that a log takes.
const MAX_EVENT_BYTES: usize = 96 << 20;

/// Several of the daemon's heartbeats.
const SILENT_FOR: Duration = Duration::from_secs(60);

/// An event of a followed session, or a change of its stream.
#[derive(Debug)]
pub enum FollowerMessage {
    /// The stream is open.
    Live,
    Event(Box<Event>),
    /// The stream starts again from the first event.
    Restarted,
    /// The session could not go on; it can be prompted again when the cause is mended.
    Halted(String),
    /// The stream was cut, and is opened again.
    Lost(String),
    /// The stream is over for good.
    Over(ClientError),
}

#[derive(Debug)]
pub struct Follower {
    client: DaemonClient,
    session: String,
    cursor: String,
    stream: Option<EventStream>,
    /// How long to wait before connecting again after the next loss.
    pause: Duration,
    again_at: Option<Instant>,
}

impl Follower {
    pub(crate) fn new(client: DaemonClient, session: String, after: Seq) -> Self {
        let cursor = after.0.to_string();
        Self { client, session, cursor, stream: None, pause: FIRST_PAUSE, again_at: None }
    }

    /// The next event, or change of the stream.
    pub async fn next(&mut self) -> FollowerMessage {
        loop {
            let received = match &mut self.stream {
                Some(stream) => stream.next().await,
                None => {
                    if let Some(again_at) = self.again_at {
                        tokio::time::sleep_until(again_at).await;
                    }
                    match self.client.events(&self.session, &self.cursor).await {
                        Ok(answer) => self.stream = Some(EventStream::new(answer)),
                        Err(error) if error.is_final() => return FollowerMessage::Over(error),
                        Err(error) => return self.lost(error.to_string()),
                    }
                    continue;
                }
            };
            let message = match received {
                Ok(Some(frame)) => self.read(frame),
                Ok(None) => Some(self.lost("the daemon has ended the stream".to_owned())),
                Err(error) => Some(self.lost(error.to_string())),
            };
            if let Some(message) = message {
                return message;
            }
        }
    }

    /// The next event or change, if it has already arrived.
    pub fn try_next(&mut self) -> Option<FollowerMessage> {
        loop {
            let frame = self.stream.as_mut()?.ready.pop_front()?;
            if let Some(message) = self.read(frame) {
                return Some(message);
            }
        }
    }

    /// Starts over after another event.
    pub fn rewind(&mut self, after: Seq) {
        self.cursor = after.0.to_string();
        self.stream = None;
    }

    /// What a frame says: an event of the log, which is numbered, or something about the stream.
    fn read(&mut self, frame: SseEvent) -> Option<FollowerMessage> {
        let SseEvent { name, data, id, .. } = frame;
        if let Some(id) = id.filter(|_| name.is_empty()) {
            return Some(match read_event(&data) {
                Ok(event) => {
                    self.cursor = id;
                    self.pause = FIRST_PAUSE;
                    FollowerMessage::Event(Box::new(event))
                }
                Err(error) => self.lost(error.to_string()),
            });
        }
        let data: Value = serde_json::from_str(&data).unwrap_or_default();
        let detail = |otherwise: &str| data["detail"].as_str().unwrap_or(otherwise).to_owned();
        Some(match name.as_str() {
            "stream" => FollowerMessage::Live,
            "state_resync_required" => {
                "0".clone_into(&mut self.cursor);
                FollowerMessage::Restarted
            }
            "session_halted" => FollowerMessage::Halted(detail("the session has ended")),
            "session_deleted" => FollowerMessage::Over(ClientError::SessionDeleted),
            "client_evicted" => self.lost("we were too slow".to_owned()),
            "daemon_stopping" => self.lost("the daemon stops".to_owned()),
            "stream_error" => {
                let error = ClientError::in_stream(&data);
                match error.is_final() {
                    true => FollowerMessage::Over(error),
                    false => self.lost(error.to_string()),
                }
            }
            _ => return None,
        })
    }

    fn lost(&mut self, why: String) -> FollowerMessage {
        self.stream = None;
        self.again_at = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        FollowerMessage::Lost(why)
    }
}

/// The answer of a daemon that streams events.
#[derive(Debug)]
struct EventStream {
    answer: DaemonResponse,
    parser: SseParser,
    ready: VecDeque<SseEvent>,
}

impl EventStream {
    fn new(answer: DaemonResponse) -> Self {
        Self { answer, parser: SseParser::new(MAX_EVENT_BYTES), ready: VecDeque::new() }
    }

    /// The next frame; `None` when the daemon has ended the stream.
    async fn next(&mut self) -> Result<Option<SseEvent>, ClientError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            let waiting = tokio::time::timeout(SILENT_FOR, self.answer.response.body_mut().frame());
            let Some(part) = waiting.await.map_err(|_| ClientError::Silent)? else {
                return Ok(None);
            };
            let Ok(bytes) = part?.into_data() else { continue };
            self.parser.feed(&bytes, &mut self.ready).map_err(|_| ClientError::TooLong)?;
        }
    }
}

/// Reads an event as it is written on one line.
fn read_event(line: &str) -> Result<Event, ClientError> {
    #[derive(Deserialize)]
    struct EventLine {
        seq: u64,
        time: i64,
        turn: Option<String>,
        kind: String,
        payload: Json,
    }
    let line: EventLine = serde_json::from_str(line).map_err(ClientError::Unreadable)?;
    Ok(Event {
        seq: Seq(line.seq),
        at: Millis(line.time),
        turn: line.turn.and_then(|turn| TurnId::parse(&turn).ok()),
        kind: Kind::from_log(&line.kind),
        payload: line.payload,
    })
}

#[cfg(test)]
mod tests;
