//! `objective_set`: sets an objective that is sent to the model with every request.

use std::sync::Arc;

use serde::Deserialize;

use super::context_editor::{ContextEditor, first_words, text_output};
use crate::native::context::Overlay;
use crate::native::display_text;
use crate::native::journal::JournalItem;
use crate::native::tool::arguments::{self as given, boolean, string};
use crate::native::tool::{PreparedCall, Tool, ToolContext, ToolError, ToolKind};

/// Short, because it goes with every request.
const MAX_CHARS: usize = 4000;

#[derive(Debug, Deserialize)]
struct ObjectiveArguments {
    objective: Option<String>,
    #[serde(default, deserialize_with = "given::flag")]
    clear: bool,
}

pub(super) fn tool(editor: ContextEditor) -> Arc<Tool> {
    let description = "Keeps an objective in view: it is told to you with every request, also \
        when the conversation was summarised. Set it when a long task begins, with what \
        makes it done. Without arguments it is shown; `clear` takes it back.";
    let arguments =
        [string("objective", "What is to be reached"), boolean("clear", "There is none any more")];
    let prepare = move |asked, _: &ToolContext| prepare(asked, editor.clone());
    Tool::at_once("objective_set", ToolKind::Think, description, arguments, prepare)
}

fn prepare(asked: ObjectiveArguments, editor: ContextEditor) -> Result<PreparedCall, ToolError> {
    let ObjectiveArguments { objective, clear } = asked;
    let objective = objective.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if objective.as_ref().is_some_and(|text| text.chars().count() > MAX_CHARS) {
        return Err(ToolError(format!("An objective has at most {MAX_CHARS} characters.")));
    }
    let title = match (&objective, clear) {
        (Some(text), _) => format!("Objective: {}", display_text::title(&first_words(text, 100))),
        (None, true) => "Take the objective back".to_owned(),
        (None, false) => "Look at the objective".to_owned(),
    };
    let work = async move {
        if objective.is_none() && !clear {
            return Ok(text_output(match Overlay::of(&editor.entries()).objective {
                Some(text) => format!("The objective is:\n{text}"),
                None => "There is no objective.".to_owned(),
            }));
        }
        let _alone = editor.change_lock.lock().await;
        let text = match &objective {
            Some(text) => format!("The objective is now:\n{text}"),
            None => "There is no objective any more.".to_owned(),
        };
        editor.keep(JournalItem::Objective { text: objective }).await?;
        Ok(text_output(text))
    };
    Ok(PreparedCall::free(title, work))
}
