//! A session as it is shown: a pure function of its log.
//!
//! In: events, in order, from the first. Out: items to draw, and what is known beside them:
//! what runs, what waits, what is asked, what was used. Payloads are the agent's bytes and
//! read leniently; every text in here has been made safe.

mod asking;
mod notes;
mod people;
mod prompt;
mod prose;
mod reading;
mod terminal;
mod terminals;
mod tool;
mod usage;

use std::collections::HashMap;
use std::sync::Arc;

use projection::Retold;
use serde_json::Value;
use wire::event::{PermissionRequested, StopReason, TurnEnded};
use wire::{Event, Own, Seq, TurnId};

pub(crate) use asking::{Choice, Field, FieldKind, Question, Wants};
pub(crate) use notes::Tone;
pub(crate) use people::OwnActs;
pub(crate) use prompt::Waiting;
pub(crate) use terminals::{Fate, Terminal};
#[cfg(test)]
pub(crate) use tool::n_made_ready;
pub(crate) use tool::{Output, Shown, Status, Tool};
pub(crate) use usage::Usage;

use prose::Prose;
pub(crate) use reading::line;
use reading::{answer_of, text_of};
use terminals::Terminals;

/// More slash commands than anybody offers.
const MAX_COMMANDS: usize = 500;
const MAX_PLAN: usize = 200;

/// One thing in the conversation.
#[derive(Debug)]
pub(crate) struct Item {
    /// Changes with what is shown.
    pub(crate) revision: u32,
    pub(crate) turn: Option<TurnId>,
    pub(crate) part: Part,
}

#[derive(Debug)]
pub(crate) enum Part {
    /// What somebody asked, and who if it was not this terminal's user.
    Prompt {
        text: String,
        by: Option<String>,
    },
    Answer(Prose),
    Thought(Prose),
    Tool(Box<Tool>),
    Plan(Vec<PlanEntry>),
    Note(Tone, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanEntry {
    pub(crate) text: String,
    pub(crate) status: String,
}

/// A slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentCommand {
    pub(crate) name: String,
    pub(crate) about: String,
}

#[derive(Debug, Default)]
pub(crate) struct Conversation {
    items: Vec<Item>,
    /// The last event that was heard.
    pub(crate) cursor: Seq,
    pub(crate) running: Option<TurnId>,
    /// When the running turn began, by the log's clock.
    pub(crate) running_since: i64,
    /// Time of the last event.
    pub(crate) heard_at: i64,
    pub(crate) is_cancelling: bool,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) questions: Vec<Question>,
    pub(crate) usage: Usage,
    pub(crate) commands: Vec<AgentCommand>,
    pub(crate) title: Option<String>,
    pub(crate) mode: Option<String>,
    /// How the last turn ended.
    pub(crate) last_stop: Option<StopReason>,
    /// The agent says that what it offers has changed.
    pub(crate) n_offers: u64,
    pub(crate) own: OwnActs,
    /// Somebody else has asked something.
    pub(crate) has_others: bool,
    /// Where the paths of tools begin.
    cwd: Option<Arc<str>>,
    terminals: Terminals,
    tools: HashMap<(Option<TurnId>, String), usize>,
    /// The plan of the running turn.
    plan: Option<usize>,
    echo: String,
    prompted: String,
    retold: Retold,
}

/// Whether an event could be taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    New,
    /// It was heard before.
    Known,
    /// Events are missing before it.
    Gap,
}

impl Conversation {
    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// What was printed at a terminal, as far as it is known.
    pub(crate) fn terminal(&self, id: &str) -> Option<&Terminal> {
        self.terminals.get(id)
    }

    /// The daemon runs since then: what ran before it is gone.
    pub(crate) fn alive_since(&mut self, at: i64) {
        let cards = self.terminals.alive_since(at);
        self.touch(&cards);
    }

    pub(crate) fn hear(&mut self, event: &Event) -> Heard {
        if event.seq <= self.cursor {
            return Heard::Known;
        }
        if event.seq.0 != self.cursor.0 + 1 {
            return Heard::Gap;
        }
        self.cursor = event.seq;
        self.heard_at = event.at.0;
        self.terminals.at = event.at.0;
        if event.kind.update_name() != Some("user_message_chunk") {
            self.end_echo(event.turn);
        }
        let added = self.retold.see(event);
        match event.kind.update_name() {
            Some(name) => {
                let mut payload: Value = event.payload.read().unwrap_or_default();
                let update = payload.get_mut("update").map(Value::take).unwrap_or_default();
                let turn = event.turn.or(self.running);
                match name {
                    "agent_message_chunk" => {
                        self.say(turn, answer_of(&update["content"], added), false);
                    }
                    name => self.update(name, turn, update),
                }
            }
            None => {
                if let Some(own) = event.own() {
                    self.own_event(event, &own);
                }
            }
        }
        Heard::New
    }

