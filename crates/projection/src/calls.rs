//! Puts tool calls together from the pieces agents send.
//!
//! In: the fields of `tool_call`, `tool_call_update` or of the `toolCall` a permission question is
//! about; any of them may be the first report of a call. Out: the call as it is known so far. A
//! field that is missing or null leaves what was known. A call belongs to the turn it was first
//! seen in; the same id in another turn is another call.

use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use wire::{Json, Millis, TurnId};

use super::content::{ContentBlock, blocks, parent_call};
use super::json::{JsonNode, JsonObject};
use super::shell::command_line;

/// The status of a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    Failed,
    Cancelled,
    /// Its turn ended, and the agent never reported how the call ended.
    Abandoned,
}

impl CallStatus {
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    fn read(word: &str) -> Option<Self> {
        Some(match word {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "cancelled" => Self::Cancelled,
            _ => return None,
        })
    }
}

/// A piece of a tool's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolOutput {
    Text(String),
    Diff(FileDiff),
    /// A terminal, by its id; what was printed in it is not here.
    Terminal(String),
    /// Any other block, described.
    Other(String),
}

/// A file that a call reads or writes, and perhaps the line.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallLocation {
    pub path: String,
    #[schema(nullable = false)]
    pub line: Option<u64>,
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileDiff {
    pub path: String,
    pub change: FileChange,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileChange {
    Texts {
        old: Option<String>,
        new: String,
    },
    /// A patch that the agent has made itself.
    Patch(String),
}

/// A tool call as it is known so far.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    pub id: String,
    pub turn: Option<TurnId>,
    pub first_seen: Millis,
    /// It had ended already in the first report of it.
    pub is_orphan: bool,
    /// It is over and its contents were freed: the fields have only what came after that.
    pub is_late: bool,
    /// Its turn ended before it did.
    pub is_left_open: bool,
    is_end_reported: bool,
    n_media: usize,
    /// The call on whose behalf a sub-agent makes this one.
    pub parent: Option<String>,
    pub status: Option<CallStatus>,
    pub name: Option<String>,
    pub title: Option<String>,
    pub kind: Option<String>,
    pub output: Vec<ToolOutput>,
    pub locations: Vec<CallLocation>,
    pub raw_input: Option<Json>,
    pub raw_output: Option<Json>,
}

impl ToolCall {
    pub fn is_ended(&self) -> bool {
        self.status.is_some_and(CallStatus::is_terminal)
    }

    /// Its status as far as it is known.
    pub fn known_status(&self) -> CallStatus {
        match self.status {
            Some(status) if status.is_terminal() => status,
            _ if self.is_left_open => CallStatus::Abandoned,
            status => status.unwrap_or_default(),
        }
    }

    /// Whether enough is known to say what it is about.
    pub fn has_enough_to_show(&self) -> bool {
        // Some agents open a call as `pending` with part of its input and fill in the rest, so what
        // is shown only once has to wait; a call that has output, or is not reported as pending, is
        // past that.
        let is_being_written = self.status == Some(CallStatus::Pending) && self.output.is_empty();
        (self.input().is_some() || !self.locations.is_empty()) && !is_being_written
    }

    /// The input as an object with members, once there is one.
    pub fn input(&self) -> Option<&Json> {
        self.raw_input.as_ref().filter(|input| !JsonNode::of(*input).object().is_empty())
    }

    /// The tool's own name, or else the call's kind or title.
    pub fn name(&self) -> &str {
        let kind = self.kind.as_ref().filter(|kind| *kind != "other");
        self.name.as_ref().or(kind).or(self.title.as_ref()).map_or("tool", |name| name)
    }

    /// A string member of the input, such as `command`.
    pub fn input_text(&self, key: &str) -> Option<String> {
        let input = JsonNode::of(self.raw_input.as_ref()?).object();
        input.non_blank_text(key).map(std::borrow::Cow::into_owned)
    }

    /// The command line of a call that runs one, whether given as a string or as an argv.
    pub fn command(&self) -> Option<String> {
        let input = JsonNode::of(self.raw_input.as_ref()?).object();
        ["command", "cmd"].iter().find_map(|key| {
            let value = input.get(key)?;
            let words: Vec<_> = value.items().into_iter().filter_map(JsonNode::text).collect();
            let line = match &*words {
                [] => value.text()?.into_owned(),
                // Agents that have one string may wrap it in a list.
                [line] => line.clone().into_owned(),
                words => command_line(words.iter().map(AsRef::as_ref)),
            };
            (!line.trim().is_empty()).then_some(line)
        })
    }

