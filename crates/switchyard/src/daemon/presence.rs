//! One daemon at a time, and how others of this user find it.
//!
//! The lock is the truth: whoever holds it is the daemon. `daemon.json` beside it says where
//! it listens, `daemon.sock` is where our own commands talk to it.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::listeners::Listeners;
use crate::home::make_private_dir;
use crate::outcome::{ERROR, Failure};

/// A running daemon's process and addresses, as `daemon.json` has them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DaemonInfo {
    pub(crate) pid: u32,
    pub(crate) version: String,
    /// Milliseconds since the Unix epoch.
    pub(crate) since: i64,
    pub(crate) http: String,
    pub(crate) tcp: Vec<String>,
    pub(crate) unix: Vec<PathBuf>,
    /// The path of its configuration, whether there is a file or not; missing in earlier versions.
    #[serde(default)]
    pub(crate) config: Option<PathBuf>,
}

/// The lock that makes this process the daemon, until dropped.
#[derive(Debug)]
pub(crate) struct DaemonLock {
    run: PathBuf,
    /// Locked for as long as it is open.
    _lock: File,
}

impl DaemonLock {
    pub(crate) fn take(run: &Path) -> Result<Self, Failure> {
        make_private_dir(run)?;
        let path = run.join("daemon.lock");
        let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
        if !try_lock(&lock) {
            let failure = match find(run) {
                Some(other) => {
                    let at = format!("process {} at {}", other.pid, other.http);
                    Failure::new(ERROR, format!("a daemon runs already: {at}"))
                }
                None => Failure::new(ERROR, "a daemon runs already"),
            };
            return Err(failure.hint("`switchyard daemon stop` ends it"));
        }
        Ok(Self { run: run.to_owned(), _lock: lock })
    }

    /// Writes the daemon's addresses into `daemon.json`.
    pub(crate) fn announce(&self, listeners: &Listeners, config: &Path) -> Result<(), Failure> {
        let daemon_info = DaemonInfo {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            since: sessions::mint::now().0,
            http: listeners.base(),
            tcp: listeners.tcp_addresses(),
            unix: listeners.unix.iter().map(|(path, _)| path.clone()).collect(),
            config: Some(config.to_owned()),
        };
        let (path, new) = (self.run.join("daemon.json"), self.run.join("daemon.json.new"));
        let text = wire::Json::of(&daemon_info);
        let written =
            File::options().create(true).truncate(true).write(true).mode(0o600).open(&new);
        let written = written.and_then(|mut file| file.write_all(text.as_str().as_bytes()));
        written.and_then(|()| std::fs::rename(&new, &path)).map_err(|error| {
            Failure::new(ERROR, format!("cannot write {}: {error}", path.display()))
                .hint_about_home(error.kind())
        })
    }

    /// Removes the addresses, so that others no longer connect; the lock is held until we are gone.
    pub(crate) fn withdraw(&self) {
        let _ = std::fs::remove_file(self.run.join("daemon.json"));
    }
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// Tries to take the lock, several times: a process that only checks it has it for a moment, too.
fn try_lock(lock: &File) -> bool {
    const TRIES: u32 = 5;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
    (0..TRIES).any(|n| {
        if n > 0 {
            std::thread::sleep(PAUSE);
        }
        flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

/// The daemon that runs, if one does.
pub(crate) fn find(run: &Path) -> Option<DaemonInfo> {
    let text = std::fs::read(run.join("daemon.json")).ok()?;
    let daemon_info: DaemonInfo = serde_json::from_slice(&text).ok()?;
    is_held(run).then_some(daemon_info)
}

/// Whether some process is the daemon.
pub(crate) fn is_held(run: &Path) -> bool {
    let Ok(lock) = File::open(run.join("daemon.lock")) else { return false };
    flock(&lock, FlockOperation::NonBlockingLockShared).is_err()
}

/// The socket on which our own commands talk to the daemon.
pub(crate) fn private_socket(run: &Path) -> PathBuf {
    run.join("daemon.sock")
}
