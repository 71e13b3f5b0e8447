//! The questions of a session that wait for a person, and what became of the others.
//!
//! Read from the log, where every question and every decision is.

use serde_json::Value;
use sessions::desk::Status;
use store::SessionRecord;
use wire::{CallId, Event, Kind, Seq, SessionId};

use crate::daemon::Daemon;
use crate::problem::Problem;

/// Events read at once.
const PAGE: usize = 512;
/// How far back a decision is looked for.
const MAX_LOOKED_AT: u64 = 1 << 16;

/// A question that waits.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) session: SessionId,
    pub(super) agent: String,
    pub(super) request_id: String,
    pub(super) is_form: bool,
    pub(super) seq: u64,
    pub(super) turn: Option<String>,
    pub(super) since: i64,
    /// The agent's raw params.
    pub(super) request: Value,
}

/// What a session's log says about one question.
#[derive(Debug)]
pub(super) enum Fate {
    /// Nothing: there was no such question, or it is long ago.
    Unknown,
    /// It was asked, and is over without an answer.
    Over,
    /// The payload of the decision.
    Decided(Value),
}

/// The questions of one session that wait, in the order in which they were asked.
pub(super) async fn of(daemon: &Daemon, record: &SessionRecord) -> Result<Vec<Question>, Problem> {
    if daemon.desk.status(record) != Status::RequiresAction {
        return Ok(Vec::new());
    }
    let log = daemon.desk.log();
    let (mut open, mut after) = (Vec::new(), Seq(0));
    loop {
        let events = log.read(record.id, after, PAGE).await?;
        let Some(last) = events.last() else { return Ok(open) };
        after = last.seq;
        for event in &events {
            match event.kind {
                Kind::PermissionRequested | Kind::ElicitationRequested => {
                    open.extend(question(record, event));
                }
                Kind::PermissionResolved | Kind::ElicitationResolved => {
                    let payload: Value = event.payload.read().unwrap_or_default();
                    open.retain(|question| payload["requestId"] != *question.request_id);
                }
                Kind::TurnEnded => open.clear(),
                _ => {}
            }
        }
    }
}

fn question(record: &SessionRecord, event: &Event) -> Option<Question> {
    let mut payload: Value = event.payload.read().ok()?;
    if payload["ask"] != true {
        return None;
    }
    Some(Question {
        session: record.id,
        agent: record.agent.clone(),
        request_id: payload["requestId"].as_str()?.to_owned(),
        is_form: event.kind == Kind::ElicitationRequested,
        seq: event.seq.0,
        turn: event.turn.map(|turn| turn.to_string()),
        since: event.at.0,
        request: payload["request"].take(),
    })
}

/// What became of a question; the log is read backwards from its end.
pub(super) async fn fate(
    daemon: &Daemon,
    session: SessionId,
    request: CallId,
) -> Result<Fate, Problem> {
    let head = daemon.desk.record(session).await?.head.0;
    let least = head.saturating_sub(MAX_LOOKED_AT);
    let mut end = head;
    while end > least {
        let start = end.saturating_sub(PAGE as u64).max(least);
        let mut after = Seq(start);
        let mut fate = Fate::Unknown;
        while after.0 < end {
            let events = daemon.desk.log().read(session, after, PAGE).await?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in &events {
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
    let is_asked = match event.kind {
        Kind::PermissionRequested | Kind::ElicitationRequested => true,
        Kind::PermissionResolved | Kind::ElicitationResolved => false,
        _ => return before,
    };
    let payload: Value = event.payload.read().unwrap_or_default();
    match payload["requestId"].as_str() == Some(request.as_str()) {
        true if is_asked => Fate::Over,
        true => Fate::Decided(payload),
        false => before,
    }
}
