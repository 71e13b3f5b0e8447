//! A session as it is shown: a pure function of its log.
//!
//! In: the changes of a conversation. Out: items to draw, and the state beside them: the running
//! turn, prompts that wait, open questions, usage. Every text in here has been made safe.

mod attribution;
mod output_tail;
mod prompt;
mod questions;
mod safe_text;
mod streamed_text;
mod terminals;
mod tool;

use std::collections::HashMap;
use std::mem::discriminant;

use projection::json::{JsonNode, JsonObject};
use projection::{
    CallKey, Change, Conversation, Notice, NoticeLevel, NoticeTone, Projection, TurnEnd,
    TurnEndReason, TurnUsage,
};
use wire::event::{LimitRaised, StopReason};
use wire::{Event, Fault, OwnEvent, Seq, TurnId};

pub(crate) use attribution::OwnActions;
pub(crate) use projection::{CallStatus, PlanStep};
pub(crate) use prompt::WaitingPrompt;
pub(crate) use questions::{AnswerKind, ChatQuestion, FieldKind, FormField, QuestionChoice};
pub(crate) use terminals::{CommandState, Terminal};
#[cfg(test)]
pub(crate) use tool::n_made_ready;
pub(crate) use tool::{CardDiff, CardOutput, CardText, ToolCard};

pub(crate) use safe_text::line;
use safe_text::lines;
use streamed_text::StreamedText;
use terminals::Terminals;

/// More slash commands than anybody offers.
const MAX_COMMANDS: usize = 500;
const MAX_PLAN: usize = 200;

/// One item of the conversation.
#[derive(Debug)]
pub(crate) struct ChatItem {
    /// Counts the changes of the item: a drawn one is good for as long as this stays.
    pub(crate) revision: u32,
    pub(crate) turn: Option<TurnId>,
    pub(crate) part: ChatPart,
}

#[derive(Debug)]
pub(crate) enum ChatPart {
    /// A prompt, and its sender if that was not this terminal's user.
    Prompt {
        text: String,
        by: Option<String>,
    },
    Answer(StreamedText),
    Thought(StreamedText),
    Tool(Box<ToolCard>),
    Plan(Vec<PlanStep>),
    Note(NoteTone, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteTone {
    Dim,
    Good,
    Doubtful,
    Bad,
}

/// A slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentCommand {
    pub(crate) name: String,
    pub(crate) about: String,
}

#[derive(Debug, Default)]
pub(crate) struct ChatConversation {
    pub(crate) log: Conversation,
    items: Vec<ChatItem>,
    /// The last event that was applied.
    pub(crate) cursor: Seq,
    pub(crate) running: Option<TurnId>,
    /// When the running turn began, by the log's clock.
    pub(crate) running_since: i64,
    pub(crate) is_cancelling: bool,
    pub(crate) waiting_prompts: Vec<WaitingPrompt>,
    pub(crate) questions: Vec<ChatQuestion>,
    /// Tokens of all turns.
    pub(crate) n_tokens: u64,
    pub(crate) commands: Vec<AgentCommand>,
    pub(crate) title: Option<String>,
    pub(crate) mode: Option<String>,
    /// How the last turn ended.
    pub(crate) last_stop: Option<StopReason>,
    /// Counts the agent's reports that its options have changed.
    pub(crate) n_option_changes: u64,
    pub(crate) own: OwnActions,
    /// Somebody else has sent a prompt.
    pub(crate) has_other_senders: bool,
    terminals: Terminals,
    cards: HashMap<CallKey, usize>,
    /// The plan of the running turn.
    plan: Option<usize>,
}

/// The result of applying an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ApplyOutcome {
    New,
    /// It was applied before.
    Known,
    /// Events are missing before it.
    Gap,
}

impl ChatConversation {
    pub(crate) fn items(&self) -> &[ChatItem] {
        &self.items
    }

    /// How full the context is in percent, as far as that can be; agents count more than fits.
    pub(crate) fn context_percent(&self) -> Option<u128> {
        let (used, size) = self.log.usage().used.zip(self.log.usage().window())?;
        Some((u128::from(used) * 100 / u128::from(size.max(1))).min(100))
    }

    /// A terminal's output, as far as it is known.
    pub(crate) fn terminal(&self, id: &str) -> Option<&Terminal> {
        self.terminals.get(id)
    }

