//! The files of one session, as tools see them.
//!
//! In: paths as a model names them. Out: text, or a sentence for the model.
//!
//! A file is read from the client when it offers that, because an editor may hold what is not
//! on the disk yet, and written through it for the same reason; otherwise, and when the client
//! cannot, we do it ourselves. Either way the path is inside the session's roots, links
//! resolved.
//!
//! Always true: a file that exists is changed only as the model last saw it. What it saw is
//! compared again at the moment of the change, however long a person took to allow it. Several
//! files are changed together or, as far as the disk lets us, not at all.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bus::connection::CallError;
use roots::walk::{WalkStop, stoppable};
use roots::{FileFacts, FileKind, ResolvedPath, Roots};
use serde_json::json;
use wire::ToolKind;

use super::client::AcpClient;
use super::lock;
use super::tool_call::{CallNeed, ToolError};

mod changing;
pub(super) mod difference;
mod similar_names;
pub(super) mod text;

pub(super) use changing::PlannedFileChange;
pub(super) use text::FileText;
use text::TextDigest;

/// Largest text: more is nothing that a model reads or an editor shows.
pub(super) const MAX_TEXT_BYTES: u64 = 10 << 20;
const WALK_WITHIN: Duration = Duration::from_secs(20);
/// A session that reads more files has to read the oldest again before it changes them.
const MAX_SEEN: usize = 4096;

/// The files of one session. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Files {
    shared: Arc<FilesState>,
}

#[derive(Debug)]
struct FilesState {
    cwd: PathBuf,
    roots: Roots,
    client: AcpClient,
    seen: Mutex<SeenFiles>,
    /// Looking at a file and changing it is one step: only one call does so at a time.
    change_lock: tokio::sync::Mutex<()>,
}

impl Files {
    /// `cwd` is one of the roots, as the client named it, or inside one.
    pub fn new(cwd: PathBuf, roots: Roots, client: AcpClient) -> Self {
        let (seen, change_lock) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { shared: Arc::new(FilesState { cwd, roots, client, seen, change_lock }) }
    }

    /// Resolves a path of a model: absolute, or relative to the session's directory.
    pub(super) async fn resolve(&self, given: &str) -> Result<ResolvedPath, ToolError> {
        let given = given.strip_prefix("file://").unwrap_or(given).to_owned();
        let place = self.blocking(move |shared| shared.roots.resolve(&shared.cwd, &given)).await?;
        place.map_err(|error| match error {
            roots::RootsError::Outside(_) => ToolError(format!(
                "{error}; only files inside these can be used: {}",
                self.shared.root_names()
            )),
            _ => ToolError::new(error),
        })
    }

