//! The end of a session's task before its time.
//!
//! In: what the task does, if the session has one here. Out: why it ended, once that is so: its
//! log takes no more, and so may not be able to say it.

use sessions::session::Phase;
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Halt(pub(super) Option<watch::Receiver<Phase>>);

impl Halt {
    pub(super) fn why(&self) -> Option<String> {
        self.0.as_ref()?.borrow().halted().map(str::to_owned)
    }

    /// Waits until it has come, which is never where the session ends in good order, or is not
    /// awake: then its next event is what comes first.
    pub(super) async fn come(&mut self) {
        if let Some(phase) = &mut self.0
            && phase.wait_for(|phase| phase.halted().is_some()).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
