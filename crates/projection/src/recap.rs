//! A recap of the conversation so far, for an agent that has lost it.
//!
//! In: the changes of a conversation. Out: who said what, as text; of a long conversation the end,
//! which matters most.

use super::content::ContentBlock;
use super::conversation::{Change, Conversation, Projection};

/// Limit of a recap: it goes into a prompt, and prompts have limits too.
const MAX_BYTES: usize = 48 << 10;

/// The projection to a recap.
#[derive(Debug, Clone, Default)]
pub struct RecapProjection {
    is_cut: bool,
    speaker: Option<&'static str>,
}

impl Projection for RecapProjection {
    type Out = String;

    fn render(&mut self, change: Change<'_>, now: &Conversation, out: &mut String) {
        match change {
            Change::Prompt(said) => {
                for text in said.blocks().iter().filter_map(ContentBlock::text) {
                    self.speaker = None;
                    self.say("User", &text, out);
                }
            }
            Change::Answer { text, .. } => self.say("Assistant", &text, out),
            Change::CallBegan { call, .. } => {
                if let Some(title) = &now.call(call).title {
                    self.speaker = None;
                    self.say("Assistant used a tool", title, out);
                }
            }
            _ => {}
        }
    }
}

impl RecapProjection {
    fn say(&mut self, speaker: &'static str, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        if self.speaker != Some(speaker) {
            out.push_str("\n\n");
            out.push_str(speaker);
            out.push_str(": ");
            self.speaker = Some(speaker);
        }
        out.push_str(text);
        if out.len() > 2 * MAX_BYTES {
            self.cut(out);
        }
    }

    fn cut(&mut self, out: &mut String) {
        let from = out.ceil_char_boundary(out.len().saturating_sub(MAX_BYTES));
        if from > 0 {
            out.drain(..from);
            self.is_cut = true;
        }
    }

    /// The recap with words to the agent, to go before the next prompt; `None` if nothing was said.
    pub fn preamble(&mut self, mut told: String) -> Option<String> {
        self.cut(&mut told);
        let told = told.trim();
        if told.is_empty() {
            return None;
        }
        let cut = if self.is_cut { " Its beginning is left out." } else { "" };
        Some(format!(
            "This is the record of our conversation so far; you have lost your own memory of \
             it.{cut} Take it as context, do not repeat it and do not redo what it says was \
             done.\n\n<conversation>\n{told}\n</conversation>\n\nThe conversation goes on:"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wire::Kind;

    use super::*;
    use crate::conversation::LogReader;
    use crate::tests::log::Log;

    #[test]
    fn what_was_told_again_after_a_retry_is_remembered_once() {
        let retry = json!({ "method": "_session/retrying" });
        let log = Log::new().in_turn(1).prompt("hi").start().text("Hello from");
        let log = log.own(Kind::AgentNotification, retry).text("Hello").text(" from the model");
        let log = log.tool("c", json!({ "title": "Read it" })).text("Done.");
        let (mut recap, mut told) = (LogReader::<RecapProjection>::default(), String::new());
        log.events.iter().for_each(|event| recap.project(event, &mut told));
        let told = recap.projection_mut().preamble(told).unwrap();
        let expected = "User: hi\n\nAssistant: Hello from the model\n\n\
                        Assistant used a tool: Read it\n\nAssistant: Done.";
        assert!(told.contains(expected), "{told}");
    }
}
