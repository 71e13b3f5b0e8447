//! Claims as locked files: `claims/<session>`, with the owner's pid inside.
//!
//! The lock is an flock on an open file, which the kernel drops with the process, and
//! which conflicts between two logs in one process too. The file is removed on release;
//! a claim therefore counts only if the locked file is still the one under the name.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::SessionId;

use crate::{Claim, ClaimOwner, StoreError, private_file};

/// A pid as text is shorter; more than this is not ours.
const MAX_PID_TEXT: u64 = 32;

#[derive(Debug)]
pub(super) struct FileClaims {
    dir: PathBuf,
    held: Mutex<HashSet<SessionId>>,
}

impl FileClaims {
    pub(super) fn new(dir: PathBuf) -> Arc<Self> {
        Arc::new(Self { dir, held: Mutex::default() })
    }

    pub(super) fn claim(self: &Arc<Self>, session: SessionId) -> Result<Claim, StoreError> {
        let path = self.dir.join(session.as_str());
        loop {
            let mut file = private_file::open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::InUse { session, pid: pid_in(&file) });
                }
                Err(TryLockError::Error(error)) => {
                    return Err(StoreError::io("lock", &path)(error));
                }
            }
            // The owner before us may have removed the file between our open and our lock.
            if !is_same_file(&file, &path) {
                continue;
            }
            // The pid is for people; the lock is what counts, so a full disk is no reason
            // to refuse.
            let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
            self.held().insert(session);
            let claim = FileClaim { session, path, _locked: file, claims: Arc::clone(self) };
            return Ok(Claim::new(session, claim));
        }
    }

    /// Looks without claiming, so that nobody who claims just now is kept from it for longer than
    /// the look takes.
    pub(super) fn owner(&self, session: SessionId) -> Result<ClaimOwner, StoreError> {
        if self.held().contains(&session) {
            return Ok(ClaimOwner::ThisLog);
        }
        let path = self.dir.join(session.as_str());
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ClaimOwner::Nobody),
            Err(error) => return Err(StoreError::io("open", &path)(error)),
        };
        match file.try_lock_shared() {
            // The process that wrote it was killed.
            Ok(()) => Ok(ClaimOwner::Nobody),
            Err(TryLockError::WouldBlock) => Ok(ClaimOwner::Other { pid: pid_in(&file) }),
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &path)(error)),
        }
    }

    fn held(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct FileClaim {
    session: SessionId,
    path: PathBuf,
    _locked: File,
    claims: Arc<FileClaims>,
}

impl Drop for FileClaim {
    fn drop(&mut self) {
        self.claims.held().remove(&self.session);
        // Removed while still locked, so nobody can have locked it in the meantime.
        let _ = fs::remove_file(&self.path);
    }
}

fn pid_in(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(MAX_PID_TEXT).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn is_same_file(file: &File, path: &PathBuf) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(named)) => ours.ino() == named.ino() && ours.dev() == named.dev(),
        _ => false,
    }
}
