//! Files that come before a run: into its project, or beside all projects.
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
use axum::extract::State;
use axum::extract::multipart::{Field, Multipart, MultipartError, MultipartRejection};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::Runs;
use super::body::Named;
use super::project::{Project, UPLOADS, is_plain_name, make_dir, open_dir};
use super::refusal::Refusal;
use crate::attachments::{self, MAX_FILE_BYTES};
use crate::principal::{Principal, Role};

/// All files of a form. The front end sends at most twelve at a time.
pub(crate) const MAX_FORM_BYTES: u64 = 64 << 20;
const MAX_FILES: usize = 64;
/// Directories below the project's that a form may name.
const MAX_DEPTH: usize = 8;
/// Names that are tried for a file: `a.png`, `a-2.png`, …
const MAX_TWINS: usize = 1000;
/// An image that no run took over is of no use to anybody any more.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// `files` of a form, into a project.
pub(super) async fn to_project(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    Named(id): Named,
    form: Result<Multipart, MultipartRejection>,
) -> Result<Json<Value>, Refusal> {
    principal.require(Role::Operator)?;
    let form = form.map_err(|error| Refusal::bad_request(error.body_text()))?;
    let _place = runs.daemon.load.transfer(&principal.name)?;
    let Project { dir, .. } = runs.projects.open(&principal, &id).await?;
    let files = receive(form, Arc::new(dir), "files").await?;
    let files: Vec<Value> = files.iter().map(|file| file.told(&file.path)).collect();
    Ok(Json(json!({ "files": files })))
}

/// `images` of a form, for a run that is still to come.
pub(super) async fn to_nowhere(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    form: Result<Multipart, MultipartRejection>,
) -> Result<Json<Value>, Refusal> {
    principal.require(Role::Operator)?;
    let form = form.map_err(|error| Refusal::bad_request(error.body_text()))?;
    let _place = runs.daemon.load.transfer(&principal.name)?;
    let Project { dir, path } = runs.projects.new_upload(&principal).await?;
    let files = receive(form, Arc::new(dir), "images").await?;
    let files: Vec<Value> = files.iter().map(|file| file.told(&path.join(&file.path))).collect();
    Ok(Json(json!({ "files": files })))
}

/// A file that has arrived.
#[derive(Debug)]
struct Received {
    /// As the client named it.
    given: String,
    /// Below the directory it was put into.
    path: PathBuf,
    size: u64,
    mime_type: &'static str,
}

impl Received {
    fn told(&self, path: &Path) -> Value {
        let name = self.path.file_name().map(|name| name.to_string_lossy());
        let kind = if self.mime_type.starts_with("image/") { "image" } else { "file" };
        json!({
            "name": name,
            "originalName": self.given,
            "path": path,
            "size": self.size,
            "kind": kind,
            "mimeType": self.mime_type,
        })
    }
}

/// Puts the files of a form into `dir`, or the directory below that the form names first.
async fn receive(
    mut form: Multipart,
    dir: Arc<Dir>,
    files: &str,
) -> Result<Vec<Received>, Refusal> {
    let mut received: Vec<Received> = Vec::new();
    let mut below = PathBuf::new();
    while let Some(field) = form.next_field().await.map_err(|error| broken(&error))? {
        match field.name() {
            Some("dir") => {
                let text = field.text().await.map_err(|error| broken(&error))?;
                below = checked_dir(&text)?;
            }
            Some(name) if name == files || name == "file" => {
                if received.len() >= MAX_FILES {
                    let why = format!("a form has at most {MAX_FILES} files");
                    return Err(Refusal::bad_request(why));
                }
                received.push(one(field, dir.clone(), &below).await?);
            }
            // The front end has more of them with every version.
            _ => {}
        }
    }
    match received.is_empty() {
        true => Err(Refusal::bad_request(format!("the form has no `{files}`"))),
        false => Ok(received),
    }
}

