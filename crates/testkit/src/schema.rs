//! Judges messages by the official ACP v1 JSON schema.
//!
//! In: a transcript, or one message and its direction. Out: what is wrong with it.
//! The schema's own root allows anything as an extension, so each message is checked against the
//! definition of its method (`x-method`, `x-side`).

mod exchange;
#[cfg(test)]
mod tests;

use crate::json_schema::Document;
use crate::transcript::{Direction, Transcript};
use exchange::Exchange;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

const STABLE: &str = include_str!("../data/acp/v1/schema.json");
const UNSTABLE: &str = include_str!("../data/acp/v1/schema.unstable.json");

// A schema error repeats the offending value; a transcript may hold megabytes in one line.
const SHOWN_CHARS: usize = 400;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which entry of the transcript, from 1; one past the last for what is missing at the end.
    pub entry: usize,
    pub direction: Direction,
    pub problem: String,
    /// The line, shortened.
    pub line: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, direction, problem, line } = self;
        write!(f, "entry {entry} ({direction:?}): {problem}\n    {line}")
    }
}

/// Which definition of a method is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Request,
    Notification,
    Response,
}

/// One version of the schema.
#[derive(Debug)]
pub struct Validator {
    document: Document,
    definitions: HashMap<(Part, String, String), String>,
}

impl Validator {
    /// The stable methods of protocol version 1.
    pub fn v1() -> &'static Self {
        static STABLE_V1: LazyLock<Validator> = LazyLock::new(|| Validator::parse(STABLE));
        &STABLE_V1
    }

    /// Protocol version 1 with everything that is still unstable.
    pub fn v1_unstable() -> &'static Self {
        static UNSTABLE_V1: LazyLock<Validator> = LazyLock::new(|| Validator::parse(UNSTABLE));
        &UNSTABLE_V1
    }

    /// Everything that is wrong with a whole conversation.
    pub fn check(&self, transcript: &Transcript) -> Vec<Violation> {
        Exchange::read(self, transcript).finish()
    }

    /// Like [`check`](Self::check) for a conversation that was cut off: open requests are fine.
    pub fn check_cut_off(&self, transcript: &Transcript) -> Vec<Violation> {
        Exchange::read(self, transcript).cut_off()
    }

    /// Panics with every violation, for the last line of a test.
    #[track_caller]
    pub fn assert_valid(&self, transcript: &Transcript) {
        assert!(!transcript.entries.is_empty(), "nothing was recorded");
        let violations: Vec<String> =
            self.check(transcript).iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "not ACP:\n{}", violations.join("\n"));
    }

    /// What is wrong with a request or notification that went in this direction.
    pub fn check_call(&self, direction: Direction, message: &Value) -> Vec<String> {
        let mut problems = envelope(message);
        let Some(method) = message["method"].as_str() else {
            problems.push("method is no string".into());
            return problems;
        };
        let part = if message.get("id").is_some() { Part::Request } else { Part::Notification };
        if part == Part::Request {
            problems.extend(self.mismatches("RequestId", &message["id"]));
        }
        match self.definition(part, direction, method) {
            // A method without parameters may leave them out.
            Some(definition) => {
                let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
                problems.extend(self.mismatches(definition, &params));
            }
            None if is_extension(method) => {}
            None => problems.push(format!("`{method}` is no {part:?} for this side")),
        }
        problems
    }

    /// What is wrong with the answer to a request; `direction` is that of the request.
    pub fn check_response(
        &self,
        direction: Direction,
        method: &str,
        message: &Value,
    ) -> Vec<String> {
        let mut problems = envelope(message);
        match (message.get("result"), message.get("error")) {
            (Some(_), Some(_)) => problems.push("both a result and an error".into()),
            (None, None) => problems.push("neither a result nor an error".into()),
            (None, Some(error)) => problems.extend(self.mismatches("Error", error)),
            (Some(result), None) => match self.definition(Part::Response, direction, method) {
                Some(definition) => problems.extend(self.mismatches(definition, result)),
                None if is_extension(method) => {}
                None => problems.push(format!("a result for `{method}`, which is no method")),
            },
        }
        problems
    }

    fn parse(text: &str) -> Self {
        let root: Value = serde_json::from_str(text).unwrap();
        let definitions = root["$defs"]
            .as_object()
            .unwrap()
            .iter()
            .filter_map(|(name, definition)| {
                let method = definition.get("x-method")?.as_str()?;
                let side = definition.get("x-side")?.as_str()?;
                Some(((part_of(name), side.to_owned(), method.to_owned()), name.clone()))
            })
            .collect();
        Self { document: Document::new(root), definitions }
    }

    fn definition(&self, part: Part, direction: Direction, method: &str) -> Option<&str> {
        let side = match direction {
            _ if method.starts_with("$/") => "protocol",
            _ if method.starts_with("proxy/") => "proxy",
            Direction::ClientToAgent => "agent",
            Direction::AgentToClient => "client",
        };
        self.definitions.get(&(part, side.to_owned(), method.to_owned())).map(String::as_str)
    }

    fn mismatches(&self, definition: &str, value: &Value) -> Vec<String> {
        let faults = self.document.faults(&format!("/$defs/{definition}"), value);
        faults.iter().map(|fault| shorten(&format!("not a valid {definition} {fault}"))).collect()
    }
}

fn part_of(definition: &str) -> Part {
    if definition.ends_with("Request") {
        Part::Request
    } else if definition.ends_with("Response") {
        Part::Response
    } else {
        Part::Notification
    }
}

fn envelope(message: &Value) -> Vec<String> {
    if message["jsonrpc"] == "2.0" { vec![] } else { vec!["jsonrpc is not \"2.0\"".into()] }
}

fn is_extension(method: &str) -> bool {
    method.starts_with('_')
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
