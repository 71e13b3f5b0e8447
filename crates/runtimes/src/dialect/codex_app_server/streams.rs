//! The state of a turn's items: texts, thoughts, live output, open calls.

use std::collections::HashMap;

use serde_json::Value;

use super::super::Outputs;
use super::super::codex::items::{ItemPhase, PART_BREAK};
use super::super::codex::texts::CodexTexts;
use super::super::tool_calls::{MAX_LIVE_BYTES, ToolCallStates, keep_end};
use crate::update::{TextKind, ToolCall, ToolCallContent, ToolCallStatus, ToolKind};

#[derive(Debug, Default)]
pub(super) struct CodexStreams {
    pub(super) texts: CodexTexts,
    /// The calls of all turns.
    pub(super) calls: ToolCallStates,
    thoughts: HashMap<String, ThoughtProgress>,
    /// Running calls in the order they began.
    open: Vec<RunningCodexCall>,
}

/// A thought, which comes as a summary in parts or as it is; the first kind that comes is shown.
#[derive(Debug)]
struct ThoughtProgress {
    is_summary: bool,
    part: u64,
}

#[derive(Debug)]
struct RunningCodexCall {
    call: ToolCall,
    output: String,
}

impl CodexStreams {
    /// Another turn begins.
    pub(super) fn reset(&mut self) {
        *self = Self { calls: std::mem::take(&mut self.calls), ..Self::default() };
    }

    /// A piece of part `part` of a thought.
    pub(super) fn thought_piece(
        &mut self,
        item: &str,
        is_summary: bool,
        part: u64,
        piece: &str,
        out: &mut Outputs,
    ) {
        let known = self.thoughts.entry(item.to_owned());
        let thought = known.or_insert(ThoughtProgress { is_summary, part });
        if thought.is_summary != is_summary {
            return;
        }
        if thought.part < part {
            thought.part = part;
            self.texts.piece(item, TextKind::Thought, PART_BREAK, out);
        }
        self.texts.piece(item, TextKind::Thought, piece, out);
    }

    pub(super) fn thought_whole(
        &mut self,
        item: &str,
        summary: &str,
        content: &str,
        out: &mut Outputs,
    ) {
        let is_summary =
            self.thoughts.get(item).map_or(!summary.is_empty(), |thought| thought.is_summary);
        let text = if is_summary { summary } else { content };
        self.texts.item(item, TextKind::Thought, text, ItemPhase::Completed, out);
    }

    /// Emits the start, a change or the end of a call.
    pub(super) fn call(&mut self, call: ToolCall, out: &mut Outputs) {
        if call.status.is_some_and(ToolCallStatus::is_final) {
            self.open.retain(|open| open.call.id != call.id);
        } else {
            match self.open.iter_mut().find(|open| open.call.id == call.id) {
                Some(open) => open.call = call.clone(),
                None => {
                    self.open.push(RunningCodexCall { call: call.clone(), output: String::new() });
                }
            }
        }
        self.calls.emit(call, out);
    }

    /// Emits more output of a running call.
    pub(super) fn output(&mut self, item: &str, piece: &str, out: &mut Outputs) {
        let Some(open) = self.open.iter_mut().find(|open| open.call.id == item) else { return };
        open.output.push_str(piece);
        keep_end(&mut open.output, MAX_LIVE_BYTES);
        let mut content = open.call.content.clone().unwrap_or_default();
        content.push(ToolCallContent::text(open.output.as_str()));
        self.calls.change(item, ToolCallStatus::InProgress, content, out);
    }

    /// Completes the calls of commands that go on in the background after the turn.
    pub(super) fn leave_running(&mut self, out: &mut Outputs) {
        for open in &self.open {
            if open.call.kind != Some(ToolKind::Execute) || !self.calls.is_open(&open.call.id) {
                continue;
            }
            let output =
                (!open.output.is_empty()).then(|| ToolCallContent::text(open.output.as_str()));
            let note = ToolCallContent::text("still running when the turn ended");
            let content = output.into_iter().chain([note]).collect();
            self.calls.change(&open.call.id, ToolCallStatus::Completed, content, out);
        }
        self.open.clear();
    }

    /// An open call, for a question about it.
    pub(super) fn open_call(&self, item: &Value) -> Option<&ToolCall> {
        let item = item.as_str()?;
        self.open.iter().map(|open| &open.call).find(|call| call.id == item)
    }

    /// The call of an MCP server that began last.
    pub(super) fn open_call_of(&self, server: &str) -> Option<&ToolCall> {
        let calls = self.open.iter().rev().map(|open| &open.call);
        let prefix = format!("{server}.");
        calls.into_iter().find(|call| call.name.as_ref().is_some_and(|n| n.starts_with(&prefix)))
    }
}
