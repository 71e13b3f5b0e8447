//! What a session remembers about itself beside its log.
//!
//! Kept as one JSON value in the session's record: enough to show it in lists and, with what it
//! was [made of](MadeOf), to give it back to its agent as the user had set it up. Small, because
//! every list, read and turn reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{EventLog, SessionRecord, StoreError};
use wire::event::TurnEnded;
use wire::{Fault, Json, Millis, TurnId};

use crate::budget::Budget;
use crate::made_of::MadeOf;
use crate::options::{Setting, Wishes};
use crate::permission::Mode;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// The agent's command line.
    pub command: Vec<String>,
    /// The agent was named, not given as a command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_named: bool,
    /// What whoever made the session noted in `_meta.switchyard` of its `session/new`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<Json>,
    /// Where sessions of earlier versions have their params.
    #[serde(rename = "newParams", skip_serializing_if = "Option::is_none")]
    pub(crate) old_params: Option<Json>,
    /// And their preface, until it is told.
    #[serde(rename = "preface", skip_serializing_if = "Option::is_none")]
    pub(crate) old_preface: Option<String>,
    /// What clients set with `session/set_…` requests, by what they set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Setting>,
    /// What the session was to be set to when it was made, until its agent has it.
    #[serde(skip_serializing_if = "Wishes::is_empty")]
    pub wishes: Wishes,
    /// The agent was told the preface.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_prefaced: bool,
    /// Whose session it is: the name of a token, or of a way in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// It shares a worker with nobody.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_apart: bool,
    /// The permission mode that was asked for, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Mode>,
    /// The last prompts that their clients had given a name, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<TakenRequest>,
    /// The request that made the session, if its client had given it a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_for: Option<ClientRequest>,
    /// The beginning of the last prompt that reached the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_prompt: Option<String>,
    /// What the session may use, and has used.
    #[serde(skip_serializing_if = "Budget::is_default")]
    pub budget: Budget,
    /// Its title was given by a person, so the agent's are not taken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_titled: bool,
    /// How the last turn ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_end: Option<LastEnd>,
    /// What can be chosen in it, as its agent said last: the choice is there while the agent rests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<Json>,
    /// The sums of tokens that its agent told last, if it tells sums.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) usage_told: BTreeMap<String, u64>,
    /// It is still being copied from another one; without its process it is nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

/// The end of a turn, as lists of sessions show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastEnd {
    pub stop_reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

impl LastEnd {
    pub(crate) fn of(ended: &TurnEnded<'_>) -> Self {
        let stop_reason = ended.stop_reason.as_str().chars().take(MAX_REASON_CHARS).collect();
        let mut error = ended.error.clone();
        if let Some(Fault { message, remedy, .. }) = &mut error {
            for text in std::iter::once(message).chain(remedy) {
                *text = text.chars().take(MAX_ERROR_CHARS).collect();
            }
        }
        Self { stop_reason, error }
    }
}

/// A request under a name of its client's choice, so that asking again does it once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRequest {
    pub id: String,
    /// Tells whether it is the same request again.
    pub digest: String,
}

/// A prompt that was taken under such a name. The turn's id stands for the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenRequest {
    pub turn: TurnId,
    pub digest: String,
}

/// Clients repeat what they have just asked; nobody comes back for the prompt before so many.
pub const MAX_REQUESTS: usize = 64;
/// Details are written with every turn, so a list of all models of the world is not kept.
const MAX_OFFERED_BYTES: usize = 16 << 10;
/// Model, effort, mode and some switches more.
const MAX_SETTING_BYTES: usize = 16 << 10;
/// A word; agents have their own.
const MAX_REASON_CHARS: usize = 100;
/// A sentence or two; the log has all of it.
const MAX_ERROR_CHARS: usize = 500;
/// Enough of a prompt to recognise it in a replay.
const PROMPT_EXCERPT_CHARS: usize = 200;

impl Details {
    pub fn new(command: Vec<String>, made_of: &MadeOf) -> Self {
        Self { command, note: made_of.note(), ..Self::default() }
    }

