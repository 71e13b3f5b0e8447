//! Directories of projects: each below one root, and nothing outside of it.
//!
//! In: ids from clients. Out: directory handles, made on demand. An id is one plain name; a
//! link that somebody planted under it is refused. Whoever sees only its own sessions has
//! its projects in a directory of its own, which no id can name.

use std::io;
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use sessions::mint;

use crate::dir_handles::{blocking, is_no_dir, make_dir, open_dir};
use crate::principal::Principal;
use crate::problem::{Problem, shown};

const MAX_ID_CHARS: usize = 64;
/// Beside the projects: files that came before the run they are for. No project has this name.
pub(super) const UPLOADS: &str = ".uploads";

/// Limit of the uploads of one principal, or of all who share theirs. The oldest makes room for the
/// newest.
const MAX_UPLOADS: usize = 256;

#[derive(Debug, Clone)]
pub(super) struct Projects {
    pub(super) root: PathBuf,
}

/// An open directory of a project, or of files that were uploaded.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) dir: Dir,
    /// The path by which agents know it.
    pub(super) path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ProjectError {
    #[error(
        "`projectId` `{}` is not one name of 1 to {MAX_ID_CHARS} letters, digits, `.`, `_` and `-` \
         that begins with a letter or digit", shown(.0)
    )]
    BadId(String),
    #[error("the directory of project `{0}` is a link or a file, which is not used")]
    NotADirectory(String),
    #[error("cannot use the directory of project `{name}`: {error}")]
    Io { name: String, error: io::Error },
}

impl From<ProjectError> for Problem {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::BadId(_) | ProjectError::NotADirectory(_) => {
                Self::bad_request(error.to_string())
            }
            ProjectError::Io { .. } => Self::internal(error.to_string()),
        }
    }
}

impl Projects {
    pub(super) fn below(root: PathBuf) -> Self {
        Self { root }
    }

    /// Where a project is, whether there is one or not.
    pub(super) fn path(&self, principal: &Principal, name: &str) -> Result<PathBuf, ProjectError> {
        if !is_plain_name(name) {
            return Err(ProjectError::BadId(name.to_owned()));
        }
        Ok(self.real_root().join(own_part(principal).unwrap_or_default()).join(name))
    }

    /// A new directory for files that are of no project yet.
    pub(super) async fn new_upload(&self, principal: &Principal) -> Result<Project, ProjectError> {
        let (id, own) = (mint::turn_id().to_string(), uploads_part(principal));
        let path = self.uploads_path(principal).join(&id);
        let root = self.root.clone();
        let making = blocking(move || {
            let root = Dir::open_ambient_dir(&root, ambient_authority())?;
            let own = make_dir(&make_dir(&root, UPLOADS)?, &own)?;
            make_room(&own)?;
            make_dir(&own, &id)
        });
        let failed = |error| ProjectError::Io { name: UPLOADS.to_owned(), error };
        Ok(Project { dir: making.await.map_err(failed)?, path })
    }

    /// Where the uploads of a principal are, if it has any.
    pub(super) fn uploads(&self, principal: &Principal) -> Option<Project> {
        let dir = Dir::open_ambient_dir(&self.root, ambient_authority()).ok()?;
        let dir = open_dir(&open_dir(&dir, UPLOADS).ok()?, &uploads_part(principal)).ok()?;
        Some(Project { dir, path: self.uploads_path(principal) })
    }

    fn uploads_path(&self, principal: &Principal) -> PathBuf {
        self.real_root().join(UPLOADS).join(uploads_part(principal))
    }

    fn real_root(&self) -> PathBuf {
        self.root.canonicalize().unwrap_or_else(|_| self.root.clone())
    }

    /// The project's directory, made if there is none.
    pub(super) async fn open(
        &self,
        principal: &Principal,
        name: &str,
    ) -> Result<Project, ProjectError> {
        let path = self.path(principal, name)?;
        let (root, own, name) = (self.root.clone(), own_part(principal), name.to_owned());
        let below = name.clone();
        let opening = blocking(move || {
            let mut dir = Dir::open_ambient_dir(&root, ambient_authority())?;
            if let Some(own) = own {
                dir = make_dir(&dir, &own)?;
            }
            make_dir(&dir, &below)
        });
        match opening.await {
            Ok(dir) => Ok(Project { dir, path }),
            Err(error) if is_no_dir(&error) => Err(ProjectError::NotADirectory(name)),
            Err(error) => Err(ProjectError::Io { name, error }),
        }
    }
}

/// Removes the oldest uploads, if there are as many as there may be.
fn make_room(uploads: &Dir) -> io::Result<()> {
    let mut all: Vec<_> = uploads
        .entries()?
        .flatten()
        .filter_map(|upload| Some((upload.metadata().ok()?.modified().ok()?, upload.file_name())))
        .collect();
    all.sort();
    let n_over = (all.len() + 1).saturating_sub(MAX_UPLOADS);
    for (_, name) in all.into_iter().take(n_over) {
        uploads.remove_dir_all(name)?;
    }
    Ok(())
}

/// Whether a name is one plain path segment, without any special meaning.
pub(super) fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=MAX_ID_CHARS).contains(&name.len())
        && name.chars().all(is_plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("..")
}

/// The directory of uploads of a principal: those who see everything share theirs.
fn uploads_part(principal: &Principal) -> String {
    own_part(principal).unwrap_or_else(|| "all".to_owned())
}

/// The directory of a principal that sees only its own. No project's name has an `@`.
fn own_part(principal: &Principal) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '@' };
    let name = || format!("@{}", principal.namespace().chars().map(plain).collect::<String>());
    principal.own_sessions.then(name)
}

#[cfg(test)]
mod tests;
