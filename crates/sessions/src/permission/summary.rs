//! The summary of a question, short enough to be kept with its answer.
//!
//! An agent may have told the command of a tool call long before it asked, and sends diffs
//! of megabytes with the question. The answer's event carries this instead, as it was judged,
//! so that an audit needs nothing else.

use serde_json::Value;
use wire::Json;
use wire::event::QuestionSummary;

use super::PolicyQuestion;

/// Longest title that is kept: more than anybody reads in a table.
const MAX_TITLE_CHARS: usize = 300;
/// Longest command that is kept: enough for any that a person could have judged.
const MAX_COMMAND_CHARS: usize = 4000;
const MAX_PATH_CHARS: usize = 1000;
const MAX_PATHS: usize = 20;

pub(crate) fn of_permission(question: &PolicyQuestion) -> QuestionSummary {
    let mut is_cut = question.paths.len() > MAX_PATHS;
    let mut cut = |text: &str, max_chars: usize| cut(text, max_chars, &mut is_cut);
    let title = cut(&question.facts.title, MAX_TITLE_CHARS);
    let kind = cut(&question.facts.kind, MAX_TITLE_CHARS);
    let command = question.facts.command.as_ref().map(|command| cut(command, MAX_COMMAND_CHARS));
    let paths = question.paths.iter().take(MAX_PATHS);
    let paths = paths.map(|path| cut(&path.to_string_lossy(), MAX_PATH_CHARS)).collect();
    QuestionSummary { title, kind, command, paths, is_cut }
}

/// The summary of a form, from the params of `elicitation/create`.
pub(crate) fn of_form(params: &Json) -> QuestionSummary {
    let params: Value = serde_json::from_str(&wire::readable(params.as_str())).unwrap_or_default();
    let mut is_cut = false;
    let title = params["message"].as_str().unwrap_or_default();
    let title = cut(title, MAX_TITLE_CHARS, &mut is_cut);
    QuestionSummary { title, is_cut, ..QuestionSummary::default() }
}

fn cut(text: &str, max_chars: usize, is_cut: &mut bool) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => {
            *is_cut = true;
            text.get(..end).unwrap_or_default().to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
