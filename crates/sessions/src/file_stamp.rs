//! A stamp that tells one state of a file from another without reading it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    /// Its length, and when it was modified. Of a directory only its identity counts: work in it
    /// makes it no other.
    contents: Option<(u64, i64, i64)>,
}

impl FileStamp {
    /// The stamp of the file that a path leads to, also by links, if there is one. It may block.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let about = std::fs::metadata(path).ok()?;
        let contents = || (about.size(), about.mtime(), about.mtime_nsec());
        Some(Self {
            device: about.dev(),
            inode: about.ino(),
            contents: (!about.is_dir()).then(contents),
        })
    }

    /// When it was modified, in whole seconds since the epoch.
    pub(crate) fn modified(&self) -> Duration {
        let seconds = self.contents.and_then(|(_, seconds, _)| u64::try_from(seconds).ok());
        Duration::from_secs(seconds.unwrap_or(0))
    }
}
