//! Backups of the log on a schedule, in the daemon.
//!
//! In: `[store] backup_every`, `backup_dir` and `backup_keep`. Out: a file per backup, named by its
//! time, of which the newest stay; and how the last one went. A backup that fails, or that finds
//! something damaged, removes no older one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use server::daemon::Daemon;
use server::daemon::backup_status::LastBackup;
use sessions::mint;
use store::maintenance::{self, BackupOptions};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::home::make_private_dir;
use crate::time::file_timestamp;

const PREFIX: &str = "switchyard-";
const SUFFIX: &str = ".db";
/// After a failure: what is wrong may have been put right.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(60 * 60);
/// The clock is looked at so often: it may be set, and the machine may sleep.
const LOOK_EVERY: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Clone)]
pub(super) struct BackupSchedule {
    state: PathBuf,
    dir: PathBuf,
    every: Duration,
    keep: usize,
}

impl BackupSchedule {
    /// The schedule of the configuration, if it has one.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let store = &config.file.store;
        Some(Self {
            state: config.home.state.clone(),
            dir: config.backup_dir(),
            every: store.backup_every?.0,
            keep: store.backup_keep.max(1),
        })
    }

    /// Makes backups until `stop`. One that is due is made at once.
    pub(super) async fn run(self, daemon: Arc<Daemon>, stop: CancellationToken) {
        let mut wait = self.due_in();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait.min(LOOK_EVERY)) => {}
            }
            wait = wait.saturating_sub(LOOK_EVERY);
            if !wait.is_zero() {
                continue;
            }
            let schedule = self.clone();
            let made = tokio::task::spawn_blocking(move || schedule.make()).await;
            let made = made.unwrap_or_else(|error| Err(error.to_string()));
            let error = made.err();
            if let Some(error) = &error {
                let dir = self.dir.display();
                tracing::error!(%error, %dir, "the scheduled backup failed; `switchyard store \
                    check` says whether the log is sound");
            }
            wait = match &error {
                Some(_) => TRY_AGAIN_AFTER.min(self.every),
                None => self.due_in(),
            };
            daemon.backups.set(LastBackup { at: mint::now(), error });
        }
    }

    /// The time until the next backup, by the newest that is there.
    fn due_in(&self) -> Duration {
        let newest = self.made().into_iter().next_back();
        let made_at = newest.and_then(|path| path.metadata().ok()?.modified().ok());
        let Some(made_at) = made_at else { return Duration::ZERO };
        // One from the future says that the clock was set back.
        let age = SystemTime::now().duration_since(made_at).unwrap_or_default();
        self.every.saturating_sub(age)
    }

    fn make(&self) -> Result<(), String> {
        make_private_dir(&self.dir).map_err(|failure| failure.with_hint())?;
        let file = self.dir.join(format!("{PREFIX}{}{SUFFIX}", file_timestamp(mint::now())));
        let options = BackupOptions { overwrites: true };
        let report = maintenance::backup(&self.state, &file, options, &mut |_| {});
        let report = report.map_err(|error| error.to_string())?;
        if !report.findings.is_empty() {
            let n = report.findings.len();
            return Err(format!("{n} sessions are damaged; older backups are kept"));
        }
        let n_removed = self.remove_old();
        let file = file.display();
        tracing::info!(%file, sessions = report.n_sessions, n_removed, "the log was backed up");
        Ok(())
    }

    /// The backups that were made by schedule, the oldest first.
    fn made(&self) -> Vec<PathBuf> {
        let Ok(entries) = self.dir.read_dir() else { return Vec::new() };
        let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| is_own(Path::new(name)));
        let mut all: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_ours).collect();
        all.sort();
        all
    }

    fn remove_old(&self) -> usize {
        let made = self.made();
        let n_old = made.len().saturating_sub(self.keep);
        for path in &made[..n_old] {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "cannot remove an old backup");
            }
        }
        n_old
    }
}

/// Whether a file has the name of a scheduled backup: nothing else in the directory is touched.
fn is_own(name: &Path) -> bool {
    const FORM: &str = "dddd-dd-ddTdd-dd-ddZ";
    let time = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    time.is_some_and(|time| {
        let fits = |(have, form): (char, char)| match form {
            'd' => have.is_ascii_digit(),
            form => have == form,
        };
        time.len() == FORM.len() && time.chars().zip(FORM.chars()).all(fits)
    })
}

#[cfg(test)]
mod tests {
    //! Only what the schedule has made is ever removed.

    use super::*;

    #[test]
    fn only_names_of_scheduled_backups_are_taken_for_them() {
        let own = format!("{PREFIX}{}{SUFFIX}", file_timestamp(wire::Millis(1_700_000_000_123)));
        assert!(is_own(Path::new(&own)), "{own}");
        for other in ["switchyard-mine.db", "switchyard.db", "switchyard-2026.db", "notes"] {
            assert!(!is_own(Path::new(other)), "{other}");
        }
    }
}
