//! Records of sessions on disk, in a directory that several demo agents may use at once.
//!
//! In: what of a record is unsaved, and ids. Out: records and their heads. A session is one file of
//! JSON lines, its head first. Lines are appended; a whole file is written beside and put in place,
//! so that a reader never sees half a head. An id that could leave the directory names no session
//! there.
//!
//! Nobody tells an agent that a session is not wanted any more, unless a client deletes it while
//! the agent runs. So the files that were not used for long, and the oldest of too many, are removed
//! when an agent starts. Whose file is removed while it is in use writes it again: no locks are
//! needed, and a crash leaves nothing that the next start would not find.

use super::{DemoRecord, RecordHead, UnsavedPart};
use jiff::Timestamp;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

// Longer than any id we make, shorter than any file system's limit.
const MAX_ID_BYTES: usize = 128;

// A path and a title, as JSON in which each byte may be escaped.
const MAX_HEAD_BYTES: u64 = 64 * 1024;

// Limits of what is kept. Switchyard tells an agent that has forgotten a session what was said in
// it, so that little is lost with an old one.
const MAX_FILES: usize = 1000;
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
const MAX_UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);
// A draft exists for the moment in which it is written; this old, its writer has crashed.
const MAX_DRAFT_AGE: Duration = Duration::from_secs(60 * 60);

const EXTENSION: &str = "jsonl";
const DRAFT_EXTENSION: &str = "draft";
// Files of earlier versions, which cannot be read any more.
const OLD_EXTENSION: &str = "json";

/// Sessions on disk; without a directory nothing is kept.
#[derive(Debug, Clone)]
pub(in crate::demo) struct RecordStore {
    directory: Option<PathBuf>,
}

impl RecordStore {
    pub(in crate::demo) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    /// Writes what is `unsaved` of a session. Lines cannot be appended to a file that is gone.
    pub(in crate::demo) async fn write(&self, id: &str, unsaved: UnsavedPart) -> io::Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        blocking(move || match unsaved {
            UnsavedPart::Lines(lines) if lines.is_empty() => Ok(()),
            UnsavedPart::Lines(lines) => append(&path, &lines),
            UnsavedPart::WholeFile(text) => replace(&path, &text),
        })
        .await
    }

    /// The record of a session, which counts as used now; none, also if its file has no head that
    /// can be read: such a session is lost.
    pub(in crate::demo) async fn load(&self, id: &str) -> Option<DemoRecord> {
        let path = self.path(id)?;
        let text = blocking(move || {
            let mut file = OpenOptions::new().read(true).append(true).open(path)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            file.set_modified(SystemTime::now())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        });
        DemoRecord::from_text(&text.await.ok()?)
    }

    /// What a list shows of a session.
    pub(in crate::demo) async fn head(&self, id: &str) -> Option<RecordHead> {
        let path = self.path(id)?;
        let head = blocking(move || {
            let mut line = String::new();
            BufReader::new(File::open(path)?.take(MAX_HEAD_BYTES)).read_line(&mut line)?;
            Ok(line)
        });
        serde_json::from_str(&head.await.ok()?).ok()
    }

    pub(in crate::demo) async fn remove(&self, id: &str) -> io::Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        blocking(move || remove_if_there(&path)).await
    }

    /// The ids of all sessions here, each with the time at which it was used last. None is read.
    pub(in crate::demo) async fn list(&self) -> Vec<(String, Timestamp)> {
        let Some(directory) = self.directory.clone() else { return Vec::new() };
        let files = blocking(move || files_in(&directory)).await.unwrap_or_default();
        let session = |file: StateFile| {
            let id = file.path.file_stem()?.to_str()?.to_owned();
            let is_record = file.path.extension()? == EXTENSION;
            Some((id, Timestamp::try_from(file.used).ok()?)).filter(|_| is_record)
        };
        files.into_iter().filter_map(session).collect()
    }

    /// Removes what was not used for long and the oldest of too many, in the background.
    pub(in crate::demo) fn start_clean_up(&self) {
        if let Some(directory) = self.directory.clone() {
            // The next start tries again.
            tokio::task::spawn_blocking(move || clean_up(&directory));
        }
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_safe = !id.is_empty() && id.len() <= MAX_ID_BYTES && id.bytes().all(is_plain);
        self.directory.as_ref().filter(|_| is_safe).map(|it| it.join(format!("{id}.{EXTENSION}")))
    }
}

/// A file in the directory.
#[derive(Debug)]
struct StateFile {
    path: PathBuf,
    used: SystemTime,
    n_bytes: u64,
}

fn files_in(directory: &Path) -> io::Result<Vec<StateFile>> {
    let file = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(StateFile { path: entry.path(), used: about.modified().ok()?, n_bytes: about.len() })
    };
    Ok(fs::read_dir(directory)?.filter_map(file).collect())
}

fn clean_up(directory: &Path) {
    let mut files = files_in(directory).unwrap_or_default();
    files.retain(|file| is_ours(&file.path));
    files.sort_by_key(|file| std::cmp::Reverse(file.used));
    let (mut n_kept, mut n_bytes_kept) = (0, 0);
    for StateFile { path, used, n_bytes } in files {
        // A time in the future is no reason to remove anything.
        let unused = used.elapsed().unwrap_or_default();
        let has_room = n_kept < MAX_FILES && n_bytes_kept + n_bytes <= MAX_TOTAL_BYTES;
        let is_kept = match path.extension().and_then(|it| it.to_str()) {
            Some(DRAFT_EXTENSION) => unused <= MAX_DRAFT_AGE,
            _ => has_room && unused <= MAX_UNUSED,
        };
        if is_kept {
            n_kept += 1;
            n_bytes_kept += n_bytes;
        } else {
            let _ = remove_if_there(&path);
        }
    }
}

/// Whether a file has a name that only a demo agent gives: the directory may be anybody's.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((id, extension)) = name.split_once('.') else { return false };
    let extension = extension.rsplit('.').next().unwrap_or_default();
    let mut parts = id.split('-');
    let is_hex = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|it| it.is_ascii_hexdigit()))
    };
    [EXTENSION, OLD_EXTENSION, DRAFT_EXTENSION].contains(&extension)
        && parts.next() == Some("demo")
        && (0..3).all(|_| is_hex(parts.next()))
        && parts.next().is_none()
}

fn append(path: &Path, lines: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(lines.as_bytes())
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    // The process id keeps two agents on one directory from writing the same draft.
    let draft = path.with_extension(format!("{}.{DRAFT_EXTENSION}", std::process::id()));
    let replaced = fs::write(&draft, text).and_then(|()| fs::rename(&draft, path));
    if replaced.is_err() {
        let _ = remove_if_there(&draft);
    }
    replaced
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
        _ => Ok(()),
    }
}

/// Work with files, on a thread where it may wait for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests;
