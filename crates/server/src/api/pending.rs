//! Questions of agents: those that wait for a person, and what became of the others.
//!
//! Those that wait are in memory, with their sessions; every decision is in the log.

use wire::{CallId, Event, Seq, SessionId};

use super::permissions::Decision;
use crate::daemon::Daemon;
use crate::principal::Principal;
use crate::problem::Problem;

/// Events read at once.
const PAGE: usize = 512;
/// How far back a decision is looked for.
const MAX_LOOKED_AT: u64 = 1 << 16;

/// What a session's log says about one question.
#[derive(Debug)]
pub(super) enum Fate {
    /// Nothing: there was no such question, or it is long ago.
    Unknown,
    /// It was asked, and is over without an answer.
    Over,
    Decided(Box<Decision>),
}

/// What became of a question; the log is read backwards from its end.
pub(super) async fn fate(
    daemon: &Daemon,
    principal: &Principal,
    session: SessionId,
    request: CallId,
) -> Result<Fate, Problem> {
    let budget = daemon.load.budget(&principal.name);
    let head = daemon.desk.record(session).await?.head.0;
    let least = head.saturating_sub(MAX_LOOKED_AT);
    let mut end = head;
    while end > least {
        let start = end.saturating_sub(PAGE as u64).max(least);
        let mut after = Seq(start);
        let mut fate = Fate::Unknown;
        while after.0 < end {
            let read = budget.read(&**daemon.desk.log(), session, after, PAGE).await?;
            let Some(last) = read.events.last() else { break };
            after = last.seq;
            for event in &read.events {
                fate = later(fate, event, request);
            }
        }
        if !matches!(fate, Fate::Unknown) {
            return Ok(fate);
        }
        end = start;
    }
    Ok(Fate::Unknown)
}

fn later(before: Fate, event: &Event, request: CallId) -> Fate {
    let Some(own) = event.own() else { return before };
    let asked = own.asked().map(|asked| asked.id);
    if asked.or_else(|| own.answered()) != Some(request) {
        return before;
    }
    Decision::of(own).map_or(Fate::Over, |decision| Fate::Decided(Box::new(decision)))
}
