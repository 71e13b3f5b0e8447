//! A client leaves, or is made to.

use std::time::Duration;

use super::{Front, Open};

/// From the client's leaving to closing the agent's stdin.
const LEAVE_GRACE: Duration = Duration::from_secs(2);

impl Front {
    /// Whether the client is not let in any more: what it has asked before, and what is not done
    /// yet, is not done.
    pub(super) fn is_revoked(&self) -> bool {
        self.visit.as_ref().is_some_and(|visit| visit.visitor.revoked.is_cancelled())
    }

    pub(super) async fn shut_down(&self) {
        if self.is_revoked() {
            self.running().drain().for_each(|(_, task)| task.abort());
        }
        // A client that only closed its input still reads the answers to what it asked.
        self.requests.close();
        let _ = tokio::time::timeout(LEAVE_GRACE, self.requests.wait()).await;
        let sessions: Vec<Open> = self.sessions().drain().map(|(_, open)| open).collect();
        if let Some(visit) = &self.visit {
            for open in &sessions {
                open.feed.abort();
            }
            visit.leave().await;
            return self.client.close();
        }
        for open in &sessions {
            let _ = open.handle.cancel_soon("client left").await;
        }
        // Nobody waits for a clean end any more, so the agent gets a moment, not its grace.
        let ended = async {
            for open in &sessions {
                let _ = open.handle.cancel("client left").await;
            }
        };
        let _ = tokio::time::timeout(LEAVE_GRACE, ended).await;
        if let Some(slot) = self.slot.get() {
            slot.shut_down().await;
        }
        for open in sessions {
            let _ = tokio::time::timeout(LEAVE_GRACE, open.handle.finish()).await;
            open.feed.abort();
        }
        self.client.close();
    }
}
