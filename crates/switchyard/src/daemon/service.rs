//! A daemon's surroundings: its log, sockets that were opened for it, the service manager and
//! signals.
//!
//! A daemon says when it is ready, waits here until it is asked to end, and drains here.
//! Meanwhile the log is opened anew, the configuration read again and the watchdog fed.

use std::path::PathBuf;

use anyhow::Result;

use crate::daemon::activation::InheritedListeners;
use crate::daemon::sd_notify::ServiceManager;
use crate::logging::{LogTable, Logging};
use crate::signals::{DaemonSignals, SignalAction};

#[derive(Debug)]
pub(crate) struct DaemonService {
    pub(crate) logging: Logging,
    /// The file of `--log-file`; wins over the configuration.
    log_file: Option<PathBuf>,
    pub(crate) inherited: InheritedListeners,
    pub(crate) notify: ServiceManager,
    signals: DaemonSignals,
}

/// The way in which draining ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrainOutcome {
    InTime,
    /// A second signal has cut it short.
    CutShort,
}

impl DaemonService {
    /// Registers signal handlers, and logs as a daemon from here on.
    pub(crate) fn begin(
        logging: Logging,
        log_file: Option<PathBuf>,
        table: &LogTable,
        inherited: InheritedListeners,
    ) -> Result<Self> {
        let (notify, signals) = (ServiceManager::from_env(), DaemonSignals::listen()?);
        let service = Self { logging, log_file, inherited, notify, signals };
        service.log_as(table)?;
        Ok(service)
    }

    /// Puts `[log]` into effect, also after it was read again.
    pub(crate) fn log_as(&self, table: &LogTable) -> Result<()> {
        let file = self.log_file.clone().or_else(|| table.file.clone());
        self.logging.daemon(&LogTable { file, ..table.clone() })
    }

    /// The daemon serves; `status` says where.
    pub(crate) fn ready(&self, status: &str) {
        tracing::info!(status, "ready");
        self.notify.ready(status);
    }

    /// Waits until SIGTERM or SIGINT. `reload` reads the configuration again; what is wrong with it
    /// is logged, and the daemon goes on as before.
    pub(crate) async fn until_asked_to_end(
        &mut self,
        status: &str,
        mut reload: impl AsyncFnMut(&Self) -> Result<()>,
    ) {
        loop {
            let asked = tokio::select! {
                asked = self.signals.next() => asked,
                () = self.notify.keep_watchdog() => continue,
            };
            match asked {
                SignalAction::Drain | SignalAction::EndNow => return,
                SignalAction::ReopenLog => self.logging.reopen(),
                SignalAction::Reload => {
                    self.notify.reloading();
                    self.logging.reopen();
                    match reload(self).await {
                        Ok(()) => tracing::info!("the configuration was read again"),
                        Err(error) => {
                            let error = format!("{error:#}");
                            tracing::error!(error, "the configuration stays as it was");
                        }
                    }
                    self.notify.ready(status);
                }
            }
        }
    }

    /// Waits until the work that is left is done, or until a second signal.
    pub(crate) async fn drain(
        &mut self,
        status: &str,
        work: impl Future<Output = ()>,
    ) -> DrainOutcome {
        tracing::info!(status, "ending");
        self.notify.stopping(status);
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                () = &mut work => return DrainOutcome::InTime,
                () = self.notify.keep_watchdog() => {}
                asked = self.signals.next() => match asked {
                    SignalAction::Drain | SignalAction::EndNow => return DrainOutcome::CutShort,
                    SignalAction::ReopenLog => self.logging.reopen(),
                    // There is nothing left to be configured.
                    SignalAction::Reload => {}
                },
            }
        }
    }
}
