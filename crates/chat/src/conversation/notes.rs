//! Notes beside the conversation: notices, errors, the ends of turns.

use projection::{Conversation, Notice, NoticeLevel, TurnEnd, TurnEndReason};
use wire::Fault;
use wire::event::{LimitRaised, StopReason};

use super::safe_text::{line, lines};
use super::{ChatConversation, WaitingPrompt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteTone {
    Dim,
    Good,
    Doubtful,
    Bad,
}

impl ChatConversation {
    pub(super) fn note_turn_end(&mut self, end: &TurnEnd) {
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

    pub(super) fn failed(&mut self, fault: &Fault, is_said: bool, now: &Conversation) {
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
    }

    pub(super) fn notice(&mut self, notice: Option<&Notice>, now: &Conversation) {
        let Some(notice) = notice.filter(|notice| notice.level >= NoticeLevel::Remark) else {
            return;
        };
        let tone = match notice.tone {
            projection::NoticeTone::Info => NoteTone::Dim,
            projection::NoticeTone::Warning => NoteTone::Doubtful,
            projection::NoticeTone::Error => NoteTone::Bad,
        };
        self.note(now.event_turn(), tone, lines(&notice.text, 2000));
    }

    /// Notes a dropped prompt, with its text.
    pub(super) fn prompt_dropped(&mut self, notice: Option<&Notice>, now: &Conversation) {
        let is_it = |waiting: &WaitingPrompt| waiting.turn == now.event_turn();
        let place = self.waiting_prompts.iter().position(is_it);
        let asked = place.map(|place| self.waiting_prompts.remove(place).text);
        if let (Some(notice), Some(asked)) = (notice, asked) {
            let text = format!("{}: {}", notice.text, line(&asked, 200));
            self.note(now.event_turn(), NoteTone::Doubtful, text);
        }
    }

    pub(super) fn limit_raised(&mut self, raised: &LimitRaised, now: &Conversation) {
        let by = self.own.decider(&raised.by, raised.request_id, now.seq().0);
        let text = format!("goes on: the limit of {} was raised{by}", raised.limit.as_str());
        self.note(now.event_turn(), NoteTone::Dim, text);
    }
}