    /// The texts of its output, without diffs and terminals.
    pub(crate) fn output_text(&self) -> String {
        let texts = self.output.iter().filter_map(|output| match output {
            ToolOutput::Text(text) | ToolOutput::Other(text) => Some(text.as_str()),
            ToolOutput::Diff(_) | ToolOutput::Terminal(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The files that it changes, as far as its output shows them.
    pub(crate) fn diffs(&self) -> impl Iterator<Item = &FileDiff> {
        self.output.iter().filter_map(|output| match output {
            ToolOutput::Diff(file) => Some(file),
            _ => None,
        })
    }

    /// The output that came outside `content`: a string as it is, anything else as JSON.
    pub fn raw_output_text(&self) -> Option<String> {
        let node = JsonNode::of(self.raw_output.as_ref()?);
        Some(node.text().map_or_else(|| node.raw().to_owned(), std::borrow::Cow::into_owned))
    }

    fn merge(&mut self, fields: &JsonObject<'_>) {
        let keep = |slot: &mut Option<String>, key| {
            if let Some(words) = fields.non_blank_text(key) {
                *slot = Some(words.into_owned());
            }
        };
        keep(&mut self.name, "name");
        keep(&mut self.title, "title");
        keep(&mut self.kind, "kind");
        // A call that names itself as its parent has none.
        let parent = parent_call(fields).filter(|parent| *parent != self.id);
        self.parent = parent.or(self.parent.take());
        if let Some(status) = fields.text("status").and_then(|word| CallStatus::read(&word)) {
            // A late update does not reopen a call that has ended.
            if !self.is_ended() {
                self.status = Some(status);
            }
        }
        if let Some(content) = fields.get("content") {
            self.output = content.items().into_iter().flat_map(read_output).collect();
        }
        if let Some(locations) = fields.get("locations") {
            let place = |node: JsonNode<'_>| {
                let fields = node.object();
                Some(CallLocation {
                    path: fields.non_blank_text("path")?.into_owned(),
                    line: fields.count("line"),
                })
            };
            self.locations = locations.items().into_iter().filter_map(place).collect();
        }
        if let Some(input) = fields.get("rawInput") {
            self.raw_input = Some(input.to_json());
        }
        if let Some(output) = fields.get("rawOutput") {
            self.raw_output = Some(output.to_json());
        }
    }
}

fn read_output(node: JsonNode<'_>) -> Vec<ToolOutput> {
    let fields = node.object();
    match fields.text("type").as_deref() {
        Some("diff") => {
            let patch = fields.object("patch").text("text");
            let change = match patch {
                Some(patch) => FileChange::Patch(patch.into_owned()),
                None => FileChange::Texts {
                    old: fields.text("oldText").map(Into::into),
                    new: fields.text("newText").unwrap_or_default().into_owned(),
                },
            };
            let path = fields.text("path").unwrap_or_default().into_owned();
            vec![ToolOutput::Diff(FileDiff { path, change })]
        }
        Some("terminal") => {
            let id = fields.label("terminalId").unwrap_or_default();
            vec![ToolOutput::Terminal(id.into_owned())]
        }
        // Some agents leave the wrapper out and send the block itself.
        Some("content") => blocks(fields.get("content")).iter().filter_map(read_block).collect(),
        _ => read_block(&ContentBlock::of(node)).into_iter().collect(),
    }
}

fn read_block(block: &ContentBlock<'_>) -> Option<ToolOutput> {
    match block.text() {
        Some(text) => Some(ToolOutput::Text(text.into_owned())),
        None => block.describe().map(ToolOutput::Other),
    }
}

/// The key of a tool call in its conversation.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct CallKey(u64);

/// The kind of message that reports a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportKind {
    Call,
    Update,
    Question,
}

/// Calls that are over and still known. An update of an older one makes another call: agents send
/// such updates late, but not that late.
pub(crate) const MAX_OVER: usize = 512;

/// The calls of a session: those that are open, and the newest of those that are over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Calls {
    /// In the order in which they were first seen.
    known: BTreeMap<CallKey, ToolCall>,
    /// The calls with an id, the latest at the end; agents use ids again in later turns.
    by_id: BTreeMap<String, Vec<CallKey>>,
    next: CallKey,
    /// The first call that is not of an earlier turn.
    current_from: CallKey,
    /// Calls that ended with the current event; projections may still read their contents.
    ended: Vec<CallKey>,
    /// Calls that are over, in the order in which they ended.
    over: VecDeque<CallKey>,
    /// Calls that have not begun, as too little is known of them.
    pub(crate) waiting: Vec<CallKey>,
}

impl Calls {
    /// An empty call, if so many others have ended since that it was forgotten.
    pub(crate) fn get(&self, key: CallKey) -> &ToolCall {
        static FORGOTTEN: LazyLock<ToolCall> = LazyLock::new(ToolCall::default);
        self.known.get(&key).unwrap_or_else(|| &FORGOTTEN)
    }

