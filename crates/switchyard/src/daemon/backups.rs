//! Backups of the log on a schedule, in the daemon.
//!
//! In: `[store] backup_every`, `backup_dir` and `backup_keep`. Out: a file per backup, named by its
//! time, of which the newest stay; and how the last one went. A backup that fails, or that finds
//! something damaged, removes no older one; and the last one before the log has lost much of its size
//! stays for a while, because nobody may have noticed the loss yet.

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

/// The last backup that is so many times as large as the newest is kept beside the newest ones: a log
/// that was pruned may have become as small, one that was lost has.
const LOSS_FACTOR: u64 = 2;
/// For so long: whoever misses something does so within a month, and what was deleted is to be gone
/// from backups at some time.
const LOSS_NOTICED_WITHIN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A backup that was made by schedule.
#[derive(Debug, Clone)]
struct MadeBackup {
    path: PathBuf,
    n_bytes: u64,
    age: Duration,
}

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
            // Trying again brings nothing back that is lost.
            let is_due_again = made.is_err();
            let error = made.unwrap_or_else(Some);
            if let Some(error) = &error {
                let dir = self.dir.display();
                tracing::error!(%error, %dir, "the scheduled backup failed; `switchyard store \
                    check` says whether the log is sound");
            }
            wait = match is_due_again {
                true => TRY_AGAIN_AFTER.min(self.every),
                false => self.due_in(),
            };
            daemon.backups.set(LastBackup { at: mint::now(), error });
        }
    }

    /// The time until the next backup, by the newest that is there.
    fn due_in(&self) -> Duration {
        let newest = self.made().into_iter().next_back();
        newest.map_or(Duration::ZERO, |newest| self.every.saturating_sub(newest.age))
    }

    /// Makes one. Says what is wrong with it, if it is whole all the same.
    fn make(&self) -> Result<Option<String>, String> {
        make_private_dir(&self.dir).map_err(|failure| failure.with_hint())?;
        let file = self.dir.join(format!("{PREFIX}{}{SUFFIX}", file_timestamp(mint::now())));
        let options = BackupOptions { overwrites: true };
        let report = maintenance::backup(&self.state, &file, options, &mut |_| {});
        let report = report.map_err(|error| error.to_string())?;
        let n_lost = report.findings.iter().filter(|finding| finding.is_lost()).count();
        match report.findings.len() - n_lost {
            0 if n_lost > 0 => {
                return Ok(Some(format!(
                    "{n_lost} sessions are missing from the log; older backups are kept until these \
                     are deleted"
                )));
            }
            0 => {}
            n => return Err(format!("{n} sessions are damaged; older backups are kept")),
        }
        let n_removed = self.remove_old();
        let file = file.display();
        tracing::info!(%file, sessions = report.n_sessions, n_removed, "the log was backed up");
        Ok(None)
    }

    /// The backups that were made by schedule, the oldest first.
    fn made(&self) -> Vec<MadeBackup> {
        let Ok(entries) = self.dir.read_dir() else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut all: Vec<MadeBackup> = paths.filter_map(MadeBackup::read).collect();
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all
    }

    fn remove_old(&self) -> usize {
        let made = self.made();
        let old = old_of(&made, self.keep);
        for MadeBackup { path, .. } in &old {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "cannot remove an old backup");
            }
        }
        old.len()
    }
}

impl MadeBackup {
    /// Nothing if it is not a backup of the schedule.
    fn read(path: PathBuf) -> Option<Self> {
        let is_ours = path.file_name().is_some_and(|name| is_own(Path::new(name)));
        let about = path.metadata().ok().filter(|_| is_ours)?;
        // One from the future says that the clock was set back.
        let age = SystemTime::now().duration_since(about.modified().ok()?).unwrap_or_default();
        Some(Self { n_bytes: about.len(), age, path })
    }
}

/// Those of the backups `made`, the oldest first, that are to go where `keep` are kept.
fn old_of(made: &[MadeBackup], keep: usize) -> Vec<&MadeBackup> {
    let n_now = made.last().map_or(0, |newest| newest.n_bytes);
    let is_before_loss = |backup: &&MadeBackup| {
        backup.n_bytes > n_now.saturating_mul(LOSS_FACTOR) && backup.age < LOSS_NOTICED_WITHIN
    };
    let before_loss = made.iter().rfind(is_before_loss).map(|backup| &backup.path);
    let old = made.iter().take(made.len().saturating_sub(keep));
    old.filter(|backup| Some(&backup.path) != before_loss).collect()
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
    //! Only what the schedule has made is ever removed, and not all that a lost log can be had back
    //! from.

    use super::*;

    fn made(sizes: &[u64], age: Duration) -> Vec<MadeBackup> {
        let backup = |(n, n_bytes): (usize, &u64)| MadeBackup {
            path: PathBuf::from(n.to_string()),
            n_bytes: *n_bytes,
            age,
        };
        sizes.iter().enumerate().map(backup).collect()
    }

    fn removed(sizes: &[u64], keep: usize, age: Duration) -> Vec<PathBuf> {
        let made = made(sizes, age);
        old_of(&made, keep).into_iter().map(|backup| backup.path.clone()).collect()
    }

    #[test]
    fn the_oldest_go() {
        assert_eq!(removed(&[9, 9, 9, 5], 2, Duration::ZERO), ["0", "1"].map(PathBuf::from));
        assert_eq!(removed(&[9], 2, Duration::ZERO), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn the_last_one_before_a_loss_stays_until_it_was_noticed() {
        let after_loss = [100, 200, 10, 11, 12];
        assert_eq!(removed(&after_loss, 2, Duration::ZERO), ["0", "2"].map(PathBuf::from));
        let noticed = removed(&after_loss, 2, LOSS_NOTICED_WITHIN);
        assert_eq!(noticed, ["0", "1", "2"].map(PathBuf::from));
    }

    #[test]
    fn only_names_of_scheduled_backups_are_taken_for_them() {
        let own = format!("{PREFIX}{}{SUFFIX}", file_timestamp(wire::Millis(1_700_000_000_123)));
        assert!(is_own(Path::new(&own)), "{own}");
        for other in ["switchyard-mine.db", "switchyard.db", "switchyard-2026.db", "notes"] {
            assert!(!is_own(Path::new(other)), "{other}");
        }
    }
}
