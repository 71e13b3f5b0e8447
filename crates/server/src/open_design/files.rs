//! Files that go with a run: of its project, or uploaded to its session.
//!
//! In: paths from clients. Out: files that exist, opened through a handle that the kernel does not
//! let out of the project. One error names all files that cannot be used.

use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio_util::io::ReaderStream;
use wire::SessionId;

use super::Runs;
use super::project::Project;
use crate::attachments::{N_SNIFFED_BYTES, image_block, mime_type};
use crate::dir_handles::read_options;
use crate::principal::Principal;
use crate::problem::{Problem, shown};

/// Longer than any path that a file system takes.
const MAX_PATH_BYTES: usize = 4096;
/// No model takes a larger image.
const MAX_IMAGE_BYTES: u64 = 8 << 20;
/// Limit of all images of a run together, in bytes.
const MAX_IMAGES_BYTES: u64 = 16 << 20;

/// Bytes of a file that are in memory at once while it is copied.
const CHUNK: usize = 256 << 10;

/// A file that goes with a run.
#[derive(Debug)]
pub(super) struct RunFile {
    name: String,
    path: PathBuf,
    size: u64,
}

/// The files that go with a run.
#[derive(Debug, Default)]
pub(super) struct RunFiles {
    attached: Vec<RunFile>,
    pictures: Vec<RunFile>,
}

#[derive(Debug, thiserror::Error)]
enum RunFileError {
    #[error("this is no path")]
    NoPath,
    #[error("it is not in the project")]
    Outside,
    #[error("there is no such file")]
    Missing,
    #[error("it is neither a file nor a directory")]
    Special,
    #[error("it is no PNG, JPEG, GIF or WebP")]
    NoPicture,
    #[error("images have at most {MAX_IMAGE_BYTES} bytes each and {MAX_IMAGES_BYTES} together")]
    TooLarge,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for RunFileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            // A link or a path that leads out; the second where the kernel does not help.
            io::ErrorKind::CrossesDevices | io::ErrorKind::PermissionDenied => Self::Outside,
            _ => Self::Io(error),
        }
    }
}

impl Runs {
    /// Checks the files of a run. Nothing stays open: the run may wait long for its agent.
    pub(super) async fn enclosed(
        &self,
        principal: &Principal,
        project: Project,
        session: SessionId,
        files: Vec<String>,
        pictures: Vec<String>,
    ) -> Result<RunFiles, Problem> {
        if files.is_empty() && pictures.is_empty() {
            return Ok(RunFiles::default());
        }
        let checking = move |places: &[Project]| check_all(places, &files, &pictures);
        self.at_places(principal, project, session, checking).await
    }

    /// Copies images that were uploaded before the run into the session's attachments: its agent
    /// may read them there.
    pub(super) async fn take_over(
        &self,
        enclosed: &mut RunFiles,
        principal: &Principal,
        session: SessionId,
    ) -> Result<(), Problem> {
        if enclosed.pictures.is_empty() {
            return Ok(());
        }
        let Some(uploads) = self.uploads(principal).await? else { return Ok(()) };
        let uploads = Arc::new(uploads);
        let all = &self.daemon.attachments;
        for picture in &mut enclosed.pictures {
            let Ok(relative) = picture.path.strip_prefix(&uploads.path) else { continue };
            let relative = relative.to_owned();
            let lost = |error: RunFileError| {
                Problem::bad_request(format!("image `{}`: {error}", shown(&picture.name)))
            };
            let name = relative.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let place = uploads.clone();
            let opening = tokio::task::spawn_blocking(move || place.open_path(&relative));
            let (file, _) = opening.await?.map_err(lost)?;
            let mut upload = all.begin(session, &name, &principal.name, Some(picture.size)).await?;
            let file = tokio::fs::File::from_std(file).take(picture.size);
            let mut chunks = ReaderStream::with_capacity(file, CHUNK);
            while let Some(chunk) = chunks.next().await {
                upload = upload.write(chunk.map_err(|error| lost(error.into()))?).await?;
            }
            let attachment = upload.finish().await?;
            picture.path = all.path(session, &attachment);
            picture.name = picture.path.to_string_lossy().into_owned();
        }
        Ok(())
    }

    /// The files of a run as content blocks, for an agent that takes images. These are in memory
    /// from here on, so the caller needs a permit for them first.
    pub(super) async fn with_images(
        &self,
        enclosed: RunFiles,
        principal: &Principal,
        project: Project,
        session: SessionId,
    ) -> Result<Vec<Value>, Problem> {
        let reading = move |places: &[Project]| enclosed.with_images(places);
        self.at_places(principal, project, session, reading).await
    }

    async fn at_places<T: Send + 'static>(
        &self,
        principal: &Principal,
        project: Project,
        session: SessionId,
        work: impl FnOnce(&[Project]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (attachments, before) =
            (self.daemon.attachments.clone(), self.uploads(principal).await?);
        let working = move || {
            let uploaded = attachments.dir(session).map(|(dir, path)| Project { dir, path });
            let places = [Some(project), uploaded, before];
            work(&places.into_iter().flatten().collect::<Vec<_>>())
        };
        tokio::task::spawn_blocking(working).await?
    }

    /// The directory of a principal's images that were uploaded before their run, if there is one.
    async fn uploads(&self, principal: &Principal) -> Result<Option<Project>, Problem> {
        let (projects, principal) = (self.projects.clone(), principal.clone());
        Ok(tokio::task::spawn_blocking(move || projects.uploads(&principal)).await?)
    }
}

