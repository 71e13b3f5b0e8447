//! The agent's own requests that wait for an answer.
//!
//! In: an id with each answer. Out: the answer, at whoever asked.
//! Several requests may wait under one id, because scripts send such things; they are settled in
//! the order in which they were asked. An answer nobody waits for is dropped.

use super::options::IdStyle;
use std::collections::{HashMap, VecDeque};
use tokio::sync::oneshot;
use wire::Json;

/// What the other side said to one of our requests: its result or its error, as it was written.
pub(super) type Answer = Result<Json, Json>;

pub(super) struct PendingCalls {
    style: IdStyle,
    next: u64,
    waiting: HashMap<String, VecDeque<oneshot::Sender<Answer>>>,
}

impl PendingCalls {
    pub(super) fn new(style: IdStyle) -> Self {
        Self { style, next: 0, waiting: HashMap::new() }
    }

    /// A fresh id, as JSON text.
    pub(super) fn next_id(&mut self) -> String {
        let n = self.next;
        self.next += 1;
        match self.style {
            IdStyle::FromZero => n.to_string(),
            IdStyle::Strings => format!("\"demo-{n}\""),
        }
    }

    pub(super) fn wait(&mut self, id: &str) -> oneshot::Receiver<Answer> {
        self.forget_abandoned();
        let (sender, receiver) = oneshot::channel();
        self.waiting.entry(id.to_owned()).or_default().push_back(sender);
        receiver
    }

    pub(super) fn settle(&mut self, id: &str, answer: Answer) {
        let Some(queue) = self.waiting.get_mut(id) else { return };
        if let Some(asker) = queue.pop_front() {
            // The asker may have been cancelled since.
            let _ = asker.send(answer);
        }
        if queue.is_empty() {
            self.waiting.remove(id);
        }
    }

    /// A cancelled turn leaves its questions behind, and the client need not ever answer them.
    fn forget_abandoned(&mut self) {
        self.waiting.retain(|_, queue| {
            queue.retain(|asker| !asker.is_closed());
            !queue.is_empty()
        });
    }
}

#[cfg(test)]
mod tests;
