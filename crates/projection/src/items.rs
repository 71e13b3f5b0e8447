//! The log as a conversation to be shown: items from top to bottom, and what changes in them.
//!
//! In: what changes. Out: for every event what a client does to the items it has. A client only
//! puts items below the others, replaces them by their keys and appends text; it need not know
//! what events mean.

mod calls;
mod questions;
mod types;

use std::collections::{BTreeMap, HashMap};

use wire::event::{PromptReceived, TerminalExited, TerminalOutput};
use wire::{CallId, Json, Own, Seq, TurnId};

use crate::calls::CallKey;
use crate::conversation::{Change, Conversation, Projection};
use crate::json::{Node, Object};
use crate::prompts::{Said, Source};
use crate::turn::{TurnEnd, Why};
use crate::{notice, plan};
use calls::Card;
use questions::Open;

pub use types::{
    CallLocation, CallStatus, CommandExit, ConversationChange, ConversationChanges,
    ConversationCost, ConversationItem, ConversationPart, ConversationState, ConversationUsage,
    EndError, EndItem, NoticeItem, NoticeTone, PlanStep, QuestionForm, QuestionItem,
    QuestionOption, QueuedPrompt, Resolution, RunningTurn, SlashCommand, TerminalChange, ToolItem,
};

/// Slash commands; more than anybody offers.
const MAX_COMMANDS: usize = 500;

/// A log as items.
#[derive(Debug, Clone, Default)]
pub struct Items {
    /// The event that made items last, and how many.
    seq: Seq,
    n_of_event: usize,
    last: Last,
    plan: Option<ConversationItem>,
    cards: BTreeMap<CallKey, Card>,
    questions: HashMap<CallId, Open>,
    queue: Vec<QueuedPrompt>,
    /// The prompt that was told, and whose turn begins now.
    next: Option<QueuedPrompt>,
    running: Option<RunningTurn>,
    usage: ConversationUsage,
}

/// The last item, where what comes next may belong to it.
#[derive(Debug, Clone, Default)]
enum Last {
    #[default]
    Other,
    Answer(String, Option<TurnId>),
    Thought(String, Option<TurnId>),
    Stderr(String, Option<TurnId>),
    /// What an agent says for the user.
    Said(Box<ConversationItem>),
}

type Out = Vec<ConversationChange>;

impl Projection for Items {
    type Out = Out;

    fn tell(&mut self, change: Change<'_>, now: &Conversation, out: &mut Out) {
        match change {
            Change::Prompt(said) => self.prompt(said, now, out),
            Change::TurnStarted => self.turn_started(now, out),
            Change::Answer { text, .. } => self.answer(text, now, out),
            Change::AnswerBlock { block, .. } => {
                self.push(ConversationPart::Content { block: block.node.to_json() }, now, out);
            }
            Change::Thought { text, .. } => self.thought(text, now, out),
            Change::CallSeen { call, fields } => self.call_seen(call, &fields, now, out),
            Change::CallEnded(call) => self.call_ended(call, now, out),
            Change::CallLeftOpen { call, .. } => self.call_left_open(call, now, out),
            Change::Planned { .. } => self.planned(now, out),
            Change::Asked(question) => self.asked(&question, now, out),
            Change::Decided(decision) => self.decided(&decision, now, out),
            Change::Failed { fault, is_end: false, .. } => {
                let title = match fault.message.as_str() {
                    "" => "something went wrong",
                    message => message,
                };
                let notice = NoticeItem {
                    tone: NoticeTone::Error,
                    detail: fault.remedy,
                    ..NoticeItem::of(title)
                };
                self.push(ConversationPart::Notice(notice), now, out);
            }
            Change::TurnEnded(end) => self.turn_ended(*end, now, out),
            Change::Own(own, told) => self.own_event(&own, told, now, out),
            Change::Update(name, update, told) => self.update(name, &update, told, now, out),
            // Told with the end, or with the call's content.
            Change::Failed { .. } | Change::CallBegan { .. } | Change::CallMedia(..) => {}
        }
    }
}

