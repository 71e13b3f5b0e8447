//! Files that are uploaded before a run: into its project, or beside all projects.
//!
//! In: forms (`multipart/form-data`) as the front end sends them. Out: files, and where they
//! are. `POST /api/projects/{id}/upload` puts them into the project, where a run names them as
//! `attachments`. `POST /api/upload` keeps images for a day; a run takes them over as
//! `imagePaths`.
//!
//! Always true: a name from a client becomes one plain name; nothing that is there is
//! overwritten, and no link followed. A file that does not arrive whole is removed.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptionsExt as _};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::Runs;
use super::multipart::{MultipartForm, PartHead};
use super::project::{Project, UPLOADS, is_plain_name};
use crate::attachments::{self, MAX_FILE_BYTES};
use crate::dir_handles::{self, make_dir, no_follow_options, open_dir};
use crate::input::PathParams;
use crate::principal::{Principal, Role};
use crate::problem::{Problem, kinds, shown};

/// The fields of files and of images.
const FILES: &str = "files";
const IMAGES: &str = "images";
/// All files of a form. The front end sends at most twelve at a time.
pub(crate) const MAX_FORM_BYTES: u64 = 64 << 20;
const MAX_FILES: usize = 64;
/// Directories below the project's that a form may name.
const MAX_DEPTH: usize = 8;
const MAX_DIR_BYTES: usize = 1 << 10;
/// Names that are tried for a file: `a.png`, `a-2.png`, …
const MAX_NUMBERED_NAMES: usize = 1000;
/// Age at which an image that no run took over is removed.
pub(super) const MAX_UPLOAD_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// `files` of a form, into a project.
pub(super) async fn upload_files(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    principal.require(Role::Operator)?;
    let form = MultipartForm::of(&headers, body)?;
    let _place = runs.daemon.load.transfer(&principal.name)?;
    let project = Arc::new(runs.projects.open(&principal, &id).await?);
    let files = receive(form, &project, FILES).await?;
    let files: Vec<Value> = files.iter().map(|file| file.to_json(&file.path)).collect();
    Ok(Json(json!({ "files": files })))
}

/// `images` of a form, for a run that is still to come.
pub(super) async fn upload_images(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    principal.require(Role::Operator)?;
    let form = MultipartForm::of(&headers, body)?;
    let _place = runs.daemon.load.transfer(&principal.name)?;
    let root = runs.projects.root.clone();
    // A failure is logged, and does not concern this client.
    let _ = tokio::task::spawn_blocking(move || sweep(&root)).await;
    let project = Arc::new(runs.projects.new_upload(&principal).await?);
    let mut place = UploadDirectory { path: project.path.clone(), is_kept: false };
    let files = receive(form, &project, IMAGES).await?;
    place.is_kept = true;
    let told = |file: &PartialFile| file.to_json(&project.path.join(&file.path));
    let files: Vec<Value> = files.iter().map(told).collect();
    Ok(Json(json!({ "files": files })))
}

