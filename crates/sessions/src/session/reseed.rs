//! Tells an agent that has forgotten a session what happened in it so far.

use serde_json::Value;
use store::{EventLog, StoreError};
use wire::{Event, Kind, Own, Seq, SessionId, TurnId};

use crate::projection::Retold;

/// The end of a long conversation matters most, and prompts have limits too.
const MAX_BYTES: usize = 48 << 10;
const PAGE: usize = 512;

/// The conversation as text, to go before the next prompt; `None` if nothing was said.
/// Prompts of `waiting` turns are still to come and left out.
pub(crate) async fn preamble(
    log: &dyn EventLog,
    session: SessionId,
    waiting: &[TurnId],
) -> Result<Option<String>, StoreError> {
    let mut transcript = Transcript::default();
    let mut after = Seq(0);
    loop {
        let events = log.read(session, after, PAGE).await?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        let is_past = |event: &&Event| event.turn.is_none_or(|turn| !waiting.contains(&turn));
        for event in events.iter().filter(is_past) {
            transcript.add(event);
        }
    }
    Ok(transcript.finish())
}

#[derive(Default)]
struct Transcript {
    text: String,
    is_cut: bool,
    speaker: Option<&'static str>,
    retold: Retold,
}

impl Transcript {
    fn add(&mut self, event: &Event) {
        if let Some(added) = self.retold.see(event) {
            return self.say("Assistant", &added);
        }
        match &event.kind {
            Kind::PromptReceived => {
                let Some(Own::PromptReceived(received)) = event.own() else { return };
                let blocks: Vec<Value> = received.prompt.read().unwrap_or_default();
                let blocks = blocks.iter();
                for text in blocks.filter_map(|block| block["text"].as_str()) {
                    self.speaker = None;
                    self.say("User", text);
                }
            }
            Kind::Update(_) => self.add_update(event),
            _ => {}
        }
    }

    fn add_update(&mut self, event: &Event) {
        if event.kind.update_name() != Some("tool_call") {
            return;
        }
        let payload: Value = event.payload.read().unwrap_or_default();
        if let Some(title) = payload["update"]["title"].as_str() {
            self.speaker = None;
            self.say("Assistant used a tool", title);
        }
    }

    fn say(&mut self, speaker: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.speaker != Some(speaker) {
            self.text.push_str("\n\n");
            self.text.push_str(speaker);
            self.text.push_str(": ");
            self.speaker = Some(speaker);
        }
        self.text.push_str(text);
        if self.text.len() > 2 * MAX_BYTES {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let mut from = self.text.len().saturating_sub(MAX_BYTES);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        if from > 0 {
            self.text.drain(..from);
            self.is_cut = true;
        }
    }

    fn finish(mut self) -> Option<String> {
        self.cut();
        let text = self.text.trim();
        if text.is_empty() {
            return None;
        }
        let cut = if self.is_cut { " Its beginning is left out." } else { "" };
        Some(format!(
            "This is the record of our conversation so far; you have lost your own memory of \
             it.{cut} Take it as context, do not repeat it and do not redo what it says was \
             done.\n\n<conversation>\n{text}\n</conversation>\n\nThe conversation goes on:"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::projection::tests::log::Log;

    #[test]
    fn what_was_told_again_after_a_retry_is_remembered_once() {
        let retry = json!({ "method": "_session/retrying" });
        let log = Log::new().in_turn(1).prompt("hi").start().text("Hello from");
        let log = log.own(Kind::AgentNotification, retry).text("Hello").text(" from the model");
        let log = log.tool("c", json!({ "title": "Read it" })).text("Done.");
        let mut transcript = Transcript::default();
        log.events.iter().for_each(|event| transcript.add(event));
        let told = transcript.finish().unwrap();
        let expected = "User: hi\n\nAssistant: Hello from the model\n\n\
                        Assistant used a tool: Read it\n\nAssistant: Done.";
        assert!(told.contains(expected), "{told}");
    }
}