    pub(crate) fn find(&self, turn: Option<TurnId>, id: &str) -> Option<CallKey> {
        let with_id = self.by_id.get(id)?.iter().rev();
        with_id.copied().find(|key| self.get(*key).turn == turn)
    }

    /// Merges `fields` into their call, which may be a new one.
    pub(crate) fn merge(
        &mut self,
        turn: Option<TurnId>,
        fields: &JsonObject<'_>,
        sighting: ReportKind,
        at: Millis,
    ) -> CallKey {
        let id = fields.label("toolCallId").unwrap_or_default().into_owned();
        let next = self.next;
        // An update after the call's turn, or outside of any turn, belongs to that call.
        let latest = || self.by_id.get(&id)?.last().copied();
        let is_update = sighting == ReportKind::Update;
        let known = self.find(turn, &id).or_else(|| latest().filter(|_| is_update));
        let key = known.unwrap_or(next);
        if key == next {
            self.next = CallKey(next.0.saturating_add(1));
            self.by_id.entry(id.clone()).or_default().push(key);
            self.waiting.push(key);
        }
        let call = self.known.entry(key).or_insert_with(|| ToolCall {
            id,
            turn,
            first_seen: at,
            ..ToolCall::default()
        });
        call.merge(fields);
        // The result of a call that nobody has seen start.
        call.is_orphan |= key == next && is_update && call.is_ended();
        key
    }

    /// Marks a call as begun; true the first time.
    pub(crate) fn begin(&mut self, key: CallKey) -> bool {
        let place = self.waiting.iter().position(|waiting| *waiting == key);
        place.map(|place| self.waiting.remove(place)).is_some()
    }

    /// Marks a call as ended; true the first time.
    pub(crate) fn end(&mut self, key: CallKey) -> bool {
        self.ended.push(key);
        let call = self.known.get_mut(&key);
        call.is_some_and(|call| !std::mem::replace(&mut call.is_end_reported, true))
    }

    /// Marks the calls of the ending turn whose end was not reported as left open, and returns
    /// them.
    pub(crate) fn leave_open(&mut self) -> Vec<CallKey> {
        let current = self.known.range_mut(self.current_from..);
        let open = current.filter(|(_, call)| !call.is_end_reported);
        let open: Vec<_> = open
            .map(|(key, call)| {
                call.is_left_open = true;
                *key
            })
            .collect();
        self.ended.extend(&open);
        self.current_from = self.next;
        open
    }

    /// The images and sounds of a call that were not shown before; each report repeats the earlier
    /// ones.
    pub(crate) fn new_media<T>(&mut self, key: CallKey, media: Vec<T>) -> Vec<T> {
        let Some(call) = self.known.get_mut(&key) else { return media };
        let n_shown = call.n_media;
        call.n_media = n_shown.max(media.len());
        let is_over = call.is_end_reported;
        media.into_iter().skip(n_shown).filter(|_| !is_over).collect()
    }

    /// Frees the contents of calls that are over; their ids stay for long, so that late updates are
    /// recognized.
    pub(crate) fn free_ended(&mut self) {
        for key in std::mem::take(&mut self.ended) {
            let Some(call) = self.known.get_mut(&key) else { continue };
            if !call.is_late {
                self.over.push_back(key);
            }
            *call = ToolCall {
                id: std::mem::take(&mut call.id),
                turn: call.turn,
                first_seen: call.first_seen,
                status: call.status,
                title: call.title.take(),
                is_end_reported: call.is_end_reported,
                is_orphan: call.is_orphan,
                is_late: true,
                is_left_open: call.is_left_open,
                ..ToolCall::default()
            };
        }
        while self.over.len() > MAX_OVER {
            let Some(oldest) = self.over.pop_front() else { break };
            self.forget(oldest);
        }
    }

    fn forget(&mut self, key: CallKey) {
        let Some(call) = self.known.remove(&key) else { return };
        if let Some(with_id) = self.by_id.get_mut(&call.id) {
            with_id.retain(|other| *other != key);
            if with_id.is_empty() {
                self.by_id.remove(&call.id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