    /// Notes since when the daemon runs: commands from before are gone.
    pub(crate) fn alive_since(&mut self, at: i64) {
        let cards = self.terminals.alive_since(at);
        self.touch(&cards);
    }

    pub(crate) fn apply_event(&mut self, event: &Event) -> ApplyOutcome {
        if event.seq <= self.cursor {
            return ApplyOutcome::Known;
        }
        if event.seq.0 != self.cursor.0 + 1 {
            return ApplyOutcome::Gap;
        }
        self.cursor = event.seq;
        self.terminals.at = event.at.0;
        let mut log = std::mem::take(&mut self.log);
        for change in log.apply(event) {
            self.render(change, &log, &mut ());
        }
        self.log = log;
        ApplyOutcome::New
    }

    fn update(&mut self, name: &str, update: &JsonObject<'_>) {
        match name {
            "available_commands_update" => {
                let read = |node: JsonNode<'_>| {
                    let one = node.object();
                    let name = line(&one.text("name")?, 60);
                    let about = line(&one.text("description").unwrap_or_default(), 200);
                    (!name.is_empty()).then_some(AgentCommand { name, about })
                };
                let all = update.items("availableCommands").into_iter();
                self.commands = all.filter_map(read).take(MAX_COMMANDS).collect();
            }
            "current_mode_update" => {
                self.mode = update.text("currentModeId").map(|mode| line(&mode, 60));
                self.n_option_changes += 1;
            }
            "config_option_update" => self.n_option_changes += 1,
            "session_info_update" => {
                if let Some(title) = update.text("title") {
                    self.title = Some(line(&title, 200)).filter(|title| !title.is_empty());
                }
            }
            _ => {}
        }
    }

    /// Appends to the last item if it is the same part of the same turn, else to a new one.
    fn append_text(
        &mut self,
        turn: Option<TurnId>,
        text: String,
        part: fn(StreamedText) -> ChatPart,
    ) {
        if text.is_empty() {
            return;
        }
        let new = part(StreamedText::default());
        let is_same =
            |item: &ChatItem| item.turn == turn && discriminant(&item.part) == discriminant(&new);
        if !self.items.last().is_some_and(is_same) {
            self.push(turn, new);
        }
        let Some(item) = self.items.last_mut() else { return };
        item.revision = item.revision.wrapping_add(1);
        let (ChatPart::Answer(prose) | ChatPart::Thought(prose)) = &mut item.part else { return };
        // A long text becomes several items, so that drawing it anew stays cheap.
        if let Some(next) = prose.push(&text) {
            self.push(turn, part(next));
        }
    }

    fn call_seen(&mut self, key: CallKey, now: &Conversation) {
        let call = now.call(key);
        let index = *self.cards.entry(key).or_insert(self.items.len());
        if index == self.items.len() {
            self.push(call.turn, ChatPart::Tool(Box::default()));
        }
        let Some(item) = self.items.get_mut(index) else { return };
        if let ChatPart::Tool(tool) = &mut item.part {
            tool.take(call, now.cwd());
            item.revision = item.revision.wrapping_add(1);
            for id in tool.terminals() {
                self.terminals.shown_by(&id, index);
            }
        }
    }

    /// These items are to be drawn anew.
    fn touch(&mut self, items: &[usize]) {
        for index in items {
            if let Some(item) = self.items.get_mut(*index) {
                item.revision = item.revision.wrapping_add(1);
            }
        }
    }

    fn planned(&mut self, now: &Conversation) {
        let entry = |one: &PlanStep| PlanStep { content: line(&one.content, 500), ..one.clone() };
        let entries = now.plan().iter().map(entry).take(MAX_PLAN).collect();
        let turn = now.event_turn();
        match self.plan.and_then(|index| self.items.get_mut(index)) {
            Some(item) if item.turn == turn => {
                item.part = ChatPart::Plan(entries);
                item.revision = item.revision.wrapping_add(1);
            }
            _ => {
                self.push(turn, ChatPart::Plan(entries));
                self.plan = Some(self.items.len().saturating_sub(1));
            }
        }
    }

    fn own_event(&mut self, own: &OwnEvent<'_>, notice: Option<&Notice>, now: &Conversation) {
        let cards = match own {
            OwnEvent::TerminalOutput(output) => self.terminals.output(output),
            OwnEvent::TerminalExited(exited) => self.terminals.exited(exited),
            OwnEvent::WorkerStarted(_) | OwnEvent::WorkerExited(_) => self.terminals.lose_all(),
            _ => Vec::new(),
        };
        self.touch(&cards);
        match own {
            OwnEvent::PromptReceived(received) => self.prompt_received(received, now),
            OwnEvent::PromptDropped(_) => return self.prompt_dropped(notice, now),
            OwnEvent::ElicitationRequested(asked) if asked.ask => {
                let request = asked.request.read().unwrap_or_default();
                self.ask(ChatQuestion::form(asked.request_id, &request), now);
            }
            OwnEvent::ElicitationResolved(resolved) => self.form_resolved(resolved, now),
            OwnEvent::OptionSet(_) => self.n_option_changes += 1,
            // Its card says how.
            OwnEvent::TerminalExited(_) => return,
            // The activity line shows it.
            OwnEvent::CancelRequested(_) => {
                self.is_cancelling = self.running.is_some();
                return;
            }
            OwnEvent::LimitRaised(raised) => return self.limit_raised(raised, now),
            _ => {}
        }
        self.notice(notice, now);
    }

    /// Whether anybody has sent a prompt.
    pub(crate) fn has_prompts(&self) -> bool {
        let is_prompt = |item: &ChatItem| matches!(item.part, ChatPart::Prompt { .. });
        self.running.is_some()
            || !self.waiting_prompts.is_empty()
            || self.items.iter().any(is_prompt)
    }

    fn asked(&mut self, question: &projection::PermissionQuestion<'_>, now: &Conversation) {
        if question.is_for_person {
            let mut call = ToolCard::default();
            if let Some(key) = question.call {
                call.take(now.call(key), now.cwd());
            }
            self.ask(ChatQuestion::permission(question, call, now.cwd()), now);
        }
    }

    fn ask(&mut self, question: ChatQuestion, now: &Conversation) {
        self.questions.push(ChatQuestion { turn: now.event_turn(), ..question });
    }

    fn turn_started(&mut self, now: &Conversation) {
        let turn = now.event_turn();
        self.running = turn;
        self.running_since = now.at().0;
        self.is_cancelling = false;
        self.plan = None;
        self.waiting_prompts.retain(|waiting| waiting.turn != turn);
    }

    fn turn_ended(&mut self, end: &TurnEnd) {
        let cards = match end.was_interrupted() {
            // It was ended by a process that found it running after a crash.
            true => self.terminals.lose_all(),
            false => self.terminals.open_cards(),
        };
        self.touch(&cards);
        // A turn that ends without having begun is that of a waiting prompt.
        self.waiting_prompts.retain(|waiting| waiting.turn != end.turn);
        let n_tokens = end.usage.as_ref().map_or(0, TurnUsage::total);
        self.n_tokens = self.n_tokens.saturating_add(n_tokens);
        self.note_turn_end(end);
        if let TurnEndReason::Stopped(reason) = &end.reason {
            self.last_stop = Some(reason.clone());
        }
        if end.turn.is_none() || end.turn == self.running {
            self.running = None;
            self.is_cancelling = false;
        }
        // The open questions of a turn go with it.
        self.questions.retain(|question| question.turn != end.turn || end.turn.is_none());
    }

    fn note_turn_end(&mut self, end: &TurnEnd) {
        let text = match &end.reason {
            TurnEndReason::Stopped(_) if end.fault.is_some() => return,
            TurnEndReason::Stopped(StopReason::EndTurn)
            | TurnEndReason::Dropped(_)
            | TurnEndReason::Lost => return,
            TurnEndReason::Stopped(StopReason::Cancelled) => "cancelled".to_owned(),
            TurnEndReason::Stopped(StopReason::MaxTokens) => {
                "the model's token limit was reached".to_owned()
            }
            TurnEndReason::Stopped(StopReason::MaxTurnRequests) => {
                "the agent's limit of requests in one turn was reached".to_owned()
            }
            TurnEndReason::Stopped(StopReason::Refusal) => "the agent refuses to go on".to_owned(),
            TurnEndReason::Stopped(other) => format!("ended: {}", line(other.as_str(), 100)),
        };
        self.note(end.turn, NoteTone::Doubtful, text);
    }

    fn failed(&mut self, fault: &Fault, is_said: bool, now: &Conversation) {
        let text = match fault.message.as_str() {
            _ if is_said => "the turn failed".to_owned(),
            "" => "no details were given".to_owned(),
            message => lines(message, 2000),
        };
        let text = match &fault.remedy {
            Some(remedy) => format!("{text}\nhint: {}", lines(remedy, 500)),
            None => text,
        };
        self.note(now.event_turn(), NoteTone::Bad, text);
    }

    /// Notes that the session has halted: its log may not have been able to record this.
    pub(crate) fn halted(&mut self, why: &str) {
        let turn = self.running;
        self.note(turn, NoteTone::Bad, format!("the session cannot go on: {}", lines(why, 2000)));
        (self.running, self.is_cancelling) = (None, false);
        // Nobody is left who could hear the answers.
        self.questions.clear();
    }

    fn notice(&mut self, notice: Option<&Notice>, now: &Conversation) {
        let Some(notice) = notice.filter(|notice| notice.level >= NoticeLevel::Remark) else {
            return;
        };
        let tone = match notice.tone {
            NoticeTone::Info => NoteTone::Dim,
            NoticeTone::Warning => NoteTone::Doubtful,
            NoticeTone::Error => NoteTone::Bad,
        };
        self.note(now.event_turn(), tone, lines(&notice.text, 2000));
    }

    /// Notes a dropped prompt, with its text.
    fn prompt_dropped(&mut self, notice: Option<&Notice>, now: &Conversation) {
        let is_it = |waiting: &WaitingPrompt| waiting.turn == now.event_turn();
        let place = self.waiting_prompts.iter().position(is_it);
        let asked = place.map(|place| self.waiting_prompts.remove(place).text);
        if let (Some(notice), Some(asked)) = (notice, asked) {
            let text = format!("{}: {}", notice.text, line(&asked, 200));
            self.note(now.event_turn(), NoteTone::Doubtful, text);
        }
    }

    fn limit_raised(&mut self, raised: &LimitRaised, now: &Conversation) {
        let by = self.own.decider(&raised.by, raised.request_id, now.seq().0);
        let text = format!("goes on: the limit of {} was raised{by}", raised.limit.as_str());
        self.note(now.event_turn(), NoteTone::Dim, text);
    }

    fn note(&mut self, turn: Option<TurnId>, tone: NoteTone, text: String) {
        self.push(turn, ChatPart::Note(tone, text));
    }

    fn push(&mut self, turn: Option<TurnId>, part: ChatPart) {
        self.items.push(ChatItem { revision: 0, turn, part });
    }
}