    /// The path for people: relative to the session's directory if it is inside.
    pub(super) fn shown(&self, place: &ResolvedPath) -> String {
        match place.path().strip_prefix(&self.shared.cwd) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => place.path().display().to_string(),
        }
    }

    pub(super) async fn look(&self, place: &ResolvedPath) -> Result<Option<FileFacts>, ToolError> {
        let at = place.clone();
        self.blocking(move |shared| shared.roots.look(&at)).await?.map_err(ToolError::new)
    }

    /// The bytes on the disk.
    pub(super) async fn bytes(&self, place: &ResolvedPath, max: u64) -> Result<Vec<u8>, ToolError> {
        let at = place.clone();
        self.blocking(move |shared| shared.roots.read(&at, max)).await?.map_err(ToolError::new)
    }

    /// The text of a file; none where there is none.
    pub(super) async fn read(&self, place: &ResolvedPath) -> Result<Option<FileText>, ToolError> {
        let shown = self.shown(place);
        self.check_denied(ToolKind::Read, place.path()).await?;
        let on_disk = match self.look(place).await? {
            None => None,
            Some(facts) if facts.kind == FileKind::File => {
                Some(self.bytes(place, MAX_TEXT_BYTES).await?)
            }
            Some(facts) if facts.kind == FileKind::Directory => {
                let why = "is a directory; use `list` to see what is in it";
                return Err(ToolError(format!("`{shown}` {why}")));
            }
            Some(_) => {
                return Err(ToolError(format!("`{shown}` is not a regular file")));
            }
        };
        if let Some(bytes) = &on_disk
            && text::is_binary(bytes)
        {
            let n_bytes = bytes.len();
            return Err(ToolError(format!(
                "`{shown}` is a binary file of {n_bytes} bytes, not text"
            )));
        }
        match self.asked_client(place).await? {
            // Clients do not tell an empty buffer from none.
            Some(text) if text.is_empty() && on_disk.is_none() => Ok(None),
            Some(text) if text.len() as u64 > MAX_TEXT_BYTES => Err(ToolError(format!(
                "`{shown}` is larger than {} MiB in the editor",
                MAX_TEXT_BYTES >> 20
            ))),
            Some(text) => Ok(Some(FileText::new(text))),
            None => match on_disk.map(String::from_utf8) {
                None => Ok(None),
                Some(Ok(text)) => Ok(Some(FileText::new(text))),
                Some(Err(_)) => Err(ToolError(format!("`{shown}` is not valid UTF-8 text"))),
            },
        }
    }

    /// As [`read`](Self::read); where there is none, says what there is instead.
    pub(super) async fn read_existing(&self, place: &ResolvedPath) -> Result<FileText, ToolError> {
        match self.read(place).await? {
            Some(text) => Ok(text),
            None => Err(self.missing(place).await),
        }
    }

    /// A file that exists and is as the model last saw it.
    pub(super) async fn read_seen(&self, place: &ResolvedPath) -> Result<FileText, ToolError> {
        let text = self.read_existing(place).await?;
        self.check_seen(place, &text)?;
        Ok(text)
    }

    /// Notes that the model has seen this text.
    pub(super) fn note(&self, place: &ResolvedPath, text: &FileText) {
        lock(&self.shared.seen).note(place.real(), text.digest());
    }

    pub(super) fn check_seen(
        &self,
        place: &ResolvedPath,
        text: &FileText,
    ) -> Result<(), ToolError> {
        let shown = self.shown(place);
        match lock(&self.shared.seen).of(place.real()) {
            Some(digest) if digest == text.digest() => Ok(()),
            Some(_) => Err(ToolError(format!(
                "`{shown}` has changed since you read it: read it again, then change it"
            ))),
            None => Err(ToolError(format!(
                "you have not read `{shown}` yet: read it first, then change it"
            ))),
        }
    }

    /// The error for a file that does not exist, with similar names that do.
    pub(super) async fn missing(&self, place: &ResolvedPath) -> ToolError {
        let (at, shown) = (place.clone(), self.shown(place));
        let like = self.blocking(move |shared| similar_names::similar(&shared.roots, &at)).await;
        let like: Vec<_> =
            like.unwrap_or_default().iter().map(|like| format!("`{}`", self.shown(like))).collect();
        match like.as_slice() {
            [] => ToolError(format!("`{shown}` does not exist")),
            like => {
                ToolError(format!("`{shown}` does not exist; did you mean {}?", like.join(" or ")))
            }
        }
    }

    /// The permission that changing these files takes.
    pub(super) fn need_to_change(&self, places: &[&ResolvedPath]) -> CallNeed {
        let mut special: Vec<_> = places
            .iter()
            .filter(|place| is_protected(place))
            .map(|place| self.shown(place))
            .collect();
        special.sort();
        special.dedup();
        let key = match special.as_slice() {
            [] => "edit".to_owned(),
            special => format!("edit:protected:{}", special.join(",")),
        };
        CallNeed::Permission { key }
    }

    /// Waits until no other call changes files.
    pub(super) async fn lock_changes(&self) -> ChangePermit<'_> {
        self.shared.change_lock.lock().await
    }

    /// Walks through directories, not longer than [`WALK_WITHIN`]. The walk ends soon after nobody
    /// waits for it.
    pub(super) async fn walk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Roots, &WalkStop) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        stoppable(WALK_WITHIN, async |stop| {
            self.blocking(move |shared| work(&shared.roots, &stop)).await
        })
        .await
    }

    /// Asks a client that has rules about an access without its help. An error says which rule
    /// denies it.
    pub(super) async fn check_denied(&self, kind: ToolKind, path: &Path) -> Result<(), ToolError> {
        let deed = json!({ "kind": kind, "paths": [path.to_string_lossy()] });
        match self.shared.client.denial(deed).await {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(self.denied(kind, path, &why)),
            Err(error) => Err(ToolError(format!(
                "the client could not be asked about `{}`: {error}",
                path.display()
            ))),
        }
    }

    fn denied(&self, kind: ToolKind, path: &Path, why: &str) -> ToolError {
        let shown = path.strip_prefix(&self.shared.cwd).unwrap_or(path).display();
        ToolError(format!("`{shown}` may not be {}: {why}", denied_participle(kind)))
    }

    async fn asked_client(&self, place: &ResolvedPath) -> Result<Option<String>, ToolError> {
        let client = &self.shared.client;
        let Some(path) = place.path().to_str().filter(|_| client.can.reads_files) else {
            return Ok(None);
        };
        match client.read_text(path).await {
            Ok(text) => Ok(Some(text)),
            Err(CallError::Refused(error)) if error.is_denied() => {
                Err(self.denied(ToolKind::Read, place.path(), &error.message))
            }
            // It does not have the file, or not as text; the disk may.
            Err(CallError::Refused(error)) => {
                tracing::debug!(path, %error, "the client does not read a file");
                Ok(None)
            }
            Err(error) => Err(ToolError(format!(
                "the client could not be asked for `{}`: {error}",
                self.shown(place)
            ))),
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FilesState) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let shared = self.shared.clone();
        tokio::task::spawn_blocking(move || work(&shared)).await.map_err(ToolError::new)
    }
}

