//! What went wrong, in words for the user: a category, a sentence, and what to do.

use serde::Serialize;
use serde_json::Value;
use wire::{RpcError, codes};

use crate::host::{HostError, StartError};
use crate::link::LinkError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    pub category: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Trouble {
    pub fn new(category: &'static str, message: impl Into<String>) -> Self {
        Self { category, message: message.into(), remedy: None }
    }

    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// An error that the agent gave as the answer to a prompt.
    pub(crate) fn from_agent(error: &RpcError) -> Self {
        if let Some(category) = told_category(error) {
            return told(category, error);
        }
        let category = match error.code {
            codes::AUTH_REQUIRED | 401 | 403 => "auth",
            429 => "rate_limit",
            codes::INVALID_PARAMS | codes::INVALID_REQUEST => "bad_input",
            500..=599 => "upstream_unavailable",
            _ => category_of(&error.to_string()),
        };
        let told = error.to_string();
        let told = message_in(&told).unwrap_or(told);
        Self::new(category, format!("{ANSWERED}{told}"))
    }

    /// An error that the agent gave in words alone.
    pub(crate) fn from_words(text: &str) -> Self {
        Self::new(category_of(text), text)
    }

    /// Says how to log in, where that is the trouble; `login` is the agent's own way.
    #[must_use]
    pub(crate) fn with_login(self, login: Option<&str>) -> Self {
        match (self.category, &self.remedy) {
            ("auth", None) => self.remedy(login.unwrap_or(LOGIN)),
            _ => self,
        }
    }
}

/// What stands before an error that the agent gave as its answer.
pub(crate) const ANSWERED: &str = "the agent answered with an error: ";
const LOGIN: &str = "log in with the agent's own command line";

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
fn category_of(text: &str) -> &'static str {
    const SIGNS: [(&[&str], &str); 7] = [
        (&["unauthorized", "authentication", "api key", "401", "403"], "auth"),
        (&["rate limit", "429", "quota"], "rate_limit"),
        (&["context window", "context length", "too long", "too large"], "prompt_too_large"),
        (&["timed out", "timeout"], "timeout"),
        (&["connection", "unavailable", "socket", "network"], "upstream_unavailable"),
        (&["server error", "server had an error", "overloaded", "http 5"], "upstream_unavailable"),
        (&["experiencing high demand"], "upstream_unavailable"),
    ];
    let text = text.to_lowercase();
    let found = SIGNS.iter().find(|(words, _)| words.iter().any(|word| text.contains(word)));
    found.map_or("internal", |(_, category)| category)
}

/// The category in an error's `data`: adapters of our own tell it.
fn told_category(error: &RpcError) -> Option<&'static str> {
    let data: serde_json::Value = error.data.as_ref()?.read().ok()?;
    category(data["category"].as_str()?)
}

/// A category by its name, if it is one of ours.
pub(crate) fn category(name: &str) -> Option<&'static str> {
    const KNOWN: [&str; 12] = [
        "auth",
        "rate_limit",
        "model_unavailable",
        "prompt_too_large",
        "upstream_unavailable",
        "timeout",
        "rejected",
        "process_exit",
        "protocol",
        "bad_input",
        "internal",
        "session_lost",
    ];
    KNOWN.into_iter().find(|known| *known == name)
}

fn told(category: &'static str, error: &RpcError) -> Trouble {
    let data: serde_json::Value =
        error.data.as_ref().and_then(|data| data.read().ok()).unwrap_or_default();
    let trouble = Trouble::new(category, error.message.clone());
    match data["remedy"].as_str() {
        Some(remedy) => trouble.remedy(remedy),
        None => trouble,
    }
}

/// For a command that said nothing that is ACP.
const SPEAK_ACP: &str = "run the command by hand to see what it needs: it must speak ACP on stdio; \
     a CLI that only prints text can be an agent of the configuration with `dialect = \"plain\"`";