impl Items {
    /// About how many bytes it keeps.
    pub(crate) fn weight(&self) -> usize {
        let prompts = self.queue.iter().chain(&self.next).flat_map(|prompt| &prompt.blocks);
        let texts: usize = prompts.map(|block| block.as_str().len()).sum();
        let n_items = usize::from(self.plan.is_some()) + self.questions.len();
        self.cards.len() * std::mem::size_of::<Card>() + n_items * (4 << 10) + texts
    }

    fn push(
        &mut self,
        part: ConversationPart,
        now: &Conversation,
        out: &mut Out,
    ) -> ConversationItem {
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
        let item = ConversationItem { key, seq, time: now.at().0, turn, part };
        self.last = Last::Other;
        out.push(ConversationChange::Item { item: item.clone() });
        item
    }

    fn prompt(&mut self, said: Said, now: &Conversation, out: &mut Out) {
        let Said { turn, by, seq, at, source } = said;
        match (source, std::mem::take(&mut self.last)) {
            (Source::Prompt(blocks), _) => {
                let part = ConversationPart::Prompt { by: Some(by), blocks };
                let turn = turn.map(|turn| turn.to_string());
                let (key, seq) = (format!("p{}", seq.0), seq.0);
                let item = ConversationItem { key, seq, time: at.0, turn, part };
                out.push(ConversationChange::Item { item });
            }
            (Source::Agent(params), last) => {
                let content = Node::of(&params).object().object("update").get("content");
                let new = content.map(Node::to_json);
                if let Last::Said(mut item) = last {
                    if let ConversationPart::Prompt { blocks, .. } = &mut item.part {
                        blocks.extend(new);
                    }
                    out.push(ConversationChange::Replace { item: (*item).clone() });
                    self.last = Last::Said(item);
                } else {
                    let part =
                        ConversationPart::Prompt { by: None, blocks: new.into_iter().collect() };
                    self.last = Last::Said(Box::new(self.push(part, now, out)));
                }
            }
        }
    }

    fn answer(&mut self, text: String, now: &Conversation, out: &mut Out) {
        match &self.last {
            Last::Answer(key, turn) if *turn == now.event_turn() => {
                out.push(ConversationChange::Append { key: key.clone(), text });
            }
            _ => {
                let item = self.push(ConversationPart::Answer { text }, now, out);
                self.last = Last::Answer(item.key, now.event_turn());
            }
        }
    }

    fn thought(&mut self, text: String, now: &Conversation, out: &mut Out) {
        match &self.last {
            Last::Thought(key, turn) if *turn == now.event_turn() => {
                out.push(ConversationChange::Append { key: key.clone(), text });
            }
            _ => {
                let item = self.push(ConversationPart::Thought { text }, now, out);
                self.last = Last::Thought(item.key, now.event_turn());
            }
        }
    }

    fn planned(&mut self, now: &Conversation, out: &mut Out) {
        let step = |entry: &plan::PlanEntry| PlanStep {
            content: entry.content.clone(),
            status: entry.status.clone(),
            priority: entry.priority.clone(),
        };
        let part = ConversationPart::Plan { entries: now.plan().iter().map(step).collect() };
        match &mut self.plan {
            Some(item) => {
                item.part = part;
                out.push(ConversationChange::Replace { item: item.clone() });
            }
            None => self.plan = Some(self.push(part, now, out)),
        }
    }

    fn turn_started(&mut self, now: &Conversation, out: &mut Out) {
        // What was planned in a turn before says nothing about this one.
        (self.plan, self.next) = (None, None);
        let turn = now.event_turn().map(|turn| turn.to_string()).unwrap_or_default();
        let n_before = self.queue.len();
        self.queue.retain(|queued| queued.turn != turn);
        let queue = (self.queue.len() != n_before).then(|| self.queue.clone());
        self.running = Some(RunningTurn { turn, since: now.at().0, is_cancelling: false });
        let running = Some(self.running.clone());
        out.push(ConversationChange::State(ConversationState {
            running,
            queue,
            ..ConversationState::default()
        }));
    }

