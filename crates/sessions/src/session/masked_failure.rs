//! Turns that failed although the agent says that they ended well.
//!
//! Some agents report a provider's error as their answer, or say nothing at all, and end the
//! turn as if it had been one. Which agents do so, and in which words, is known about each of
//! them ([`AgentQuirks`]); nothing is guessed about others.

use serde_json::Value;
use wire::{Category, Fault, Json};

use crate::host::AgentQuirks;

/// The last message of the agent in a turn.
#[derive(Debug, Default)]
pub(super) struct LastMessage {
    /// The beginning of the last chunk of its answer, or of the message that it belongs to where
    /// the agent says which that is.
    chunk: String,
    /// The message of the last chunk.
    message: Option<String>,
    has_acted: bool,
}

/// Length of the chunk that is kept: enough for an error message.
const MAX_CHUNK_CHARS: usize = 1000;
/// Longest id of a message; a longer one counts as none.
const MAX_ID_BYTES: usize = 256;

impl LastMessage {
    /// Notes an update of the agent, by its name.
    pub(super) fn hear(&mut self, update: &str, payload: &Json, quirks: &AgentQuirks) {
        if quirks.failure_words.is_empty() && !quirks.silence_is_failure {
            return;
        }
        match update {
            "agent_message_chunk" => {
                let payload: Value = payload.read().unwrap_or_default();
                let update = &payload["update"];
                let text = update["content"]["text"].as_str().unwrap_or_default();
                if !text.trim().is_empty() {
                    self.hear_chunk(update["messageId"].as_str(), text);
                }
            }
            "agent_thought_chunk" | "tool_call" | "tool_call_update" | "plan" => {
                *self = Self { has_acted: true, ..Self::default() };
            }
            _ => {}
        }
    }

    fn hear_chunk(&mut self, message: Option<&str>, text: &str) {
        let message = message.filter(|id| id.len() <= MAX_ID_BYTES);
        // Where messages have names, the rest of one is never taken for the beginning of another:
        // `401 ` stands in many answers.
        if message.is_none() || message != self.message.as_deref() {
            self.chunk.clear();
            self.message = message.map(str::to_owned);
        }
        let room = MAX_CHUNK_CHARS.saturating_sub(self.chunk.chars().count());
        self.chunk.extend(text.chars().take(room));
    }

    /// Why a turn that ended with `result` did not end well. `stderr` is what the agent printed
    /// last.
    pub(super) fn failure(
        &self,
        result: &Value,
        quirks: Option<&AgentQuirks>,
        stderr: impl FnOnce() -> String,
    ) -> Option<Fault> {
        // The built-in agent reports errors to clients as text, and to us in `_meta`.
        let reported = &result["_meta"]["switchyard"]["error"];
        if let Some(message) = reported["message"].as_str() {
            let category = reported["category"].as_str().and_then(Category::named);
            return Some(Fault::new(category.unwrap_or_default(), message));
        }
        if result["stopReason"] != "end_turn" {
            return None;
        }
        let (quirks, text) = (quirks?, self.chunk.trim());
        if quirks.failure_words.iter().any(|words| text.starts_with(words.as_str())) {
            return Some(Fault::from_words(text).with_login(quirks.login.as_deref()));
        }
        if !quirks.silence_is_failure || self.has_acted || !text.is_empty() {
            return None;
        }
        let said = stderr();
        let fault = Fault::from_words(said.as_str());
        let message = match said.is_empty() {
            true => "the agent ended its turn without a word".to_owned(),
            false => format!("the agent ended its turn without a word; on stderr: {said}"),
        };
        Some(Fault { message, ..fault }.with_login(quirks.login.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(chunks: &[(Option<&str>, &str)]) -> String {
        let mut words = LastMessage::default();
        for (message, text) in chunks {
            words.hear_chunk(*message, text);
        }
        words.chunk
    }

    #[test]
    fn the_rest_of_a_message_is_not_taken_for_its_beginning() {
        assert_eq!(
            last(&[(Some("a"), "there are "), (Some("a"), "401 users")]),
            "there are 401 users"
        );
        assert_eq!(last(&[(Some("a"), "Hello"), (Some("b"), "401 no key")]), "401 no key");
        // Without names the last chunk is all there is to go by.
        assert_eq!(last(&[(None, "Hello"), (None, "HTTP 401")]), "HTTP 401");
        assert_eq!(last(&[(Some("a"), "x"), (None, "y")]), "y");
        let long = "x".repeat(MAX_CHUNK_CHARS);
        assert_eq!(last(&[(Some("a"), &long), (Some("a"), "more")]), long);
    }
}