fn check_all(
    places: &[Project],
    files: &[String],
    pictures: &[String],
) -> Result<RunFiles, Problem> {
    let mut bad = Vec::new();
    let mut enclosed = RunFiles::default();
    // Attachments are the project's; only images are uploaded.
    let project = places.get(..1).unwrap_or_default();
    for name in files {
        match attached(project, name) {
            Ok(file) => enclosed.attached.push(file),
            Err(error) => bad.push(("attachment", name, error)),
        }
    }
    let mut n_left = MAX_IMAGES_BYTES;
    for name in pictures {
        match picture(places, name, &mut n_left) {
            Ok((picture, ..)) => enclosed.pictures.push(picture),
            Err(error) => bad.push(("image", name, error)),
        }
    }
    if bad.is_empty() {
        return Ok(enclosed);
    }
    let told = bad.iter().map(|(what, name, error)| format!("{what} `{}`: {error}", shown(name)));
    let names: Vec<String> = bad.iter().map(|(_, name, _)| shown(name)).collect();
    let told = told.collect::<Vec<_>>().join("; ");
    Err(Problem::bad_request(told).details(json!({ "files": names })))
}

impl Project {
    /// Opens a file by a path below this directory: relative ones are, absolute ones may be.
    fn open_file(&self, name: &str) -> Result<(std::fs::File, PathBuf), RunFileError> {
        if name.is_empty() || name.len() > MAX_PATH_BYTES || name.contains('\0') {
            return Err(RunFileError::NoPath);
        }
        match Path::new(name) {
            named if named.is_relative() => self.open_path(named),
            named => {
                self.open_path(named.strip_prefix(&self.path).map_err(|_| RunFileError::Outside)?)
            }
        }
    }

    fn open_path(&self, relative: &Path) -> Result<(std::fs::File, PathBuf), RunFileError> {
        let file = self.dir.open_with(relative, &read_options())?;
        Ok((file.into_std(), self.path.join(relative)))
    }
}

/// Opens a file in the first directory that has it.
fn find(places: &[Project], name: &str) -> Result<(std::fs::File, PathBuf), RunFileError> {
    let mut failed = RunFileError::Missing;
    for (n, place) in places.iter().enumerate() {
        match place.open_file(name) {
            Ok(found) => return Ok(found),
            // The project is what most clients mean.
            Err(error) if n == 0 => failed = error,
            Err(_) => {}
        }
    }
    Err(failed)
}

fn attached(places: &[Project], name: &str) -> Result<RunFile, RunFileError> {
    let (file, path) = find(places, name)?;
    let about = file.metadata()?;
    if !about.is_file() && !about.is_dir() {
        return Err(RunFileError::Special);
    }
    Ok(RunFile { name: name.to_owned(), path, size: about.len() })
}

/// A picture with its type, opened; its bytes are subtracted from `n_left`.
fn picture(
    places: &[Project],
    name: &str,
    n_left: &mut u64,
) -> Result<(RunFile, &'static str, std::fs::File), RunFileError> {
    let (mut file, path) = find(places, name)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(RunFileError::NoPicture);
    }
    let size = about.len();
    if size > MAX_IMAGE_BYTES.min(*n_left) {
        return Err(RunFileError::TooLarge);
    }
    *n_left -= size;
    let mut telling = Vec::new();
    file.by_ref().take(N_SNIFFED_BYTES as u64).read_to_end(&mut telling)?;
    file.rewind()?;
    let mime_type = mime_type(&telling, name);
    match mime_type.starts_with("image/") {
        true => Ok((RunFile { name: name.to_owned(), path, size }, mime_type, file)),
        false => Err(RunFileError::NoPicture),
    }
}

impl RunFile {
    fn image(&self, mime_type: &str, file: std::fs::File) -> io::Result<Value> {
        let mut bytes = Vec::new();
        // It may grow while it is read.
        file.take(self.size).read_to_end(&mut bytes)?;
        Ok(image_block(&bytes, mime_type, &self.path))
    }

    fn link(&self) -> Value {
        let name = Path::new(&self.name).file_name();
        let name = name.map_or(self.name.as_str().into(), |name| name.to_string_lossy());
        let uri = wire::uri::file_uri(&self.path);
        json!({ "type": "resource_link", "uri": uri, "name": name, "size": self.size })
    }
}

impl RunFiles {
    pub(super) fn has_pictures(&self) -> bool {
        !self.pictures.is_empty()
    }

    /// As links, which every agent takes.
    pub(super) fn links(&self) -> Vec<Value> {
        self.attached.iter().chain(&self.pictures).map(RunFile::link).collect()
    }

    /// The pictures are looked for once more: they may have changed since.
    fn with_images(&self, places: &[Project]) -> Result<Vec<Value>, Problem> {
        let mut blocks: Vec<Value> = self.attached.iter().map(RunFile::link).collect();
        let mut n_left = MAX_IMAGES_BYTES;
        for RunFile { name, .. } in &self.pictures {
            let found = picture(places, name, &mut n_left);
            let read = found.and_then(|(picture, kind, file)| Ok(picture.image(kind, file)?));
            blocks.push(read.map_err(|error| {
                Problem::bad_request(format!("image `{}`: {error}", shown(name)))
            })?);
        }
        Ok(blocks)
    }
}

#[cfg(test)]
mod tests;
