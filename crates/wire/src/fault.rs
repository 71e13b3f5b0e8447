//! An error in words for the user: a category, a sentence, and what to do.
//!
//! As an error of JSON-RPC it is its sentence under the code of its category, with all of it in
//! `data`; clients that know Switchyard read it there again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::{Category, RpcError};

/// An error, in words for the user.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    #[serde(default)]
    #[schema(required = true)]
    pub category: Category,
    #[serde(default)]
    #[schema(required = true)]
    pub message: String,
    /// What to do about it.
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
        if let Some(fault) = Self::from_data(error) {
            return fault;
        }
        let category = Category::of_error(error);
        let told = error.to_string();
        let told = message_in(&told).unwrap_or(told);
        Self::new(category, format!("{AGENT_ERROR_PREFIX}{told}"))
    }

    /// An error that the agent gave in words alone.
    pub fn from_words(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(Category::classify(None, &text), text)
    }

    /// Says how to log in, where that is what is missing; `login` is the agent's own way.
    #[must_use]
    pub fn with_login(self, login: Option<&str>) -> Self {
        match (self.category, &self.remedy) {
            (Category::Auth, None) => self.remedy(login.unwrap_or(LOGIN_REMEDY)),
            _ => self,
        }
    }

    /// The fault in an error's `data`, where our own adapters put it.
    pub fn from_data(error: &RpcError) -> Option<Self> {
        let data: Value = error.data.as_ref()?.read().ok()?;
        let category = Category::named(data["category"].as_str()?)?;
        let remedy = data["remedy"].as_str().map(str::to_owned);
        Some(Self { category, message: error.message.clone(), remedy })
    }
}

impl From<&Fault> for RpcError {
    fn from(fault: &Fault) -> Self {
        Self::new(fault.category.code(), &fault.message).with_data(fault)
    }
}

/// What to do where [`is_out_of_descriptors`] says so.
pub const DESCRIPTORS_REMEDY: &str = "close sessions that nobody needs, or raise the limit of open \
     files (`ulimit -n`, `LimitNOFILE=` of a systemd unit)";

/// Whether a file could not be opened because the process, or the machine, has too many open.
pub fn is_out_of_descriptors(error: &std::io::Error) -> bool {
    // The same numbers wherever Switchyard runs; the standard library has no name for them.
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

/// The prefix of an error that the agent gave as its answer.
pub const AGENT_ERROR_PREFIX: &str = "the agent answered with an error: ";
pub const LOGIN_REMEDY: &str = "log in with the agent's own command line";

/// `text` with a provider's error in JSON replaced by the message inside of it.
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

#[cfg(test)]
mod tests;
