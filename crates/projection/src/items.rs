//! The log as a conversation to be shown: items from top to bottom, and what changes in them.
//!
//! In: the changes of a conversation. Out: for every event what a client does to the items it has.
//! A client only puts items below the others, replaces them by their keys and appends text; it need
//! not know what events mean.

mod calls;
mod questions;
mod types;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::event::{PromptReceived, TerminalExited, TerminalOutput};
use wire::{CallId, Json, OwnEvent, Seq, TurnId};

use crate::calls::CallKey;
use crate::conversation::{Change, Conversation, Projection};
use crate::json::{JsonNode, JsonObject};
use crate::notice::{Notice, NoticeLevel, NoticeTone};
use crate::prompts::{MessageSource, UserMessage};
use crate::turn::{TurnEnd, TurnEndReason};
use calls::CallItem;
use questions::UnansweredQuestion;

pub use crate::usage::{ConversationCost, ConversationUsage};
pub use types::{
    CommandExit, ConversationChange, ConversationChanges, ConversationItem, ConversationPart,
    ConversationState, EndError, EndItem, NoticeItem, QuestionForm, QuestionItem, QuestionOption,
    QueuedPrompt, Resolution, RunningTurn, SlashCommand, TerminalChange, ToolItem,
};

/// Slash commands that are kept; more than any agent offers.
const MAX_COMMANDS: usize = 500;

/// The projection to items.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ItemsProjection {
    /// The last event that made items, and how many.
    seq: Seq,
    n_of_event: usize,
    last: LastItem,
    /// The item of the plan.
    plan: Option<ItemHead>,
    call_items: BTreeMap<CallKey, CallItem>,
    questions: BTreeMap<CallId, UnansweredQuestion>,
    queue: Vec<QueuedPrompt>,
    /// A prompt that was shown already, and whose turn begins now.
    next: Option<QueuedPrompt>,
    running: Option<RunningTurn>,
    /// The output of the current change; empty in between.
    #[serde(skip)]
    out: ItemChanges,
}

/// The last item, where what comes next may belong to it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
enum LastItem {
    #[default]
    Other,
    /// A streamed item: its kind, its turn, its key.
    Streamed(StreamKind, Option<TurnId>, String),
    /// A message that an agent sends for the user, and its blocks so far.
    RelayedMessage(ItemHead, Vec<Json>),
}

/// An item without its contents.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ItemHead {
    key: String,
    seq: u64,
    time: i64,
    turn: Option<String>,
}

