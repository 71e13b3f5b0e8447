//! The end of a client's connection: it leaves, or its access is revoked.

use std::time::Duration;

use super::Front;
use crate::lock::lock;

/// The wait for answers to the client's requests, and then for the ends of its turns to be sent.
const LEAVE_GRACE: Duration = Duration::from_secs(2);

impl Front {
    /// Whether the client's access was revoked: what it has requested before, and what is not done
    /// yet, is not done.
    pub(super) fn is_revoked(&self) -> bool {
        self.access.profile.revoked.is_cancelled()
    }

    pub(super) async fn shut_down(&self) {
        if self.is_revoked() {
            lock(&self.running).drain().for_each(|(_, task)| task.abort());
        }
        // A client that only closed its input still reads the answers to what it asked.
        self.requests.close();
        let _ = tokio::time::timeout(LEAVE_GRACE, self.requests.wait()).await;
        if self.access.profile.owns_registry {
            tokio::join!(self.access.registry.shut_down(Duration::ZERO), self.access.leave());
            // The feeds send how the turns ended, and end with their sessions.
            self.tasks.close();
            let _ = tokio::time::timeout(LEAVE_GRACE, self.tasks.wait()).await;
        }
        for (_, open) in lock(&self.sessions).drain() {
            open.feed.abort();
        }
        self.access.leave().await;
        self.client.close();
    }
}