/// A directory for images that have not all arrived; removed unless they do, also where whoever
/// sends them goes away.
struct UploadDirectory {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for UploadDirectory {
    fn drop(&mut self) {
        if !self.is_kept {
            // What stays is swept like any that no run names.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Puts the files of a form into a project's directory, or the one below it that the form names
/// first. All of them arrive, or none.
async fn receive(
    mut form: MultipartForm,
    project: &Arc<Project>,
    files: &str,
) -> Result<Vec<PartialFile>, Problem> {
    let mut whole: Vec<PartialFile> = Vec::new();
    let mut below = PathBuf::new();
    while let Some(head) = form.next().await? {
        if head.name == "dir" {
            let text = form.text("dir", MAX_DIR_BYTES).await?;
            below = checked_dir(&text)?;
        } else if head.name == files || head.name == "file" {
            if whole.len() >= MAX_FILES {
                let why = format!("a form has at most {MAX_FILES} files");
                return Err(Problem::bad_request(why));
            }
            let file = receive_file(&mut form, &head, project.clone(), &below).await?;
            if files == IMAGES && !file.is_image() {
                let name = shown(&file.given);
                return Err(Problem::bad_request(format!("`{name}` is no PNG, JPEG, GIF or WebP")));
            }
            whole.push(file);
        }
        // Other fields are skipped: the front end has more of them with every version.
    }
    match whole.is_empty() {
        true => Err(Problem::bad_request(format!("the form has no `{files}`"))),
        false => Ok(whole.into_iter().map(PartialFile::keep).collect()),
    }
}

/// A directory below the project, of plain names.
fn checked_dir(text: &str) -> Result<PathBuf, Problem> {
    let parts = text.split('/').filter(|part| !part.is_empty()).take(MAX_DEPTH + 1);
    let parts: Vec<&str> = parts.collect();
    let is_fine = parts.len() <= MAX_DEPTH && parts.iter().all(|part| is_plain_name(part));
    match is_fine {
        true => Ok(parts.iter().collect()),
        false => Err(Problem::bad_request(format!(
            "`dir` is not at most {MAX_DEPTH} names of letters, digits, `.`, `_` and `-`"
        ))),
    }
}

async fn receive_file(
    form: &mut MultipartForm,
    head: &PartHead,
    project: Arc<Project>,
    below: &Path,
) -> Result<PartialFile, Problem> {
    let given = head.file_name.as_deref().unwrap_or_default();
    let given = attachments::shown_name(given);
    let given = given.map_err(|error| Problem::bad_request(error.to_string()))?;
    let (name, below) = (attachments::name_on_disk(&given), below.to_owned());
    // Other programs run commands that such files name, so clients without the right to name
    // commands cannot upload them.
    let root = project.path.clone();
    let path = root.join(&below).join(&name);
    if blocking(move || Ok(roots::is_protected(&root, &path))).await? {
        let why = format!("`{}`: programs run what a file of this name says", shown(&name));
        return Err(Problem::bad_request(why));
    }
    let begin = move || PartialFile::begin(&project.dir, &below, &name, given);
    let mut arriving = blocking(begin).await?;
    while let Some(piece) = form.piece().await? {
        arriving = blocking(move || arriving.write(&piece)).await?;
    }
    blocking(move || arriving.file.sync_all().map(|()| arriving)).await
}

/// A file of a form; removed unless all of it and all others of the form come.
struct PartialFile {
    dir: Dir,
    name: String,
    /// As the client named it.
    given: String,
    /// Below the directory it was put into.
    path: PathBuf,
    file: std::fs::File,
    size: u64,
    /// The first bytes, by which its type is detected.
    start: Vec<u8>,
    is_kept: bool,
}

impl PartialFile {
    fn begin(root: &Dir, below: &Path, name: &str, given: String) -> io::Result<Self> {
        let mut dir = root.try_clone()?;
        for part in below {
            dir = make_dir(&dir, &part.to_string_lossy())?;
        }
        let mut options = no_follow_options(OFlags::empty());
        options.write(true).create_new(true).mode(0o600);
        for n in 1..=MAX_NUMBERED_NAMES {
            let name = numbered_name(name, n);
            match dir.open_with(&name, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    let (file, path) = (opened?.into_std(), below.join(&name));
                    let (size, start, is_kept) = (0, Vec::new(), false);
                    return Ok(Self { dir, name, given, path, file, size, start, is_kept });
                }
            }
        }
        Err(io::Error::other("too many files have this name"))
    }

    fn write(mut self, bytes: &[u8]) -> io::Result<Self> {
        self.size += bytes.len() as u64;
        if self.size > MAX_FILE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let wanted = attachments::N_SNIFFED_BYTES.saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(bytes.get(..wanted).unwrap_or_default());
        self.file.write_all(bytes)?;
        Ok(self)
    }

    fn is_image(&self) -> bool {
        self.mime_type().starts_with("image/")
    }

    fn mime_type(&self) -> &'static str {
        attachments::mime_type(&self.start, &self.given)
    }

    /// Keeps the file: all files of the form have arrived.
    fn keep(mut self) -> Self {
        self.is_kept = true;
        self
    }

    fn to_json(&self, path: &Path) -> Value {
        json!({
            "name": self.name,
            "originalName": self.given,
            "path": path,
            "size": self.size,
            "kind": if self.is_image() { "image" } else { "file" },
            "mimeType": self.mime_type(),
        })
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // A file that cannot be removed now stays in the project.
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

/// The `n`th name like this one: `a.png`, `a-2.png`, …
fn numbered_name(name: &str, n: usize) -> String {
    match (n, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (n, Some((stem, ending))) if !stem.is_empty() => format!("{stem}-{n}.{ending}"),
        (n, _) => format!("{name}-{n}"),
    }
}

async fn blocking<T: Send + 'static>(
    action: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    dir_handles::blocking(action).await.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let why = format!("a file has at most {MAX_FILE_BYTES} bytes");
            Problem::of(kinds::FILE_TOO_LARGE).detail(why)
        }
        io::ErrorKind::NotADirectory => Problem::bad_request("`dir` is no directory"),
        kind => Problem::of_file(kind, format!("cannot keep the file: {error}")),
    })
}

/// Removes images that no run took over in time; failures are logged.
pub(super) fn sweep(root: &Path) {
    if let Err(error) = remove_old(root) {
        tracing::warn!(%error, "cannot remove old uploads");
    }
}

/// Removes the uploads that are too old; links are not followed.
fn remove_old(root: &Path) -> io::Result<()> {
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    let Ok(uploads) = open_dir(&root, UPLOADS) else { return Ok(()) };
    for owner in uploads.entries()? {
        let Ok(owner) = open_dir(&uploads, &owner?.file_name().to_string_lossy()) else { continue };
        for upload in owner.entries()? {
            let upload = upload?;
            let about = upload.metadata()?;
            let age = about.modified()?.into_std().elapsed().unwrap_or_default();
            let removed = match about.is_dir() {
                _ if age <= MAX_UPLOAD_AGE => Ok(()),
                true => owner.remove_dir_all(upload.file_name()),
                false => owner.remove_file(upload.file_name()),
            };
            if let Err(error) = removed {
                tracing::warn!(%error, "cannot remove an old upload");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