impl ItemHead {
    fn with(&self, part: ConversationPart) -> ConversationItem {
        let Self { key, seq, time, turn } = self.clone();
        ConversationItem { key, seq, time, turn, part }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum StreamKind {
    Answer,
    Thought,
    /// One line for each piece.
    Stderr,
}

type ItemChanges = Vec<ConversationChange>;

impl Projection for ItemsProjection {
    type Out = ItemChanges;

    fn render(&mut self, change: Change<'_>, now: &Conversation, out: &mut ItemChanges) {
        self.change(change, now);
        out.append(&mut self.out);
    }
}

impl ItemsProjection {
    fn change(&mut self, change: Change<'_>, now: &Conversation) {
        match change {
            Change::Prompt(said) => self.prompt(said, now),
            Change::TurnStarted => self.turn_started(now),
            Change::Answer { text, .. } => self.stream(StreamKind::Answer, text, now),
            Change::AnswerBlock { block, .. } => {
                self.push(ConversationPart::Content { block: block.node.to_json() }, now);
            }
            Change::Thought { text, .. } => self.stream(StreamKind::Thought, text, now),
            Change::CallSeen { call, fields } => self.call_seen(call, &fields, now),
            Change::CallEnded(call) => self.call_ended(call, now),
            Change::CallLeftOpen { call, .. } => self.call_left_open(call, now),
            Change::Planned { .. } => self.planned(now),
            Change::Asked(question) => self.asked(&question, now),
            Change::Decided(decision) => self.decided(&decision, now),
            Change::Failed { fault, is_end: false, .. } => {
                let title = match fault.message.as_str() {
                    "" => "something went wrong",
                    message => message,
                };
                let notice = NoticeItem {
                    tone: NoticeTone::Error,
                    title: title.to_owned(),
                    detail: fault.remedy,
                    ..NoticeItem::default()
                };
                self.push(ConversationPart::Notice(notice), now);
            }
            Change::TurnEnded(end) => self.turn_ended(*end, now),
            Change::Own(own, told) => self.own_event(&own, told, now),
            Change::Update(name, update, told) => self.update(name, &update, told, now),
            // Part of the turn's end, or of the call's content.
            Change::Failed { .. } | Change::CallBegan { .. } | Change::CallMedia(..) => {}
        }
    }

    fn push(&mut self, part: ConversationPart, now: &Conversation) -> ItemHead {
        if std::mem::replace(&mut self.seq, now.seq()) != now.seq() {
            self.n_of_event = 0;
        }
        let seq = now.seq().0;
        let key = match self.n_of_event {
            0 => format!("e{seq}"),
            n => format!("e{seq}.{n}"),
        };
        self.n_of_event += 1;
        let turn = now.event_turn().map(|turn| turn.to_string());
        let head = ItemHead { key, seq, time: now.at().0, turn };
        self.last = LastItem::Other;
        self.out.push(ConversationChange::Item { item: head.with(part) });
        head
    }

    fn prompt(&mut self, said: UserMessage, now: &Conversation) {
        let UserMessage { turn, by, seq, at, source } = said;
        match (source, std::mem::take(&mut self.last)) {
            (MessageSource::Prompt(blocks), _) => {
                let part = ConversationPart::Prompt { by: Some(by), blocks };
                let turn = turn.map(|turn| turn.to_string());
                let (key, seq) = (format!("p{}", seq.0), seq.0);
                let item = ConversationItem { key, seq, time: at.0, turn, part };
                self.out.push(ConversationChange::Item { item });
            }
            (MessageSource::Agent(params), last) => {
                let content = JsonNode::of(&params).object().object("update").get("content");
                let new = content.map(JsonNode::to_json);
                if let LastItem::RelayedMessage(head, mut blocks) = last {
                    blocks.extend(new);
                    let part = ConversationPart::Prompt { by: None, blocks: blocks.clone() };
                    self.out.push(ConversationChange::Replace { item: head.with(part) });
                    self.last = LastItem::RelayedMessage(head, blocks);
                } else {
                    let blocks: Vec<Json> = new.into_iter().collect();
                    let part = ConversationPart::Prompt { by: None, blocks: blocks.clone() };
                    self.last = LastItem::RelayedMessage(self.push(part, now), blocks);
                }
            }
        }
    }

    fn planned(&mut self, now: &Conversation) {
        let part = ConversationPart::Plan { entries: now.plan().to_vec() };
        match &self.plan {
            Some(head) => {
                self.out.push(ConversationChange::Replace { item: head.with(part) });
            }
            None => self.plan = Some(self.push(part, now)),
        }
    }

    fn turn_started(&mut self, now: &Conversation) {
        // The plan of an earlier turn says nothing about this one.
        (self.plan, self.next) = (None, None);
        let turn = now.event_turn().map(|turn| turn.to_string()).unwrap_or_default();
        let n_before = self.queue.len();
        self.queue.retain(|queued| queued.turn != turn);
        let queue = (self.queue.len() != n_before).then(|| self.queue.clone());
        self.running = Some(RunningTurn { turn, since: now.at().0, is_cancelling: false });
        let running = Some(self.running.clone());
        self.show_state(ConversationState { running, queue, ..ConversationState::default() });
    }

    fn turn_ended(&mut self, end: TurnEnd, now: &Conversation) {
        if end.was_interrupted() {
            self.out.push(ConversationChange::TerminalsLost {});
        }
        let stop_reason = end.stop_reason().unwrap_or_else(|| "lost".to_owned());
        let is_said = end.is_in_answer;
        let error = end.fault.map(|fault| EndError {
            category: fault.category,
            message: fault.message,
            remedy: fault.remedy,
            is_said,
        });
        // A prompt that was dropped has a notice.
        if !matches!(end.reason, TurnEndReason::Dropped(_)) {
            let part = ConversationPart::End(Box::new(EndItem {
                stop_reason,
                usage: end.usage,
                is_usage_partial: end.is_usage_partial,
                cost_usd: end.cost_usd,
                took_ms: end.took_ms,
                error,
            }));
            self.push(part, now);
        }
        if now.turn().is_none() && self.running.take().is_some() {
            self.show_state(ConversationState {
                running: Some(None),
                ..ConversationState::default()
            });
        }
    }

    fn own_event(&mut self, own: &OwnEvent<'_>, told: Option<Notice>, now: &Conversation) {
        let mut told = told.filter(|told| told.level >= NoticeLevel::Detail).map(NoticeItem::from);
        match own {
            OwnEvent::PromptReceived(received) => return self.prompt_received(received, now),
            OwnEvent::PromptDropped(_) => {
                let words = self.unqueue(now);
                if let Some(told) = &mut told {
                    told.words = words;
                }
            }
            OwnEvent::CancelRequested(_) => {
                if let Some(running) = &mut self.running {
                    running.is_cancelling = true;
                    let running = Some(Some(running.clone()));
                    self.show_state(ConversationState { running, ..ConversationState::default() });
                }
            }
            // The worker before this one may have died in a crash that nobody could log.
            OwnEvent::WorkerStarted(_) | OwnEvent::WorkerExited(_) => {
                self.out.push(ConversationChange::TerminalsLost {});
                self.new_settings();
            }
            OwnEvent::SessionResumed(_) | OwnEvent::OptionSet(_) => self.new_settings(),
            OwnEvent::TerminalOutput(TerminalOutput { terminal_id, data }) => {
                let (id, text) = (terminal_id.clone(), data.clone());
                let printed = TerminalChange { id, text, ..TerminalChange::default() };
                return self.out.push(ConversationChange::Terminal(printed));
            }
            OwnEvent::TerminalExited(exited) => return self.out.push(exit(exited)),
            OwnEvent::AgentStderr(stderr) => {
                return self.stream(StreamKind::Stderr, stderr.text.clone(), now);
            }
            OwnEvent::AgentNotification(sent) => {
                let more = Some(pretty(sent.params.as_str()));
                told = told.map(|told| NoticeItem { more, ..told });
            }
            OwnEvent::ElicitationRequested(asked) => return self.asked_form(asked, now),
            OwnEvent::ElicitationResolved(resolved) => return self.answered_form(resolved, now),
            _ => {}
        }
        if let Some(told) = told {
            self.push(ConversationPart::Notice(told), now);
        }
    }

    fn update(
        &mut self,
        name: &str,
        update: &JsonObject<'_>,
        told: Option<Notice>,
        now: &Conversation,
    ) {
        let mut state = ConversationState::default();
        match name {
            "usage_update" => state.usage = Some(now.usage().clone()),
            "available_commands_update" => state.commands = Some(commands(update)),
            "current_mode_update" | "config_option_update" => state.has_new_settings = true,
            "session_info_update" => {
                state.title = update.text("title").map(std::borrow::Cow::into_owned);
            }
            _ => {
                let told = told.filter(|told| told.level >= NoticeLevel::Detail);
                if let Some(mut told) = told {
                    if told.level == NoticeLevel::Detail {
                        // An update of a newer agent, of unknown meaning.
                        told.more = Some(update.pretty());
                    }
                    self.push(ConversationPart::Notice(told.into()), now);
                }
                return;
            }
        }
        self.show_state(state);
    }

    fn prompt_received(&mut self, received: &PromptReceived<'_>, now: &Conversation) {
        let seq = now.seq().0;
        let turn = now.event_turn().map_or_else(|| format!("e{seq}"), |turn| turn.to_string());
        let blocks =
            JsonNode::of(received.prompt).items().into_iter().map(JsonNode::to_json).collect();
        let (by, time) = (received.by.clone(), now.at().0);
        let prompt = QueuedPrompt { turn, by, time, seq, blocks };
        // Where nothing runs the prompt was shown already, and its turn begins.
        if now.turn().is_none() {
            self.next = Some(prompt);
        } else {
            self.queue.push(prompt);
            self.tell_queue();
        }
    }

    /// Removes a dropped prompt from the queue, and returns its text.
    fn unqueue(&mut self, now: &Conversation) -> Option<String> {
        let turn = now.event_turn()?.to_string();
        let queued = match self.queue.iter().position(|queued| queued.turn == turn) {
            Some(place) => {
                let queued = self.queue.remove(place);
                self.tell_queue();
                queued
            }
            None => self.next.take().filter(|next| next.turn == turn)?,
        };
        let text = |block: &Json| Some(JsonNode::of(block).object().text("text")?.into_owned());
        Some(queued.blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n"))
    }

    fn tell_queue(&mut self) {
        let queue = Some(self.queue.clone());
        self.show_state(ConversationState { queue, ..ConversationState::default() });
    }

    fn new_settings(&mut self) {
        let has_new_settings = true;
        self.show_state(ConversationState { has_new_settings, ..ConversationState::default() });
    }

    fn show_state(&mut self, state: ConversationState) {
        self.out.push(ConversationChange::State(state));
    }

    /// Appends to the last item, if that is of the same stream; or else begins an item.
    fn stream(&mut self, stream: StreamKind, text: String, now: &Conversation) {
        let turn = now.event_turn();
        match &self.last {
            LastItem::Streamed(last, of, key) if (*last, *of) == (stream, turn) => {
                let key = key.clone();
                let text = if stream == StreamKind::Stderr { format!("\n{text}") } else { text };
                self.out.push(ConversationChange::Append { key, text });
            }
            _ => {
                let part = match stream {
                    StreamKind::Answer => ConversationPart::Answer { text },
                    StreamKind::Thought => ConversationPart::Thought { text },
                    StreamKind::Stderr => {
                        let (title, more) = ("diagnostics of the agent".to_owned(), Some(text));
                        ConversationPart::Notice(NoticeItem {
                            title,
                            more,
                            ..NoticeItem::default()
                        })
                    }
                };
                let item = self.push(part, now);
                self.last = LastItem::Streamed(stream, turn, item.key);
            }
        }
    }
}

fn exit(exited: &TerminalExited) -> ConversationChange {
    let (code, signal) = (exited.exit_code.map(Into::into), exited.signal.clone());
    ConversationChange::Terminal(TerminalChange {
        id: exited.terminal_id.clone(),
        text: String::new(),
        exit: (!exited.lost).then_some(CommandExit { code, signal }),
        is_truncated: exited.truncated,
        is_lost: exited.lost,
    })
}

fn commands(update: &JsonObject<'_>) -> Vec<SlashCommand> {
    let read = |node: JsonNode<'_>| {
        let command = node.object();
        let text = |key: &str| command.text(key).map(std::borrow::Cow::into_owned);
        let hint = command.object("input").text("hint").map(std::borrow::Cow::into_owned);
        let description = text("description").unwrap_or_default();
        Some(SlashCommand { name: text("name")?, description, hint })
    };
    let all = update.items("availableCommands").into_iter();
    all.filter_map(read).take(MAX_COMMANDS).collect()
}

/// JSON with a member a line; as it is where it cannot be read.
fn pretty(json: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(json);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| json.to_owned())
}

impl From<Notice> for NoticeItem {
    fn from(told: Notice) -> Self {
        let Notice { tone, text, by, more, .. } = told;
        Self { tone, title: text, by, more, ..Self::default() }
    }
}
