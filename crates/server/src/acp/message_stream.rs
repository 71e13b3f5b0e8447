//! One SSE stream of a remote connection: numbered messages that wait for their reader.
//!
//! Messages that were sent are kept for a while, so that a reader that was cut off goes on where it
//! was. A stream holds so much and no more: the front waits for a reader that is slow, and what
//! nobody reads is dropped, and the next reader learns that.

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::limits::QuotaReservation;
use crate::locking::Locking as _;

/// Bytes of the messages that one stream may hold, sent or not.
const MAX_BYTES: usize = 4 << 20;
/// Sent messages that are kept for a reader that comes back.
const MAX_SENT_MESSAGES: usize = 1024;

#[derive(Debug)]
pub(super) struct MessageStream {
    state: Mutex<MessageStreamState>,
    /// All streams of a client share what they may hold.
    quota: QuotaReservation,
    /// Notified about messages, a new reader and the end.
    changed: Notify,
    /// Notified when there is room again.
    room: Notify,
}

#[derive(Debug, Default)]
struct MessageStreamState {
    messages: VecDeque<BufferedMessage>,
    n_bytes: usize,
    /// Number of the newest message.
    last: u64,
    /// Everything up to here was given to a reader.
    sent: u64,
    /// Id of the reader that has the stream; a new one takes it over.
    reader: u64,
    has_reader: bool,
    is_over: bool,
}

#[derive(Debug)]
struct BufferedMessage {
    number: u64,
    message: Bytes,
    /// Bytes that it takes of the client's quota; none if it was accepted beyond it.
    n_reserved: usize,
}

/// The outcome of a reader's next read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    Message(u64, Bytes),
    /// Messages after the reader's cursor were dropped.
    Lost,
    Over,
}

/// The only reader of a stream, until another takes over.
#[derive(Debug)]
pub(super) struct MessageStreamReader {
    pub(super) stream: std::sync::Arc<MessageStream>,
    id: u64,
    cursor: u64,
    is_loss_reported: bool,
}

impl Drop for MessageStreamReader {
    fn drop(&mut self) {
        let mut state = self.stream.state.locked();
        if state.reader == self.id {
            state.has_reader = false;
            drop(state);
            // Whoever waits for room need not wait for a reader that has gone.
            self.stream.room.notify_waiters();
        }
    }
}

impl MessageStream {
    pub(super) fn new(quota: QuotaReservation) -> Self {
        Self { state: Mutex::default(), quota, changed: Notify::new(), room: Notify::new() }
    }

    /// Adds a message; waits for room.
    pub(super) async fn push(&self, message: Bytes) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Before looking, so that no wake-up is lost.
            room.as_mut().enable();
            if self.try_push(&message) {
                self.changed.notify_waiters();
                return;
            }
            room.await;
        }
    }

    fn try_push(&self, message: &Bytes) -> bool {
        let mut state = self.state.locked();
        if state.is_over {
            return true;
        }
        let n_bytes = message.len();
        let n_reserved = loop {
            if state.n_bytes + n_bytes <= MAX_BYTES && self.quota.take(n_bytes) {
                break Some(n_bytes);
            }
            if state.oldest_is_over() {
                self.forget_oldest(&mut state);
                continue;
            }
            match (state.messages.is_empty(), state.has_reader) {
                // One that is larger than all room goes alone.
                (true, _) if self.quota.take(n_bytes) => break Some(n_bytes),
                (true, true) => break Some(0),
                // The next reader is told that it has missed something.
                (true, false) => break None,
                (false, _) => return false,
            }
        };
        state.last += 1;
        let number = state.last;
        if let Some(n_reserved) = n_reserved {
            state.n_bytes += n_bytes;
            state.messages.push_back(BufferedMessage {
                number,
                message: message.clone(),
                n_reserved,
            });
        }
        true
    }

    fn forget_oldest(&self, state: &mut MessageStreamState) {
        if let Some(oldest) = state.messages.pop_front() {
            state.n_bytes -= oldest.message.len();
            self.quota.give_back_some(oldest.n_reserved);
        }
    }

    /// Whether somebody reads it.
    pub(super) fn is_read(&self) -> bool {
        self.state.locked().has_reader
    }

    /// Becomes the reader after `cursor`. Without one the stream must be free.
    pub(super) fn read(
        self: &std::sync::Arc<Self>,
        cursor: Option<u64>,
    ) -> Option<MessageStreamReader> {
        let mut state = self.state.locked();
        if state.has_reader && cursor.is_none() {
            return None;
        }
        state.reader += 1;
        state.has_reader = true;
        let (id, cursor) = (state.reader, cursor.unwrap_or(state.sent));
        drop(state);
        // An earlier reader sees that it was replaced.
        self.changed.notify_waiters();
        Some(MessageStreamReader { stream: self.clone(), id, cursor, is_loss_reported: false })
    }

    pub(super) fn end(&self) {
        self.state.locked().is_over = true;
        self.changed.notify_waiters();
        self.room.notify_waiters();
    }
}

impl MessageStreamState {
    /// Whether the oldest message may be dropped: it was sent, or nobody reads the stream.
    fn oldest_is_over(&self) -> bool {
        let oldest = self.messages.front();
        oldest.is_some_and(|oldest| oldest.number <= self.sent || !self.has_reader)
    }
}

impl MessageStreamReader {
    pub(super) async fn next(&mut self) -> ReadOutcome {
        let stream = self.stream.clone();
        loop {
            let news = stream.changed.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if let Some(next) = self.look() {
                return next;
            }
            news.await;
        }
    }

    fn look(&mut self) -> Option<ReadOutcome> {
        let mut state = self.stream.state.locked();
        if state.reader != self.id {
            return Some(ReadOutcome::Over);
        }
        let first = state.messages.front().map_or(state.last + 1, |oldest| oldest.number);
        // A cursor from another life of the connection is ahead of everything.
        if self.cursor.saturating_add(1) < first || self.cursor > state.last {
            self.cursor = first.saturating_sub(1);
            if !std::mem::replace(&mut self.is_loss_reported, true) {
                return Some(ReadOutcome::Lost);
            }
        }
        let index = usize::try_from(self.cursor + 1 - first).ok()?;
        let Some(BufferedMessage { number, message, .. }) = state.messages.get(index) else {
            return state.is_over.then_some(ReadOutcome::Over);
        };
        let (number, message) = (*number, message.clone());
        self.cursor = number;
        state.sent = state.sent.max(number);
        while state.messages.len() > MAX_SENT_MESSAGES
            && state.messages.front().is_some_and(|oldest| oldest.number <= state.sent)
        {
            self.stream.forget_oldest(&mut state);
        }
        drop(state);
        self.stream.room.notify_waiters();
        Some(ReadOutcome::Message(number, message))
    }
}

#[cfg(test)]
mod tests;
