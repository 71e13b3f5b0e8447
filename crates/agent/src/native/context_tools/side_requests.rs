//! Questions to the session's model beside the conversation.
//!
//! In: instructions and material. Out: the answer's text, or a value that was checked. An
//! answer that does not fit is asked for once more, with what was wrong.

use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use crate::native::chat::{ChatMessage, ChatRequest, Delta, MessagePart, push_user};
use crate::native::session::NativeSession;
use crate::native::tool::ToolError;

/// Longest answer: far more than any that is asked for here.
const MAX_ANSWER_CHARS: usize = 200_000;
const MAX_TRIES: usize = 2;

/// Asks for one JSON object and nothing else; `check` says what is wrong with it.
pub(super) async fn ask_json<T: DeserializeOwned>(
    session: &NativeSession,
    system: &str,
    prompt: String,
    check: impl Fn(&T) -> Result<(), String> + Send + Sync,
) -> Result<T, ToolError> {
    let mut messages = opening(system, prompt);
    let mut wrong = String::new();
    for _ in 0..MAX_TRIES {
        let said = answer(session, messages.clone()).await?;
        let read = serde_json::from_str::<T>(object(&said)).map_err(|error| error.to_string());
        match read.and_then(|value| check(&value).map(|()| value)) {
            Ok(value) => return Ok(value),
            Err(why) => wrong = why,
        }
        // Endpoints refuse an empty answer.
        let text = if said.is_empty() { "{}".to_owned() } else { said };
        let (thought, calls) = (String::new(), Vec::new());
        messages.push(ChatMessage::Assistant { text, thought, calls });
        let again =
            format!("This does not fit: {wrong}. Answer again, with the JSON object alone.");
        push_user(&mut messages, vec![MessagePart::text(again)]);
    }
    Err(ToolError(format!(
        "The model was asked {MAX_TRIES} times and its answer does not fit: {wrong}."
    )))
}

pub(super) fn opening(system: &str, prompt: String) -> Vec<ChatMessage> {
    let system = ChatMessage::System { text: system.to_owned() };
    vec![system, ChatMessage::User { parts: vec![MessagePart::text(prompt)] }]
}

pub(super) async fn answer(
    session: &NativeSession,
    messages: Vec<ChatMessage>,
) -> Result<String, ToolError> {
    let failed = |error| ToolError(format!("The model could not be asked: {error}"));
    let chosen = session.chosen().await.map_err(failed)?;
    let request = ChatRequest {
        model: chosen.model,
        messages,
        effort: session.options().effort,
        calls_as_text: !session.has_tools(),
        ..ChatRequest::default()
    };
    let mut answer = chosen.provider.chat(request);
    let mut said = String::new();
    while let Some(delta) = answer.next().await {
        match delta.map_err(failed)? {
            Delta::Text(text) => said.push_str(&text),
            Delta::Usage(usage) => session.spend_aside(usage).await.map_err(ToolError::new)?,
            _ => {}
        }
        if said.len() > MAX_ANSWER_CHARS {
            return Err(ToolError::new("The model's answer has no end."));
        }
    }
    Ok(said.trim().to_owned())
}

/// The JSON object in an answer: models put fences and words around it, whatever they are told.
fn object(said: &str) -> &str {
    let ends = said.find('{').zip(said.rfind('}'));
    ends.and_then(|(start, end)| said.get(start..=end)).unwrap_or(said)
}