/// A directory below the project, of plain names.
fn checked_dir(text: &str) -> Result<PathBuf, Refusal> {
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    let is_fine = parts.len() <= MAX_DEPTH && parts.iter().all(|part| is_plain_name(part));
    match is_fine {
        true => Ok(parts.iter().collect()),
        false => Err(Refusal::bad_request(format!(
            "`dir` is not at most {MAX_DEPTH} names of letters, digits, `.`, `_` and `-`"
        ))),
    }
}

async fn one(mut field: Field<'_>, dir: Arc<Dir>, below: &Path) -> Result<Received, Refusal> {
    let given = field.file_name().unwrap_or_default().to_owned();
    let given =
        attachments::shown_name(&given).map_err(|error| Refusal::bad_request(error.to_string()))?;
    let (name, below) = (attachments::name_on_disk(&given), below.to_owned());
    let mut arriving = blocking(move || Arriving::begin(&dir, &below, &name)).await?;
    while let Some(chunk) = field.chunk().await.map_err(|error| broken(&error))? {
        arriving = blocking(move || arriving.write(&chunk)).await?;
    }
    blocking(move || arriving.finish(given)).await
}

/// A file of which not all has come yet; removed unless it does.
struct Arriving {
    dir: Dir,
    name: String,
    path: PathBuf,
    file: std::fs::File,
    size: u64,
    /// What tells its type.
    start: Vec<u8>,
    is_whole: bool,
}

impl Arriving {
    fn begin(root: &Dir, below: &Path, name: &str) -> io::Result<Self> {
        let mut dir = root.try_clone()?;
        for part in below {
            dir = make_dir(&dir, &part.to_string_lossy())?;
        }
        let mut options = OpenOptions::new();
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
        options.write(true).create_new(true).mode(0o600);
        options.custom_flags(flags.bits().cast_signed());
        for n in 1..=MAX_TWINS {
            let name = twin(name, n);
            match dir.open_with(&name, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    let (file, path) = (opened?.into_std(), below.join(&name));
                    let (size, start, is_whole) = (0, Vec::new(), false);
                    return Ok(Self { dir, name, path, file, size, start, is_whole });
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
        let wanted = attachments::N_TELLING_BYTES.saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(bytes.get(..wanted).unwrap_or_default());
        self.file.write_all(bytes)?;
        Ok(self)
    }

    fn finish(mut self, given: String) -> io::Result<Received> {
        self.file.sync_all()?;
        self.is_whole = true;
        let mime_type = attachments::mime_type(&self.start, &given);
        Ok(Received { given, path: self.path.clone(), size: self.size, mime_type })
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if !self.is_whole {
            // What cannot be removed now is the project's.
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

/// The `n`th name like this one: `a.png`, `a-2.png`, …
fn twin(name: &str, n: usize) -> String {
    match (n, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (n, Some((stem, ending))) if !stem.is_empty() => format!("{stem}-{n}.{ending}"),
        (n, _) => format!("{name}-{n}"),
    }
}

async fn blocking<T: Send + 'static>(
    action: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(action).await.map_err(io::Error::other);
    done.flatten().map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let why = format!("a file has at most {MAX_FILE_BYTES} bytes");
            Refusal::too_large(why)
        }
        io::ErrorKind::NotADirectory => Refusal::bad_request("`dir` is no directory"),
        _ => Refusal::internal(format!("cannot keep the file: {error}")),
    })
}

fn broken(error: &MultipartError) -> Refusal {
    Refusal::bad_request(format!("the form cannot be read: {}", error.body_text()))
}

/// Removes what nobody took over in time. Links are not followed.
pub(super) fn sweep(root: &Path) -> io::Result<()> {
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    let Ok(uploads) = open_dir(&root, UPLOADS) else { return Ok(()) };
    for owner in uploads.entries()? {
        let Ok(owner) = open_dir(&uploads, &owner?.file_name().to_string_lossy()) else { continue };
        for upload in owner.entries()? {
            let upload = upload?;
            let modified = upload.metadata()?.modified()?.into_std();
            if modified.elapsed().unwrap_or_default() > KEPT_FOR {
                owner.remove_dir_all(upload.file_name())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
