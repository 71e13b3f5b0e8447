//! The details that a session's record keeps beside its log.
//!
//! Kept as one JSON value in the session's record: enough to show it in lists and, with what it was
//! [made of](CreationParams), to give it back to its agent as the user had set it up. Small,
//! because every list, read and turn reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use store::{EventLog, SessionOrigin, SessionRecord, StoreError};
use wire::event::TurnEnded;
use wire::{Fault, Json, Millis, TurnId};

use crate::budget::Budget;
use crate::options::{InitialOptions, SettingRequest};
use crate::permission::PermissionMode;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionDetails {
    /// The agent's command line.
    pub command: Vec<String>,
    /// The agent was named, not given as a command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_named: bool,
    /// The note of the session's maker: `_meta.switchyard` of its `session/new`.
    pub(crate) note: Option<Json>,
    /// Its `session/new` params, where sessions of earlier versions have them.
    #[serde(rename = "newParams")]
    pub(crate) old_params: Option<Json>,
    /// Their preface, until the agent was sent it.
    #[serde(rename = "preface")]
    pub(crate) old_preface: Option<String>,
    /// The `session/set_…` requests that clients made, by method and option.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, SettingRequest>,
    /// Options of a session that was made without its agent: each agent that gets it is set to
    /// them, and then to `settings`.
    #[serde(rename = "wishes", skip_serializing_if = "InitialOptions::is_empty")]
    pub initial_options: InitialOptions,
    /// The agent's default model when such a session was made, if its maker named none.
    pub(crate) default_model: Option<String>,
    /// The agent was sent the preface.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_prefaced: bool,
    /// The maker of the session: the name of a token, or of a transport.
    pub made_by: Option<String>,
    /// The session does not share its worker with others.
    #[serde(rename = "isApart", skip_serializing_if = "std::ops::Not::not")]
    pub has_own_worker: bool,
    /// The permission mode that was asked for, if any.
    pub permissions: Option<PermissionMode>,
    /// The last prompts that their clients had given a name, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<PromptRequest>,
    /// The request that made the session, if its client had given it a name.
    pub made_for: Option<ClientRequest>,
    /// The beginning of the last prompt that reached the agent.
    pub last_prompt: Option<String>,
    /// The session's limits, and its use so far.
    #[serde(skip_serializing_if = "Budget::is_default")]
    pub budget: Budget,
    /// Its title was given by a person, so the agent's are not taken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_titled: bool,
    /// Commands that run, by their terminals; for the process after this one, should this one be
    /// killed.
    #[serde(rename = "commands", skip_serializing_if = "Vec::is_empty")]
    pub(crate) open_commands: Vec<String>,
    /// How the last turn ended.
    pub last_end: Option<TurnEndSummary>,
    /// Modes, models and options that its agent offered last, to choose from while none runs.
    pub offered: Option<Json>,
    /// The sums of tokens that its agent reported last, if it reports sums.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) usage_told: BTreeMap<String, u64>,
    /// A fork that is still being copied; it is removed if the copying process dies.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

/// The end of a turn, as lists of sessions show it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEndSummary {
    pub stop_reason: String,
    pub error: Option<Fault>,
}

impl TurnEndSummary {
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
    /// A digest of its content, by which a repeated request is recognised.
    pub digest: String,
}

/// A prompt that was taken under such a name. The turn's id stands for the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRequest {
    pub turn: TurnId,
    pub digest: String,
    /// What became of it; nothing while it waits or runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<PromptEnd>,
}

/// What became of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptEnd {
    /// Its turn has ended, with this stop reason.
    Ended(String),
    /// Its turn never began.
    Dropped,
}

/// Named prompts that are remembered: clients repeat what they just sent, not one long before.
pub const MAX_REQUESTS: usize = 64;
/// Largest offer that is kept: details are written with every turn, so no list of all models is.
const MAX_OFFERED_BYTES: usize = 16 << 10;
/// Room for settings: model, effort, mode and some switches more.
const MAX_SETTING_BYTES: usize = 16 << 10;
/// Longest stop reason that is kept: a word; agents have their own.
const MAX_REASON_CHARS: usize = 100;
/// Longest error text that is kept: a sentence or two; the log has all of it.
const MAX_ERROR_CHARS: usize = 500;
/// Longest note that is kept: names of a few things.
const MAX_NOTE_BYTES: usize = 4 << 10;
/// Length of a prompt's excerpt: enough to recognise it in a replay.
const PROMPT_EXCERPT_CHARS: usize = 200;

impl SessionDetails {
    pub fn new(command: Vec<String>, made_of: &CreationParams) -> Self {
        Self { command, note: made_of.note(), ..Self::default() }
    }

    pub fn read(record: &store::SessionRecord) -> Self {
        record.details.read().unwrap_or_default()
    }

