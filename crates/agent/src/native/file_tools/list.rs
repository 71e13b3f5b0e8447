//! `list`: shows a directory as a tree.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use roots::FileKind;
use serde::Deserialize;

use crate::native::tool::arguments::{self, integer, string};
use crate::native::tool::{
    CallDescription, CallNeed, Location, PreparedCall, Tool, ToolContext, ToolError, ToolKind,
    ToolOutput,
};
use roots::walk::{WalkBounds, WalkEnd, walk};

const DEFAULT_DEPTH: usize = 2;
const MAX_DEPTH: usize = 10;
const MAX_ENTRIES: usize = 500;
const MAX_CHARS: usize = 30_000;

#[derive(Deserialize)]
struct ListArguments {
    #[serde(default, alias = "dir", alias = "directory", alias = "dir_path")]
    path: Option<String>,
    #[serde(default, deserialize_with = "arguments::number")]
    depth: Option<usize>,
}

pub(super) fn tool() -> Arc<Tool> {
    let description = format!(
        "Lists a directory as a tree, {DEFAULT_DEPTH} levels deep unless `depth` says otherwise. \
         What .gitignore names is left out. At most {MAX_ENTRIES} entries."
    );
    let arguments = [
        string("path", "The directory; the working directory if it is left out"),
        integer("depth", &format!("How many levels, 1 to {MAX_DEPTH}")),
    ];
    Tool::new("list", ToolKind::Search, description, arguments, prepare)
}

async fn prepare(asked: ListArguments, context: ToolContext) -> Result<PreparedCall, ToolError> {
    let files = context.workspace.files.clone();
    let place = super::directory(&files, asked.path.as_deref()).await?;
    let name = files.shown(&place);
    let shown = CallDescription {
        title: format!("List {name}"),
        locations: vec![Location::of(&place, None)],
        ..CallDescription::default()
    };
    let depth = asked.depth.unwrap_or(DEFAULT_DEPTH).clamp(1, MAX_DEPTH);
    let bounds = WalkBounds { max_entries: MAX_ENTRIES, depth };
    let work = async move {
        let walking = files.walk(move |roots, stop| {
            let mut tree = String::new();
            let end = walk(roots, &place, bounds, stop, &mut |found| {
                let indent = "  ".repeat(found.path.components().count() - 1);
                let name = found.name.to_string_lossy();
                let _ = match found.kind {
                    FileKind::Directory => writeln!(tree, "{indent}{name}/"),
                    FileKind::Link => {
                        let to = found.folder.link(found.name).unwrap_or_default();
                        writeln!(tree, "{indent}{name} -> {}", to.display())
                    }
                    _ => writeln!(tree, "{indent}{name}"),
                };
                match tree.len() < MAX_CHARS {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            (tree, end)
        });
        let (tree, end) = walking.await?;
        let note = match end.map_err(ToolError::new)? {
            WalkEnd::Whole if tree.is_empty() => "(empty, or everything in it is ignored)",
            WalkEnd::Whole => "",
            WalkEnd::TooMuch | WalkEnd::Enough => {
                "\n(there is more; list a directory in it, or with less depth)"
            }
            WalkEnd::TimeIsUp => "\n(there is more; this took too long)",
        };
        Ok(ToolOutput::text(format!("{name}/\n{tree}{note}")))
    };
    Ok(PreparedCall { shown, need: CallNeed::Nothing, work: Box::pin(work) })
}

#[cfg(test)]
mod tests;
