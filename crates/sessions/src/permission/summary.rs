//! What a question was about, short enough to be kept with its answer.
//!
//! An agent may have told the command of a tool call long before it asked, and sends diffs
//! of megabytes with the question. The answer's event carries this instead, as it was judged,
//! so that an audit needs nothing else.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wire::Json;

use super::Question;

/// More than anybody reads in a table.
const MAX_TITLE_CHARS: usize = 300;
/// Long enough for any command that a person could have judged.
const MAX_COMMAND_CHARS: usize = 4000;
const MAX_PATH_CHARS: usize = 1000;
const MAX_PATHS: usize = 20;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brief {
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Something was too long; the question's own event has all of it.
    #[serde(rename = "isCut", skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

impl Brief {
    pub(crate) fn of_permission(question: &Question) -> Self {
        let mut brief = Self::default();
        brief.title = brief.cut(&question.title, MAX_TITLE_CHARS);
        brief.kind = brief.cut(&question.kind, MAX_TITLE_CHARS);
        brief.command =
            question.command.as_ref().map(|command| brief.cut(command, MAX_COMMAND_CHARS));
        brief.is_cut |= question.paths.len() > MAX_PATHS;
        for path in question.paths.iter().take(MAX_PATHS) {
            let path = brief.cut(&path.to_string_lossy(), MAX_PATH_CHARS);
            brief.paths.push(path);
        }
        brief
    }

    /// From the params of `elicitation/create`.
    pub(crate) fn of_form(params: &Json) -> Self {
        let params: Value =
            serde_json::from_str(&wire::readable(params.as_str())).unwrap_or_default();
        let mut brief = Self::default();
        brief.title = brief.cut(params["message"].as_str().unwrap_or_default(), MAX_TITLE_CHARS);
        brief
    }

    fn cut(&mut self, text: &str, max_chars: usize) -> String {
        match text.char_indices().nth(max_chars) {
            None => text.to_owned(),
            Some((end, _)) => {
                self.is_cut = true;
                text.get(..end).unwrap_or_default().to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
