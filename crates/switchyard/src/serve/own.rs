//! A daemon inside of this process, for a command that found none.
//!
//! The same sessions, guard and API as those of `switchyard serve`, on a private socket that
//! only this user may open, for as long as the command runs. It is nobody else's daemon: it
//! listens nowhere else and takes no lock, and what it runs ends with it. Sessions stay in the
//! log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use client::Client;
use server::daemon::{Daemon, router};
use server::guard::Guard;
use server::limits::HttpLimits;
use server::listen::{Bound, Http};
use server::login::Login;
use server::tokens::Tokens;
use sessions::permission::Policy;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{FAREWELL, assemble, counted};
use crate::cli_serve::ServeArgs;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};
use crate::{control, world};

#[derive(Debug)]
pub(crate) struct OwnDaemon {
    daemon: Arc<Daemon>,
    socket: PathBuf,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    _listening: control::Listening,
}

impl OwnDaemon {
    /// `policy` has the rules of this run; those of the configuration hold besides.
    pub(crate) async fn start(config: Config, policy: Policy) -> Result<Self, Failure> {
        let config = Arc::new(config);
        let run = &config.home.run;
        world::make_private_dir(run)?;
        let wanted = config.file.serve.with(&ServeArgs::default());
        let metrics = counted(&config)?;
        let daemon = assemble(&config, &wanted, policy, Default::default(), &metrics).await?;
        let tokens = Tokens::open(&config.home.state)?;
        let guard = Guard::new(tokens, server::daemon::guarded_routes(), &wanted.guard);
        let guard = Arc::new(guard.context("the daemon's settings are wrong")?);
        let listening = control::listen(run, daemon.desk.yard())?;
        let socket = socket_of(run);
        let bound = Bound::private_unix(&socket).await;
        let bound = bound.map_err(|error| Failure::new(ERROR, error.to_string()))?;
        let stop = CancellationToken::new();
        let http = Http {
            bound,
            router: router(&daemon, &guard, &Login::new(guard.clone())),
            guard,
            limits: HttpLimits::default(),
            stop: stop.clone(),
        };
        let serving = task::spawn(http.serve());
        Ok(Self { daemon, socket, stop, serving, _listening: listening })
    }

    pub(crate) fn daemon(&self) -> &Arc<Daemon> {
        &self.daemon
    }

    pub(crate) fn client(&self) -> Client {
        Client::at(&self.socket)
    }

    /// Stops what runs and ends every worker.
    pub(crate) async fn end(self) {
        self.daemon.stopping.cancel();
        let ending = async {
            self.daemon.desk.shut_down(Duration::ZERO).await;
            self.daemon.over.cancel();
            self.stop.cancel();
            let _ = self.serving.await;
        };
        // The keepers end what we leave behind.
        let _ = tokio::time::timeout(FAREWELL, ending).await;
    }
}

fn socket_of(run: &Path) -> PathBuf {
    run.join(format!("{}{}.sock", control::OWN_DAEMON, std::process::id()))
}
