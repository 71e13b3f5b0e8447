//! `apply_patch`: several changes in several files, all or none.

use std::sync::Arc;

use roots::ResolvedPath;
use serde::Deserialize;

use crate::native::files::{FileText, Files, MAX_TEXT_BYTES, PlannedFileChange};
use crate::native::tool::arguments::string;
use crate::native::tool::{
    CallDescription, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
};

mod envelope;
mod unified;

/// A patch of more files is better made in parts.
const MAX_FILES: usize = 100;

#[derive(Deserialize)]
struct ApplyPatchArguments {
    #[serde(alias = "input", alias = "patchText", alias = "patch_text", alias = "diff")]
    patch: String,
}

/// The change of a patch to one file.
#[derive(Debug, PartialEq, Eq)]
struct PatchStep<'a> {
    path: String,
    action: PatchAction<'a>,
}

#[derive(Debug, PartialEq, Eq)]
enum PatchAction<'a> {
    Add(String),
    Delete,
    Update {
        edit: PatchEdit<'a>,
        /// The new path of a file that is moved.
        to: Option<String>,
    },
}

#[derive(Debug, PartialEq, Eq)]
enum PatchEdit<'a> {
    Hunks(Vec<envelope::Hunk<'a>>),
    Unified(diffy::Patch<'a, str>),
}

pub(super) fn tool() -> Arc<Tool> {
    let description = "Adds, changes, moves and deletes files. All of a patch is applied or \
                       nothing. Files that exist have to be read first. The patch begins with \
                       `*** Begin Patch` and ends with `*** End Patch`; between them each file \
                       has `*** Add File: PATH` and its lines with `+` before them, `*** \
                       Delete File: PATH`, or `*** Update File: PATH` (then `*** Move to: \
                       PATH` to rename it) and its parts: `@@` with a line above the part, \
                       such as the head of a function, then about three lines before and after \
                       with a space before them, old lines with `-`, new ones with `+`. A \
                       unified diff is taken as well.";
    let arguments = [string("patch", "The whole patch").required()];
    Tool::new("apply_patch", ToolKind::Edit, description, arguments, prepare)
}

async fn prepare(
    asked: ApplyPatchArguments,
    context: ToolContext,
) -> Result<PreparedCall, ToolError> {
    let files = context.workspace.files.clone();
    let patch = asked.patch.replace("\r\n", "\n");
    // With correct counts in its hunks, on which the parser insists.
    let counted = unified::recounted(&patch);
    let steps = match envelope::is_one(&patch) {
        true => envelope::read(&patch),
        false => unified::read(&counted),
    };
    let steps = steps.map_err(|why| ToolError(format!("the patch cannot be read: {why}")))?;
    if steps.len() > MAX_FILES {
        return Err(ToolError(format!(
            "the patch changes {} files; at most {MAX_FILES} at once",
            steps.len()
        )));
    }
    let planned = plan(&files, steps).await?;
    let need = files.need_to_change(&planned.iter().map(|at| &at.place).collect::<Vec<_>>());
    let shown = shown(&files, &planned);
    let work = async move {
        let permit = files.lock_changes().await;
        files.change(&permit, &planned).await?;
        let done: Vec<_> = planned.iter().map(|change| told(&files, change)).collect();
        Ok(ToolOutput::text(done.join("\n")))
    };
    Ok(PreparedCall { shown, need, work: Box::pin(work) })
}

/// The changes that the steps come to, nothing of which is made yet.
async fn plan(
    files: &Files,
    steps: Vec<PatchStep<'_>>,
) -> Result<Vec<PlannedFileChange>, ToolError> {
    let mut planned: Vec<PlannedFileChange> = Vec::new();
    for step in steps {
        let place = files.resolve(&step.path).await?;
        match step.action {
            PatchAction::Add(content) => {
                let place = vacant(files, place).await?;
                planned.push(PlannedFileChange::new(place, None, content_of(content)?));
            }
            PatchAction::Delete => {
                let old = Some(files.read_seen(&place).await?);
                let mode = files.look(&place).await?.map(|facts| facts.mode);
                planned
                    .push(PlannedFileChange { mode, ..PlannedFileChange::new(place, old, None) });
            }
            PatchAction::Update { edit, to } => {
                let old = files.read_seen(&place).await?;
                let new = updated(&files.shown(&place), &old, &edit)?;
                match to {
                    None => planned.push(PlannedFileChange::new(place, Some(old), new)),
                    Some(to) => {
                        let to = vacant(files, files.resolve(&to).await?).await?;
                        let mode = files.look(&place).await?.map(|facts| facts.mode);
                        let halves = [
                            PlannedFileChange::new(to, None, new),
                            PlannedFileChange::new(place, Some(old), None),
                        ];
                        planned.extend(halves.map(|half| PlannedFileChange {
                            mode,
                            is_moved: true,
                            ..half
                        }));
                    }
                }
            }
        }
    }
    for (index, change) in planned.iter().enumerate() {
        let before = planned.iter().take(index);
        if before.into_iter().any(|before| before.place.real() == change.place.real()) {
            return Err(ToolError(format!(
                "the patch names `{}` twice; put its changes together",
                files.shown(&change.place)
            )));
        }
    }
    Ok(planned)
}

async fn vacant(files: &Files, place: ResolvedPath) -> Result<ResolvedPath, ToolError> {
    match files.read(&place).await? {
        None => Ok(place),
        Some(_) => Err(ToolError(format!(
            "`{}` exists already; update it instead of adding it",
            files.shown(&place)
        ))),
    }
}

fn updated(
    name: &str,
    old: &FileText,
    edit: &PatchEdit<'_>,
) -> Result<Option<FileText>, ToolError> {
    let plain = old.plain();
    let new = match edit {
        PatchEdit::Hunks(hunks) => envelope::apply(&plain, hunks),
        PatchEdit::Unified(patch) => unified::apply(&plain, patch),
    };
    let new = new.map_err(|why| ToolError(format!("`{name}` cannot be patched: {why}")))?;
    content_of(old.with_format_of(&new).as_str().to_owned())
}

fn content_of(text: String) -> Result<Option<FileText>, ToolError> {
    match text.len() as u64 > MAX_TEXT_BYTES {
        true => Err(ToolError::new("a file would become too large")),
        false => Ok(Some(FileText::new(text))),
    }
}

fn shown(files: &Files, planned: &[PlannedFileChange]) -> CallDescription {
    let names: Vec<_> = planned.iter().map(|change| files.shown(&change.place)).collect();
    let title = match names.as_slice() {
        [one] => format!("Patch {one}"),
        [one, two] => format!("Patch {one} and {two}"),
        [one, two, rest @ ..] => format!("Patch {one}, {two} and {} more", rest.len()),
        [] => "Patch".into(),
    };
    let content = planned.iter().map(PlannedFileChange::diff).collect();
    let locations = planned.iter().map(PlannedFileChange::location).collect();
    CallDescription { kind: Some(kind(planned)), title, locations, content }
}

/// A patch that takes files away is more than an edit.
fn kind(planned: &[PlannedFileChange]) -> ToolKind {
    let is_deletion = |change: &PlannedFileChange| change.new.is_none() && !change.is_moved;
    match planned {
        _ if planned.iter().any(is_deletion) => ToolKind::Delete,
        _ if planned.iter().any(|change| change.is_moved) => ToolKind::Move,
        _ => ToolKind::Edit,
    }
}

fn told(files: &Files, change: &PlannedFileChange) -> String {
    let did = match (&change.old, &change.new) {
        (None, _) => "added",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
    };
    format!("{did} `{}`", files.shown(&change.place))
}

#[cfg(test)]
mod tests;