    /// What the session was made of, if it is of an earlier version and has that here.
    pub(crate) fn creation_params(&self) -> Option<CreationParams> {
        let new_params = self.old_params.clone()?;
        Some(CreationParams { new_params, preface: self.old_preface.clone() })
    }

    /// Takes out what the session was made of, which its origin has from now on.
    pub(crate) fn take_creation_params(&mut self) -> Option<CreationParams> {
        let made_of = self.creation_params()?;
        self.note = self.note();
        (self.old_params, self.old_preface) = (None, None);
        Some(made_of)
    }

    /// The note of the session's maker: `_meta.switchyard` of its `session/new`.
    pub fn note(&self) -> Option<Json> {
        self.note.clone().or_else(|| self.creation_params()?.note())
    }

    /// Keeps the modes, models and config options of the agent's answer.
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
    pub fn request(&self, turn: TurnId) -> Option<&PromptRequest> {
        self.requests.iter().find(|taken| taken.turn == turn)
    }

    pub(crate) fn note_request(&mut self, turn: TurnId, digest: String) {
        if self.requests.len() >= MAX_REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push(PromptRequest { turn, digest, end: None });
    }

    /// Takes the note of a prompt back that was not accepted.
    pub(crate) fn forget_request(&mut self, turn: TurnId) {
        self.requests.retain(|request| request.turn != turn);
    }

    /// Notes the end of a turn.
    pub(crate) fn note_end(&mut self, turn: TurnId, ended: &TurnEnded<'_>) {
        let summary = TurnEndSummary::of(ended);
        self.end_request(turn, PromptEnd::Ended(summary.stop_reason.clone()));
        self.last_end = Some(summary);
    }

    /// Notes that a prompt will not have its turn.
    pub(crate) fn note_dropped(&mut self, turn: TurnId) {
        self.end_request(turn, PromptEnd::Dropped);
    }

    fn end_request(&mut self, turn: TurnId, end: PromptEnd) {
        if let Some(request) = self.requests.iter_mut().find(|request| request.turn == turn) {
            request.end = Some(end);
        }
    }

    pub(crate) fn note_prompt(&mut self, text: &str) {
        // A prompt without text (an image alone) still is history.
        self.last_prompt = Some(excerpt(text));
    }

    pub(crate) fn note_setting(&mut self, method: &str, params: &Json) {
        let read: Value = params.read().unwrap_or_default();
        let config_id = read["configId"].as_str().unwrap_or_default();
        let setting = SettingRequest { method: method.to_owned(), params: params.clone() };
        let name = format!("{method} {config_id}");
        let others = self.settings.iter().filter(|(other, _)| **other != name);
        let n_bytes = others.map(|(name, setting)| name.len() + setting.n_bytes()).sum::<usize>();
        // Beyond that the setting ends with the agent, and the next one gets the value before it.
        if n_bytes + name.len() + setting.n_bytes() <= MAX_SETTING_BYTES {
            self.settings.insert(name, setting);
        }
    }
}

/// The params and the preface that a session was created with; its agent gets them at its start.
///
/// Kept apart from the details: instructions and servers may be large, and every list, read and
/// turn reads those.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationParams {
    /// Params of the `session/new` that made the session.
    pub new_params: Json,
    /// Text before the first prompt, for an agent that takes no instructions in another way.
    pub preface: Option<String>,
}

impl CreationParams {
    pub(crate) fn to_origin(&self, made_by: Option<String>) -> SessionOrigin {
        SessionOrigin { made_by, made_of: Json::of(self) }
    }

    /// The maker's own note, which lists show: `_meta.switchyard`.
    pub(crate) fn note(&self) -> Option<Json> {
        #[derive(Deserialize)]
        struct NoteParams {
            #[serde(rename = "_meta")]
            meta: NoteMeta,
        }
        #[derive(Deserialize)]
        struct NoteMeta {
            switchyard: Json,
        }
        let note = self.new_params.read::<NoteParams>().ok()?.meta.switchyard;
        Some(note).filter(|note| note.as_str().len() <= MAX_NOTE_BYTES)
    }

    /// What a session was made of; one of an earlier version has that in its details.
    pub async fn read(log: &dyn EventLog, record: &SessionRecord) -> Result<Self, StoreError> {
        if let Some(made_of) = SessionDetails::read(record).creation_params() {
            return Ok(made_of);
        }
        let origin = log.origin(record.id).await?;
        Ok(origin.and_then(|origin| origin.made_of.read().ok()).unwrap_or_else(|| {
            let cwd = json!({ "cwd": record.cwd, "mcpServers": [] });
            Self { new_params: Json::of(&cwd), preface: None }
        }))
    }
}

/// Whether the client of this `name` made a session. One that had it before `since` was another.
pub fn is_made_by(record: &SessionRecord, name: &str, since: Millis) -> bool {
    record.created >= since && SessionDetails::read(record).made_by.as_deref() == Some(name)
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
