//! The webhook of the configuration, if there is one.

use std::path::Path;

use server::daemon::Daemon;
use server::webhook::{self, Webhook};

use crate::config::Config;
use crate::outcome::Failure;

/// Checks the `[webhook]` table; before anything is started for it.
pub(crate) fn checked(config: &Config) -> Result<Option<Webhook>, Failure> {
    let Some(table) = &config.file.webhook else { return Ok(None) };
    let base = config.home.config.parent().unwrap_or(Path::new("/"));
    let webhook = table.check(base).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Some(webhook))
}

/// Announces until the daemon stops. `base_url` is where the daemon is reached.
pub(crate) fn start(
    webhook: Option<Webhook>,
    daemon: &Daemon,
    base_url: &str,
) -> Result<(), Failure> {
    let Some(webhook) = webhook else { return Ok(()) };
    let yard = daemon.desk.yard().clone();
    // From the first note on: turns that an earlier daemon left have been ended by now.
    webhook::start(yard, webhook, base_url, 0, daemon.stopping.clone())
        .map_err(|error| Failure::new(1, error.to_string()))?;
    Ok(())
}
