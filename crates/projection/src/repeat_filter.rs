//! Leaves out what is repeated when an answer starts over after its connection to the model broke.
//!
//! All views of a log show an answer by this: those of this crate, the chat and the page. The log
//! has every piece as it came.
//!
//! In: every event of a log. Out: of each piece of the answer what was not shown before. Only where
//! the agent says that it tries again: a notification of its own (Vibe), or words in its answer
//! (Copilot). Agents that begin again without a word cannot be told from those that repeat
//! themselves, and nothing of theirs is left out.
//!
//! An attempt that differs from the one before is shown in full: half an answer would be worse than
//! one and a half. So no word that came once is ever lost.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use wire::{Event, Kind, OwnEvent};

use super::content::{chunk_text, update_of};

/// The text that Copilot puts into its answer before it begins again.
const COPILOT_RETRY_TEXT: &str =
    "Info: Response was interrupted due to a server error. Retrying...";
/// Vibe's notification that it tries again.
const VIBE_RETRY_METHOD: &str = "_session/retrying";
/// Limit of the answer that is remembered; a longer one is shown as it comes.
const MAX_BYTES: usize = 1 << 20;

/// The answer of a turn, over all attempts at it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RepeatFilter {
    answer: String,
    /// It was longer than what is remembered, which is nothing then.
    is_too_long: bool,
    /// How much of `answer` the current attempt has repeated; `None` when it is past it.
    at: Option<usize>,
}

impl RepeatFilter {
    /// Must get every event. Returns what a piece of the answer adds, or `None` for other events.
    pub fn new_text(&mut self, event: &Event) -> Option<String> {
        match (event.kind.update_name(), &event.kind) {
            (Some("agent_message_chunk"), _) => {
                let text = chunk_text(&update_of(event));
                if text.trim() == COPILOT_RETRY_TEXT {
                    self.restart();
                    return Some(text);
                }
                Some(self.add(&text).into_owned())
            }
            // An attempt that got as far as this was a good one, and the next text is a new answer.
            (Some("agent_thought_chunk" | "tool_call" | "tool_call_update" | "plan"), _)
            | (_, Kind::TurnStarted | Kind::TurnEnded | Kind::PermissionRequested) => {
                *self = Self::default();
                None
            }
            (_, Kind::AgentNotification) => {
                if matches!(event.own(), Some(OwnEvent::AgentNotification(told)) if told.method == VIBE_RETRY_METHOD)
                {
                    self.restart();
                }
                None
            }
            _ => None,
        }
    }

    /// The answer is attempted again, from its beginning.
    fn restart(&mut self) {
        self.at = (!self.answer.is_empty()).then_some(0);
    }

    fn remember(&mut self, new: &str) {
        if self.is_too_long || self.answer.len() + new.len() > MAX_BYTES {
            (self.answer, self.is_too_long) = (String::new(), true);
        } else {
            self.answer.push_str(new);
        }
    }

    /// The part of `piece` that was not shown before.
    fn add<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        let Some(at) = self.at else {
            self.remember(piece);
            return Cow::Borrowed(piece);
        };
        let (before, rest) = self.answer.split_at_checked(at).unwrap_or((&self.answer, ""));
        if let Some(new) = piece.strip_prefix(rest) {
            self.at = None;
            self.remember(new);
            Cow::Borrowed(new)
        } else if rest.starts_with(piece) {
            self.at = Some(at + piece.len());
            Cow::Borrowed("")
        } else {
            let all = format!("{before}{piece}");
            self.answer.clone_from(&all);
            self.at = None;
            Cow::Owned(all)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::log::Log;

    /// The page's test reads the same cases: `web/src/session/repeats.test.ts`.
    #[test]
    fn an_answer_is_told_once_whatever_its_pieces() {
        #[derive(serde::Deserialize)]
        struct Case {
            name: String,
            /// `None` stands for the agent's notification that it tries again.
            pieces: Vec<Option<String>>,
            shown: String,
        }
        let cases: Vec<Case> =
            serde_json::from_str(include_str!("repeat_filter/cases.json")).unwrap();
        assert!(cases.len() > 5);
        for Case { name, pieces, shown } in cases {
            let mut log = Log::started();
            for piece in pieces {
                log = match piece {
                    Some(text) => log.text(&text),
                    None => {
                        log.own(Kind::AgentNotification, json!({ "method": VIBE_RETRY_METHOD }))
                    }
                };
            }
            let mut retold = RepeatFilter::default();
            let told: String =
                log.events.iter().filter_map(|event| retold.new_text(event)).collect();
            assert_eq!(told, shown, "{name}");
        }
    }
}
