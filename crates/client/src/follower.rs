//! The events of a session, across lost connections to the daemon.
//!
//! In: a session and the last event that was received. Out: each event once and in order, and the
//! state of the connection. Dropping the future of `next` loses nothing.

use std::time::Duration;

use tokio::time::Instant;
use wire::{Event, Seq};

use crate::events::{SessionEventStream, StreamMessage};
use crate::{ClientError, DaemonClient};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
    events: Option<SessionEventStream>,
    /// How long to wait before connecting again after the next loss.
    pause: Duration,
    again_at: Option<Instant>,
}

impl Follower {
    pub(crate) fn new(client: DaemonClient, session: String, after: Seq) -> Self {
        let cursor = after.0.to_string();
        Self { client, session, cursor, events: None, pause: FIRST_PAUSE, again_at: None }
    }

    /// The next event, or change of the stream.
    pub async fn next(&mut self) -> FollowerMessage {
        loop {
            let message = match &mut self.events {
                Some(events) => events.next().await,
                None => {
                    if let Some(again_at) = self.again_at {
                        tokio::time::sleep_until(again_at).await;
                    }
                    match self.client.events(&self.session, &self.cursor).await {
                        Ok(events) => self.events = Some(events),
                        Err(error) if error.is_final() => return FollowerMessage::Over(error),
                        Err(error) => return self.lost(error.to_string()),
                    }
                    continue;
                }
            };
            let taken = match message {
                Ok(Some(message)) => self.take_message(message),
                Ok(None) => Some(self.lost("the daemon has ended the stream".to_owned())),
                Err(error) => Some(self.lost(error.to_string())),
            };
            if let Some(taken) = taken {
                return taken;
            }
        }
    }

    /// The next event or change, if it has already arrived.
    pub fn try_next(&mut self) -> Option<FollowerMessage> {
        loop {
            let taken = match self.events.as_mut()?.try_next()? {
                Ok(message) => self.take_message(message),
                Err(error) => Some(self.lost(error.to_string())),
            };
            if taken.is_some() {
                return taken;
            }
        }
    }

    /// Starts over after another event.
    pub fn rewind(&mut self, after: Seq) {
        self.cursor = after.0.to_string();
        self.events = None;
    }

    fn take_message(&mut self, message: StreamMessage) -> Option<FollowerMessage> {
        let (name, data) = match message {
            StreamMessage::Event(event, id) => {
                self.cursor = id;
                self.pause = FIRST_PAUSE;
                return Some(FollowerMessage::Event(event));
            }
            StreamMessage::Notice(name, data) => (name, data),
        };
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
            "stream_error" => self.lost(detail("the log cannot be read")),
            _ => return None,
        })
    }

    fn lost(&mut self, why: String) -> FollowerMessage {
        self.events = None;
        self.again_at = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        FollowerMessage::Lost(why)
    }
}

#[cfg(test)]
mod tests;
