//! A request in a form common to all vendors, and the answer that its marker asks for.
//!
//! In: what a wire has read from a body. Out: the marker that decides, how far its tool loop has
//! come, and how much of the conversation there was.

use super::marker::Marker;
use super::tools::Tool;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    /// What a tool gave back.
    Tool,
}

#[derive(Debug, Clone)]
pub struct MessageRow {
    pub role: Role,
    pub text: String,
}

#[derive(Debug, Clone)]
pub struct Request {
    pub model: String,
    pub is_stream: bool,
    pub rows: Vec<MessageRow>,
    pub tools: Vec<Tool>,
    /// The answer must be JSON of this shape.
    pub schema: Option<Value>,
}

/// The answer that the conversation asks for.
#[derive(Debug, Clone)]
pub struct ScenarioRequest {
    pub marker: Marker,
    /// How many rounds of tool calls came back since the marker.
    pub round: usize,
    /// Markers in everything that the user said.
    pub n_prompts: usize,
    pub first: Marker,
}

impl Request {
    /// Nothing for what agents ask on the side: titles, routers, summaries, memories.
    pub fn asked(&self) -> Option<ScenarioRequest> {
        let is_marked = |row: &MessageRow| row.role == Role::User && Marker::is_in(&row.text);
        let at = self.rows.iter().rposition(is_marked)?;
        let marker = Marker::all(&self.rows[at].text).pop()?;
        // Titles and routers quote the prompt, but work without tools.
        if self.tools.is_empty() && marker.get("tools") != Some("none") {
            return None;
        }
        let since = &self.rows[at + 1..];
        if is_afterthought(since) {
            return None;
        }
        let all: Vec<Marker> = self
            .rows
            .iter()
            .filter(|row| row.role == Role::User)
            .flat_map(|row| Marker::all(&row.text))
            .collect();
        let first = all.first()?.clone();
        Some(ScenarioRequest { marker, round: rounds(since), n_prompts: all.len(), first })
    }
}

/// Some agents replay a whole conversation in the background and end it with an instruction of
/// their own. That is no turn of the user's.
fn is_afterthought(since: &[MessageRow]) -> bool {
    let ends_with_user = since.last().is_some_and(|row| row.role == Role::User);
    ends_with_user
        && since.iter().any(|row| row.role == Role::Assistant)
        && !since.iter().any(|row| row.role == Role::Tool)
}

// Several results of one round may stand in one row or in many, with reminders in between.
fn rounds(since: &[MessageRow]) -> usize {
    let mut n_rounds = 0;
    let mut is_waiting = false;
    for row in since {
        match row.role {
            Role::Assistant => is_waiting = true,
            Role::Tool if is_waiting => {
                n_rounds += 1;
                is_waiting = false;
            }
            Role::Tool | Role::User => {}
        }
    }
    n_rounds
}

/// All plain text in a content of any vendor: a string, or a list of parts with `text`.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts
                .iter()
                .filter(|part| part["thought"] != true)
                .filter_map(|part| part.as_str().or_else(|| part["text"].as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
