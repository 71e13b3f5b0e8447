//! Failures of endpoints, in words for people, and whether to try again.
//!
//! Always true: a message names the address without its query and holds no key; what the
//! provider says about it is cut to a few lines.

use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use wire::Category;

use crate::native::endpoint::{Endpoint, shown};
use crate::native::excerpt;
use crate::native::http;

/// Characters of a provider's explanation: as much as a person reads.
const MAX_EXPLANATION_CHARS: usize = 600;

/// A failed request to an endpoint, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    pub category: Category,
    /// A whole sentence that names the URL and what to do.
    pub message: String,
}

/// A failure that a repetition may mend.
#[derive(Debug)]
pub(super) struct RequestFault {
    pub(super) failure: ModelFailure,
    pub(super) retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    Never,
    /// Later; after as long as the endpoint asks for, if it does.
    After(Option<Duration>),
}

impl From<ModelFailure> for RequestFault {
    fn from(failure: ModelFailure) -> Self {
        Self { failure, retry: Retry::Never }
    }
}

impl ModelFailure {
    /// The conversation does not fit into the model's window.
    pub fn is_too_long(&self) -> bool {
        self.category == Category::PromptTooLarge
    }

    pub(in crate::native) fn new(category: Category, message: impl Into<String>) -> Self {
        Self { category, message: message.into() }
    }

    pub(super) fn network(endpoint: &Endpoint, url: &Url, error: &reqwest::Error) -> Self {
        let category = match error.is_timeout() {
            true => Category::Timeout,
            false => Category::UpstreamUnavailable,
        };
        Self::connection(endpoint, url, category, &causes(error))
    }

    /// The connection was lost or closed.
    pub(super) fn lost(endpoint: &Endpoint, url: &Url, why: &str) -> Self {
        Self::connection(endpoint, url, Category::UpstreamUnavailable, why)
    }

    fn connection(endpoint: &Endpoint, url: &Url, category: Category, why: &str) -> Self {
        let why = endpoint.hide_secrets(why);
        let message = format!("Network error connecting to {}: {why}", shown(url));
        Self { category, message }
    }

    pub(super) fn silence(endpoint: &Endpoint, url: &Url, within: Duration) -> Self {
        let why = format!("nothing came for {} s", within.as_secs_f64());
        Self::connection(endpoint, url, Category::Timeout, &why)
    }

    pub(super) fn protocol(endpoint: &Endpoint, url: &Url, why: &str) -> Self {
        let why = endpoint.hide_secrets(why);
        let message = format!("Unexpected answer from {}: {why}", shown(url));
        Self { category: Category::Protocol, message }
    }

    pub(super) fn bad_key(endpoint: &Endpoint) -> Self {
        let message = format!(
            "Authentication error calling {}. Check your {}: it holds characters that no key has.",
            endpoint.shown_base(),
            endpoint.key_name
        );
        Self { category: Category::Auth, message }
    }
}

/// The failure for a refusal: its status, and what the endpoint says about it.
pub(super) fn refusal(
    endpoint: &Endpoint,
    url: &Url,
    status: u16,
    body: &str,
    retry_after: Option<Duration>,
) -> RequestFault {
    let explanation = Explanation::read(body);
    let (category, may_retry) = classify(status, &explanation);
    let mut message = sentence(endpoint, url, status);
    let said = endpoint.hide_secrets(&explanation.text);
    if !said.is_empty() {
        message = format!("{message} {said}");
    } else if (300..400).contains(&status) {
        message.push_str(" Redirects are not followed: check the base URL.");
    } else if status == 404 {
        message.push_str(" Check the base URL and the model.");
    }
    let retry = if may_retry { Retry::After(retry_after) } else { Retry::Never };
    RequestFault { failure: ModelFailure { category, message }, retry }
}

/// The failure for an error inside an answer that had begun.
pub(super) fn error_in_answer(endpoint: &Endpoint, url: &Url, error: &Value) -> RequestFault {
    let explanation = Explanation::of(error);
    let said = endpoint.hide_secrets(&explanation.text);
    let said = if said.is_empty() { "it did not say why".to_owned() } else { said };
    if let Some(status) = explanation.status {
        let (category, may_retry) = classify(status, &explanation);
        let message = format!("{} {said}", sentence(endpoint, url, status));
        let retry = if may_retry { Retry::After(None) } else { Retry::Never };
        return RequestFault { failure: ModelFailure { category, message }, retry };
    }
    let category = match classify(400, &explanation).0 {
        Category::BadInput => Category::UpstreamUnavailable,
        category => category,
    };
    let message = format!("Error from {} in its answer: {said}", shown(url));
    let retry = match category {
        Category::UpstreamUnavailable | Category::RateLimit => Retry::After(None),
        _ => Retry::Never,
    };
    RequestFault { failure: ModelFailure { category, message }, retry }
}

