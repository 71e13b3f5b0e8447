//! The command line of `switchyard store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
#[command(after_help = "Exit codes: 0 all is well, 1 an error, 6 something is damaged.

Examples:
  switchyard store check                              also while the daemon runs
  switchyard store backup ~/switchyard.db             also while the daemon runs
  switchyard store check --file ~/switchyard.db       is that backup sound?
  switchyard daemon stop && switchyard store repair   saves what can be read
  switchyard store restore ~/switchyard.db            the sessions of that backup
  switchyard store compact                            gives free space back to the disk")]
pub(crate) enum StoreVerb {
    /// Check the log: every session, every event; exit code 6 if something is damaged
    Check(CheckArgs),
    /// Write a backup of all sessions to a file, also while the daemon runs
    Backup(BackupArgs),
    /// Replace the log by a backup; the old files are kept
    Restore(RestoreArgs),
    /// Make a damaged log anew from everything in it that can be read; the old files are kept
    Repair {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Give the space of deleted sessions back to the disk
    Compact {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is changed. Beside a daemon it reads in portions, and holds nobody up.

Examples:
  switchyard store check
  switchyard store check --json | jq '.damaged[].session'
  switchyard store check --file backup.db && echo sound"
)]
pub(crate) struct CheckArgs {
    /// Check this database instead, such as a backup
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Check the structure of a large log completely also while others use it
    #[arg(long, conflicts_with = "file")]
    pub(crate) full: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "FILE appears when it is complete, for you alone (0600). Each session in it was
checked on the way. Attachments, tokens and the configuration are not in it.

Examples:
  switchyard store backup ~/backups/switchyard.db
  switchyard store backup /mnt/disk/switchyard.db --force"
)]
pub(crate) struct BackupArgs {
    /// The file to write
    pub(crate) file: PathBuf,
    /// Replace FILE if it is there
    #[arg(short, long)]
    pub(crate) force: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "No daemon and no other command may use the log. Sessions that are newer than the
backup are gone from the log; the files it had are kept beside it.

Examples:
  switchyard daemon stop
  switchyard store restore ~/backups/switchyard.db
  switchyard daemon start"
)]
pub(crate) struct RestoreArgs {
    /// The backup
    pub(crate) file: PathBuf,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
