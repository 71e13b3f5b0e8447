//! What went wrong, in words for the user: a category, a sentence, and what to do.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::words::words;
use crate::{RpcError, codes};

/// Something went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    #[serde(default)]
    #[schema(required = true)]
    pub category: Category,
    #[serde(default)]
    #[schema(required = true)]
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub remedy: Option<String>,
}

impl Fault {
    pub fn new(category: Category, message: impl Into<String>) -> Self {
        Self { category, message: message.into(), remedy: None }
    }

    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// An error that the agent gave as the answer to a prompt.
    pub fn from_agent(error: &RpcError) -> Self {
        if let Some(fault) = Self::told(error) {
            return fault;
        }
        let category = match error.code {
            codes::AUTH_REQUIRED | 401 | 403 => Category::Auth,
            429 => Category::RateLimit,
            codes::INVALID_PARAMS | codes::INVALID_REQUEST => Category::BadInput,
            500..=599 => Category::UpstreamUnavailable,
            _ => category_of(&error.to_string()),
        };
        let told = error.to_string();
        let told = message_in(&told).unwrap_or(told);
        Self::new(category, format!("{ANSWERED}{told}"))
    }

    /// An error that the agent gave in words alone.
    pub fn from_words(text: &str) -> Self {
        Self::new(category_of(text), text)
    }

    /// Says how to log in, where that is what is missing; `login` is the agent's own way.
    #[must_use]
    pub fn with_login(self, login: Option<&str>) -> Self {
        match (self.category, &self.remedy) {
            (Category::Auth, None) => self.remedy(login.unwrap_or(LOGIN)),
            _ => self,
        }
    }

    /// What an error's `data` tells of itself: adapters of our own do.
    pub fn told(error: &RpcError) -> Option<Self> {
        let data: Value = error.data.as_ref()?.read().ok()?;
        let category = Category::named(data["category"].as_str()?)?;
        let remedy = data["remedy"].as_str().map(str::to_owned);
        Some(Self { category, message: error.message.clone(), remedy })
    }
}

words! {
    /// What kind of thing went wrong.
    pub enum Category else Internal {
        /// Somebody has to log in, or give a key.
        Auth = "auth",
        RateLimit = "rate_limit",
        ModelUnavailable = "model_unavailable",
        PromptTooLarge = "prompt_too_large",
        /// The model's endpoint, or the way to it.
        UpstreamUnavailable = "upstream_unavailable",
        Timeout = "timeout",
        /// The agent refused what it was asked.
        Rejected = "rejected",
        /// There is no such agent, or its program is not installed.
        AgentNotFound = "agent_not_found",
        /// The agent's process could not be started, or ended.
        ProcessExit = "process_exit",
        /// The agent said what cannot be understood.
        Protocol = "protocol",
        BadInput = "bad_input",
        /// Switchyard ended in the middle of it.
        Interrupted = "interrupted",
        /// The agent has forgotten the conversation.
        SessionLost = "session_lost",
        Internal = "internal",
    }
}

/// What stands before an error that the agent gave as its answer.
pub const ANSWERED: &str = "the agent answered with an error: ";
pub const LOGIN: &str = "log in with the agent's own command line";

/// `text` with a provider's error in JSON put into the words that it has inside.
fn message_in(text: &str) -> Option<String> {
    /// Errors are wrapped in each other, also as text.
    const MAX_DEPTH: usize = 12;
    fn words(value: &Value, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        match value {
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(inner @ (Value::Object(_) | Value::Array(_))) => words(&inner, depth),
                _ => (!text.trim().is_empty()).then(|| text.trim().to_owned()),
            },
            Value::Array(values) => values.iter().find_map(|value| words(value, depth)),
            Value::Object(_) => {
                ["error", "message"].iter().find_map(|name| words(&value[*name], depth))
            }
            _ => None,
        }
    }
    let start = text.find(['{', '['])?;
    let (before, json) = text.split_at_checked(start)?;
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let after = json.get(values.byte_offset()..)?;
    Some(format!("{before}{}{after}", words(&value, MAX_DEPTH)?))
}

/// What an error is about, by its words.
fn category_of(text: &str) -> Category {
    const SIGNS: [(&[&str], Category); 7] = [
        (&["unauthorized", "authentication", "api key", "401", "403"], Category::Auth),
        (&["rate limit", "429", "quota"], Category::RateLimit),
        (&["context window", "context length", "too long", "too large"], Category::PromptTooLarge),
        (&["timed out", "timeout"], Category::Timeout),
        (&["connection", "unavailable", "socket", "network"], Category::UpstreamUnavailable),
        (
            &["server error", "server had an error", "overloaded", "http 5"],
            Category::UpstreamUnavailable,
        ),
        (&["experiencing high demand"], Category::UpstreamUnavailable),
    ];
    let text = text.to_lowercase();
    let found = SIGNS.iter().find(|(words, _)| words.iter().any(|word| text.contains(word)));
    found.map_or(Category::Internal, |(_, category)| *category)
}

#[cfg(test)]
mod tests;