    fn update(&mut self, name: &str, turn: Option<TurnId>, update: Value) {
        match name {
            "agent_thought_chunk" => self.say(turn, text_of(&update["content"]), true),
            "user_message_chunk" => self.echo.push_str(&text_of(&update["content"])),
            "tool_call" | "tool_call_update" => self.tool(turn, update),
            "plan" | "plan_update" => self.plan(turn, &update),
            "usage_update" => self.usage.update(&update),
            "notice" => self.notice(turn, &update),
            "available_commands_update" => {
                let all = update["availableCommands"].as_array().into_iter().flatten();
                let read = |one: &Value| {
                    let name = line(one["name"].as_str()?, 60);
                    let about = line(one["description"].as_str().unwrap_or_default(), 200);
                    (!name.is_empty()).then_some(AgentCommand { name, about })
                };
                self.commands = all.filter_map(read).take(MAX_COMMANDS).collect();
            }
            "current_mode_update" => {
                self.mode = update["currentModeId"].as_str().map(|mode| line(mode, 60));
                self.n_offers += 1;
            }
            "config_option_update" => self.n_offers += 1,
            "session_info_update" => {
                if let Some(title) = update["title"].as_str() {
                    self.title = Some(line(title, 200)).filter(|title| !title.is_empty());
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, turn: Option<TurnId>, text: String, is_thought: bool) {
        if text.is_empty() {
            return;
        }
        let goes_on = self.items.last().is_some_and(|item| {
            let is_same = match &item.part {
                Part::Answer(_) => !is_thought,
                Part::Thought(_) => is_thought,
                _ => false,
            };
            is_same && item.turn == turn
        });
        if !goes_on {
            self.push(turn, part(is_thought, Prose::default()));
        }
        let mut rest = Some(text);
        while let Some(text) = rest.take() {
            let Some(item) = self.items.last_mut() else { return };
            item.revision = item.revision.wrapping_add(1);
            let (Part::Answer(prose) | Part::Thought(prose)) = &mut item.part else { return };
            // A long text becomes several items, so that drawing it anew stays cheap.
            if let Some(next) = prose.push(&text) {
                self.push(turn, part(is_thought, next));
            }
        }
    }

    fn tool(&mut self, turn: Option<TurnId>, fields: Value) {
        let id = match &fields["toolCallId"] {
            Value::String(id) => id.clone(),
            Value::Null => return,
            other => other.to_string(),
        };
        let index = match self.tools.get(&(turn, id.clone())) {
            Some(index) => *index,
            None => {
                self.push(turn, Part::Tool(Box::new(Tool::new(self.cwd.clone()))));
                let index = self.items.len().saturating_sub(1);
                self.tools.insert((turn, id), index);
                index
            }
        };
        let Some(item) = self.items.get_mut(index) else { return };
        if let Part::Tool(tool) = &mut item.part {
            tool.merge(fields);
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

    fn plan(&mut self, turn: Option<TurnId>, update: &Value) {
        let entries = match update["entries"].as_array() {
            Some(entries) => Some(entries),
            None => update["plan"]["entries"].as_array(),
        };
        let read = |one: &Value| {
            let text = line(one["content"].as_str()?, 500);
            let status = one["status"].as_str().unwrap_or_default().to_owned();
            Some(PlanEntry { text, status })
        };
        let entries = entries.into_iter().flatten();
        let entries: Vec<PlanEntry> = entries.filter_map(read).take(MAX_PLAN).collect();
        match self.plan.and_then(|index| self.items.get_mut(index)) {
            Some(item) if item.turn == turn => {
                item.part = Part::Plan(entries);
                item.revision = item.revision.wrapping_add(1);
            }
            _ => {
                self.push(turn, Part::Plan(entries));
                self.plan = Some(self.items.len().saturating_sub(1));
            }
        }
    }

    fn own_event(&mut self, event: &Event, own: &Own<'_>) {
        let cards = match own {
            Own::TerminalOutput(output) => self.terminals.output(output),
            Own::TerminalExited(exited) => self.terminals.exited(exited),
            Own::WorkerStarted(_) | Own::WorkerExited(_) => self.terminals.lose_all(),
            // It was ended by whoever found it after a crash.
            Own::TurnEnded(ended) if ended.was_interrupted() => self.terminals.lose_all(),
            Own::TurnEnded(_) => self.terminals.open_cards(),
            _ => Vec::new(),
        };
        self.touch(&cards);
        match own {
            Own::PromptReceived(received) => self.prompt_received(event, received),
            Own::PromptDropped(dropped) => self.prompt_dropped(event, dropped.reason),
            Own::TurnStarted(_) => self.turn_started(event),
            Own::TurnEnded(ended) => self.turn_ended(event, ended),
            Own::PermissionRequested(asked) => self.permission_requested(event, asked),
            Own::ElicitationRequested(asked) if asked.ask => {
                let request = asked.request.read().unwrap_or_default();
                self.ask(event, Question::form(asked.request_id, &request));
            }
            Own::PermissionResolved(resolved) => self.permission_resolved(event, resolved),
            Own::ElicitationResolved(resolved) => self.form_resolved(event, resolved),
            Own::OptionSet(_) => self.n_offers += 1,
            Own::CancelRequested(_) => self.is_cancelling = self.running.is_some(),
            own => self.remark(event, own),
        }
    }

    fn permission_requested(&mut self, event: &Event, asked: &PermissionRequested<'_>) {
        let request: Value = asked.request.read().unwrap_or_default();
        let call = &request["toolCall"];
        let turn = event.turn.or(self.running);
        if call["toolCallId"].is_string() && asked.limit.is_none() {
            self.tool(turn, call.clone());
        }
        if !asked.ask {
            return;
        }
        let known = self.tool_of(turn, call).cloned().unwrap_or_else(|| {
            let mut told = Tool::new(self.cwd.clone());
            told.merge(call.clone());
            told
        });
        self.ask(event, Question::permission(asked.request_id, &request, known));
    }

    /// Whether anybody has asked anything.
    pub(crate) fn has_prompts(&self) -> bool {
        let is_prompt = |item: &Item| matches!(item.part, Part::Prompt { .. });
        self.running.is_some() || !self.waiting.is_empty() || self.items.iter().any(is_prompt)
    }

    /// The card of a call.
    fn tool_of(&self, turn: Option<TurnId>, call: &Value) -> Option<&Tool> {
        let index = self.tools.get(&(turn, call["toolCallId"].as_str()?.to_owned()))?;
        match &self.items.get(*index)?.part {
            Part::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    fn ask(&mut self, event: &Event, question: Question) {
        self.questions.push(Question { turn: event.turn, ..question });
    }

    fn turn_started(&mut self, event: &Event) {
        self.running = event.turn;
        self.running_since = event.at.0;
        self.is_cancelling = false;
        self.plan = None;
        let place = self.waiting.iter().position(|waiting| waiting.turn == event.turn);
        let Some(place) = place else { return };
        let Waiting { text, by, .. } = self.waiting.remove(place);
        self.prompted.clone_from(&text);
        self.push(event.turn, Part::Prompt { text, by });
    }

    fn turn_ended(&mut self, event: &Event, ended: &TurnEnded<'_>) {
        // What the end says of a turn that never began is about its prompt.
        self.waiting.retain(|waiting| waiting.turn != event.turn);
        self.usage.turn_ended(ended);
        self.tell_end(event, ended);
        self.last_stop = Some(ended.stop_reason.clone());
        if event.turn.is_none() || event.turn == self.running {
            self.running = None;
            self.is_cancelling = false;
        }
        // Nobody waits for these answers any more.
        self.questions.retain(|question| question.turn != event.turn || event.turn.is_none());
        let is_of_turn = |item: &&mut Item| item.turn == event.turn;
        for item in self.items.iter_mut().rev().take_while(is_of_turn) {
            if let Part::Tool(tool) = &mut item.part
                && tool.close()
            {
                item.revision = item.revision.wrapping_add(1);
            }
        }
    }

    fn note(&mut self, turn: Option<TurnId>, tone: Tone, text: String) {
        self.push(turn, Part::Note(tone, text));
    }

    fn push(&mut self, turn: Option<TurnId>, part: Part) {
        self.items.push(Item { revision: 0, turn, part });
    }
}

fn part(is_thought: bool, prose: Prose) -> Part {
    if is_thought { Part::Thought(prose) } else { Part::Answer(prose) }
}

#[cfg(test)]
pub(crate) mod tests;
