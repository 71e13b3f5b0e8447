//! The webhook of the configuration, if there is one.

use std::path::Path;

use server::daemon::Daemon;
use server::webhook::{self, Webhook};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::outcome::Failure;

/// Checks the `[webhook]` table; before anything is started for it.
pub(crate) fn check_table(config: &Config) -> Result<Option<Webhook>, Failure> {
    let Some(table) = &config.file.webhook else { return Ok(None) };
    let base = config.home.config.parent().unwrap_or(Path::new("/"));
    let webhook = table.check(base).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Some(webhook))
}

/// The task that announces, until it is ended or replaced.
#[derive(Debug)]
pub(super) struct WebhookTask {
    /// The daemon's base URL, for links.
    base_url: String,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

impl WebhookTask {
    pub(super) fn start(
        webhook: Option<Webhook>,
        daemon: &Daemon,
        base_url: String,
    ) -> Result<Self, Failure> {
        let mut announcing = Self { base_url, running: None };
        // From the first note on: turns that an earlier daemon left were ended just now.
        announcing.run(webhook, daemon, 0)?;
        Ok(announcing)
    }

    /// Goes on with another webhook, or with none. Questions that wait are announced to it, too.
    pub(super) fn replace(
        &mut self,
        webhook: Option<Webhook>,
        daemon: &Daemon,
    ) -> Result<(), Failure> {
        if let Some((stop, _)) = self.running.take() {
            stop.cancel();
        }
        self.run(webhook, daemon, daemon.registry.context().notices.next_number())
    }

    /// Ends the task; to be called when no more events come.
    pub(super) async fn end(self) {
        if let Some((stop, task)) = self.running {
            stop.cancel();
            let _ = task.await;
        }
    }

    fn run(
        &mut self,
        webhook: Option<Webhook>,
        daemon: &Daemon,
        after_note: u64,
    ) -> Result<(), Failure> {
        let Some(webhook) = webhook else { return Ok(()) };
        let (context, stop) = (daemon.registry.context().clone(), CancellationToken::new());
        let task = webhook::start(context, webhook, &self.base_url, after_note, stop.clone())
            .map_err(|error| Failure::new(1, error.to_string()))?;
        self.running = Some((stop, task));
        Ok(())
    }
}
