//! Directories of the daemon's machine, for a person who looks for one to work in.
//!
//! In: a directory, and how names in it begin. Out: the directories in it, by name. Only those that
//! the caller may start a session in are listed, whatever links lead elsewhere: a directory is read
//! by a handle below one of the daemon's roots. Files are not listed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use roots::{DirectoryEntry, FileKind, ForbiddenDirs, Roots};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::daemon::Daemon;
use crate::input::{Operator, QueryParams, limit};
use crate::principal::Principal;
use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 1000;
/// Entries that are read of one directory; people choose from fewer.
const MAX_ENTRIES: usize = 20_000;
/// The longest path that Linux takes.
const MAX_PATH_BYTES: usize = 4096;
/// Time limit of a listing: a disk that hangs is not waited for.
const WITHIN: Duration = Duration::from_secs(4);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DirectoryQuery {
    /// An absolute path, or one that begins with `~`; without it, where to begin: the home of the
    /// daemon's user, or the directories that sessions are limited to.
    path: Option<String>,
    /// The beginning of the names, in upper or lower case. Names that begin with a dot are listed
    /// only if this does too.
    prefix: Option<String>,
    /// 1 to 1000 [default: 200].
    limit: Option<usize>,
}

/// Directories in which sessions may be started.
#[skip_serializing_none]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DirectoryList {
    /// The listed directory's path, without links; missing if these are the ones to begin with.
    #[schema(nullable = false)]
    path: Option<String>,
    /// The directory above, if a session may be started there too.
    #[schema(nullable = false)]
    parent: Option<String>,
    /// Sorted by name.
    directories: Vec<Directory>,
    /// Whether these are all.
    is_complete: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Directory {
    name: String,
    path: String,
}

/// Directories in which a session may be started.
#[utoipa::path(get, path = "/v1/directories", operation_id = "listDirectories", tag = "sessions",
    params(DirectoryQuery),
    responses((status = 200, description = "The directories", body = DirectoryList)))]
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    QueryParams(wanted): QueryParams<DirectoryQuery>,
) -> Result<Json<DirectoryList>, Problem> {
    // An agent's sandbox may be narrower than what its daemon sees.
    if principal.is_worker {
        return Err(Problem::forbidden("directories are listed for people, not for agents"));
    }
    let look = DirectoryListing::new(&daemon, &principal, wanted)?;
    let looking = async {
        // The permit is held for as long as the disk hangs, whoever still waits.
        let place = daemon.listings.enter(&principal.name).await;
        tokio::task::spawn_blocking(move || {
            let _place = place;
            look.list()
        })
        .await
    };
    match tokio::time::timeout(WITHIN, looking).await {
        Ok(Ok(list)) => list.map(Json).map_err(Problem::from),
        Ok(Err(error)) => Err(Problem::internal(error)),
        Err(_) => Err(Problem::not_found("the directory does not answer")),
    }
}

/// One listing of a directory.
#[derive(Debug)]
struct DirectoryListing {
    /// None for the place to begin.
    path: Option<PathBuf>,
    prefix: String,
    limit: usize,
    /// Directories that the caller's sessions are limited to; no limit if there are none.
    held_to: Vec<PathBuf>,
    home: Option<PathBuf>,
    forbidden: ForbiddenDirs,
}

impl DirectoryListing {
    fn new(
        daemon: &Daemon,
        principal: &Principal,
        wanted: DirectoryQuery,
    ) -> Result<Self, Problem> {
        let path = wanted.path.filter(|path| !path.is_empty());
        let prefix = wanted.prefix.unwrap_or_default();
        if path.as_ref().is_some_and(|path| path.len() > MAX_PATH_BYTES)
            || prefix.len() > MAX_PATH_BYTES
        {
            let why = format!("`path` and `prefix` have at most {MAX_PATH_BYTES} bytes");
            return Err(Problem::bad_request(why));
        }
        Ok(Self {
            path: path.map(|path| daemon.whole_path(path.into())).transpose()?,
            prefix: prefix.to_lowercase(),
            limit: limit(wanted.limit, DEFAULT_LIMIT, MAX_LIMIT)?,
            held_to: daemon.roots_of(principal).to_owned(),
            home: daemon.settings.home.clone(),
            forbidden: daemon.registry.forbidden(),
        })
    }

