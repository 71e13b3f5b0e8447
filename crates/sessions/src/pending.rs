//! Questions of all sessions of this process that wait for a person.
//!
//! In: what the sessions' tasks put up and take down. Out: lists for those who show or announce
//! questions, and a counter to wait on. A question is listed from after its event is in the log
//! until after its answer is; it goes down with its [`QuestionListing`] guard, so also when the
//! session's task dies. Always true: no more than [`MAX_LISTED`] questions are held, and
//! [`MAX_BYTES`] of raw requests; of the sessions of one maker a quarter, so that nobody's
//! questions are rejected for the number of another's.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;
use wire::{CallId, Json, Millis, Seq, SessionId, TurnId};

use crate::lock::lock;
use crate::permission::PermissionOption;

/// Questions that can be listed: nobody answers more; one beyond that is rejected.
pub const MAX_LISTED: usize = 4096;
/// Raw requests that are held; those of further questions are in the log alone.
const MAX_BYTES: usize = 64 << 20;
/// Shares into which the bounds are divided: each maker may take one.
const N_SHARES: usize = 4;
/// Larger requests are in the log alone: a diff of megabytes must not be kept in memory
/// for as long as a person is away.
pub const MAX_REQUEST_BYTES: usize = 256 << 10;

/// The kind of answer that a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedAnswer {
    /// One of its options.
    Permission,
    /// A form that is filled in.
    Elicitation,
}

/// A question that waits for a person.
#[derive(Debug)]
pub struct PendingQuestion {
    pub session: SessionId,
    /// Whose session it is.
    pub made_by: Option<String>,
    pub agent: String,
    pub request_id: CallId,
    pub wants: ExpectedAnswer,
    /// For showing: the tool call's title, or the form's message.
    pub title: String,
    /// The tool's kind; empty for a form.
    pub kind: String,
    pub options: Vec<PermissionOption>,
    /// Raw params of the agent's request; `None` where they are too large, or too many, to be
    /// kept: the event at `seq` has them.
    pub request: Option<Arc<Json>>,
    /// Place of the question's event.
    pub seq: Seq,
    pub turn: Option<TurnId>,
    pub since: Millis,
    /// When it is rejected if nobody answers, on both clocks; never, if there is none.
    pub until: Option<Millis>,
    pub deadline: Option<Instant>,
}

/// All questions that wait.
#[derive(Debug, Default)]
pub struct PendingQuestions {
    table: Mutex<QuestionTable>,
    version: watch::Sender<u64>,
}

impl PendingQuestions {
    /// All questions, those that wait longest first.
    pub fn list(&self) -> Vec<Arc<PendingQuestion>> {
        let mut all: Vec<_> = lock(&self.table).questions.values().cloned().collect();
        all.sort_by_key(|question| (question.since, question.session, question.seq));
        all
    }

    /// The questions of one session, in the order in which they were asked.
    pub fn of(&self, session: SessionId) -> Vec<Arc<PendingQuestion>> {
        let mut own: Vec<_> = lock(&self.table).of(session).cloned().collect();
        own.sort_by_key(|question| question.seq);
        own
    }

    /// How many of one session wait, and where the last of them was asked: equal as long as the
    /// same questions wait.
    pub fn mark(&self, session: SessionId) -> (usize, Option<Seq>) {
        let table = lock(&self.table);
        (table.of(session).count(), table.of(session).map(|question| question.seq).max())
    }

    /// How many of one session wait.
    pub fn count(&self, session: SessionId) -> usize {
        lock(&self.table).of(session).count()
    }

    pub fn get(&self, session: SessionId, request_id: CallId) -> Option<Arc<PendingQuestion>> {
        lock(&self.table).questions.get(&(session, request_id)).cloned()
    }

    pub fn len(&self) -> usize {
        lock(&self.table).questions.len()
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.table).questions.is_empty()
    }

    /// Counts changes. Take it before a list and give it to [`changed`](Self::changed):
    /// whatever happened after the list was made is then not missed.
    pub fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Waits until the list is newer than `seen`; gives the version that it has then.
    pub async fn changed(&self, seen: u64) -> u64 {
        let mut version = self.version.subscribe();
        // The sender lives as long as `self`.
        version.wait_for(|version| *version != seen).await.map_or(seen, |version| *version)
    }

    /// Puts a question up, after its event is in the log; gives it back if there are too many.
    pub fn add(
        self: &Arc<Self>,
        question: PendingQuestion,
    ) -> Result<QuestionListing, Box<PendingQuestion>> {
        let key = (question.session, question.request_id);
        lock(&self.table).add(question)?;
        self.bump();
        Ok(QuestionListing { questions: self.clone(), key })
    }

    fn bump(&self) {
        self.version.send_modify(|version| *version = version.wrapping_add(1));
    }
}

#[derive(Debug, Default)]
struct QuestionTable {
    questions: BTreeMap<(SessionId, CallId), Arc<PendingQuestion>>,
    all: QuestionShare,
    /// By the makers of the sessions.
    shares: HashMap<Option<String>, QuestionShare>,
}

/// A count of questions, and of their requests' bytes.
#[derive(Debug, Clone, Copy, Default)]
struct QuestionShare {
    n: usize,
    n_bytes: usize,
}

impl QuestionTable {
    fn of(&self, session: SessionId) -> impl Iterator<Item = &Arc<PendingQuestion>> {
        let from = self.questions.range((session, CallId::MIN)..);
        from.take_while(move |((of, _), _)| *of == session).map(|(_, question)| question)
    }

    fn add(&mut self, mut question: PendingQuestion) -> Result<(), Box<PendingQuestion>> {
        let share = self.shares.entry(question.made_by.clone()).or_default();
        if self.all.n >= MAX_LISTED || share.n >= MAX_LISTED / N_SHARES {
            return Err(Box::new(question));
        }
        let n_bytes = question.n_request_bytes();
        let has_room = self.all.n_bytes + n_bytes <= MAX_BYTES
            && share.n_bytes + n_bytes <= MAX_BYTES / N_SHARES;
        question.request = question.request.filter(|_| has_room);
        let n_bytes = question.n_request_bytes();
        for share in [share, &mut self.all] {
            share.n += 1;
            share.n_bytes += n_bytes;
        }
        self.questions.insert((question.session, question.request_id), Arc::new(question));
        Ok(())
    }

    fn remove(&mut self, key: (SessionId, CallId)) {
        let Some(question) = self.questions.remove(&key) else { return };
        let Some(share) = self.shares.get_mut(&question.made_by) else { return };
        for share in [&mut *share, &mut self.all] {
            share.n -= 1;
            share.n_bytes -= question.n_request_bytes();
        }
        if share.n == 0 {
            self.shares.remove(&question.made_by);
        }
    }
}

impl PendingQuestion {
    fn n_request_bytes(&self) -> usize {
        self.request.as_ref().map_or(0, |request| request.as_str().len())
    }
}

/// Keeps a question listed; dropping it takes the question down.
#[must_use = "the question is taken down when this is dropped"]
#[derive(Debug)]
pub struct QuestionListing {
    questions: Arc<PendingQuestions>,
    key: (SessionId, CallId),
}

impl Drop for QuestionListing {
    fn drop(&mut self) {
        lock(&self.questions.table).remove(self.key);
        self.questions.bump();
    }
}

#[cfg(test)]
mod tests;