    pub fn read(record: &store::SessionRecord) -> Self {
        record.details.read().unwrap_or_default()
    }

    /// What the session was made of, if it is of an earlier version and has that here.
    pub(crate) fn made_of(&self) -> Option<MadeOf> {
        let new_params = self.old_params.clone()?;
        Some(MadeOf { new_params, preface: self.old_preface.clone() })
    }

    /// What is in the session's origin from now on.
    pub(crate) fn take_made_of(&mut self) -> Option<MadeOf> {
        let made_of = self.made_of()?;
        self.note = self.note();
        (self.old_params, self.old_preface) = (None, None);
        Some(made_of)
    }

    /// What whoever made the session noted in `_meta.switchyard` of its `session/new`.
    pub fn note(&self) -> Option<Json> {
        self.note.clone().or_else(|| self.made_of()?.note())
    }

    /// Keeps what the agent's answer offers for a choice.
    pub(crate) fn note_offer(&mut self, answer: &Json) {
        let answer: BTreeMap<String, Value> = answer.read().unwrap_or_default();
        let is_choice = |name: &str| matches!(name, "modes" | "models" | "configOptions");
        let offered: BTreeMap<_, _> =
            answer.into_iter().filter(|(name, _)| is_choice(name)).collect();
        let offered = Json::of(&offered);
        self.offered = Some(offered).filter(|offered| offered.as_str().len() <= MAX_OFFERED_BYTES);
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::of(self)
    }

    /// The prompt that was taken as `turn`, if it had a name.
    pub fn request(&self, turn: TurnId) -> Option<&TakenRequest> {
        self.requests.iter().find(|taken| taken.turn == turn)
    }

    pub(crate) fn note_request(&mut self, turn: TurnId, digest: String) {
        if self.requests.len() >= MAX_REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push(TakenRequest { turn, digest });
    }

    pub(crate) fn note_prompt(&mut self, text: &str) {
        // A prompt without text (an image alone) still is history.
        self.last_prompt = Some(excerpt(text));
    }

    pub(crate) fn note_setting(&mut self, method: &str, params: &Json) {
        let read: Value = params.read().unwrap_or_default();
        let config_id = read["configId"].as_str().unwrap_or_default();
        let setting = Setting { method: method.to_owned(), params: params.clone() };
        let name = format!("{method} {config_id}");
        let others = self.settings.iter().filter(|(other, _)| **other != name);
        let n_bytes = others.map(|(name, setting)| name.len() + setting.n_bytes()).sum::<usize>();
        // Beyond that the agent keeps it until it ends, and is set to what came before then.
        if n_bytes + name.len() + setting.n_bytes() <= MAX_SETTING_BYTES {
            self.settings.insert(name, setting);
        }
    }
}

impl MadeOf {
    /// What a session was made of; one of an earlier version has that in its details.
    pub async fn read(log: &dyn EventLog, record: &SessionRecord) -> Result<Self, StoreError> {
        if let Some(made_of) = Details::read(record).made_of() {
            return Ok(made_of);
        }
        let origin = log.origin(record.id).await?;
        Ok(origin.and_then(|origin| origin.made_of.read().ok()).unwrap_or_else(|| {
            let cwd = json!({ "cwd": record.cwd, "mcpServers": [] });
            Self { new_params: Json::of(&cwd), preface: None }
        }))
    }
}

/// Whether whoever has this `name` made a session. One who had it before `since` was another.
pub fn is_made_by(record: &SessionRecord, name: &str, since: Millis) -> bool {
    record.created >= since && Details::read(record).made_by.as_deref() == Some(name)
}

/// The beginning of a prompt's text.
pub(crate) fn excerpt(prompt: &str) -> String {
    prompt.chars().take(PROMPT_EXCERPT_CHARS).collect()
}

/// The text blocks of a prompt, joined.
pub fn prompt_text(prompt_params: &Json) -> String {
    let params: serde_json::Value = prompt_params.read().unwrap_or_default();
    let blocks = params["prompt"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