impl From<&HostError> for Trouble {
    fn from(error: &HostError) -> Self {
        let message = error.to_string();
        match error {
            HostError::Start(StartError::Spawn(spawn)) => match spawn {
                bus::SpawnError::NotFound { .. } => Self::new("process_exit", message)
                    .remedy("install the agent, or give its full path after `--`"),
                bus::SpawnError::NotExecutable { .. } => Self::new("process_exit", message)
                    .remedy("make it executable, or give another command after `--`"),
                bus::SpawnError::Record { .. } => Self::new("internal", message)
                    .remedy("make room or give access there, or set SWITCHYARD_HOME elsewhere"),
                _ => Self::new("process_exit", message),
            },
            HostError::Start(StartError::Place(_)) => Self::new("bad_input", message),
            HostError::Start(StartError::DiedEarly { .. }) => {
                Self::new("process_exit", message).remedy(SPEAK_ACP)
            }
            HostError::Start(StartError::Silent { .. }) => {
                Self::new("timeout", message).remedy(SPEAK_ACP)
            }
            HostError::Start(_) => Self::new("protocol", message),
            HostError::CircuitOpen { .. } => Self::new("process_exit", message)
                .remedy("see the agent's stderr in the session's events"),
            HostError::ShuttingDown => Self::new("internal", message),
        }
    }
}

impl From<&LinkError> for Trouble {
    fn from(error: &LinkError) -> Self {
        let message = error.to_string();
        match error {
            LinkError::AuthRequired { methods, error: told_error, login } => {
                let names: Vec<String> = methods
                    .iter()
                    .map(|method| format!("`{}` ({})", method.id, method.name))
                    .collect();
                if let Some(category) = told_category(told_error) {
                    return told(category, told_error);
                }
                let login = login.as_deref().unwrap_or(LOGIN);
                let remedy = match names.is_empty() {
                    true => login.to_owned(),
                    false => format!("{login}, or try --auth with one of: {}", names.join(", ")),
                };
                Self::new("auth", message).remedy(remedy)
            }
            LinkError::Refused { error, .. } => match told_category(error) {
                Some(category) => told(category, error),
                None => Self::new("rejected", message),
            },
            LinkError::NotHeld { .. } => Self::new("protocol", message)
                .remedy("give the agent's own command after `--` to run it as it is"),
            LinkError::AgentEnded => Self::new("process_exit", message),
            LinkError::Silent { .. } => Self::new("timeout", message),
            LinkError::NoSessionId | LinkError::SameSession => Self::new("protocol", message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_json_is_told_in_its_own_words() {
        let told = |text: &str| message_in(text);
        let wrapped =
            r#"[{"error":{"code":429,"message":"{\"error\":{\"message\":\"no quota\"}}"}}] (429)"#;
        assert_eq!(told(wrapped).as_deref(), Some("no quota (429)"));
        let after = r#"Internal error: {"error":{"message":"bad key","status":"X"}} (-32603)"#;
        assert_eq!(told(after).as_deref(), Some("Internal error: bad key (-32603)"));
        for text in
            ["no json", "a [list of words", "{}", "{ \"a\": 1 }", "[1, 2]", "{\"message\":\"\"}"]
        {
            assert_eq!(told(text), None, "{text}");
        }
        let deep = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(told(&deep), None);
    }

    #[test]
    fn what_an_error_is_about_is_known_by_its_words() {
        for (words, category) in [
            ("Incorrect API key provided", "auth"),
            ("429 model: slow down", "rate_limit"),
            ("maximum context length is 128000 tokens", "prompt_too_large"),
            ("The server had an error", "upstream_unavailable"),
            ("We're currently experiencing high demand", "upstream_unavailable"),
            ("it is odd", "internal"),
        ] {
            assert_eq!(category_of(words), category, "{words}");
        }
    }

    #[test]
    fn a_missing_login_is_told_how_to_be_had() {
        let error = RpcError::new(401, "no key");
        let trouble = Trouble::from_agent(&error).with_login(Some("run `goose configure`"));
        assert_eq!(trouble.remedy.as_deref(), Some("run `goose configure`"));
        assert_eq!(Trouble::from_agent(&error).with_login(None).remedy.as_deref(), Some(LOGIN));
        let busy = Trouble::from_agent(&RpcError::new(429, "slow down")).with_login(Some("x"));
        assert_eq!((busy.category, busy.remedy), ("rate_limit", None));
    }
}