    fn list(self) -> Result<DirectoryList, roots::RootsError> {
        if let Some(path) = &self.path {
            return self.list_at(path);
        }
        match self.held_to.as_slice() {
            [] => {
                let home = self.home.as_deref().map(|home| self.list_at(home));
                home.filter(Result::is_ok).unwrap_or_else(|| self.list_at(Path::new("/")))
            }
            [only] => self.list_at(only),
            several => {
                let several = several.iter().filter(|root| self.is_usable(root));
                let named = several.filter_map(|root| {
                    let path = root.to_str()?.to_owned();
                    Some(Directory { name: path.clone(), path })
                });
                let directories = named.take(MAX_LIMIT).collect();
                Ok(DirectoryList { path: None, parent: None, directories, is_complete: true })
            }
        }
    }

    /// Whether a root exists and is none of Switchyard's own directories.
    fn is_usable(&self, root: &Path) -> bool {
        root.is_dir() && !self.forbidden.covers(root)
    }

    fn list_at(&self, path: &Path) -> Result<DirectoryList, roots::RootsError> {
        // A root that is gone must not fail the listing of the others.
        let tops: Vec<PathBuf> = match self.held_to.is_empty() {
            true => vec!["/".into()],
            false => self.held_to.iter().filter(|root| self.is_usable(root)).cloned().collect(),
        };
        let opened = Roots::open(&tops, &self.forbidden)?;
        let text =
            path.to_str().ok_or_else(|| roots::RootsError::NotAPath(path.display().to_string()))?;
        let place = opened.resolve_absolute(text)?;
        let folder = opened.folder(&place)?;
        let cannot = |source| roots::RootsError::Io { path: text.to_owned(), source };
        let (entries, are_more) = folder.entries(MAX_ENTRIES).map_err(cannot)?;
        let here = place.real().to_owned();
        let mut fitting: Vec<&DirectoryEntry> =
            entries.iter().filter(|entry| self.fits(entry)).collect();
        fitting.sort_by_cached_key(|entry| entry.name.to_string_lossy().to_lowercase());
        let listed = fitting.into_iter().filter_map(|entry| {
            let path = here.join(&entry.name);
            let (name, path_text) = (entry.name.to_str()?, path.to_str()?);
            let is_there = match entry.kind {
                FileKind::Directory => !self.forbidden.covers(&path),
                // A link is as good as a directory, where it leads to one that may be used.
                _ => opened.resolve_absolute(path_text).is_ok_and(|at| {
                    opened.folder(&at).is_ok() && !self.forbidden.covers(at.real())
                }),
            };
            is_there.then(|| Directory { name: name.to_owned(), path: path_text.to_owned() })
        });
        let mut directories: Vec<Directory> = listed.take(self.limit + 1).collect();
        let is_complete = !are_more && directories.len() <= self.limit;
        directories.truncate(self.limit);
        let text_of = |path: &Path| path.to_str().map(str::to_owned);
        let parent = place.parent().and_then(|above| text_of(above.real()));
        Ok(DirectoryList { path: text_of(&here), parent, directories, is_complete })
    }

    fn fits(&self, entry: &DirectoryEntry) -> bool {
        let name = entry.name.to_string_lossy();
        matches!(entry.kind, FileKind::Directory | FileKind::Link)
            && (!name.starts_with('.') || self.prefix.starts_with('.'))
            && name.to_lowercase().starts_with(&self.prefix)
    }
}

impl From<roots::RootsError> for Problem {
    fn from(error: roots::RootsError) -> Self {
        let said = error.to_string();
        match &error {
            roots::RootsError::Outside(path) => Self::forbidden(format!(
                "{path} is not inside the directories that the daemon may use"
            )),
            roots::RootsError::Forbidden(_) => Self::forbidden(said),
            roots::RootsError::NotAbsolute(_)
            | roots::RootsError::NotAPath(_)
            | roots::RootsError::Home(_) => Self::bad_request(said),
            error if error.is_out_of_descriptors() => Self::too_many_open_files(said),
            roots::RootsError::Open { source, .. } | roots::RootsError::Io { source, .. } => {
                match source.kind() {
                    std::io::ErrorKind::PermissionDenied => Self::forbidden(said),
                    _ => Self::not_found(said),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
