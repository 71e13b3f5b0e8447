//! The tools that look at files and change them.

mod apply_patch;
mod edit;
mod glob;
mod grep;
mod list;
mod read;
mod write;

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use roots::{FileKind, ResolvedPath};

use super::files::Files;
use super::tool::{Tool, ToolError};

pub(super) fn all() -> Vec<Arc<Tool>> {
    vec![
        read::tool(),
        write::tool(),
        edit::tool(),
        apply_patch::tool(),
        list::tool(),
        glob::tool(),
        grep::tool(),
    ]
}

/// The directory at `path`, or the session's own.
async fn directory(files: &Files, path: Option<&str>) -> Result<ResolvedPath, ToolError> {
    match found_at(files, path).await? {
        (place, FileKind::Directory) => Ok(place),
        (place, _) => Err(ToolError(format!(
            "`{}` is not a directory; use `read` for a file",
            files.shown(&place)
        ))),
    }
}

/// What is at `path`, or the session's own directory.
async fn found_at(
    files: &Files,
    path: Option<&str>,
) -> Result<(ResolvedPath, FileKind), ToolError> {
    let place = files.resolve(path.filter(|path| !path.is_empty()).unwrap_or(".")).await?;
    match files.look(&place).await? {
        Some(facts) => Ok((place, facts.kind)),
        None => Err(files.missing(&place).await),
    }
}

/// A pattern of names. Without a `/` it counts in every directory.
fn name_matcher(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let whole = match pattern.strip_prefix("./").unwrap_or(pattern) {
        name if !name.contains('/') => format!("**/{name}"),
        path => path.to_owned(),
    };
    let glob = GlobBuilder::new(&whole).literal_separator(true).empty_alternates(true).build();
    match glob {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(ToolError(format!("the pattern of names is wrong: {error}"))),
    }
}
