//! `glob`: finds files by their names, the newest first.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use roots::{FileKind, ResolvedPath, Roots};
use serde::Deserialize;

use super::{directory, name_matcher};
use crate::native::tool::arguments::string;
use crate::native::tool::{
    Location, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
};
use roots::walk::{WalkBounds, WalkEnd, WalkStop, walk};

const MAX_SHOWN: usize = 200;
/// Matches kept while the newest are looked for.
const MAX_FOUND: usize = 100_000;

#[derive(Deserialize)]
struct GlobArguments {
    #[serde(alias = "glob", alias = "glob_pattern")]
    pattern: String,
    #[serde(default, alias = "dir", alias = "directory")]
    path: Option<String>,
}

pub(super) fn tool() -> Arc<Tool> {
    let description = format!(
        "Finds files by name, such as `**/*.rs` or `src/*.{{js,ts}}`; a pattern without `/` counts \
         in every directory. The newest come first, at most {MAX_SHOWN}. What .gitignore names is \
         left out, unless `path` is in it."
    );
    let arguments = [
        string("pattern", "The pattern of names").required(),
        string("path", "Where to look; the working directory if it is left out"),
    ];
    Tool::new("glob", ToolKind::Search, description, arguments, prepare)
}

async fn prepare(asked: GlobArguments, context: ToolContext) -> Result<PreparedCall, ToolError> {
    let files = context.workspace.files.clone();
    let place = directory(&files, asked.path.as_deref()).await?;
    let is_absolute = asked.pattern.starts_with('/');
    let glob = name_matcher(&asked.pattern)?;
    let title = match files.shown(&place).as_str() {
        "." => format!("Find {}", asked.pattern),
        name => format!("Find {} in {name}", asked.pattern),
    };
    let work = async move {
        let at = place.clone();
        let found = files.walk(move |roots, stop| {
            newest(roots, &at, stop, &|path| match is_absolute {
                true => glob.is_match(at.path().join(path)),
                false => glob.is_match(path),
            })
        });
        let (found, end) = found.await?.map_err(ToolError::new)?;
        if found.is_empty() {
            let why = if end == WalkEnd::Whole { "" } else { ", as far as it was looked" };
            return Ok(ToolOutput::text(format!("no files match `{}`{why}", asked.pattern)));
        }
        let places: Vec<ResolvedPath> = found.iter().map(|(_, path)| place.below(path)).collect();
        let names = places.iter().take(MAX_SHOWN).map(|place| files.shown(place));
        let mut text = names.collect::<Vec<_>>().join("\n");
        if places.len() > MAX_SHOWN || end != WalkEnd::Whole {
            let more = if end == WalkEnd::Whole { "" } else { " or more" };
            let _ = write!(
                text,
                "\n\n(the newest {} of {}{more}; use a narrower pattern or path)",
                places.len().min(MAX_SHOWN),
                places.len()
            );
        }
        let locations = places.iter().take(MAX_SHOWN).map(|place| Location::of(place, None));
        Ok(ToolOutput { locations: locations.collect(), ..ToolOutput::text(text) })
    };
    Ok(PreparedCall::free(title, work))
}

type FoundFiles = Vec<(SystemTime, PathBuf)>;

fn newest(
    roots: &Roots,
    place: &ResolvedPath,
    stop: &WalkStop,
    matches: &dyn Fn(&std::path::Path) -> bool,
) -> Result<(FoundFiles, WalkEnd), roots::RootsError> {
    let mut found = Vec::new();
    let end = walk(roots, place, WalkBounds::default(), stop, &mut |entry| {
        if entry.kind == FileKind::File && matches(entry.path) {
            let modified = entry.folder.look(entry.name).map(|facts| facts.modified);
            found.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path.to_owned()));
        }
        match found.len() < MAX_FOUND {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    // Of the same age by name, so that the order is always the same.
    found.sort_by(|(one, one_path), (two, two_path)| two.cmp(one).then(one_path.cmp(two_path)));
    Ok((found, end))
}

#[cfg(test)]
mod tests;
