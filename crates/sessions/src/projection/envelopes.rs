//! The log as session envelopes: `{id, time, role, turn?, ev: {t: …}}`.
//!
//! In: every event. Out: a flat stream of envelopes. Turns never overlap and every start
//! has one end; a tool call starts at most once and ends once, at the latest with its turn;
//! times never go back. All ids are cuid2 derived from the log, so that the same log read
//! again gives the same ids.

mod subagents;
mod tools;
mod types;

pub use types::{Envelope, EnvelopeUsage, Ev, Role, TurnStatus};

use wire::event::TurnEnded;
use wire::{CallId, Event, Fault, Own, TurnId};

use super::json::{Node, Object};
use super::prompts::Prompts;
use super::retold::Retold;
use super::tools::ToolCalls;
use super::usage::Context;
use super::view::{Block, File, PlanEntry, TurnEnd, blocks, limit_words, plan_entries, update_of};
use subagents::Subagents;
use tools::Sighting;

/// Projects a log into session envelopes.
#[derive(Debug)]
pub struct Envelopes {
    session: String,
    prompts: Prompts,
    tools: ToolCalls<tools::Marks>,
    active: Option<TurnId>,
    last_ended: Option<TurnId>,
    last_time: i64,
    /// Envelopes made of the event at hand.
    n_of_event: u64,
    plan: Vec<PlanEntry>,
    context: Context,
    /// Errors of the running turn, which its end often repeats.
    errors_told: Vec<String>,
    subagents: Subagents,
    retold: Retold,
}

