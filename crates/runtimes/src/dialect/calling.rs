//! Tool calls: which are open, and what those have printed.
//!
//! In: what a CLI says of its tools; of those that tell a start, some output and an end, only
//! that. Out: updates with kind, title, files and changes, such that each call starts once and
//! ends once. A change stays in the content when output is added to it.

use std::collections::HashMap;

use serde_json::Value;

use super::Said;
use crate::tools;
use crate::update::{Block, Call, Content, Kind, Status, Update};

/// Live output is a window on the end of it: every update repeats what it shows.
pub(super) const MAX_LIVE_BYTES: usize = 64 << 10;

/// Which tool calls are open. What a CLI says of them may come in any order, doubled or cut
/// short.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By id, and whether it has ended.
    seen: HashMap<String, bool>,
    /// Ids of calls in the order they came, so that what is left open ends in that order.
    order: Vec<String>,
}

impl Calls {
    /// What is known about a call: its start if it is new, else a change of it. Nothing is
    /// said about a call that has ended.
    pub(super) fn say(&mut self, mut call: Call, out: &mut Vec<Said>) {
        let is_final = call.status.is_some_and(Status::is_final);
        let update = match self.seen.get(&call.id) {
            Some(true) => return,
            Some(false) => Update::ToolCallUpdate(call.clone()),
            None => {
                self.order.push(call.id.clone());
                // A start must have a title.
                if call.title.is_none() {
                    call.title = Some(call.name.clone().unwrap_or_else(|| "tool".to_owned()));
                }
                call.kind.get_or_insert(Kind::Other);
                call.status.get_or_insert(Status::Pending);
                Update::ToolCall(call.clone())
            }
        };
        self.seen.insert(call.id, is_final);
        out.push(Said::Update(update));
    }

    pub(super) fn is_known(&self, id: &str) -> bool {
        self.seen.contains_key(id)
    }

    pub(super) fn is_open(&self, id: &str) -> bool {
        self.seen.get(id) == Some(&false)
    }

    /// Ends every open call as failed, with `why`: the turn is over and nobody else will.
    pub(super) fn close(&mut self, why: &str, out: &mut Vec<Said>) {
        for id in std::mem::take(&mut self.order) {
            if self.is_open(&id) {
                self.say(Call::change(id, Status::Failed, vec![Content::text(why)]), out);
            }
        }
    }
}

/// Calls that are told by a name and an input, with what they print while they run.
#[derive(Debug, Default)]
pub(super) struct Calling {
    calls: Calls,
    /// In the order they came.
    open: Vec<Open>,
}

#[derive(Debug, Default)]
struct Open {
    id: String,
    changes: Vec<Content>,
    output: String,
}

/// How a call ended.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) images: Vec<Block>,
    pub(super) raw: Option<Value>,
    pub(super) is_failure: bool,
}

impl Calling {
    pub(super) fn start(&mut self, id: &str, name: &str, input: &Value, out: &mut Vec<Said>) {
        self.start_in(id, name, input, None, out);
    }

    /// Like `start`, for a call of a sub-agent that was itself called by `parent`.
    pub(super) fn start_in(
        &mut self,
        id: &str,
        name: &str,
        input: &Value,
        parent: Option<&str>,
        out: &mut Vec<Said>,
    ) {
        let call = tools::call_of(id, name, input, parent);
        let changes = call.content.clone().unwrap_or_default();
        self.calls.say(Call { status: Some(Status::InProgress), ..call }, out);
        if self.calls.is_open(id) {
            self.take(id);
            self.open.push(Open { id: id.to_owned(), changes, output: String::new() });
        }
    }

    /// What a CLI itself says of a call.
    pub(super) fn say(&mut self, call: Call, out: &mut Vec<Said>) {
        self.calls.say(call, out);
    }

    pub(super) fn is_known(&self, id: &str) -> bool {
        self.calls.is_known(id)
    }

    /// All that an open call has printed so far.
    pub(super) fn output(&mut self, id: &str, text: &str, out: &mut Vec<Said>) {
        let Some(open) = self.open.iter_mut().find(|open| open.id == id) else { return };
        let text = end_of(text, MAX_LIVE_BYTES);
        if text == open.output {
            return;
        }
        text.clone_into(&mut open.output);
        let content = contents(&open.changes, text, &[]);
        self.calls.say(Call::change(id, Status::InProgress, content), out);
    }

    pub(super) fn end(&mut self, id: &str, outcome: Outcome, out: &mut Vec<Said>) {
        let open = self.take(id).unwrap_or_default();
        let content = contents(&open.changes, &outcome.text, &outcome.images);
        let call = Call {
            id: id.to_owned(),
            status: Some(if outcome.is_failure { Status::Failed } else { Status::Completed }),
            content: (!content.is_empty()).then_some(content),
            raw_output: outcome.raw,
            ..Call::default()
        };
        self.calls.say(call, out);
    }

    /// Ends what is still open as failed. What a call has printed stays, with `why` after it.
    pub(super) fn close(&mut self, why: &str, out: &mut Vec<Said>) {
        for open in std::mem::take(&mut self.open) {
            let mut text = open.output;
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(why);
            let content = contents(&open.changes, &text, &[]);
            self.calls.say(Call::change(open.id, Status::Failed, content), out);
        }
        self.calls.close(why, out);
    }

    fn take(&mut self, id: &str) -> Option<Open> {
        let at = self.open.iter().position(|open| open.id == id)?;
        Some(self.open.remove(at))
    }
}

fn contents(changes: &[Content], text: &str, images: &[Block]) -> Vec<Content> {
    let mut contents = changes.to_vec();
    if !text.is_empty() {
        contents.push(Content::text(text));
    }
    contents.extend(images.iter().map(|image| Content::Content { content: image.clone() }));
    contents
}

/// Forgets all of a text but its last bytes.
pub(super) fn keep_end(text: &mut String, max_bytes: usize) {
    let n_forgotten = text.len() - end_of(text, max_bytes).len();
    text.drain(..n_forgotten);
}

/// The last bytes of a text, cut between characters.
fn end_of(text: &str, max_bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
