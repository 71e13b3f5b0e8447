//! Messages from the daemon.

use super::ChatState;
use crate::conversation::{ApplyOutcome, OwnActions};
use crate::effect::{ChatMessage, ConnectionState, Effect};

impl ChatState {
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
                if self.session.as_ref().is_some_and(|session| session.id == info.id) {
                    if info.title.is_some() {
                        self.conversation.title = None;
                    }
                    let known = self.session.take().and_then(|session| session.options);
                    let mut info = *info;
                    // An agent that does not run reports no options; those it reported are still
                    // true.
                    info.options = info.options.or(known);
                    self.session = Some(info);
                }
            }
            ChatMessage::Event(event) => return self.apply_event(&event),
            ChatMessage::Resync => {
                self.reset_session();
                self.alive_since(self.alive_since);
                self.link = ConnectionState::Live;
                self.show_remark("events were lost; everything is read anew");
            }
            ChatMessage::Link(link) => {
                self.link = link;
                // It may be another daemon than before.
                if self.link == ConnectionState::Live {
                    return vec![Effect::CheckUptime];
                }
            }
            ChatMessage::Halted(why) => {
                self.conversation.halted(&why);
                return vec![Effect::Refresh];
            }
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
