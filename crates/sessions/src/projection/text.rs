//! The log for a person at a terminal.
//!
//! In: every event. Out: text to print as it is. The agent's answer streams through as it
//! comes; everything else is lines. Nothing an agent, a tool or a file says reaches the
//! terminal without having been made safe: the only control sequences in the output are
//! our own colours, and with `color` off there are none; and where it was asked for, those that
//! take back the line of a call that has ended.

mod asked;
mod notes;
mod page;
mod questions;
mod tools;

use std::collections::HashMap;

use wire::event::CancelStep;
use wire::{CallId, Event, Millis, Own, TurnId};

use super::json::Object;
use super::prompts::Prompts;
use super::retold::Retold;
use super::sanitize::sanitize_line;
use super::terminals::Terminals;
use super::tools::ToolCalls;
use super::usage::Context;
use super::view::{PlanEntry, blocks, chunk_text, plan_entries, update_of};
use page::{Page, Part};

/// How to write for the terminal at hand.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub color: bool,
    /// Columns of the terminal; 0 when unknown.
    pub width: usize,
    /// Also tell what a person rarely needs: tool output, stderr, modes, unknown updates.
    pub verbose: bool,
    pub show_thinking: bool,
}

/// Projects a log into text for a terminal.
#[derive(Debug)]
pub struct TextRenderer {
    style: Style,
    shows_prompts: bool,
    takes_back: bool,
    page: Page,
    prompts: Prompts,
    tools: ToolCalls<tools::Marks>,
    terminals: Terminals,
    questions: HashMap<CallId, questions::Question>,
    plan: Vec<PlanEntry>,
    context: Context,
    cwd: Option<String>,
    turn: Option<TurnId>,
    turn_started: Option<Millis>,
    /// Errors of the running turn, which its end often repeats.
    errors_told: Vec<String>,
    /// What the agent's answer ended with: the last piece of it.
    last_words: String,
    retold: Retold,
    shows_whole_questions: bool,
    is_question_long: bool,
}

impl TextRenderer {
    pub fn new(style: Style) -> Self {
        Self {
            style,
            shows_prompts: false,
            takes_back: false,
            page: Page::new(style.color),
            prompts: Prompts::default(),
            tools: ToolCalls::default(),
            terminals: Terminals::default(),
            questions: HashMap::new(),
            plan: Vec::new(),
            context: Context::default(),
            cwd: None,
            turn: None,
            turn_started: None,
            errors_told: Vec::new(),
            last_words: String::new(),
            retold: Retold::default(),
            shows_whole_questions: false,
            is_question_long: false,
        }
    }

    /// Also writes what the user said: for a log that is read, not one that is typed.
    #[must_use]
    pub fn with_prompts(mut self) -> Self {
        self.shows_prompts = true;
        self
    }

    /// For a terminal whose cursor stays where this text leaves it: the line of a call that has
    /// ended takes the place of the one that said it runs.
    pub fn take_back(&mut self) {
        self.takes_back = true;
    }

    /// Something else was written on the terminal.
    pub fn disturb(&mut self) {
        self.page.disturb();
    }

    pub fn project(&mut self, event: &Event, out: &mut String) {
        self.user(event, out);
        let added = self.retold.see(event);
        match event.kind.update_name() {
            Some("agent_message_chunk") => self.answer(&update_of(event), added, out),
            Some(name) => self.update(name, event, out),
            None => self.own_event(event, out),
        }
    }

    /// Tells what waited for more to be known. Whoever shows a log as it grows calls this when
    /// nothing has come for a moment: what is being done now is not told after it was done.
    pub fn settle(&mut self, out: &mut String) {
        self.announce_all(out);
    }

    fn update(&mut self, name: &str, event: &Event, out: &mut String) {
        let update = update_of(event);
        match name {
            "agent_thought_chunk" => {
                if self.style.show_thinking {
                    self.announce_all(out);
                    self.page.stream(Part::Thinking, &chunk_text(&update), out);
                }
            }
            "user_message_chunk" => {}
            "tool_call" | "tool_call_update" => self.tool(event.turn.or(self.turn), &update, out),
            "plan" | "plan_update" => self.plan(&update, out),
            "usage_update" => {
                self.context.update(&update);
                self.announce_all(out);
            }
            _ => self.other_update(name, &update, out),
        }
    }

