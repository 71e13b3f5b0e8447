//! The answers to a permission question, and how a typed line is parsed into one.
//!
//! The options stand numbered below the question; `y` is the one that a plain yes means, `n` the
//! one that rejects this once, where there is exactly one of the kind.

use client::QuestionAnswer;
use projection::{LogReader, TextOptions, TextProjection, plain_yes, sanitize_line};
use serde_json::Value;
use wire::{Event, Kind};

use crate::terminal;
use crate::terminal::format::style;

/// A title in a prompt only reminds of the question above it.
const MAX_TITLE_CHARS: usize = 60;
const MAX_NAME_CHARS: usize = 200;

#[derive(Debug)]
pub(crate) enum TypedAnswer {
    Answer(QuestionAnswer),
    /// Show all of what the question is about.
    View,
    /// No answer; the text says what would be one.
    Nothing(String),
}

/// Parses a typed line as the answer to `request`.
pub(crate) fn parse_answer(line: &str, request: &Value) -> TypedAnswer {
    let options = options(request);
    let chosen = match &*line.to_lowercase() {
        "" => return TypedAnswer::Answer(QuestionAnswer::Rejected),
        "v" | "view" => return TypedAnswer::View,
        "y" | "yes" => yes(request).and_then(|index| options.get(index)),
        "n" | "no" => match only(&options, "reject_once") {
            None => return TypedAnswer::Answer(QuestionAnswer::Rejected),
            found => found,
        },
        number => number.parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?)),
    };
    match chosen.and_then(|option| option["optionId"].as_str()) {
        Some(id) => TypedAnswer::Answer(QuestionAnswer::Option(id.to_owned())),
        None => {
            let line = sanitize_line(line, MAX_TITLE_CHARS);
            TypedAnswer::Nothing(format!("`{line}` is no answer; {}", in_words(request)))
        }
    }
}

/// Names the question, because another one may have come between, and says what is accepted.
pub(crate) fn prompt(request: &Value, is_long: bool) -> String {
    let options = options(request);
    let title = request["toolCall"]["title"].as_str().unwrap_or("the question above");
    let title = sanitize_line(title, MAX_TITLE_CHARS);
    let numbers = match options.len() {
        0 => None,
        1 => Some("1".to_owned()),
        n => Some(format!("1-{n}")),
    };
    let yes = yes(request).map(|index| match is_one_of_several(&options, index) {
        true => format!("y is {}", index + 1),
        false => "y".to_owned(),
    });
    let view = is_long.then(|| "v shows all of it".to_owned());
    let accepted = [numbers, yes, Some("n".to_owned()), view];
    let accepted: Vec<String> = accepted.into_iter().flatten().collect();
    format!("\n{title} ({}; Enter rejects) ", accepted.join(", "))
}

fn options(request: &Value) -> Vec<&Value> {
    request["options"].as_array().into_iter().flatten().collect()
}

/// The option that a plain yes means.
fn yes(request: &Value) -> Option<usize> {
    let kind = |value: &Value| value["kind"].as_str().unwrap_or_default().to_owned();
    let options: Vec<String> = options(request).into_iter().map(kind).collect();
    plain_yes(&kind(&request["toolCall"]), options.iter().map(String::as_str))
}

fn is_one_of_several(options: &[&Value], index: usize) -> bool {
    let kind = |option: &&Value| option["kind"].clone();
    let wanted = options.get(index).map(kind);
    options.iter().filter(|option| Some(kind(option)) == wanted).count() > 1
}

fn in_words(request: &Value) -> String {
    let options = options(request);
    let numbered = options.iter().enumerate().map(|(index, option)| {
        let name = option["name"].as_str().unwrap_or("?");
        format!("{} for “{}”", index + 1, sanitize_line(name, MAX_NAME_CHARS))
    });
    let yes = yes(request).map(|index| match is_one_of_several(&options, index) {
        true => format!("y for {}", index + 1),
        false => "y to allow this once".to_owned(),
    });
    let rest = ["n or Enter to reject", "v to see all of what is asked"].map(str::to_owned);
    let words: Vec<String> = numbered.chain(yes).chain(rest).collect();
    format!("type {}", words.join(", "))
}

/// The option of a kind, if there is exactly one.
fn only<'a, 'b>(options: &'a [&'b Value], kind: &str) -> Option<&'a &'b Value> {
    let mut found = options.iter().filter(|option| option["kind"] == kind);
    found.next().filter(|_| found.next().is_none())
}

/// Permission questions in full, for a person who asks to see all of one.
#[derive(Debug)]
pub(crate) struct FullQuestions {
    text: LogReader<TextProjection>,
}

impl FullQuestions {
    pub(crate) fn new() -> Self {
        let color = terminal::color_on_stderr();
        let style = TextOptions { color, show_thinking: false, ..style() };
        Self { text: LogReader::new(TextProjection::new(style).with_whole_questions()) }
    }

    /// Takes every event; returns the full text of a question that is longer than what was shown.
    pub(crate) fn see(&mut self, event: &Event) -> Option<String> {
        let is_about_tools = matches!(
            event.kind,
            Kind::SessionCreated | Kind::TurnStarted | Kind::TurnEnded | Kind::PermissionRequested
        ) || event
            .kind
            .update_name()
            .is_some_and(|name| name.starts_with("tool_call"));
        if !is_about_tools {
            return None;
        }
        let text = self.text.read(event);
        let is_question = event.kind == Kind::PermissionRequested;
        (is_question && self.text.projection().is_question_long()).then_some(text)
    }
}

#[cfg(test)]
mod tests;
