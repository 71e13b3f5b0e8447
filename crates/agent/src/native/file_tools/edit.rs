//! `edit`: puts one text in the place of another in a file.

use std::sync::Arc;

use serde::Deserialize;

use crate::native::files::{FileText, MAX_TEXT_BYTES, PlannedFileChange, difference};
use crate::native::tool::arguments::{self, boolean, string};
use crate::native::tool::{
    CallContent, CallDescription, Location, PreparedCall, Tool, ToolContext, ToolError, ToolKind,
    ToolOutput,
};

mod replacing;

use replacing::{Replacement, replace};
pub(super) use replacing::{same_but_ends, same_but_indent};

#[derive(Deserialize)]
struct EditArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "filename")]
    path: String,
    #[serde(alias = "oldString", alias = "old_str", alias = "old_text")]
    old_string: String,
    #[serde(alias = "newString", alias = "new_str", alias = "new_text")]
    new_string: String,
    #[serde(default, alias = "replaceAll", deserialize_with = "arguments::flag")]
    replace_all: bool,
}

pub(super) fn tool() -> Arc<Tool> {
    let description = "Replaces `old_string` in a file by `new_string`. The file has to be read \
                       first. `old_string` is the text as it is in the file, without line \
                       numbers, and must be there exactly once: take lines around it along until \
                       it is, or set `replace_all`.";
    let arguments = [
        string("path", "The file, absolute or relative to the working directory").required(),
        string("old_string", "The text to replace").required(),
        string("new_string", "What takes its place").required(),
        boolean("replace_all", "Replace it everywhere in the file"),
    ];
    Tool::new("edit", ToolKind::Edit, description, arguments, prepare)
}

async fn prepare(asked: EditArguments, context: ToolContext) -> Result<PreparedCall, ToolError> {
    let files = context.workspace.files.clone();
    let place = files.resolve(&asked.path).await?;
    let name = files.shown(&place);
    let old = match (files.read(&place).await?, asked.old_string.is_empty()) {
        // Replacing nothing by something: how some models make a file.
        (None, true) => None,
        (None, false) => return Err(files.missing(&place).await),
        (Some(old), _) => {
            files.check_seen(&place, &old)?;
            Some(old)
        }
    };
    let edited = edit(&asked, &name, old.as_ref())?;
    let shown = CallDescription {
        title: format!("Edit {name}"),
        locations: vec![Location::of(&place, u32::try_from(edited.line).ok())],
        content: vec![shown_diff(&place, old.as_ref(), &edited.text)],
        ..CallDescription::default()
    };
    let need = files.need_to_change(&[&place]);
    let work = async move {
        let turn = files.change_permit().await?;
        let (old, edited, content) = match files.read(&place).await? {
            // Another call of the same model came first: the edit is made in what it left.
            Some(now) if Some(&now) != old.as_ref() => {
                files.check_seen(&place, &now)?;
                let edited = edit(&asked, &name, Some(&now))?;
                let content = vec![shown_diff(&place, Some(&now), &edited.text)];
                (Some(now), edited, content)
            }
            _ => (old, edited, Vec::new()),
        };
        turn.change(&[PlannedFileChange::new(place, old, Some(edited.text))]).await?;
        Ok(ToolOutput { content, ..ToolOutput::text(format!("edited `{name}`: {}", edited.about)) })
    };
    Ok(PreparedCall { shown, need, work: Box::pin(work) })
}

#[derive(Debug)]
struct EditResult {
    text: FileText,
    line: usize,
    about: String,
}

fn edit(
    asked: &EditArguments,
    name: &str,
    old: Option<&FileText>,
) -> Result<EditResult, ToolError> {
    let whole = old.map(FileText::plain).unwrap_or_default();
    let to_plain = |text: &str| match old.is_some_and(|old| old.format().is_crlf) {
        true => text.replace("\r\n", "\n"),
        false => text.to_owned(),
    };
    let (before, after) = (to_plain(&asked.old_string), to_plain(&asked.new_string));
    let Replacement { text, line, about } = replace(&whole, &before, &after, asked.replace_all)
        .map_err(|why| ToolError(format!("`{name}` was not changed: {why}")))?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(ToolError(format!("`{name}` would become too large")));
    }
    let text = match old {
        Some(old) => old.with_format_of(&text),
        None => FileText::new(text),
    };
    Ok(EditResult { text, line, about })
}

fn shown_diff(place: &roots::ResolvedPath, old: Option<&FileText>, new: &FileText) -> CallContent {
    difference::diff(place.path(), old.map(FileText::as_str), new.as_str())
}

#[cfg(test)]
mod tests;