fn sentence(endpoint: &Endpoint, url: &Url, status: u16) -> String {
    let url = shown(url);
    match status {
        401 | 403 => format!(
            "Authentication error (HTTP {status}) calling {url}. Check your {}.",
            endpoint.key_name
        ),
        429 => format!("Rate limit exceeded (HTTP 429) calling {url}. Please retry later."),
        500..=599 => format!("Server error (HTTP {status}) from {url}."),
        _ => format!("HTTP error ({status}) from {url}."),
    }
}

/// The category, and whether the same request may be taken later.
fn classify(status: u16, explanation: &Explanation) -> (Category, bool) {
    let words = format!("{} {}", explanation.text, explanation.code).to_lowercase();
    // llama.cpp's words for a prompt that is too long.
    let is_of_llama =
        ["exceed_context_size", "available context size"].iter().any(|said| words.contains(said));
    let category = match Category::classify(Some(status.into()), &words) {
        // This one costs a summary of the conversation, so only llama.cpp's own texts count.
        Category::PromptTooLarge if status == 500 && !is_of_llama => Category::UpstreamUnavailable,
        // An endpoint keeps no conversations that it could have lost.
        Category::SessionLost => Category::BadInput,
        // Nor is a wrong address about the model, if nothing is said of one.
        Category::ModelUnavailable if !words.contains("model") => Category::BadInput,
        category => category.or(Category::Protocol),
    };
    let may_retry = match status {
        // Nothing but money mends this one.
        429 => !words.contains("insufficient_quota"),
        408 => true,
        500..=599 => category != Category::PromptTooLarge,
        _ => false,
    };
    (category, may_retry)
}

/// A provider's explanation of its refusal, whatever shape it has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Explanation {
    pub(super) text: String,
    code: String,
    status: Option<u16>,
}

impl Explanation {
    pub(super) fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => {
                let value = value.get(0).unwrap_or(&value);
                match value.get("error").filter(|error| !error.is_null()) {
                    Some(error) => Self::of(error),
                    None => Self::of(value),
                }
            }
            // A page for browsers explains nothing.
            Err(_) if body.trim_start().starts_with('<') => Self::default(),
            Err(_) => Self { text: on_one_line(body), ..Self::default() },
        }
    }

    /// Reads the object that holds the error, or its text itself.
    fn of(error: &Value) -> Self {
        let text = match error {
            Value::String(text) => text.clone(),
            _ => ["message", "detail", "error", "msg", "title"]
                .iter()
                .find_map(|name| words(error.get(*name)?))
                .unwrap_or_default(),
        };
        let mut text = on_one_line(&text);
        // OpenRouter puts what matters beside the message.
        if let Some(raw) = error.get("metadata").and_then(|meta| meta.get("raw")?.as_str()) {
            text = on_one_line(&format!("{text}: {raw}"));
        }
        let codes: Vec<_> = ["code", "type"]
            .iter()
            .filter_map(|name| error.get(*name))
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        let status = codes.iter().find_map(|code| code.parse().ok());
        let status = status.filter(|status| (400..600).contains(status));
        Self { text, code: codes.join(" ").to_lowercase(), status }
    }
}

fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(all) => {
            let all: Vec<_> = all.iter().filter_map(words).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
        Value::Object(object) => {
            let text = ["message", "msg"].iter().find_map(|name| words(object.get(*name)?))?;
            let place: Vec<_> = match object.get("loc") {
                Some(Value::Array(place)) => place.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            Some(if place.is_empty() { text } else { format!("{}: {text}", place.join(".")) })
        }
        _ => None,
    }
}

/// The text without line breaks and control characters, and not too long.
pub(super) fn on_one_line(text: &str) -> String {
    let mut out = String::new();
    // Bounded before the work, not after it: each word has a character at least.
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > 4 * MAX_EXPLANATION_CHARS {
            break;
        }
    }
    excerpt::head(&out, MAX_EXPLANATION_CHARS)
}

/// The causes of an error, on one line.
fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in http::causes(error) {
        if !texts.iter().any(|before| before.contains(&text)) {
            texts.push(text);
        }
    }
    match texts.is_empty() {
        true => "the request could not be made".to_owned(),
        false => on_one_line(&texts.join(": ")),
    }
}

#[cfg(test)]
mod tests;
