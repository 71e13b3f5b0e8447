//! Sessions as the daemon's API describes them, and their lookup by id, prefix or `last`.

use client::{DaemonClient, encoded};
use projection::sanitize_line;
use serde::Deserialize;
use serde_json::{Value, json};
use sessions::budget::BudgetLimits;
use sessions::mint;
use wire::{Millis, Seq, SessionId};

use crate::outcome::{DAMAGED, Failure, NOT_FOUND};
use crate::time::timestamp;

/// A session as the API describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    pub(crate) id: SessionId,
    pub(crate) agent: String,
    pub(crate) cwd: String,
    pub(crate) title: Option<String>,
    pub(crate) status: String,
    pub(crate) created: Millis,
    pub(crate) updated: Millis,
    pub(crate) head: Seq,
    epoch: String,
    bytes: u64,
    /// Empty for one that is known by its agent's name alone.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    agent_session: Option<String>,
    #[serde(default)]
    pub(crate) limits: BudgetLimits,
    /// Why the session could not go on, if so.
    pub(crate) halted: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionInfoPage {
    sessions: Vec<SessionInfo>,
    next_cursor: Option<String>,
}

impl SessionInfo {
    /// The session that `named` means: its id, the beginning of one, or `last`.
    pub(crate) async fn find(client: &DaemonClient, named: &str) -> Result<Self, Failure> {
        match NamedSession::find(client, named).await? {
            NamedSession::There(session) => Ok(*session),
            NamedSession::Lost(id) => {
                let why = format!("session {id} is missing from the log");
                Err(Failure::new(DAMAGED, why).hint(format!(
                    "`switchyard store restore FILE` goes back to a backup that has it; \
                     `switchyard sessions delete {id}` forgets it"
                )))
            }
        }
    }

    /// The first `limit` sessions of a list, the one that was used last first. `query` says which
    /// are listed.
    pub(crate) async fn list(
        client: &DaemonClient,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Self>, Failure> {
        /// The largest page that the API gives.
        const MAX_PAGE: usize = 500;
        let mut all: Vec<Self> = Vec::new();
        let mut cursor = String::new();
        while all.len() < limit {
            let n = (limit - all.len()).min(MAX_PAGE);
            let path = format!("/v1/sessions?limit={n}{query}{cursor}");
            let page: SessionInfoPage = client.get(&path).await?;
            all.extend(page.sessions);
            match page.next_cursor {
                Some(next) => cursor = format!("&cursor={}", encoded(&next)),
                None => break,
            }
        }
        Ok(all)
    }

    /// The session as JSON, for scripts.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "agent": self.agent,
            "command": self.command,
            "cwd": self.cwd,
            "title": self.title,
            "status": self.status,
            "created": timestamp(self.created),
            "updated": timestamp(self.updated),
            "events": self.head.0,
            "bytes": self.bytes,
            "epoch": u64::from_str_radix(&self.epoch, 16).unwrap_or_default(),
            "agentSession": self.agent_session,
        })
    }

    /// Whether a turn runs, or waits for a person.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.status.as_str(), "running" | "requires_action")
    }

    /// Its status in words for people.
    pub(crate) fn status_word(&self) -> &str {
        match self.status.as_str() {
            "requires_action" => "waiting for you",
            other => other,
        }
    }

    /// Its title on one safe line.
    pub(crate) fn shown_title(&self) -> String {
        shown(self.title.as_deref().unwrap_or("-"))
    }

    /// How long ago it was used.
    pub(crate) fn age(&self) -> String {
        let seconds = (mint::now().0 - self.updated.0).max(0) / 1000;
        match seconds {
            0..60 => format!("{seconds}s"),
            60..3600 => format!("{}m", seconds / 60),
            3600..86400 => format!("{}h", seconds / 3600),
            _ => format!("{}d", seconds / 86400),
        }
    }
}

/// What a name of a session means.
#[derive(Debug)]
pub(crate) enum NamedSession {
    There(Box<SessionInfo>),
    /// It was there, and is missing from the log.
    Lost(SessionId),
}

impl NamedSession {
    /// The session that `named` means: its id, the beginning of one, or `last`.
    pub(crate) async fn find(client: &DaemonClient, named: &str) -> Result<Self, Failure> {
        let not_found = |what: &str| {
            Failure::new(NOT_FOUND, format!("there is no session {what}"))
                .hint("`switchyard sessions list` shows what there is")
        };
        if named.is_empty() {
            return Err(Failure::usage("a session's name cannot be empty"));
        }
        let there = |session| Ok(Self::There(Box::new(session)));
        if named == "last" {
            let last = SessionInfo::list(client, "", 1).await?.pop();
            return there(last.ok_or_else(|| not_found("yet"))?);
        }
        let ambiguous = |n: usize| {
            Failure::usage(format!("`{named}` could be {n} sessions or more"))
                .hint("give more of the id")
        };
        let mut found = SessionInfo::list(client, &format!("&id={}", encoded(named)), 2).await?;
        if found.len() > 1 {
            return Err(ambiguous(found.len()));
        }
        if let Some(session) = found.pop() {
            return there(session);
        }
        match *lost(client, named).await? {
            [] => Err(not_found(&format!("`{named}`"))),
            [id] => Ok(Self::Lost(id)),
            ref several => Err(ambiguous(several.len())),
        }
    }

    pub(crate) fn id(&self) -> SessionId {
        match self {
            Self::There(session) => session.id,
            Self::Lost(id) => *id,
        }
    }
}

/// The sessions that are missing from the log and whose ids begin so.
async fn lost(client: &DaemonClient, prefix: &str) -> Result<Vec<SessionId>, Failure> {
    let health = client.health().await?;
    let all = health["store"]["lostSessions"].as_array().into_iter().flatten();
    let ids = all.filter_map(|id| SessionId::parse(id.as_str()?).ok());
    Ok(ids.filter(|id| id.as_str().starts_with(prefix)).collect())
}

/// A text on one safe line, not too long for a list.
pub(crate) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    sanitize_line(text, MAX_CHARS)
}