    fn turn_ended(&mut self, end: TurnEnd, now: &Conversation, out: &mut Out) {
        if end.was_interrupted() {
            out.push(ConversationChange::TerminalsLost {});
        }
        let stop_reason = end.stop_reason().unwrap_or_else(|| "lost".to_owned());
        let is_said = end.is_said;
        let error = end.fault.map(|fault| EndError {
            category: fault.category,
            message: fault.message,
            remedy: fault.remedy,
            is_said,
        });
        // That a prompt was dropped is told in words.
        if !matches!(end.why, Why::Dropped(_)) {
            let part = ConversationPart::End(Box::new(EndItem {
                stop_reason,
                usage: end.usage,
                is_usage_partial: end.is_usage_partial,
                cost_usd: end.cost_usd,
                took_ms: end.took_ms,
                error,
            }));
            self.push(part, now, out);
        }
        if now.turn().is_none() && self.running.take().is_some() {
            out.push(ConversationChange::State(ConversationState {
                running: Some(None),
                ..ConversationState::default()
            }));
        }
    }

    fn own_event(
        &mut self,
        own: &Own<'_>,
        told: Option<notice::Notice>,
        now: &Conversation,
        out: &mut Out,
    ) {
        let mut told =
            told.filter(|told| told.weight >= notice::Weight::Detail).map(NoticeItem::from);
        match own {
            Own::PromptReceived(received) => return self.prompt_received(received, now, out),
            Own::PromptDropped(_) => {
                let words = self.unqueue(now, out);
                if let Some(told) = &mut told {
                    told.words = words;
                }
            }
            Own::CancelRequested(_) => {
                if let Some(running) = &mut self.running {
                    running.is_cancelling = true;
                    let running = Some(Some(running.clone()));
                    out.push(ConversationChange::State(ConversationState {
                        running,
                        ..ConversationState::default()
                    }));
                }
            }
            // The worker before may have gone in a crash that nobody could log.
            Own::WorkerStarted(_) | Own::WorkerExited(_) => {
                out.push(ConversationChange::TerminalsLost {});
                new_settings(out);
            }
            Own::SessionResumed(_) | Own::OptionSet(_) => new_settings(out),
            Own::TerminalOutput(TerminalOutput { terminal_id, data }) => {
                let (id, text) = (terminal_id.clone(), data.clone());
                let printed = TerminalChange { id, text, ..TerminalChange::default() };
                return out.push(ConversationChange::Terminal(printed));
            }
            Own::TerminalExited(exited) => return out.push(exit(exited)),
            Own::AgentStderr(stderr) => return self.stderr(&stderr.text, now, out),
            Own::AgentNotification(sent) => {
                let more = Some(pretty(sent.params.as_str()));
                told = told.map(|told| NoticeItem { more, ..told });
            }
            Own::ElicitationRequested(asked) => return self.asked_form(asked, now, out),
            Own::ElicitationResolved(resolved) => return self.answered_form(resolved, now, out),
            _ => {}
        }
        if let Some(told) = told {
            self.push(ConversationPart::Notice(told), now, out);
        }
    }

    fn update(
        &mut self,
        name: &str,
        update: &Object<'_>,
        told: Option<notice::Notice>,
        now: &Conversation,
        out: &mut Out,
    ) {
        let mut state = ConversationState::default();
        match name {
            "usage_update" => {
                self.usage.update(update);
                state.usage = Some(self.usage.clone());
            }
            "available_commands_update" => state.commands = Some(commands(update)),
            "current_mode_update" | "config_option_update" => state.has_new_settings = true,
            "session_info_update" => {
                state.title = update.text("title").map(std::borrow::Cow::into_owned);
            }
            _ => {
                let told = told.filter(|told| told.weight >= notice::Weight::Detail);
                if let Some(mut told) = told {
                    if told.weight == notice::Weight::Detail {
                        // Something of a newer agent: nobody knows what it means.
                        told.more = Some(update.pretty());
                    }
                    self.push(ConversationPart::Notice(told.into()), now, out);
                }
                return;
            }
        }
        out.push(ConversationChange::State(state));
    }

