//! Turns, questions and commands that a process which died left open in a session's log.
//!
//! In: the session's events. Out: the events that end what was begun, so that nobody waits
//! for a turn that will not end, the audit says of every question what became of it, and no command
//! seems to run; and the prompts that never began, which still can.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use store::{EventLog, SessionRecord, StoreError};
use wire::event::{
    DecidedBy, Decider, DropReason, ElicitationResolved, PermissionResolved, PromptDropped,
    RecordedOutcome, TerminalExited, TurnEnded,
};
use wire::{CallId, Category, Draft, Event, Fault, Json, Kind, OwnEvent, Seq, TurnId};

use super::draft;
use crate::details::SessionDetails;
use crate::permission::{PolicyQuestion, summary};

const SEND_AGAIN: &str = "send the prompt again";
/// Events read at once.
const PAGE: usize = 512;
/// A session has far fewer questions at a time; beyond this a log is not one of ours.
const MAX_QUESTIONS: usize = 4096;
/// The same for commands of which no end is known.
const MAX_COMMANDS: usize = 4096;

#[derive(Default)]
pub(crate) struct UnfinishedTurns {
    /// Started and never ended, in order.
    started: Vec<TurnId>,
    waiting: Vec<WaitingPrompt>,
    questions: BTreeMap<CallId, OpenQuestion>,
    /// Terminals whose command has not ended, each with the turn that it was last heard of in.
    commands: BTreeMap<String, Option<TurnId>>,
}

/// A prompt that was accepted, and whose turn has not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitingPrompt {
    pub(crate) turn: TurnId,
    /// Its place in the log.
    pub(crate) seq: Seq,
}

struct OpenQuestion {
    turn: Option<TurnId>,
    is_form: bool,
    request: Json,
    was_asked: bool,
}

impl UnfinishedTurns {
    pub(super) async fn find(
        log: &dyn EventLog,
        record: &SessionRecord,
    ) -> Result<Self, StoreError> {
        let noted = SessionDetails::read(record).open_commands;
        let commands = noted.into_iter().map(|terminal| (terminal, None)).collect();
        let mut open = Self { commands, ..Self::default() };
        let mut after = Seq(0);
        loop {
            let events = match log.read(record.id, after, PAGE).await {
                Ok(events) => events,
                // Behind damage nothing can be read; what is open before it can be closed.
                Err(StoreError::Corrupt { .. }) => return Ok(open),
                Err(error) => return Err(error),
            };
            let Some(last) = events.last() else { return Ok(open) };
            after = last.seq;
            for event in &events {
                open.see(event);
            }
        }
    }

    pub(crate) fn see(&mut self, event: &Event) {
        match (&event.kind, event.turn) {
            (Kind::PromptReceived, Some(turn)) => {
                self.waiting.push(WaitingPrompt { turn, seq: event.seq });
            }
            (Kind::TurnStarted, Some(turn)) => {
                self.waiting.retain(|prompt| prompt.turn != turn);
                self.started.push(turn);
            }
            (Kind::TurnEnded | Kind::PromptDropped, Some(turn)) => {
                self.waiting.retain(|prompt| prompt.turn != turn);
                self.started.retain(|started| *started != turn);
            }
            _ => self.see_own(event),
        }
    }

    /// A command that runs.
    pub(crate) fn see_command(&mut self, terminal_id: String, turn: Option<TurnId>) {
        if self.commands.len() < MAX_COMMANDS {
            self.commands.insert(terminal_id, turn);
        }
    }

    fn see_own(&mut self, event: &Event) {
        let Some(own) = event.own() else { return };
        if let Some(id) = own.answered_question() {
            self.questions.remove(&id);
        }
        match &own {
            OwnEvent::TerminalOutput(printed) => {
                self.see_command(printed.terminal_id.clone(), event.turn);
            }
            OwnEvent::TerminalExited(exited) => _ = self.commands.remove(&exited.terminal_id),
            _ => {}
        }
        if let Some(asked) = own.question().filter(|_| self.questions.len() < MAX_QUESTIONS) {
            let question = OpenQuestion {
                turn: event.turn,
                is_form: asked.wants_form,
                request: asked.request.to_json(),
                was_asked: asked.is_for_person,
            };
            self.questions.insert(asked.id, question);
        }
    }

    /// The events that close what was begun, for the reason `why`: questions and commands first, then
    /// the turns that they were of. The flag says whether somebody is to hear of it.
    pub(crate) fn close(&mut self, record: &SessionRecord, why: &Fault) -> Vec<(Draft, bool)> {
        let questions = std::mem::take(&mut self.questions).into_iter();
        let mut drafts: Vec<_> = questions
            .map(|(id, question)| (question.withdrawn(id, record), question.was_asked))
            .collect();
        let commands = std::mem::take(&mut self.commands).into_iter();
        drafts.extend(commands.map(|(terminal_id, turn)| {
            let lost = TerminalExited { terminal_id, lost: true, ..TerminalExited::default() };
            (draft(turn, lost), false)
        }));
        let ended = |turn| (draft(Some(turn), TurnEnded::failed(why.clone())), true);
        drafts.extend(self.started.drain(..).map(ended));
        drafts
    }

    /// The events that drop prompts that wait.
    pub(super) fn drop_waiting(
        &mut self,
        is_dropped: impl Fn(TurnId) -> bool,
        reason: DropReason,
    ) -> Vec<Draft> {
        let dropped = self.waiting.extract_if(.., |prompt| is_dropped(prompt.turn));
        dropped.map(|prompt| draft(Some(prompt.turn), PromptDropped { reason })).collect()
    }

    /// The prompts that wait, in order.
    pub(super) fn waiting(self) -> Vec<WaitingPrompt> {
        self.waiting
    }
}

impl OpenQuestion {
    fn withdrawn(&self, request_id: CallId, record: &SessionRecord) -> Draft {
        let (by, waited_ms) = (Decider::new(DecidedBy::Interrupted), None);
        if self.is_form {
            let (question, response) =
                (summary::of_form(&self.request), Json::of(&json!({ "action": "cancel" })));
            let response = response.as_raw();
            let form = ElicitationResolved { request_id, by, response, question, waited_ms };
            return draft(self.turn, form);
        }
        let roots = [PathBuf::from(&record.cwd)];
        let question = PolicyQuestion::read(self.request.as_str(), None, &record.agent, &roots);
        let outcome = "cancelled".to_owned();
        let resolved = PermissionResolved {
            request_id,
            by,
            allowed: false,
            outcome: RecordedOutcome { outcome, ..RecordedOutcome::default() },
            question: summary::of_permission(&question),
            waited_ms,
        };
        draft(self.turn, resolved)
    }
}

/// The fault of a turn whose process died.
pub(crate) fn interrupted() -> Fault {
    let message = "Switchyard ended while this turn was running";
    Fault::new(Category::Interrupted, message).remedy(SEND_AGAIN)
}

/// The fault of a turn that could not go on in the log.
pub(super) fn not_logged(why: &str) -> Fault {
    let message = format!(
        "the agent was stopped because the log could not keep what it said; the last of it is \
         missing: {why}"
    );
    Fault::new(Category::Interrupted, message).remedy(SEND_AGAIN)
}
