//! How the last scheduled backup of the log went.

use std::sync::Mutex;

use wire::Millis;

use crate::locking::Locking as _;

/// Written by whoever makes the backups, read by whoever reports on the daemon.
#[derive(Debug, Default)]
pub struct BackupStatus(Mutex<Option<LastBackup>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastBackup {
    pub at: Millis,
    /// Why there is none, or why it is not sound.
    pub error: Option<String>,
}

impl BackupStatus {
    pub fn set(&self, last: LastBackup) {
        *self.0.locked() = Some(last);
    }

    /// `None` before the first one since the daemon was started.
    pub fn last(&self) -> Option<LastBackup> {
        self.0.locked().clone()
    }
}