impl Projection for ChatConversation {
    type Out = ();

    fn render(&mut self, change: Change<'_>, now: &Conversation, (): &mut ()) {
        match change {
            Change::Prompt(said) => self.prompt(&said),
            Change::TurnStarted => self.turn_started(now),
            Change::Answer { text, .. } => {
                self.append_text(now.event_turn(), text, ChatPart::Answer);
            }
            Change::AnswerBlock { block, .. } => {
                let described = block.describe().unwrap_or_default();
                let text = format!("\n\n{described}\n\n");
                self.append_text(now.event_turn(), text, ChatPart::Answer);
            }
            Change::Thought { text, .. } => {
                self.append_text(now.event_turn(), text, ChatPart::Thought);
            }
            Change::CallSeen { call, .. } | Change::CallLeftOpen { call, .. } => {
                self.call_seen(call, now);
            }
            Change::Planned { .. } => self.planned(now),
            Change::Asked(question) => self.asked(&question, now),
            Change::Decided(decision) => self.decided(&decision.resolved, now),
            Change::Failed { fault, is_in_answer, .. } => {
                self.failed(&fault, is_in_answer, now);
            }
            Change::TurnEnded(end) => self.turn_ended(&end),
            Change::Own(own, notice) => self.own_event(&own, notice.as_ref(), now),
            Change::Update(name, update, notice) => {
                self.update(name, &update);
                self.notice(notice.as_ref(), now);
            }
            Change::CallBegan { .. } | Change::CallEnded(_) | Change::CallMedia(..) => {}
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
