//! `write`: writes a whole file.

use std::sync::Arc;

use serde::Deserialize;

use crate::native::files::{FileText, MAX_TEXT_BYTES, PlannedFileChange};
use crate::native::tool::arguments::string;
use crate::native::tool::{
    CallDescription, CallNeed, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
};

#[derive(Deserialize)]
struct WriteArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "filename")]
    path: String,
    #[serde(alias = "contents", alias = "file_text", alias = "text")]
    content: String,
}

pub(super) fn tool() -> Arc<Tool> {
    let description = "Writes a whole file, making it and the directories above it as needed. A \
                       file that exists has to be read first and is replaced; use `edit` to \
                       change a part of it.";
    let arguments = [
        string("path", "The file, absolute or relative to the working directory").required(),
        string("content", "All that is to be in it").required(),
    ];
    Tool::new("write", ToolKind::Edit, description, arguments, prepare)
}

async fn prepare(asked: WriteArguments, context: ToolContext) -> Result<PreparedCall, ToolError> {
    if asked.content.len() as u64 > MAX_TEXT_BYTES {
        return Err(ToolError(format!("the content is larger than {} MiB", MAX_TEXT_BYTES >> 20)));
    }
    let files = context.workspace.files.clone();
    let place = files.resolve(&asked.path).await?;
    let name = files.shown(&place);
    let old = files.read(&place).await?;
    if let Some(old) = &old {
        files.check_seen(&place, old)?;
    }
    let new = match &old {
        Some(old) => old.replaced_by(&asked.content),
        None => FileText::new(asked.content),
    };
    let n_lines = new.as_str().lines().count();
    let change = PlannedFileChange::new(place, old, Some(new));
    let shown = CallDescription {
        title: format!("Write {name}"),
        locations: vec![change.location()],
        content: vec![change.diff()],
        ..CallDescription::default()
    };
    if change.old == change.new {
        let done = ToolOutput::text(format!("`{name}` already has exactly this content"));
        let work = Box::pin(async { Ok(done) });
        return Ok(PreparedCall { shown, need: CallNeed::Nothing, work });
    }
    let need = files.need_to_change(&[&change.place]);
    let did = if change.old.is_some() { "replaced" } else { "made" };
    let work = async move {
        let permit = files.lock_changes().await;
        files.change(&permit, &[change]).await?;
        Ok(ToolOutput::text(format!("{did} `{name}` ({n_lines} lines)")))
    };
    Ok(PreparedCall { shown, need, work: Box::pin(work) })
}

#[cfg(test)]
mod tests;