    fn prompt_received(
        &mut self,
        received: &PromptReceived<'_>,
        now: &Conversation,
        out: &mut Out,
    ) {
        let seq = now.seq().0;
        let turn = now.event_turn().map_or_else(|| format!("e{seq}"), |turn| turn.to_string());
        let blocks = Node::of(received.prompt).items().into_iter().map(Node::to_json).collect();
        let (by, time) = (received.by.clone(), now.at().0);
        let prompt = QueuedPrompt { turn, by, time, seq, blocks };
        // Where nothing runs it was told, and begins.
        if now.turn().is_none() {
            self.next = Some(prompt);
        } else {
            self.queue.push(prompt);
            self.tell_queue(out);
        }
    }

    /// What a prompt that waits no more said.
    fn unqueue(&mut self, now: &Conversation, out: &mut Out) -> Option<String> {
        let turn = now.event_turn()?.to_string();
        let queued = match self.queue.iter().position(|queued| queued.turn == turn) {
            Some(place) => {
                let queued = self.queue.remove(place);
                self.tell_queue(out);
                queued
            }
            None => self.next.take().filter(|next| next.turn == turn)?,
        };
        let text = |block: &Json| Some(Node::of(block).object().text("text")?.into_owned());
        Some(queued.blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n"))
    }

    fn tell_queue(&self, out: &mut Out) {
        let queue = Some(self.queue.clone());
        out.push(ConversationChange::State(ConversationState {
            queue,
            ..ConversationState::default()
        }));
    }

    /// Lines that follow each other are one notice.
    fn stderr(&mut self, line: &str, now: &Conversation, out: &mut Out) {
        match &self.last {
            Last::Stderr(key, turn) if *turn == now.event_turn() => {
                let (key, text) = (key.clone(), format!("\n{line}"));
                out.push(ConversationChange::Append { key, text });
            }
            _ => {
                let more = Some(line.to_owned());
                let notice = NoticeItem { more, ..NoticeItem::of("diagnostics of the agent") };
                let item = self.push(ConversationPart::Notice(notice), now, out);
                self.last = Last::Stderr(item.key, now.event_turn());
            }
        }
    }
}

fn new_settings(out: &mut Out) {
    let state = ConversationState { has_new_settings: true, ..ConversationState::default() };
    out.push(ConversationChange::State(state));
}

fn exit(exited: &TerminalExited) -> ConversationChange {
    let (code, signal) = (exited.exit_code.map(Into::into), exited.signal.clone());
    ConversationChange::Terminal(TerminalChange {
        id: exited.terminal_id.clone(),
        text: String::new(),
        exit: Some(CommandExit { code, signal }),
        is_truncated: exited.truncated,
    })
}

fn commands(update: &Object<'_>) -> Vec<SlashCommand> {
    let read = |node: Node<'_>| {
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

impl ConversationUsage {
    fn update(&mut self, update: &Object<'_>) {
        self.used = update.count("used").or(self.used);
        self.size = update.count("size").or(self.size);
        let cost = update.object("cost");
        if let Some(amount) = cost.get("amount").and_then(Node::number) {
            let told = self.cost.as_ref().map_or(0.0, |cost| cost.amount);
            // Less than before: the agent began to count anew.
            if amount < told {
                self.cost_before += told;
            }
            let currency = cost.text("currency").map_or_else(|| "USD".into(), Into::into);
            self.cost = Some(ConversationCost { amount, currency });
        }
    }
}

impl NoticeItem {
    fn of(title: &str) -> Self {
        Self {
            tone: NoticeTone::Info,
            title: title.to_owned(),
            detail: None,
            by: None,
            more: None,
            words: None,
        }
    }
}

impl From<notice::Notice> for NoticeItem {
    fn from(told: notice::Notice) -> Self {
        let tone = match told.tone {
            notice::Tone::Info => NoticeTone::Info,
            notice::Tone::Warning => NoticeTone::Warning,
            notice::Tone::Error => NoticeTone::Error,
        };
        let notice::Notice { text, by, more, .. } = told;
        Self { tone, title: text, detail: None, by, more, words: None }
    }
}
