//! The state of the chat, and how input changes it.
//!
//! In: key presses, messages from the daemon, the time. Out: effects. No I/O and no clock: the same
//! inputs give the same state, whatever the terminal and the network do.

mod answer_keys;
mod keys;
mod pickers;
mod submit;

use client::FollowerMessage;

use crate::ChatStart;
use crate::completion::{Completion, complete};
use crate::conversation::{AnswerKind, ApplyOutcome, ChatConversation, ChatQuestion, OwnActions};
use crate::editor::Editor;
use crate::effect::{ChatMessage, ConnectionState, Effect};
use crate::form::FormInput;
use crate::history::History;
use crate::info::SessionInfo;
use crate::picker::{AgentOption, Picker};
use answer_keys::DueAnswer;

/// A question gets the keys when none was pressed for so long, so that typing does not answer it.
const ARMED_AFTER_MS: u64 = 600;
/// Leaving takes two presses within this time.
const LEAVES_WITHIN_MS: u64 = 2000;
/// A remark stays for so long.
const REMARK_MS: u64 = 6000;

/// A question, and the field of its form that is being filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuestionFocus {
    id: wire::CallId,
    field: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct ChatState {
    pub(crate) session: Option<SessionInfo>,
    pub(crate) conversation: ChatConversation,
    pub(crate) link: ConnectionState,
    pub(crate) editor: Editor,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) form: Option<FormInput>,
    /// The marked option of the question; none until a person marks one.
    pub(crate) marked: Option<usize>,
    /// The question has the keys, not the input.
    pub(crate) is_answering: bool,
    /// A person has taken the keys away from the question.
    is_question_deferred: bool,
    pub(crate) shows_thinking: bool,
    pub(crate) shows_tools: bool,
    /// Milliseconds since 1970.
    pub(crate) now: u64,
    remark: Option<(String, u64)>,
    history: History,
    files: Vec<String>,
    /// The marked offer; none when the list was closed.
    offer: Option<usize>,
    last_key: u64,
    /// When the first question could first be seen.
    asked_at: Option<(wire::CallId, u64)>,
    /// The question that could be read in the last frame.
    visible_question: Option<QuestionFocus>,
    /// Answers that are on their way.
    answered: Vec<wire::CallId>,
    /// The answer that is due when no other key follows its own.
    due_answer: Option<DueAnswer>,
    /// The current keys came together.
    comes_together: bool,
    /// A person wants the turn to end; it has not yet.
    is_cancelling: bool,
    leaving_since: Option<u64>,
    /// Prompts that are on their way to the daemon.
    pub(crate) n_sending: usize,
    n_prompts: u64,
    /// The agent for new sessions, where no session has one.
    agent: Option<String>,
    n_option_changes_known: u64,
    /// Since when the daemon runs; 0 if that is not known.
    alive_since: i64,
}

/// A screen that covers the conversation.
#[derive(Debug)]
pub(crate) enum Overlay {
    Picker(Picker),
    Help,
}

impl ChatState {
    pub(crate) fn new(history: Vec<String>) -> Self {
        Self { history: History::new(history), offer: Some(0), ..Self::default() }
    }

    pub(crate) fn begin(&mut self, start: ChatStart) -> Vec<Effect> {
        match start {
            ChatStart::New(agent) => {
                self.agent.clone_from(&agent);
                vec![Effect::Create { agent }]
            }
            ChatStart::Session(id) => vec![Effect::Attach(id)],
            ChatStart::AnyAgent => self.pick_agent(),
            // Which one was used last is looked up before.
            ChatStart::AnySession | ChatStart::Continue => self.pick_session(),
        }
    }

