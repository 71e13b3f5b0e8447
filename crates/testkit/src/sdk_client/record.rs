//! The client's record of updates and lines, and its open permission requests.
//!
//! In: updates, questions and lines from the connection's thread. Out: the same to the test.
//! Updates are remembered before the answer that follows them is given to anybody, because the
//! SDK handles incoming messages one after the other.

use crate::test_home::PATIENCE;
use crate::transcript::{Direction, Transcript};
use agent_client_protocol::Result;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SessionId,
    SessionNotification, SessionUpdate,
};
use std::sync::{Mutex, MutexGuard};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct ClientRecord {
    kept: Mutex<RecordedState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct RecordedState {
    updates: Vec<SessionNotification>,
    asked: Vec<RequestPermissionRequest>,
    unanswered: Vec<(SessionId, Responder<RequestPermissionResponse>)>,
    transcript: Transcript,
}

impl ClientRecord {
    pub(super) fn keep_update(&self, update: SessionNotification) {
        self.kept().updates.push(update);
        self.changed.notify_waiters();
    }

    pub(super) fn keep_question(&self, question: RequestPermissionRequest) {
        self.kept().asked.push(question);
        self.changed.notify_waiters();
    }

    /// A question that stays open. A test that sees it may cancel at once, so both are kept in
    /// one step.
    pub(super) fn keep_open_question(
        &self,
        question: RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) {
        self.kept().unanswered.push((question.session_id.clone(), responder));
        self.keep_question(question);
    }

    pub(super) fn keep_line(&self, direction: Direction, line: String) {
        self.kept().transcript.push(direction, line);
    }

    pub(super) fn withdraw_permissions(&self, session: &SessionId) -> Result<()> {
        let withdrawn: Vec<_> =
            self.kept().unanswered.extract_if(.., |(owner, _)| owner == session).collect();
        for (_, responder) in withdrawn {
            responder
                .respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled))?;
        }
        Ok(())
    }

    pub(super) fn n_updates(&self) -> usize {
        self.kept().updates.len()
    }

    pub(super) fn updates(&self) -> Vec<SessionNotification> {
        self.kept().updates.clone()
    }

    pub(super) fn updates_of(&self, session: &SessionId, since: usize) -> Vec<SessionUpdate> {
        let kept = self.kept();
        let later = kept.updates.iter().skip(since);
        later
            .filter(|heard| heard.session_id == *session)
            .map(|heard| heard.update.clone())
            .collect()
    }

    pub(super) fn permissions_asked(&self) -> Vec<RequestPermissionRequest> {
        self.kept().asked.clone()
    }

    pub(super) fn transcript(&self) -> Transcript {
        self.kept().transcript.clone()
    }

    pub(super) async fn wait_for(
        &self,
        session: &SessionId,
        mut fits: impl FnMut(&SessionUpdate) -> bool,
    ) -> SessionUpdate {
        self.wait(|kept| {
            let mut of_session = kept.updates.iter().filter(|heard| heard.session_id == *session);
            of_session.find(|heard| fits(&heard.update)).map(|heard| heard.update.clone())
        })
        .await
    }

    pub(super) async fn wait_for_permissions(&self, n: usize) -> Vec<RequestPermissionRequest> {
        self.wait(|kept| (kept.asked.len() >= n).then(|| kept.asked.clone())).await
    }

    async fn wait<T>(&self, mut look: impl FnMut(&RecordedState) -> Option<T>) -> T {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                let mut changed = std::pin::pin!(changed);
                // From here on no change is missed, so that looking first is safe.
                changed.as_mut().enable();
                if let Some(found) = look(&self.kept()) {
                    return found;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("what was waited for never came")
    }

    fn kept(&self) -> MutexGuard<'_, RecordedState> {
        self.kept.lock().unwrap()
    }
}
