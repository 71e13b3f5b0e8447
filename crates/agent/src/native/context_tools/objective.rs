//! `objective_set`: an objective that is told with every request.

use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{Desk, excerpt, told};
use crate::native::chat::ToolSpec;
use crate::native::context::Overlay;
use crate::native::journal::Item;
use crate::native::scene::Scene;
use crate::native::tools::{
    Kind, Need, Prepared, Preparing, Shown, Tool, ToolError, arguments as given,
};
use crate::native::visible;

/// It goes with every request.
const MAX_CHARS: usize = 4000;

#[derive(Debug)]
pub(super) struct ObjectiveSet(pub(super) Desk);

#[derive(Debug, Deserialize)]
struct Arguments {
    objective: Option<String>,
    #[serde(default, deserialize_with = "given::flag")]
    clear: bool,
}

impl Tool for ObjectiveSet {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "objective_set".into(),
            description: "Keeps an objective in view: it is told to you with every request, also \
                when the conversation was summarised. Set it when a long task begins, with what \
                makes it done. Without arguments it is shown; `clear` takes it back."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "objective": { "type": "string", "description": "What is to be reached" },
                    "clear": { "type": "boolean", "description": "There is none any more" },
                },
            }),
        }
    }

    fn kind(&self) -> Kind {
        Kind::Think
    }

    fn prepare<'a>(&'a self, arguments: Value, _: &'a Scene) -> Preparing<'a> {
        Box::pin(async move {
            let Arguments { objective, clear } = given::read("objective_set", arguments)?;
            let objective =
                objective.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            if objective.as_ref().is_some_and(|text| text.chars().count() > MAX_CHARS) {
                return Err(ToolError(format!("An objective has at most {MAX_CHARS} characters.")));
            }
            let title = match (&objective, clear) {
                (Some(text), _) => format!("Objective: {}", visible::title(&excerpt(text, 100))),
                (None, true) => "Take the objective back".to_owned(),
                (None, false) => "Look at the objective".to_owned(),
            };
            let desk = self.0.clone();
            let work = async move {
                if objective.is_none() && !clear {
                    let overlay = Overlay::of(&desk.entries());
                    let none = "There is no objective.".to_owned();
                    return Ok(told(
                        overlay
                            .objective()
                            .map_or(none, |text| format!("The objective is:\n{text}")),
                    ));
                }
                let _alone = desk.alone().await;
                let text = match &objective {
                    Some(text) => format!("The objective is now:\n{text}"),
                    None => "There is no objective any more.".to_owned(),
                };
                desk.keep(Item::Objective { text: objective }).await?;
                Ok(told(text))
            };
            let shown = Shown { title, ..Shown::default() };
            Ok(Prepared { shown, need: Need::Nothing, work: Box::pin(work) })
        })
    }
}
