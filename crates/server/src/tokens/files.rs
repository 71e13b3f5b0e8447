//! The token table on disk: private files, replaced whole, changed by one process at a time.
//!
//! A file that others may read or that is not ours is refused, never mended: by then the
//! secret in it is known, and only its owner can say what to do.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rustix::fs::{FlockOperation, OFlags};
use serde::{Deserialize, Serialize};

use super::record::TokenRecord;
use super::{ADMIN, MAX_TOKENS, TokensError};

/// Limit of a file: the whole table with the longest names is a quarter of this.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// Changes take milliseconds; who waits longer than this waits for something that hangs.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
const LOCK_RETRY: Duration = Duration::from_millis(10);
const VERSION: u32 = 1;

#[derive(Debug)]
pub(super) struct TokenFiles {
    dir: PathBuf,
    /// By which it is known that another one has taken its place.
    dir_identity: (u64, u64),
    admin: PathBuf,
    table: PathBuf,
}

/// The metadata by which a change of a file is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenFileStamp {
    inode: u64,
    len: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Debug, Serialize, Deserialize)]
struct TokenTable {
    version: u32,
    tokens: Vec<TokenRecord>,
}

impl TokenFiles {
    pub(super) fn in_dir(dir: &Path) -> Result<Self, TokensError> {
        let failed = |what| move |source| TokensError::Io { what, path: dir.to_owned(), source };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(failed("make the directory"))?;
        let metadata = std::fs::metadata(dir).map_err(failed("look at"))?;
        let refused = |why| Err(TokensError::NotPrivate { path: dir.to_owned(), why });
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return refused("belongs to another user");
        }
        if metadata.mode() & 0o002 != 0 {
            return refused("can be written by everybody; run `chmod o-w` on it");
        }
        let (dir, dir_identity) = (dir.to_owned(), identity(&metadata));
        Ok(Self { admin: dir.join("token"), table: dir.join("tokens.json"), dir, dir_identity })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file that has the token of this name.
    pub(super) fn file_of(&self, name: &str) -> &Path {
        if name == ADMIN { &self.admin } else { &self.table }
    }

    /// Whether the directory was moved away, removed or replaced: nobody has changed the tokens.
    pub(super) fn is_dir_gone(&self) -> bool {
        match std::fs::metadata(&self.dir) {
            Ok(metadata) => identity(&metadata) != self.dir_identity,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    /// Keeps other processes from changing the files until it is dropped.
    pub(super) fn lock(&self) -> Result<File, TokensError> {
        if self.is_dir_gone() {
            return Err(TokensError::DirGone { path: self.dir.clone() });
        }
        let path = self.dir.join("tokens.lock");
        let failed = |source| TokensError::Io { what: "lock", path: path.clone(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(no_follow_flags()).open(&path).map_err(failed)?;
        let tries = LOCK_PATIENCE.as_millis() / LOCK_RETRY.as_millis();
        for _ in 0..tries {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOCK_RETRY),
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(TokensError::Busy { path })
    }

    /// The stamps of the two files, as far as they exist; `None` if that cannot be told.
    pub(super) fn stamps(&self) -> Option<[Option<TokenFileStamp>; 2]> {
        let stamp = |path: &Path| match std::fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some(TokenFileStamp {
                inode: metadata.ino(),
                len: metadata.len(),
                mode: metadata.mode(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        Some([stamp(&self.admin).ok()?, stamp(&self.table).ok()?])
    }

    pub(super) fn admin_token(&self) -> Result<Option<String>, TokensError> {
        let Some(bytes) = read(&self.admin)? else { return Ok(None) };
        let unreadable =
            |why: &str| TokensError::Unreadable { path: self.admin.clone(), why: why.to_owned() };
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not text"))?;
        let token = text.trim();
        // Somebody may put a token of their own making there, but not one that is guessed.
        const SHORTEST: usize = 32;
        if token.len() < SHORTEST || token.contains(char::is_whitespace) {
            return Err(unreadable("one token of at least 32 characters is expected"));
        }
        Ok(Some(token.to_owned()))
    }

    pub(super) fn put_admin_token(&self, token: &str) -> Result<(), TokensError> {
        self.replace(&self.admin, format!("{token}\n").as_bytes())
    }

    pub(super) fn admin_made(&self) -> Timestamp {
        let made = std::fs::symlink_metadata(&self.admin).and_then(|metadata| metadata.modified());
        made.ok().and_then(|made| Timestamp::try_from(made).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    pub(super) fn records(&self) -> Result<Vec<TokenRecord>, TokensError> {
        let Some(bytes) = read(&self.table)? else { return Ok(Vec::new()) };
        let unreadable = |why| TokensError::Unreadable { path: self.table.clone(), why };
        let table: TokenTable =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        if table.version != VERSION {
            return Err(unreadable(format!("version {} is not known", table.version)));
        }
        if table.tokens.len() > MAX_TOKENS {
            return Err(unreadable(format!("it has more than {MAX_TOKENS} tokens")));
        }
        Ok(table.tokens)
    }

    pub(super) fn put_records(&self, records: &[TokenRecord]) -> Result<(), TokensError> {
        let table = TokenTable { version: VERSION, tokens: records.to_vec() };
        let mut bytes = serde_json::to_vec_pretty(&table).map_err(|error| {
            TokensError::Unreadable { path: self.table.clone(), why: error.to_string() }
        })?;
        bytes.push(b'\n');
        self.replace(&self.table, &bytes)
    }

    /// Replaces a file atomically: either the old or the new one is there, whenever the power goes.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), TokensError> {
        let failed = |source| TokensError::Io { what: "write", path: path.to_owned(), source };
        let unfinished = path.with_extension("new");
        // Left by a process that died here; the lock says that no other is at it.
        let _ = std::fs::remove_file(&unfinished);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).custom_flags(no_follow_flags());
        let written = options.open(&unfinished).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, path)?;
            File::open(&self.dir)?.sync_all()
        });
        written.map_err(|error| {
            let _ = std::fs::remove_file(&unfinished);
            failed(error)
        })
    }
}

fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Reads a file that must be ours alone; none if there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, TokensError> {
    let failed = |source| TokensError::Io { what: "read", path: path.to_owned(), source };
    let refused = |why| TokensError::NotPrivate { path: path.to_owned(), why };
    let mut options = OpenOptions::new();
    let file = match options.read(true).custom_flags(no_follow_flags()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(refused("is a symbolic link; put the file itself there"));
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(refused("is not a regular file"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("belongs to another user"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(refused(
            "can be read by others, who may know it by now; delete it, and a new one is made",
        ));
    }
    let mut bytes = Vec::new();
    let n_bytes = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if n_bytes as u64 > MAX_FILE_BYTES {
        return Err(refused("is far too long"));
    }
    Ok(Some(bytes))
}

/// No symbolic link is followed, and no pipe in the file's place can make us wait.
fn no_follow_flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed()
}