    /// Sets the time. Returns whether the screen changes with it.
    pub(crate) fn tick(&mut self, now: u64) -> bool {
        let seen =
            |state: &Self| (state.remark.is_some(), state.is_answering, state.form.is_some());
        let before = seen(self);
        self.now = now;
        if self.remark.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.remark = None;
        }
        if self.leaving_since.is_some_and(|since| now >= since + LEAVES_WITHIN_MS) {
            self.leaving_since = None;
        }
        self.is_cancelling &= self.is_running();
        self.look_at_question();
        before != seen(self) || self.is_moving()
    }

    /// Whether a spinner turns on the screen.
    fn is_moving(&self) -> bool {
        let is_settled =
            self.session.is_some() && self.link == ConnectionState::Live && self.n_sending == 0;
        !is_settled || self.is_running() || self.backlog().is_some()
    }

    /// The last event that was read, and the last there is, while the chat catches up.
    pub(crate) fn backlog(&self) -> Option<(u64, u64)> {
        /// Fewer events are no backlog: so many may come between two looks.
        const BACKLOG_FROM: u64 = 200;
        let (read, head) = (self.conversation.cursor.0, self.session.as_ref()?.head);
        (read.saturating_add(BACKLOG_FROM) < head).then_some((read, head))
    }

    /// The question that a person can answer now.
    pub(crate) fn question(&self) -> Option<&ChatQuestion> {
        self.conversation.questions.iter().find(|question| !self.answered.contains(&question.id))
    }

    /// The question, and its field, that a key would answer now.
    pub(crate) fn asking(&self) -> Option<QuestionFocus> {
        let field = self.form.as_ref().map(|form| form.place().0);
        self.question().map(|question| QuestionFocus { id: question.id, field })
    }

    /// Notes the question that can be read in the frame that was drawn.
    pub(crate) fn note_visible_question(&mut self, asking: Option<QuestionFocus>) {
        self.visible_question = asking;
    }

    /// Whether the question that a key would answer is on the screen. Says so if it is not.
    fn is_question_visible(&mut self) -> bool {
        let is_seen = self.visible_question.is_some() && self.visible_question == self.asking();
        if !is_seen {
            self.show_remark("not answered: the question is not on the screen");
        }
        is_seen
    }

    /// Gives the keys to a question that has been there for long enough.
    fn look_at_question(&mut self) {
        let open = &self.conversation.questions;
        self.answered.retain(|id| open.iter().any(|question| question.id == *id));
        let Some(id) = self.question().map(|question| question.id) else {
            self.asked_at = None;
            self.is_answering = false;
            self.form = None;
            return;
        };
        let since = match self.asked_at {
            Some((known, since)) if known == id => since,
            _ => {
                self.asked_at = Some((id, self.now));
                self.marked = None;
                self.is_answering = false;
                self.is_question_deferred = false;
                self.form = None;
                self.now
            }
        };
        let rests = self.now.saturating_sub(since.max(self.last_key)) >= ARMED_AFTER_MS;
        let is_free =
            self.editor.is_empty() && !self.is_question_deferred && self.overlay.is_none();
        if rests && is_free && !self.is_answering && self.form.is_none() {
            self.answer_now();
        }
    }

    /// The question takes the keys.
    fn answer_now(&mut self) {
        let Some(question) = self.question() else { return };
        match &question.answer_kind {
            AnswerKind::Choice(_) => self.is_answering = true,
            AnswerKind::Form { fields, url } if url.is_none() && !fields.is_empty() => {
                self.form = Some(FormInput::new(fields.clone()));
            }
            // A page to visit: somebody says when that is done.
            AnswerKind::Form { .. } => self.is_answering = true,
        }
    }

    /// The completions at the cursor, and which is marked.
    pub(crate) fn completion(&self) -> Option<(Completion, usize)> {
        let offer = self.offer?;
        if self.form.is_some() || self.is_answering {
            return None;
        }
        let completion = complete(self.editor.before(), &self.conversation.commands, &self.files)?;
        // Completing would change nothing.
        let typed = self.editor.text().trim_end();
        if completion.offers.iter().all(|offer| offer.text.trim_end() == typed) {
            return None;
        }
        let last = completion.offers.len().saturating_sub(1);
        Some((completion, offer.min(last)))
    }

    pub(crate) fn show_remark(&mut self, text: impl Into<String>) {
        self.show_remark_for(text, REMARK_MS);
    }

    fn show_remark_for(&mut self, text: impl Into<String>, ms: u64) {
        // There is one line for it.
        let text: String = text.into();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let text = crate::conversation::line(&lines.collect::<Vec<_>>().join("; "), 500);
        self.remark = Some((text, self.now + ms));
    }

    pub(crate) fn remark(&self) -> Option<&str> {
        self.remark.as_ref().map(|(text, _)| text.as_str())
    }

    pub(crate) fn is_running(&self) -> bool {
        self.conversation.running.is_some() || !self.conversation.waiting_prompts.is_empty()
    }

    /// Somebody wants the running turn to end.
    pub(crate) fn is_cancelling(&self) -> bool {
        self.is_running() && (self.is_cancelling || self.conversation.is_cancelling)
    }

    /// The value in use of an option, if the agent says.
    pub(crate) fn in_use(&self, option: AgentOption) -> Option<&str> {
        let told = self.conversation.mode.as_deref().filter(|_| option == AgentOption::Mode);
        told.or_else(|| self.session.as_ref()?.option(option)?.current.as_deref())
    }

    pub(crate) fn title(&self) -> Option<String> {
        let told = self.conversation.title.clone();
        told.or_else(|| self.session.as_ref().map(SessionInfo::display_name))
    }

    /// The agent of new sessions.
    fn agent(&self) -> Option<String> {
        self.session.as_ref().map(|session| session.agent.clone()).or_else(|| self.agent.clone())
    }

    /// Resets what belongs to one session, for another.
    fn reset_session(&mut self) {
        let own = std::mem::take(&mut self.conversation.own);
        self.conversation = ChatConversation::default();
        self.conversation.own = own;
        self.link = ConnectionState::Opening;
        self.asked_at = None;
        self.visible_question = None;
        self.answered.clear();
        self.due_answer = None;
        self.is_cancelling = false;
        self.is_answering = false;
        self.form = None;
        self.n_option_changes_known = 0;
        self.n_sending = 0;
    }

    pub(crate) fn handle_message(&mut self, message: ChatMessage) -> Vec<Effect> {
        match message {
            ChatMessage::Opened(session) => {
                self.reset_session();
                self.conversation.own = OwnActions::since(session.head);
                self.agent = Some(session.agent.clone());
                self.session = Some(*session);
                // A remark that it is being opened is over.
                if self.remark().is_some_and(|remark| remark.ends_with('…')) {
                    self.remark = None;
                }
                self.overlay = None;
                return vec![Effect::Refresh];
            }
            ChatMessage::Info(info) => {
                if let Some(known) = self.session.take_if(|session| session.id == info.id) {
                    if info.title.is_some() {
                        self.conversation.title = None;
                    }
                    let (mut info, is_new) = (*info, known.is_new);
                    // An agent that does not run reports no options; those it reported are still
                    // true.
                    info.options = info.options.or(known.options);
                    self.session = Some(SessionInfo { is_new, ..info });
                }
            }
            ChatMessage::Stream(message) => return self.handle_stream(message),
            ChatMessage::DaemonSince(at) => self.alive_since(at),
            ChatMessage::Sessions(sessions) => self.sessions_found(&sessions),
            ChatMessage::Agents { found, is_complete } => {
                return self.agents_found(&found, is_complete);
            }
            ChatMessage::Files(files) => self.files = files,
            ChatMessage::PromptAccepted { text, turn } => {
                self.n_sending = self.n_sending.saturating_sub(1);
                self.conversation.own.sent(&text, turn);
            }
            ChatMessage::PromptRejected { text, why } => {
                self.n_sending = self.n_sending.saturating_sub(1);
                self.conversation.own.sent(&text, None);
                self.show_remark(format!("not sent: {why}"));
                // The text is not lost.
                if self.editor.is_empty() {
                    self.editor.set(&text);
                }
            }
            ChatMessage::Failed(why) => {
                self.show_remark(why);
                // An answer that did not arrive can be given again.
                self.answered.clear();
                self.look_at_question();
            }
            ChatMessage::CannotOpen(why) => {
                // Without a session there is nothing to stay for.
                if self.session.is_none() {
                    return vec![Effect::LeaveWithError(why)];
                }
                self.show_remark(why);
            }
            ChatMessage::Done(what) => self.show_remark(what),
        }
        Vec::new()
    }

    fn handle_stream(&mut self, message: FollowerMessage) -> Vec<Effect> {
        match message {
            FollowerMessage::Event(event) => return self.apply_event(&event),
            FollowerMessage::Restarted => {
                self.reset_session();
                self.alive_since(self.alive_since);
                self.link = ConnectionState::Live;
                self.show_remark("events were lost; everything is read anew");
            }
            FollowerMessage::Live => {
                self.link = ConnectionState::Live;
                // It may be another daemon than before.
                return vec![Effect::CheckUptime];
            }
            FollowerMessage::Lost(why) => self.link = ConnectionState::Lost(why),
            FollowerMessage::Over(error) => {
                let why = match error.status() {
                    Some(404) => "the session does not exist any more".to_owned(),
                    _ => error.to_string(),
                };
                self.link = ConnectionState::Over(why);
            }
            // The session's task has ended before its time.
            FollowerMessage::Halted(why) => {
                self.conversation.halted(&why);
                return vec![Effect::Refresh];
            }
        }
        Vec::new()
    }

    fn alive_since(&mut self, at: i64) {
        self.alive_since = at;
        self.conversation.alive_since(at);
    }

    fn apply_event(&mut self, event: &wire::Event) -> Vec<Effect> {
        let was_running = self.conversation.running.is_some();
        match self.conversation.apply_event(event) {
            ApplyOutcome::New => {}
            ApplyOutcome::Known => return Vec::new(),
            ApplyOutcome::Gap => return vec![Effect::Reopen],
        }
        self.is_cancelling &= self.is_running();
        self.look_at_question();
        // An agent's options are known once it runs; asking while old events are read would be
        // asking for each turn of them.
        let head = self.session.as_ref().map_or(0, |session| session.head);
        let is_now = self.conversation.cursor.0 >= head;
        let has_begun = !was_running && self.conversation.running.is_some();
        let has_ended = was_running && self.conversation.running.is_none();
        let have_options_changed =
            self.conversation.n_option_changes != self.n_option_changes_known;
        if is_now && (has_begun || has_ended || have_options_changed) {
            self.n_option_changes_known = self.conversation.n_option_changes;
            return vec![Effect::Refresh];
        }
        Vec::new()
    }
}

#[cfg(test)]
mod grant_tests;
#[cfg(test)]
mod picker_tests;
#[cfg(test)]
pub(crate) mod tests;
