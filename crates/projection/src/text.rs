//! The log for a person at a terminal.
//!
//! In: the changes of a conversation. Out: text to print as it is. The agent's answer streams
//! through as it comes; everything else is lines. Nothing from an agent, a tool or a file reaches
//! the terminal without having been made safe: the only control sequences in the output are our own
//! colours, and with `color` off there are none; and where it was asked for, those that take back
//! the line of a call that has ended.

mod output;
mod question_details;
mod questions;
mod remarks;
mod tools;

use std::collections::HashMap;

use wire::OwnEvent;

use super::calls::CallKey;
use super::content::ContentBlock;
use super::conversation::{Change, Conversation, Projection};
use super::notice::Notice;
use super::plan::PlanStep;
use super::prompts::UserMessage;
use output::{OutputPart, TextOutput};
use wire::text::sanitize_line;

/// Options of the output for a terminal.
#[derive(Debug, Clone, Copy)]
pub struct TextOptions {
    pub color: bool,
    /// Columns of the terminal; 0 when unknown.
    pub width: usize,
    /// Also show what a person rarely needs: tool output, stderr, modes, unknown updates.
    pub verbose: bool,
    pub show_thinking: bool,
}

/// A log as text for a terminal.
#[derive(Debug, Clone)]
pub struct TextProjection {
    options: TextOptions,
    shows_prompts: bool,
    replaces_lines: bool,
    output: TextOutput,
    /// The lines and diffs printed for each call of the running turn.
    calls: HashMap<CallKey, tools::PrintedCall>,
    /// The error of the running turn was printed.
    is_failure_shown: bool,
    shows_whole_questions: bool,
    is_question_long: bool,
}

impl TextProjection {
    pub fn new(options: TextOptions) -> Self {
        Self {
            options,
            shows_prompts: false,
            replaces_lines: false,
            output: TextOutput::new(options.color),
            calls: HashMap::new(),
            is_failure_shown: false,
            shows_whole_questions: false,
            is_question_long: false,
        }
    }

    /// Also writes the prompts: for a log that is read, not one that is typed.
    #[must_use]
    pub fn with_prompts(mut self) -> Self {
        self.shows_prompts = true;
        self
    }

    /// For a terminal whose cursor stays where this text leaves it: the line of a call that has
    /// ended takes the place of the one that said it runs.
    pub fn replace_lines(&mut self) {
        self.replaces_lines = true;
    }

    /// Notes that something else was written on the terminal.
    pub fn note_foreign_output(&mut self) {
        self.output.note_foreign_output();
    }

    fn prompt(&mut self, said: &UserMessage, out: &mut String) {
        if !self.shows_prompts {
            return;
        }
        for block in said.blocks() {
            if let Some(text) = block.text().map(Into::into).or_else(|| block.describe()) {
                self.output.stream(OutputPart::User, &text, out);
            }
        }
    }

    fn answer_block(&mut self, block: &ContentBlock<'_>, out: &mut String) {
        if let Some(described) = block.describe() {
            self.output.line(output::DIM, &whole_line(&described), out);
        }
    }

    fn plan(&mut self, steps: &[PlanStep], out: &mut String) {
        self.output.line(output::STRONG, "Plan", out);
        for entry in steps {
            let style = match entry.mark() {
                "[x]" | "[-]" => output::DIM,
                "[~]" => output::STRONG,
                _ => output::PLAIN,
            };
            let line = format!("  {} {}", entry.mark(), whole_line(&entry.content));
            self.output.line(style, &line, out);
        }
    }

    fn own_event(&mut self, own: &OwnEvent<'_>, notice: Option<&Notice>, out: &mut String) {
        match own {
            OwnEvent::ElicitationRequested(asked) => self.elicitation_requested(asked, out),
            OwnEvent::ElicitationResolved(resolved) => self.elicitation_resolved(resolved, out),
            _ => self.notice(notice, out),
        }
    }
}

impl Projection for TextProjection {
    type Out = String;

    fn render(&mut self, change: Change<'_>, now: &Conversation, out: &mut String) {
        match change {
            Change::Prompt(said) => self.prompt(&said, out),
            Change::TurnStarted => self.is_failure_shown = false,
            Change::Answer { text, .. } => self.output.stream(OutputPart::Answer, &text, out),
            Change::AnswerBlock { block, .. } => self.answer_block(&block, out),
            Change::Thought { text, .. } if self.options.show_thinking => {
                self.output.stream(OutputPart::Thinking, &text, out);
            }
            Change::CallBegan { call, is_asked: false } => self.call_began(call, now, out),
            Change::CallEnded(key) => self.call_ended(key, now, out),
            Change::Planned { steps } => self.plan(&steps, out),
            Change::Asked(question) => self.asked(&question, now, out),
            Change::Decided(decision) => self.decided(&decision, out),
            Change::Failed { fault, is_in_answer: true, .. } => self.hint(&fault, out),
            Change::Failed { fault, .. } => self.error(&fault, out),
            Change::TurnEnded(end) => self.turn_ended(&end, out),
            Change::Own(own, notice) => self.own_event(&own, notice.as_ref(), out),
            Change::Update(_, _, notice) => self.notice(notice.as_ref(), out),
            // The question names the call.
            Change::CallBegan { .. }
            | Change::CallSeen { .. }
            | Change::Thought { .. }
            | Change::CallMedia(..)
            | Change::CallLeftOpen { .. } => {}
        }
    }
}

/// `text` made safe and on one line, which a terminal wraps if it must: a message to a person is
/// not cut to the width, only to a length that somebody would read.
fn whole_line(text: &str) -> String {
    const LONGEST_LINE: usize = 1_000;
    sanitize_line(text, LONGEST_LINE)
}

#[cfg(test)]
mod tests;
