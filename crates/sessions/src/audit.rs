//! The audit of decisions over all sessions: who allowed what, when and by which rule.
//!
//! In: the log's decisions, in the order of time. Out: one [`AuditRow`] each, a page at a time.
//! The answer's own event says all there is to say, so nothing else of a session is read
//! but its record. A decision that does not match its checksum is a row that says so.

mod csv;

pub use csv::header as csv_header;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use store::{DecisionFilter, DecisionPlace, EventLog, LoggedDecision, StoreError};
use wire::event::{QuestionSummary, RulePlace};
use wire::{Event, Millis, OwnEvent, Seq, SessionId, TurnId};

/// One decision, as a row of the audit.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditRow {
    /// When it was decided, in UTC.
    pub time: String,
    pub session: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    pub turn: Option<TurnId>,
    /// Place of the answer's event in the session's log.
    pub seq: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// `permission` or `form`; empty when the event is damaged.
    pub asked: Cow<'static, str>,
    /// The tool's kind.
    pub kind: String,
    pub title: String,
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    pub allowed: bool,
    /// `selected` or `cancelled`; of a form `accept`, `decline` or `cancel`.
    pub outcome: String,
    pub option_id: Option<String>,
    pub option_kind: Option<String>,
    pub option_name: Option<String>,
    /// `rule`, `mode`, `client`, `timeout`, `cancel`, `unattended`, `overflow` or
    /// `interrupted`.
    pub by: String,
    /// The rule's name, the mode, or the client.
    pub detail: Option<String>,
    pub rule_file: Option<String>,
    pub rule_index: Option<u64>,
    /// How long people had been asked, if they were.
    pub waited_ms: Option<u64>,
    /// The event does not match its checksum: nothing that it says can be believed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_damaged: bool,
}

/// Rows in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRows {
    pub rows: Vec<AuditRow>,
    /// The place at which the next page begins; `None` when there is nothing more.
    pub next: Option<DecisionPlace>,
}

/// One page of decisions.
pub async fn rows(log: &dyn EventLog, filter: &DecisionFilter) -> Result<AuditRows, StoreError> {
    let decisions = log.decisions(filter.clone()).await?;
    let next = decisions.last().map(|last| last.place);
    let mut about: HashMap<SessionId, (String, String)> = HashMap::new();
    let mut rows = Vec::with_capacity(decisions.len());
    for decision in &decisions {
        let known = match about.entry(decision.session) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                // A record that cannot be read is no reason to keep a decision back.
                let record = log.session(decision.session).await.ok().flatten();
                let about = record.map(|record| (record.agent, record.cwd)).unwrap_or_default();
                new.insert(about)
            }
        };
        let (agent, cwd) = known.clone();
        rows.push(AuditRow { agent, cwd, ..AuditRow::of(decision) });
    }
    Ok(AuditRows { rows, next })
}

impl AuditRow {
    fn of(decision: &LoggedDecision) -> Self {
        let LoggedDecision { session, seq: Seq(seq), at, event, .. } = decision;
        let row = Self {
            time: timestamp(*at),
            session: session.to_string(),
            seq: *seq,
            ..Self::default()
        };
        match event {
            Some(event) => row.filled_from(event),
            None => Self { is_damaged: true, ..row },
        }
    }

    fn filled_from(self, event: &Event) -> Self {
        #[derive(Deserialize, Default)]
        struct FormResponse {
            action: String,
        }
        let row = Self { turn: event.turn, ..self };
        let (row, request_id, waited_ms, question, by) = match event.own() {
            Some(OwnEvent::PermissionResolved(resolved)) => {
                let outcome = resolved.outcome;
                let row = Self {
                    asked: "permission".into(),
                    allowed: resolved.allowed,
                    outcome: outcome.outcome,
                    option_id: outcome.option_id,
                    option_kind: outcome.kind,
                    option_name: outcome.name,
                    ..row
                };
                (row, resolved.request_id, resolved.waited_ms, resolved.question, resolved.by)
            }
            Some(OwnEvent::ElicitationResolved(resolved)) => {
                let FormResponse { action } = resolved.response.read().unwrap_or_default();
                let allowed = action == "accept";
                let row = Self { asked: "form".into(), allowed, outcome: action, ..row };
                (row, resolved.request_id, resolved.waited_ms, resolved.question, resolved.by)
            }
            _ => return row,
        };
        let QuestionSummary { title, kind, command, paths, .. } = question;
        let (rule_file, rule_index) = match by.rule {
            Some(RulePlace { file, index }) => (file, Some(index as u64)),
            None => (None, None),
        };
        let (request_id, by, detail) =
            (request_id.to_string(), by.who.as_str().to_owned(), by.detail);
        Self {
            request_id,
            kind,
            title,
            command,
            paths,
            by,
            detail,
            rule_file,
            rule_index,
            waited_ms,
            ..row
        }
    }
}

fn timestamp(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| format!("{at:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