/// Whether a file there makes somebody run something later: hooks, shells, editors, agents. Allowing
/// edits for a session must not mean these: each is asked about by its own name, also where nothing
/// is there yet.
fn is_protected(place: &ResolvedPath) -> bool {
    let n_below = place.relative().components().count();
    let root = place.real().ancestors().nth(n_below);
    root.is_some_and(|root| roots::is_protected(root, place.real()))
}

/// The participle for an access that was denied.
fn denied_participle(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Edit => "changed",
        ToolKind::Delete => "deleted",
        ToolKind::Move => "moved",
        _ => "read",
    }
}

/// The right to change files, held by one call at a time.
pub(super) type ChangePermit<'a> = tokio::sync::MutexGuard<'a, ()>;

impl FilesState {
    fn root_names(&self) -> String {
        let names = self.roots.paths();
        names.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
    }

    /// Whether `place` is still where its path leads.
    fn is_still(&self, place: &ResolvedPath) -> bool {
        let path: &Path = place.path();
        let again = path.to_str().and_then(|path| self.roots.resolve(&self.cwd, path).ok());
        again.is_some_and(|again| again.real() == place.real())
    }
}

/// The files that a model has seen, with a digest of what it saw, and when.
#[derive(Debug, Default)]
struct SeenFiles {
    files: HashMap<PathBuf, (TextDigest, u64)>,
    n_notes: u64,
}

impl SeenFiles {
    fn note(&mut self, path: &Path, digest: TextDigest) {
        self.n_notes += 1;
        self.files.insert(path.to_owned(), (digest, self.n_notes));
        if self.files.len() > MAX_SEEN {
            let oldest = self.files.iter().min_by_key(|(_, (_, noted))| *noted);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                self.files.remove(&path);
            }
        }
    }

    fn of(&self, path: &Path) -> Option<TextDigest> {
        self.files.get(path).map(|(digest, _)| *digest)
    }

    fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }
}

#[cfg(test)]
mod tests;
