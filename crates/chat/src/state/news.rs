//! Messages from the daemon.

use super::ChatState;
use crate::conversation::{ApplyOutcome, OwnActions};
use crate::effect::{ChatMessage, ConnectionState, Effect};

impl ChatState {
    pub(crate) fn hear(&mut self, news: ChatMessage) -> Vec<Effect> {
        match news {
            ChatMessage::Opened(session) => {
                self.forget();
                self.talk.own = OwnActions::since(session.head);
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
                        self.talk.title = None;
                    }
                    let known = self.session.take().and_then(|session| session.options);
                    let mut info = *info;
                    // An agent that does not run reports no options; those it reported are still
                    // true.
                    info.options = info.options.or(known);
                    self.session = Some(info);
                }
            }
            ChatMessage::Event(event) => return self.hear_event(&event),
            ChatMessage::Resync => {
                self.forget();
                self.alive_since(self.alive_since);
                self.link = ConnectionState::Live;
                self.say("events were lost; everything is read anew");
            }
            ChatMessage::Link(link) => {
                self.link = link;
                // It may be another daemon than before.
                if self.link == ConnectionState::Live {
                    return vec![Effect::AskAge];
                }
            }
            ChatMessage::Halted(why) => {
                self.talk.halted(&why);
                return vec![Effect::Refresh];
            }
            ChatMessage::AliveSince(at) => self.alive_since(at),
            ChatMessage::Sessions(sessions) => self.sessions_found(&sessions),
            ChatMessage::Agents { found, is_complete } => {
                return self.agents_found(&found, is_complete);
            }
            ChatMessage::Files(files) => self.files = files,
            ChatMessage::Taken { text, turn } => {
                self.n_sending = self.n_sending.saturating_sub(1);
                self.talk.own.sent(&text, turn);
            }
            ChatMessage::NotTaken { text, why } => {
                self.n_sending = self.n_sending.saturating_sub(1);
                self.talk.own.sent(&text, None);
                self.say(format!("not sent: {why}"));
                // The text is not lost.
                if self.editor.is_empty() {
                    self.editor.set(&text);
                }
            }
            ChatMessage::Failed(why) => {
                self.say(why);
                // An answer that did not arrive can be given again.
                self.answered.clear();
                self.look_at_question();
            }
            ChatMessage::CannotOpen(why) => {
                // Without a session there is nothing to stay for.
                if self.session.is_none() {
                    return vec![Effect::Fail(why)];
                }
                self.say(why);
            }
            ChatMessage::Done(what) => self.say(what),
        }
        Vec::new()
    }

    fn alive_since(&mut self, at: i64) {
        self.alive_since = at;
        self.talk.alive_since(at);
    }

    fn hear_event(&mut self, event: &wire::Event) -> Vec<Effect> {
        let was_running = self.talk.running.is_some();
        match self.talk.hear(event) {
            ApplyOutcome::New => {}
            ApplyOutcome::Known => return Vec::new(),
            ApplyOutcome::Gap => return vec![Effect::Reopen],
        }
        self.is_stopping &= self.is_running();
        self.look_at_question();
        // An agent's options are known once it runs; asking while old events are read would be
        // asking for each turn of them.
        let head = self.session.as_ref().map_or(0, |session| session.head);
        let is_now = self.talk.cursor.0 >= head;
        let has_begun = !was_running && self.talk.running.is_some();
        let has_ended = was_running && self.talk.running.is_none();
        let has_news = self.talk.n_offers != self.n_offers_known;
        if is_now && (has_begun || has_ended || has_news) {
            self.n_offers_known = self.talk.n_offers;
            return vec![Effect::Refresh];
        }
        Vec::new()
    }
}
