//! The events of one session, as the daemon streams them.
//!
//! In: the body of a response. Out: events of the log, and notices about the stream. Silence is
//! broken by the daemon every few seconds; a stream that is silent for longer is dead.

use std::collections::VecDeque;
use std::time::Duration;

use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::Value;
use wire::{Event, Json, Kind, Millis, Seq, TurnId, sse};

use crate::ClientError;
use crate::transport::DaemonResponse;

/// Beyond the largest event that a log takes.
const MAX_EVENT_BYTES: usize = 96 << 20;

/// Several of the daemon's heartbeats.
const SILENT_FOR: Duration = Duration::from_secs(60);

/// One message of a stream.
#[derive(Debug)]
pub enum StreamMessage {
    /// An event, and the cursor behind it.
    Event(Box<Event>, String),
    /// A notice about the stream itself: its name and its data.
    Notice(String, Value),
}

#[derive(Debug)]
pub struct SessionEventStream {
    answer: DaemonResponse,
    reader: sse::SseParser,
    ready: VecDeque<sse::SseEvent>,
}

impl SessionEventStream {
    pub(crate) fn new(answer: DaemonResponse) -> Self {
        Self { answer, reader: sse::SseParser::new(MAX_EVENT_BYTES), ready: VecDeque::new() }
    }

    /// The next message; `None` when the daemon has ended the stream.
    pub async fn next(&mut self) -> Result<Option<StreamMessage>, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return read_message(event).map(Some);
            }
            let waiting = tokio::time::timeout(SILENT_FOR, self.answer.response.body_mut().frame());
            let Some(part) = waiting.await.map_err(|_| ClientError::Silent)? else {
                return Ok(None);
            };
            let Ok(bytes) = part?.into_data() else { continue };
            self.reader.feed(&bytes, &mut self.ready).map_err(|_| ClientError::TooLong)?;
        }
    }

    /// The next message, if it has already arrived.
    pub fn try_next(&mut self) -> Option<Result<StreamMessage, ClientError>> {
        self.ready.pop_front().map(read_message)
    }
}

/// An event as it is written on one line.
#[derive(Deserialize)]
struct EventLine {
    seq: u64,
    time: i64,
    turn: Option<String>,
    kind: String,
    payload: Json,
}

fn read_message(event: sse::SseEvent) -> Result<StreamMessage, ClientError> {
    let sse::SseEvent { name, data, id, .. } = event;
    match id {
        Some(id) if name.is_empty() => {
            let line: EventLine = serde_json::from_str(&data).map_err(ClientError::Unreadable)?;
            let event = Event {
                seq: Seq(line.seq),
                at: Millis(line.time),
                turn: line.turn.and_then(|turn| TurnId::parse(&turn).ok()),
                kind: Kind::from_log(&line.kind),
                payload: line.payload,
            };
            Ok(StreamMessage::Event(Box::new(event), id))
        }
        _ => {
            let data = serde_json::from_str(&data).unwrap_or_default();
            Ok(StreamMessage::Notice(name, data))
        }
    }
}
