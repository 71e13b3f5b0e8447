//! The tool calls of a CLI: their states, and the output of the open ones.
//!
//! In: starts, output and ends of calls as a CLI reports them. Out: updates with kind, title,
//! files and diffs, such that each call starts once and ends once. A diff stays in the content
//! when output is added to it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Outputs;
use crate::tools;
use crate::update::{
    ContentBlock, PlanEntry, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolKind,
};

/// How much of a call's live output is shown: its end, since every update repeats all of it.
pub(super) const MAX_LIVE_BYTES: usize = 64 << 10;

/// The states of tool calls. A CLI's reports of them may come in any order, doubled or cut short.
#[derive(Debug, Default)]
pub(super) struct ToolCallStates {
    /// Whether each call has ended, by id.
    seen: HashMap<String, bool>,
    /// Ids of calls in the order they came, so that what is left open ends in that order.
    order: Vec<String>,
}

impl ToolCallStates {
    /// Emits a call: its start if it is new, else a change of it. Nothing is emitted for a call
    /// that has ended.
    pub(super) fn emit(&mut self, mut call: ToolCall, out: &mut Outputs) {
        let is_final = call.status.is_some_and(ToolCallStatus::is_final);
        let update = match self.seen.get(&call.id) {
            Some(true) => return,
            Some(false) => SessionUpdate::ToolCallUpdate(call.clone()),
            None => {
                self.order.push(call.id.clone());
                // A start must have a title.
                if call.title.is_none() {
                    call.title = Some(call.name.clone().unwrap_or_else(|| "tool".to_owned()));
                }
                call.kind.get_or_insert(ToolKind::Other);
                call.status.get_or_insert(ToolCallStatus::Pending);
                SessionUpdate::ToolCall(call.clone())
            }
        };
        self.seen.insert(call.id, is_final);
        out.update(update);
    }

    /// Emits a change of a call: its status, and all content that is shown of it now.
    pub(super) fn change(
        &mut self,
        id: &str,
        status: ToolCallStatus,
        content: Vec<ToolCallContent>,
        out: &mut Outputs,
    ) {
        let (status, content) = (Some(status), Some(content));
        self.emit(ToolCall { id: id.to_owned(), status, content, ..ToolCall::default() }, out);
    }

    pub(super) fn is_known(&self, id: &str) -> bool {
        self.seen.contains_key(id)
    }

    pub(super) fn is_open(&self, id: &str) -> bool {
        self.seen.get(id) == Some(&false)
    }

    /// Ends every open call as failed, with `why`: the turn is over and nobody else will.
    pub(super) fn close(&mut self, why: &str, out: &mut Outputs) {
        for id in std::mem::take(&mut self.order) {
            if self.is_open(&id) {
                self.change(&id, ToolCallStatus::Failed, vec![ToolCallContent::text(why)], out);
            }
        }
    }
}

/// Calls that a CLI reports by name and input, with their output while they run.
#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    pub(super) states: ToolCallStates,
    /// Running calls in the order they came.
    open: Vec<RunningCall>,
    /// Ids of calls that are shown in another way, and so not as calls.
    hidden: HashSet<String>,
}

#[derive(Debug, Default)]
struct RunningCall {
    id: String,
    changes: Vec<ToolCallContent>,
    output: String,
}

/// The result of a tool call.
#[derive(Debug, Default)]
pub(super) struct ToolCallResult {
    pub(super) text: String,
    pub(super) images: Vec<ContentBlock>,
    pub(super) raw: Option<Value>,
    pub(super) is_failure: bool,
}

impl ToolCalls {
    /// Emits the start of a call; of a sub-agent's, if another call was the `parent` of it.
    pub(super) fn start(
        &mut self,
        id: &str,
        name: &str,
        input: &Value,
        parent: Option<&str>,
        out: &mut Outputs,
    ) {
        let call = tools::call_of(id, name, input, parent);
        let changes = call.content.clone().unwrap_or_default();
        self.states.emit(ToolCall { status: Some(ToolCallStatus::InProgress), ..call }, out);
        if self.states.is_open(id) {
            self.take(id);
            self.open.push(RunningCall { id: id.to_owned(), changes, output: String::new() });
        }
    }

    /// Emits the plan of a call that does nothing but set it.
    pub(super) fn plan(&mut self, id: &str, entries: Vec<PlanEntry>, out: &mut Outputs) {
        self.hide(id);
        out.plan(entries);
    }

    /// Leaves out a call that is shown in another way.
    pub(super) fn hide(&mut self, id: &str) {
        self.hidden.insert(id.to_owned());
    }

    pub(super) fn is_known(&self, id: &str) -> bool {
        self.states.is_known(id) || self.hidden.contains(id)
    }

    /// All output of an open call so far.
    pub(super) fn output(&mut self, id: &str, text: &str, out: &mut Outputs) {
        let Some(open) = self.open.iter_mut().find(|open| open.id == id) else { return };
        let text = end_of(text, MAX_LIVE_BYTES);
        if text == open.output {
            return;
        }
        text.clone_into(&mut open.output);
        let content = contents(&open.changes, text, &[]);
        self.states.change(id, ToolCallStatus::InProgress, content, out);
    }

    pub(super) fn end(&mut self, id: &str, outcome: ToolCallResult, out: &mut Outputs) {
        if self.hidden.contains(id) {
            return;
        }
        let open = self.take(id).unwrap_or_default();
        let content = contents(&open.changes, &outcome.text, &outcome.images);
        let call = ToolCall {
            id: id.to_owned(),
            status: Some(ToolCallStatus::of_end(outcome.is_failure)),
            content: (!content.is_empty()).then_some(content),
            raw_output: outcome.raw,
            ..ToolCall::default()
        };
        self.states.emit(call, out);
    }

    /// Ends the open calls as failed. Their output stays, with `why` after it.
    pub(super) fn close(&mut self, why: &str, out: &mut Outputs) {
        for open in std::mem::take(&mut self.open) {
            let mut text = open.output;
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(why);
            let content = contents(&open.changes, &text, &[]);
            self.states.change(&open.id, ToolCallStatus::Failed, content, out);
        }
        self.states.close(why, out);
    }

    fn take(&mut self, id: &str) -> Option<RunningCall> {
        let at = self.open.iter().position(|open| open.id == id)?;
        Some(self.open.remove(at))
    }
}

fn contents(
    changes: &[ToolCallContent],
    text: &str,
    images: &[ContentBlock],
) -> Vec<ToolCallContent> {
    let mut contents = changes.to_vec();
    if !text.is_empty() {
        contents.push(ToolCallContent::text(text));
    }
    contents.extend(images.iter().map(|image| ToolCallContent::Content { content: image.clone() }));
    contents
}

/// Truncates a text to its last bytes.
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
