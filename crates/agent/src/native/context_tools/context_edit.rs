//! `context_edit`: lists the parts of the conversation; hides, replaces and restores them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::context_editor::{ContextEditor, checked_text, piece_line, text_output};
use super::part_numbers::PartNumbers;
use crate::native::context::{ContextPiece, Overlay, pieces};
use crate::native::journal::{JournalItem, PartEdit, PartShape};
use crate::native::tool::arguments::{string, word};
use crate::native::tool::{PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

/// Lines of one list; longer conversations are listed in pieces.
const MAX_LINES: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ContextEditAction {
    List,
    Hide,
    Replace,
    Restore,
}

#[derive(Debug, Deserialize)]
struct ContextEditArguments {
    action: ContextEditAction,
    #[serde(default)]
    parts: Value,
    text: Option<String>,
}

pub(super) fn tool(editor: ContextEditor) -> Arc<Tool> {
    let description = "Edits what you are told of this conversation. `list` gives its parts \
        with numbers, sizes and first words. `hide` leaves parts out (an answer goes with \
        its results; a result can also be hidden alone), `replace` puts `text` in the \
        place of one part, `restore` brings parts back as they were, all edited ones if \
        none are given. Nothing is lost: the log keeps everything. Use it to get rid of \
        long results that no longer matter.";
    let arguments = [
        word("action", &["list", "hide", "replace", "restore"], "").required(),
        string("parts", "Numbers of parts as in `12` or `3-7, 12`"),
        string("text", "For `replace`"),
    ];
    let prepare = move |asked, _: &ToolContext| prepare(asked, editor.clone());
    Tool::at_once("context_edit", ToolKind::Think, description, arguments, prepare)
}

fn prepare(asked: ContextEditArguments, editor: ContextEditor) -> Result<PreparedCall, ToolError> {
    let ContextEditArguments { action, parts, text } = asked;
    let numbers = PartNumbers::read(&parts)?;
    let shown_numbers = numbers.as_ref().map_or_else(|| "all".to_owned(), PartNumbers::to_string);
    let title = match action {
        ContextEditAction::List => "List the parts of the context".to_owned(),
        ContextEditAction::Hide => format!("Hide parts of the context: {shown_numbers}"),
        ContextEditAction::Replace => format!("Replace a part of the context: {shown_numbers}"),
        ContextEditAction::Restore => format!("Restore parts of the context: {shown_numbers}"),
    };
    let shape = match (action, text) {
        (ContextEditAction::Replace, Some(text)) => {
            Some(PartShape::Replaced { text: checked_text("text", &text)? })
        }
        (ContextEditAction::Replace, None) => {
            return Err(ToolError::new("`replace` needs `text`, which is told instead."));
        }
        (ContextEditAction::Hide, _) => Some(PartShape::Hidden),
        (ContextEditAction::Restore, _) => Some(PartShape::Whole),
        (ContextEditAction::List, _) => None,
    };
    if numbers.is_none() && matches!(action, ContextEditAction::Hide | ContextEditAction::Replace) {
        return Err(ToolError::new("`parts` is missing: list the parts and give numbers."));
    }
    let work = async move {
        match shape {
            None => Ok(text_output(list(&editor, numbers.as_ref()))),
            Some(shape) => change(&editor, numbers, shape).await,
        }
    };
    Ok(PreparedCall::free(title, work))
}

fn list(editor: &ContextEditor, numbers: Option<&PartNumbers>) -> String {
    let entries = editor.entries();
    let (pieces, overlay) = (pieces(&entries), Overlay::of(&entries));
    let wanted: Vec<&ContextPiece> = pieces
        .iter()
        .filter(|piece| numbers.is_none_or(|wanted| wanted.has(piece.number)))
        .collect();
    let n_left_out = wanted.len().saturating_sub(MAX_LINES);
    let mut lines: Vec<String> =
        wanted.iter().skip(n_left_out).map(|piece| piece_line(piece, &overlay)).collect();
    if let Some(last) = wanted.get(n_left_out.wrapping_sub(1)) {
        lines.insert(
            0,
            format!("({n_left_out} earlier parts, up to {}: list them with `parts`)", last.number),
        );
    }
    lines.push(format!("The conversation takes about {} tokens.", editor.tokens()));
    lines.join("\n")
}

async fn change(
    editor: &ContextEditor,
    numbers: Option<PartNumbers>,
    shape: PartShape,
) -> Result<ToolOutput, ToolError> {
    let _alone = editor.change_lock.lock().await;
    let entries = editor.entries();
    let (pieces, overlay) = (pieces(&entries), Overlay::of(&entries));
    let edited = overlay.edited();
    let is_meant = |number: u64| match &numbers {
        Some(numbers) => numbers.has(number),
        None => edited.contains(&number),
    };
    let known = |number: u64| pieces.iter().any(|piece| piece.number == number);
    if let Some(unknown) = numbers.as_ref().and_then(|n| n.unknown(known).first().copied()) {
        return Err(ToolError(format!(
            "There is no part {unknown}; `list` shows those that there are."
        )));
    }
    let meant: Vec<&ContextPiece> = pieces.iter().filter(|piece| is_meant(piece.number)).collect();
    let is_free = |piece: &&&ContextPiece| shape == PartShape::Whole || !piece.is_current;
    let free: Vec<u64> = meant.iter().filter(is_free).map(|piece| piece.number).collect();
    let n_present = meant.len() - free.len();
    if matches!(shape, PartShape::Replaced { .. }) && meant.len() > 1 {
        return Err(ToolError::new(
            "One part is replaced at a time; use distill_threads, or hide the others.",
        ));
    }
    if free.is_empty() {
        return Err(ToolError::new(match n_present {
            0 => "There is nothing to change among these parts.",
            _ => "The user's present message and the answer that you are giving stay as they are.",
        }));
    }
    let done = match &shape {
        PartShape::Whole => "Restored",
        PartShape::Hidden => "Hidden",
        PartShape::Replaced { .. } => "Replaced",
    };
    let rest = match n_present {
        0 => String::new(),
        n => format!(" {n} parts belong to what goes on now and stay."),
    };
    let what = format!("{done}: {} parts.{rest}", free.len());
    let edit = |part: &u64| PartEdit { part: *part, shape: shape.clone() };
    let edits = JournalItem::Edited { edits: free.iter().map(edit).collect() };
    Ok(text_output(editor.change(vec![edits], &what).await?))
}
