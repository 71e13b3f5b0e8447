//! The daemon that a command works with: one that runs already, or one inside of this process.
//!
//! In: the configuration. Out: a client of the public API, which is the same for both. A daemon
//! that runs is reached over its private socket and goes on when the command has ended; one inside
//! of this process ends with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use client::{ClientError, DaemonClient};
use tokio::net::UnixStream;

use crate::config::Config;
use crate::daemon::in_process::{InProcessDaemon, InProcessOptions};
use crate::daemon::presence::{self, DaemonInfo, private_socket};
use crate::outcome::Failure;
use crate::terminal::spinner::Spinner;

/// A daemon that runs in a process of its own.
#[derive(Debug, Clone)]
pub(crate) struct RunningDaemon {
    run: PathBuf,
    pub(crate) info: DaemonInfo,
    pub(crate) client: DaemonClient,
}

impl RunningDaemon {
    /// The running daemon of this user, unless `SWITCHYARD_NO_DAEMON` is set.
    pub(crate) fn find(config: &Config) -> Option<Self> {
        if std::env::var_os("SWITCHYARD_NO_DAEMON").is_some_and(|value| !value.is_empty()) {
            return None;
        }
        let run = config.home.run.clone();
        let (info, client) = (presence::find(&run)?, DaemonClient::at(private_socket(&run)));
        Some(Self { run, info, client })
    }

    /// The running daemon, if it uses this configuration file: with another one it would have other
    /// permission rules.
    pub(crate) fn find_for(config: &Config) -> Option<Self> {
        let daemon = Self::find(config)?;
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let (here, there) = (real(&config.home.config), daemon.info.config.as_ref());
        match there.map(real).filter(|there| *there != here) {
            None => Some(daemon),
            Some(there) => {
                let (here, there) = (here.display(), there.display());
                tracing::info!(%here, %there, "the daemon has another configuration: not used");
                None
            }
        }
    }

    /// A new connection to its private socket.
    pub(crate) async fn connect(&self) -> Result<UnixStream, ClientError> {
        client::connect(&private_socket(&self.run)).await
    }

    /// Waits until this daemon is gone.
    async fn gone(&self) {
        const LOOK_EVERY: Duration = Duration::from_secs(1);
        // A draining daemon has withdrawn its address, but still holds the lock.
        let is_another = |now: DaemonInfo| now.pid != self.info.pid;
        while presence::is_held(&self.run) && !presence::find(&self.run).is_some_and(is_another) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// A daemon that a command works with.
#[derive(Debug)]
pub(crate) enum CommandDaemon {
    Running(RunningDaemon),
    /// Inside of this process.
    Own(InProcessDaemon),
}

impl CommandDaemon {
    /// The running daemon; else one inside of this process, whose sessions run with `options`.
    pub(crate) async fn for_sessions(
        config: &Arc<Config>,
        running: Option<RunningDaemon>,
        options: InProcessOptions,
    ) -> Result<Self, Failure> {
        if let Some(running) = running {
            return Ok(Self::Running(running));
        }
        let _opening = Spinner::start("opening the log …");
        InProcessDaemon::start(config, options).await.map(Self::Own)
    }

    /// A daemon for commands that only read sessions in the log, or delete them.
    pub(crate) fn for_the_log(config: &Arc<Config>) -> Result<Self, Failure> {
        match RunningDaemon::find(config) {
            Some(running) => Ok(Self::Running(running)),
            None => InProcessDaemon::for_reading(config).map(Self::Own),
        }
    }

    pub(crate) fn client(&self) -> &DaemonClient {
        match self {
            Self::Running(running) => &running.client,
            Self::Own(own) => &own.client,
        }
    }

    /// Whether it is in this process.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// Waits until it is gone; for ever where it is inside of this process.
    pub(crate) async fn gone(&self) {
        match self {
            Self::Running(running) => running.gone().await,
            Self::Own(_) => std::future::pending().await,
        }
    }

    /// Ends what runs for this command alone; its log can still be read.
    pub(crate) async fn stop_sessions(&self) {
        if let Self::Own(own) = self {
            own.stop_sessions().await;
        }
    }

    /// Ends what was started for this command alone.
    pub(crate) async fn end(self) {
        if let Self::Own(own) = self {
            own.end().await;
        }
    }
}
