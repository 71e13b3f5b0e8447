//! Reaches the running daemon of this user over its private socket.
//!
//! In: requests of the daemon's public HTTP API. Out: its answers. Where no daemon runs,
//! nothing is reached, and the caller does the work itself.

use std::path::PathBuf;
use std::time::Duration;

use client::{Client, ClientError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;

use crate::config::Config;
use crate::outcome::{DENIED, ERROR, Failure, NOT_FOUND, USAGE};
use crate::serve::presence::{self, Whereabouts};

/// A daemon that runs.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    client: Client,
    run: PathBuf,
    pub(crate) whereabouts: Whereabouts,
}

impl Daemon {
    /// The daemon of this user, if one runs and is wanted.
    pub(crate) fn find(config: &Config) -> Option<Self> {
        if std::env::var_os("SWITCHYARD_NO_DAEMON").is_some_and(|value| !value.is_empty()) {
            return None;
        }
        let run = config.home.run.clone();
        let whereabouts = presence::find(&run)?;
        Some(Self { client: Client::at(presence::private_socket(&run)), run, whereabouts })
    }

    /// The daemon, if it can do what is to be done by this configuration: with another one it
    /// would go by other rules.
    pub(crate) fn find_for(config: &Config) -> Option<Self> {
        let daemon = Self::find(config)?;
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let (here, there) = (real(&config.home.config), daemon.whereabouts.config.as_ref());
        match there.map(real).filter(|there| *there != here) {
            None => Some(daemon),
            Some(there) => {
                let (here, there) = (here.display(), there.display());
                tracing::info!(%here, %there, "the daemon goes by another file: done without it");
                None
            }
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Until this daemon is gone.
    pub(crate) async fn gone(&self) {
        const LOOK_EVERY: Duration = Duration::from_secs(1);
        // One that drains is no longer to be found, and still there.
        let is_another = |now: presence::Whereabouts| now.pid != self.whereabouts.pid;
        while presence::is_held(&self.run) && !presence::find(&self.run).is_some_and(is_another) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    pub(crate) async fn connect(&self) -> Result<UnixStream, Failure> {
        self.client.connect().await.map_err(|error| self.told(error))
    }

    pub(crate) async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        self.client.get(path).await.map_err(|error| self.told(error))
    }

    pub(crate) async fn post<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<A, Failure> {
        self.client.post(path, body).await.map_err(|error| self.told(error))
    }

    pub(crate) async fn patch<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<A, Failure> {
        self.client.patch(path, body).await.map_err(|error| self.told(error))
    }

    /// Sends a file as it is.
    pub(crate) async fn upload<A: DeserializeOwned>(
        &self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<A, Failure> {
        self.client.upload(path, bytes).await.map_err(|error| self.told(error))
    }

    fn told(&self, error: ClientError) -> Failure {
        match error {
            ClientError::Silent => {
                let pid = self.whereabouts.pid;
                let failure = Failure::new(ERROR, error.to_string());
                failure.hint(format!("it is process {pid}; `--no-daemon` works without it"))
            }
            error => error.into(),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let code = match &error {
            ClientError::Refused { status: 404, .. } => NOT_FOUND,
            ClientError::Refused { status: 400 | 422, .. } => USAGE,
            ClientError::Refused { status: 403, .. } => DENIED,
            _ => ERROR,
        };
        let failure = Self::new(code, error.to_string());
        match error.remedy() {
            Some(remedy) => failure.hint(remedy),
            None => failure,
        }
    }
}