impl Envelopes {
    /// `session` makes the ids of this log differ from those of any other.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            prompts: Prompts::default(),
            tools: ToolCalls::default(),
            active: None,
            last_ended: None,
            last_time: i64::MIN,
            n_of_event: 0,
            plan: Vec::new(),
            context: Context::default(),
            errors_told: Vec::new(),
            subagents: Subagents::default(),
            retold: Retold::default(),
        }
    }

    pub fn project(&mut self, event: &Event, out: &mut Vec<Envelope>) {
        self.n_of_event = 0;
        for said in self.prompts.project(event) {
            for block in said.blocks() {
                if let Some(ev) = block_ev(&block) {
                    self.push(event, Role::User, said.turn, ev, out);
                }
            }
        }
        let added = self.retold.see(event);
        match event.kind.update_name() {
            Some("agent_message_chunk") => self.answer(event, added, out),
            Some(name) => self.update(name, event, out),
            None => self.own_event(event, out),
        }
    }

    fn update(&mut self, name: &str, event: &Event, out: &mut Vec<Envelope>) {
        let update = update_of(event);
        match name {
            "agent_thought_chunk" => {
                self.start_waiting_calls(event, out);
                let text = super::view::chunk_text(&update);
                if !text.is_empty() {
                    let subagent = self.subagent_of(event, &update, out);
                    let (turn, ev) = (self.turn_of(event), Ev::Text { text, thinking: true });
                    self.push_from(subagent, event, turn, ev, out);
                }
            }
            "tool_call" => self.tool(event, &update, Sighting::Call, out),
            "tool_call_update" => self.tool(event, &update, Sighting::Update, out),
            "plan" | "plan_update" => self.plan(event, &update, out),
            "usage_update" => {
                self.context.update(&update);
                self.start_waiting_calls(event, out);
            }
            _ => {}
        }
    }

    /// `added` is what its text adds to what was told.
    fn answer(&mut self, event: &Event, mut added: Option<String>, out: &mut Vec<Envelope>) {
        let update = update_of(event);
        for block in blocks(update.get("content")) {
            self.start_waiting_calls(event, out);
            let ev = match block.text() {
                Some(_) => added.take().and_then(text_ev),
                None => block_ev(&block).or_else(|| media_ev(&block)),
            };
            let Some(ev) = ev else { continue };
            let subagent = self.subagent_of(event, &update, out);
            self.push_from(subagent, event, self.turn_of(event), ev, out);
        }
    }

    fn own_event(&mut self, event: &Event, out: &mut Vec<Envelope>) {
        let Some(own) = event.own() else { return };
        match own {
            Own::TurnStarted(_) => self.start_turn(event, out),
            Own::TurnEnded(ended) => self.end_turn(event, &ended, out),
            // Whoever waits for the answer to a prompt is told that there is none.
            Own::PromptDropped(dropped) if self.active.is_none() => {
                self.start_turn(event, out);
                let end = TurnEnd::dropped(dropped);
                let status = TurnStatus::from(end.outcome);
                self.close_turn(event, status, end.stop_reason, None, out);
            }
            Own::PermissionRequested(asked) => {
                let call = Node::of(asked.request).object().object("toolCall");
                // A question of our own is about no tool.
                if !call.is_empty() && asked.limit.is_none() {
                    self.tool(event, &call, Sighting::Question, out);
                }
            }
            Own::AgentQuiet(_) => self.start_waiting_calls(event, out),
            Own::LimitReached(reached) => {
                self.start_waiting_calls(event, out);
                let (turn, words) = (self.turn_of(event), limit_words(&reached));
                let text = format!("Paused: {words}");
                self.push(event, Role::Agent, turn, Ev::Service { text }, out);
            }
            Own::Error(fault) if self.active.is_some() => self.error(event, &fault, out),
            _ => {}
        }
    }

    fn start_turn(&mut self, event: &Event, out: &mut Vec<Envelope>) {
        let turn = event.turn.unwrap_or_else(|| {
            TurnId::derived(&[self.session.as_bytes(), b"turn", &event.seq.0.to_be_bytes()])
        });
        if self.active == Some(turn) || self.last_ended == Some(turn) {
            return;
        }
        if event.turn.is_none() && self.active.is_some() {
            return;
        }
        // The log lost the end of the turn before; its readers must not wait for it.
        self.close_turn(event, TurnStatus::Failed, None, None, out);
        self.active = Some(turn);
        self.context.start_turn();
        self.errors_told.clear();
        self.push(event, Role::Agent, Some(turn), Ev::TurnStart {}, out);
    }

    fn end_turn(&mut self, event: &Event, ended: &TurnEnded<'_>, out: &mut Vec<Envelope>) {
        if self.active.is_none() || event.turn.is_some_and(|turn| Some(turn) != self.active) {
            return;
        }
        let end = TurnEnd::of(ended);
        self.start_waiting_calls(event, out);
        if let Some(fault) = &end.fault {
            self.error(event, fault, out);
        }
        let usage = end.usage.map(|usage| EnvelopeUsage::of(&usage, self.context.window));
        self.close_turn(event, TurnStatus::from(end.outcome), end.stop_reason, usage, out);
    }

    /// Ends the active turn, if there is one, and what is still open in it.
    fn close_turn(
        &mut self,
        event: &Event,
        status: TurnStatus,
        stop_reason: Option<String>,
        usage: Option<EnvelopeUsage>,
        out: &mut Vec<Envelope>,
    ) {
        let Some(turn) = self.active else { return };
        self.end_open_calls(event, out);
        self.stop_subagents(event, out);
        self.push(event, Role::Agent, Some(turn), Ev::TurnEnd { status, stop_reason }, out);
        if let Some(envelope) = out.last_mut() {
            envelope.usage = usage;
        }
        self.tools.end_turn();
        self.last_ended = self.active.take();
    }

    fn plan(&mut self, event: &Event, update: &Object<'_>, out: &mut Vec<Envelope>) {
        let entries = plan_entries(update);
        if entries == self.plan {
            return;
        }
        self.start_waiting_calls(event, out);
        let lines = entries.iter().map(|entry| format!("{} {}", entry.mark(), entry.content));
        let text = std::iter::once("Plan".to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
        self.plan = entries;
        self.push(event, Role::Agent, self.turn_of(event), Ev::Service { text }, out);
    }

    fn error(&mut self, event: &Event, fault: &Fault, out: &mut Vec<Envelope>) {
        if self.errors_told.contains(&fault.message) {
            return;
        }
        self.errors_told.push(fault.message.clone());
        let text = match &fault.remedy {
            Some(remedy) => format!("Error: {}\n{remedy}", fault.message),
            None => format!("Error: {}", fault.message),
        };
        self.push(event, Role::Agent, self.turn_of(event), Ev::Service { text }, out);
    }

    /// Pushes what the agent says or does, or one of its sub-agents.
    fn push_from(
        &mut self,
        subagent: Option<CallId>,
        event: &Event,
        turn: Option<TurnId>,
        ev: Ev,
        out: &mut Vec<Envelope>,
    ) {
        self.push(event, Role::Agent, turn, ev, out);
        if let Some(envelope) = out.last_mut() {
            envelope.subagent = subagent;
        }
    }

    fn push(
        &mut self,
        event: &Event,
        role: Role,
        turn: Option<TurnId>,
        ev: Ev,
        out: &mut Vec<Envelope>,
    ) {
        let seq = event.seq.0.to_be_bytes();
        let index = self.n_of_event.to_be_bytes();
        self.n_of_event += 1;
        self.last_time = self.last_time.max(event.at.0);
        let id = CallId::derived(&[self.session.as_bytes(), &seq, &index]);
        let time = self.last_time;
        out.push(Envelope { id, time, role, turn, usage: None, subagent: None, ev });
    }

    fn turn_of(&self, event: &Event) -> Option<TurnId> {
        event.turn.or(self.active)
    }
}

fn text_ev(text: String) -> Option<Ev> {
    (!text.is_empty()).then_some(Ev::Text { text, thinking: false })
}

/// Text, or a file that is carried or pointed to.
fn block_ev(block: &Block<'_>) -> Option<Ev> {
    if let Some(text) = block.text() {
        return text_ev(text.into_owned());
    }
    let file = block.file().or_else(|| block.media()?.file())?;
    let File { reference, name, size, mime_type } = file;
    Some(Ev::File { reference, name, size, mime_type })
}

/// An image or sound of the agent: the file, or where that is too large, a line about it.
fn media_ev(block: &Block<'_>) -> Option<Ev> {
    let media = block.media()?;
    block_ev(block).or_else(|| Some(Ev::Service { text: media.describe() }))
}

#[cfg(test)]
mod tests;
