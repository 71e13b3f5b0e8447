//! `thread_park`: puts a thread of work aside under a name, and takes it up again.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::context_editor::{
    ContextEditor, checked_name, checked_text, first_words, shortened, text_output,
};
use super::part_numbers::PartNumbers;
use crate::native::context::{ContextPiece, Overlay, pieces, pieces_of_all};
use crate::native::display_text;
use crate::native::journal::{CoveringKind, CoveringNote, JournalItem};
use crate::native::tool::arguments::{self as given, integer, string, word};
use crate::native::tool::{PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

/// Limit on the text of a recalled thread whose place in the conversation is gone.
const MAX_RECALLED_CHARS: usize = 30_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ParkAction {
    Park,
    Recall,
    List,
}

#[derive(Debug, Deserialize)]
struct ParkArguments {
    action: ParkAction,
    name: Option<String>,
    note: Option<String>,
    #[serde(default, deserialize_with = "given::number")]
    from: Option<usize>,
    #[serde(default, deserialize_with = "given::number")]
    to: Option<usize>,
}

pub(super) fn tool(editor: ContextEditor) -> Arc<Tool> {
    let description = "Puts a thread of work aside. `park` leaves the parts of this \
        conversation from number `from` to `to` (see context_edit) out under a `name`, \
        and keeps your one-line `note` in their place; without numbers, a thread of that \
        name that classifier_threads found. `recall` brings a thread back as it was, \
        `list` shows all.";
    let arguments = [
        word("action", &["park", "recall", "list"], "").required(),
        string("name", "What the thread is called"),
        string("note", "For `park`: where it stands and what is next, in one line"),
        integer("from", "The first part"),
        integer("to", "The last part"),
    ];
    let prepare = move |asked, _: &ToolContext| prepare(asked, editor.clone());
    Tool::at_once("thread_park", ToolKind::Think, description, arguments, prepare)
}

fn prepare(asked: ParkArguments, editor: ContextEditor) -> Result<PreparedCall, ToolError> {
    let name = asked.name.as_deref().map(checked_name).transpose()?;
    let needed = || ToolError::new("`name` is missing: which thread?");
    let title = match (asked.action, &name) {
        (ParkAction::List, _) => "List the threads that were put aside".to_owned(),
        (ParkAction::Park, Some(name)) => format!("Put aside: {}", display_text::title(name)),
        (ParkAction::Recall, Some(name)) => format!("Take up again: {}", display_text::title(name)),
        (_, None) => return Err(needed()),
    };
    let name = name.unwrap_or_default();
    let note = match (asked.action, &asked.note) {
        (ParkAction::Park, Some(note)) => checked_text("note", note)?,
        (ParkAction::Park, None) => {
            return Err(ToolError::new("`note` is missing: what stays in view of the thread?"));
        }
        _ => String::new(),
    };
    let range = match (asked.from, asked.to) {
        (None, None) => None,
        (Some(from), Some(to)) => PartNumbers::read(&json!(format!("{from}-{to}")))?,
        _ => return Err(ToolError::new("`from` and `to` go together.")),
    };
    let work = async move {
        match asked.action {
            ParkAction::List => Ok(text_output(list(&editor))),
            ParkAction::Park => park(&editor, name, note, range).await,
            ParkAction::Recall => recall(&editor, &name).await,
        }
    };
    Ok(PreparedCall::free(title, work))
}

fn list(editor: &ContextEditor) -> String {
    let overlay = Overlay::of(&editor.entries());
    let line = |covering: &CoveringNote| {
        let what = match covering.cover {
            CoveringKind::Parked => "put aside",
            CoveringKind::Distilled => "notes",
        };
        let note = first_words(&covering.note, 200);
        format!("`{}` ({what}, {} parts): {note}", covering.name, covering.parts.len())
    };
    let lines: Vec<String> = overlay.coverings.iter().map(line).collect();
    match lines.is_empty() {
        true => "Nothing is put aside.".to_owned(),
        false => lines.join("\n"),
    }
}

async fn park(
    editor: &ContextEditor,
    name: String,
    note: String,
    range: Option<PartNumbers>,
) -> Result<ToolOutput, ToolError> {
    let _alone = editor.change_lock.lock().await;
    let entries = editor.entries();
    let (pieces, overlay) = (pieces(&entries), Overlay::of(&entries));
    if overlay.named(&name).is_some() {
        return Err(ToolError(format!(
            "There is a `{name}` already: recall it first, or use another name."
        )));
    }
    let thread = overlay.threads.iter().find(|thread| thread.name == name);
    if range.is_none() && thread.is_none() {
        return Err(ToolError(format!(
            "No thread `{name}` is known: give `from` and `to`, numbers of parts as context_edit \
             lists them."
        )));
    }
    let is_meant = |piece: &&ContextPiece| match &range {
        Some(range) => range.has(piece.number),
        None => thread.is_some_and(|thread| thread.parts.contains(&piece.number)),
    };
    // What goes on now cannot be put aside, nor what is aside already.
    let (present, past): (Vec<&ContextPiece>, Vec<&ContextPiece>) =
        pieces.iter().filter(is_meant).partition(|piece| piece.is_current);
    let past = past.iter().map(|piece| piece.group);
    let parts: BTreeSet<u64> = past.filter(|group| overlay.covering(*group).is_none()).collect();
    if parts.is_empty() {
        return Err(ToolError::new(
            "There is nothing to put aside: these parts are aside already, do not exist, or \
             belong to what goes on now.",
        ));
    }
    let rest = if present.is_empty() { "" } else { " What goes on now stays." };
    let what = format!("`{name}` is put aside: {} parts.{rest}", parts.len());
    let (cover, parts) = (CoveringKind::Parked, parts.into_iter().collect());
    let covered = JournalItem::Covered(CoveringNote { name, cover, note, parts });
    Ok(text_output(editor.change(vec![covered], &what).await?))
}

async fn recall(editor: &ContextEditor, name: &str) -> Result<ToolOutput, ToolError> {
    let _alone = editor.change_lock.lock().await;
    let entries = editor.entries();
    let overlay = Overlay::of(&entries);
    let Some(covering) = overlay.named(name) else {
        return Err(ToolError(format!("Nothing is put aside as `{name}`.\n{}", list(editor))));
    };
    let is_in_view = pieces(&entries).iter().any(|piece| covering.parts.contains(&piece.group));
    let uncovered = JournalItem::Uncovered { name: name.to_owned() };
    let done = editor.change(vec![uncovered], &format!("`{name}` is back in its place.")).await?;
    if is_in_view {
        return Ok(text_output(done));
    }
    // The conversation was summarised or begun afresh since: there is no place to go back to.
    let all = pieces_of_all(&entries);
    let of_thread = all.iter().filter(|piece| covering.parts.contains(&piece.group));
    let texts = of_thread.map(|piece| format!("[{}]\n{}", piece.role.word(), piece.text));
    let text = texts.collect::<Vec<_>>().join("\n\n");
    let text = shortened(&text, MAX_RECALLED_CHARS);
    Ok(text_output(format!(
        "`{name}`, whose place in the conversation is gone, was this:\n\n{text}"
    )))
}