    fn own_event(&mut self, event: &Event, out: &mut String) {
        let Some(own) = event.own() else { return };
        match own {
            Own::SessionCreated(created) => self.created(created, out),
            Own::SessionResumed(resumed) => self.resumed(&resumed, out),
            Own::TurnStarted(_) => {
                self.turn = event.turn;
                self.turn_started = Some(event.at);
                self.errors_told.clear();
                self.context.start_turn();
            }
            Own::TurnEnded(ended) => self.turn_ended(event, &ended, out),
            Own::PermissionRequested(asked) => {
                self.permission_requested(event.turn.or(self.turn), &asked, out);
            }
            Own::PermissionResolved(resolved) => self.permission_resolved(&resolved, out),
            Own::ElicitationRequested(asked) => self.elicitation_requested(&asked, out),
            Own::ElicitationResolved(resolved) => self.elicitation_resolved(&resolved, out),
            // The question that follows says it, and so does the answer.
            Own::LimitReached(_) | Own::LimitRaised(_) => {}
            Own::CancelRequested(requested) => self.cancel_requested(&requested, out),
            Own::CancelStep(CancelStep { step }) => self.cancel_step(step, out),
            Own::WorkerExited(exited) => self.worker_exited(&exited, out),
            Own::AgentQuiet(quiet) => self.quiet(&quiet, out),
            Own::Error(fault) => self.error(&fault, out),
            Own::PromptDropped(dropped) => self.prompt_dropped(dropped, out),
            Own::LogRecovered(lost) => self.log_recovered(lost, out),
            // Told with the tool call that shows the terminal.
            Own::TerminalOutput(_) | Own::TerminalExited(_) => {
                self.terminals.project(event);
            }
            own => self.verbose_event(&own, out),
        }
    }

    fn user(&mut self, event: &Event, out: &mut String) {
        let said = self.prompts.project(event);
        if !self.shows_prompts {
            return;
        }
        for said in &said {
            for block in said.blocks() {
                if let Some(text) = block.text().map(Into::into).or_else(|| block.describe()) {
                    self.page.stream(Part::User, &text, out);
                }
            }
        }
    }

    /// `added` is what its text adds to what was told.
    fn answer(&mut self, update: &Object<'_>, mut added: Option<String>, out: &mut String) {
        for block in blocks(update.get("content")) {
            let text = match block.text() {
                Some(_) => added.take(),
                None => {
                    if let Some(described) = block.describe() {
                        self.announce_all(out);
                        self.page.line(page::DIM, &whole_line(&described), out);
                    }
                    None
                }
            };
            let Some(text) = text.filter(|text: &String| !text.is_empty()) else { continue };
            self.announce_all(out);
            self.page.stream(Part::Answer, &text, out);
            self.last_words = text;
        }
    }

    fn plan(&mut self, update: &Object<'_>, out: &mut String) {
        let entries = plan_entries(update);
        if entries == self.plan {
            return;
        }
        self.announce_all(out);
        self.page.line(page::STRONG, "Plan", out);
        // A step further is no other plan: what stays as it was has been read.
        let is_same = entries.len() == self.plan.len()
            && entries.iter().zip(&self.plan).all(|(new, old)| new.content == old.content);
        let changed = entries.iter().zip(&self.plan).filter(|(new, old)| new != old);
        let shown: Vec<&PlanEntry> = match is_same {
            true => changed.map(|(new, _)| new).collect(),
            false => entries.iter().collect(),
        };
        for entry in shown {
            let style = match entry.mark() {
                "[x]" | "[-]" => page::DIM,
                "[~]" => page::STRONG,
                _ => page::PLAIN,
            };
            let line = format!("  {} {}", entry.mark(), whole_line(&entry.content));
            self.page.line(style, &line, out);
        }
        self.plan = entries;
    }
}

/// `text` made safe and on one line, which a terminal wraps if it must: what is said to a
/// person is not cut to the width, only to what anybody would read.
fn whole_line(text: &str) -> String {
    const LONGEST_LINE: usize = 1_000;
    sanitize_line(text, LONGEST_LINE)
}

#[cfg(test)]
mod tests;
