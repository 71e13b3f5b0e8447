//! Input that is sent with Enter: a prompt, a command, a field of a form.

use serde_json::json;

use super::{ChatState, Overlay};
use crate::commands::{self, ChatCommand, InputLine};
use crate::completion::mentions;
use crate::effect::{ConnectionState, Effect};
use crate::form::FormStep;
use crate::picker::AgentOption;

impl ChatState {
    pub(super) fn enter(&mut self) -> Vec<Effect> {
        if self.form.is_some() {
            return self.fill_in();
        }
        // A backslash at the end, as in a shell.
        if self.editor.text().ends_with('\\') && self.editor.cursor() == self.editor.text().len() {
            self.editor.backspace();
            self.editor.insert("\n");
            return Vec::new();
        }
        if self.editor.text().trim().is_empty() {
            self.editor.take();
            return Vec::new();
        }
        let text = self.editor.text().to_owned();
        let mut effects = match commands::read(text.trim()) {
            InputLine::Ours(command, argument) => self.run_command(command, argument),
            InputLine::Prompt(prompt)
                if !text.trim().starts_with("//") && self.rejects_unknown_command(prompt) =>
            {
                return Vec::new();
            }
            InputLine::Prompt(prompt) => match self.prompt(prompt) {
                Some(effect) => vec![effect],
                // The text stays in the editor.
                None => return Vec::new(),
            },
        };
        self.editor.take();
        self.offer = Some(0);
        if self.history.add(text.trim()) {
            effects.push(Effect::SaveToHistory(text.trim().to_owned()));
        }
        effects.push(Effect::Scroll(crate::effect::Scroll::End));
        effects
    }

    /// Says that there is no such command, if there is none; it stays in the editor.
    fn rejects_unknown_command(&mut self, text: &str) -> bool {
        let Some(name) = commands::unknown(text, &self.conversation.commands) else { return false };
        let words =
            format!("there is no command /{name}; /help lists them, //{name} goes to the agent");
        self.show_remark(words);
        true
    }

    fn prompt(&mut self, text: &str) -> Option<Effect> {
        if self.session.is_none() {
            self.show_remark("there is no session yet");
            return None;
        }
        if let ConnectionState::Over(why) = &self.link {
            let why = format!("not sent: {why}");
            self.show_remark(why);
            return None;
        }
        self.n_prompts += 1;
        self.n_sending += 1;
        self.conversation.own.send(text);
        let mentions = mentions(text, &self.files);
        Some(Effect::Prompt { text: text.to_owned(), mentions, name: self.n_prompts })
    }

    fn fill_in(&mut self) -> Vec<Effect> {
        if !self.is_question_visible() {
            return Vec::new();
        }
        let typed = self.editor.text().to_owned();
        let Some(form) = &mut self.form else { return Vec::new() };
        match form.take(&typed) {
            FormStep::Wrong(why) => {
                self.show_remark(why);
                return Vec::new();
            }
            FormStep::Next => {}
            FormStep::Done(response) => {
                self.editor.take();
                return self.answer(json!({ "response": response }));
            }
        }
        self.editor.take();
        Vec::new()
    }

    fn run_command(&mut self, command: ChatCommand, argument: &str) -> Vec<Effect> {
        match command {
            ChatCommand::Help => self.overlay = Some(Overlay::Help),
            ChatCommand::Sessions => return self.pick_session(),
            ChatCommand::Agents => return self.pick_agent(),
            ChatCommand::New => {
                let named = Some(argument.to_owned()).filter(|name| !name.is_empty());
                let agent = named.or_else(|| self.agent());
                self.show_remark("a new session …");
                return vec![Effect::Create { agent }];
            }
            ChatCommand::Model => return self.choose(AgentOption::Model, argument),
            ChatCommand::Mode => return self.choose(AgentOption::Mode, argument),
            ChatCommand::Effort => return self.choose(AgentOption::Effort, argument),
            ChatCommand::Fork => return vec![Effect::Fork],
            ChatCommand::Title if argument.is_empty() => {
                self.show_remark("/title TEXT names this session");
            }
            ChatCommand::Title => return vec![Effect::Change(json!({ "title": argument }))],
            ChatCommand::Export => return vec![Effect::Export(argument.to_owned())],
            ChatCommand::Cancel => return self.cancel_turn(),
            ChatCommand::Thinking => self.shows_thinking = !self.shows_thinking,
            ChatCommand::Tools => self.shows_tools = !self.shows_tools,
            ChatCommand::Drop => {
                match self.conversation.waiting_prompts.last().and_then(|waiting| waiting.turn) {
                    Some(turn) => return vec![Effect::DropQueued(turn.to_string())],
                    None => self.show_remark("no prompt waits"),
                }
            }
            ChatCommand::Quit => return vec![Effect::Leave],
        }
        Vec::new()
    }
}
