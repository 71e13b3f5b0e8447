//! `session/list`: the sessions of the log, then those that only the agent knows.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use store::{Filter, PageStart, SessionRecord};
use wire::{Json, Message, Millis, RpcError, SessionId};

use super::Front;
use crate::connection::Outcome;
use crate::link;

const PAGE: usize = 50;
/// Marks a cursor that goes on in the agent's own list.
const AGENTS_CURSOR: &str = "agent:";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Params {
    cwd: Option<String>,
    cursor: Option<String>,
}

impl Front {
    pub(super) async fn list_sessions(self: Arc<Self>, message: Message) -> Outcome {
        let params: Option<Params> =
            serde_json::from_str(message.body()).map_err(RpcError::invalid_params)?;
        let params = params.unwrap_or_default();
        if let Some(cursor) = params.cursor.as_deref().and_then(|c| c.strip_prefix(AGENTS_CURSOR)) {
            return self.list_agents_own(params.cwd.as_deref(), cursor).await;
        }
        let before = params.cursor.as_deref().map(read_cursor).transpose()?;
        let filter = Filter {
            agent: Some(self.setup.agent.name.clone()),
            cwd: params.cwd,
            limit: PAGE,
            before,
            ..Filter::default()
        };
        let found = self.yard.log.sessions(filter).await.map_err(RpcError::internal)?;
        let next = match found.last() {
            Some(last) if found.len() == PAGE => Some(write_cursor(last)),
            _ => self.host().await?.capabilities().list.then(|| AGENTS_CURSOR.to_owned()),
        };
        let sessions: Vec<Value> = found.iter().map(describe).collect();
        Ok(Json::of(&page(sessions, next)))
    }

    async fn list_agents_own(&self, cwd: Option<&str>, cursor: &str) -> Outcome {
        let host = self.host().await?;
        let mut params = json!({});
        if let Some(cwd) = cwd {
            params["cwd"] = json!(cwd);
        }
        if !cursor.is_empty() {
            params["cursor"] = json!(cursor);
        }
        let answer = link::call(&host, "session/list", &Json::of(&params)).await;
        let answer: Value =
            answer.map_err(RpcError::internal)?.read().map_err(RpcError::internal)?;
        let mut unknown = Vec::new();
        for session in answer["sessions"].as_array().into_iter().flatten() {
            let Some(id) = session["sessionId"].as_str() else { continue };
            let filter = Filter {
                agent: Some(self.setup.agent.name.clone()),
                agent_session: Some(id.to_owned()),
                limit: 1,
                ..Filter::default()
            };
            let known = self.yard.log.sessions(filter).await.map_err(RpcError::internal)?;
            if known.is_empty() {
                unknown.push(session.clone());
            }
        }
        let next = answer["nextCursor"].as_str().map(|cursor| format!("{AGENTS_CURSOR}{cursor}"));
        Ok(Json::of(&page(unknown, next)))
    }
}

fn page(sessions: Vec<Value>, next: Option<String>) -> Value {
    let mut page = json!({ "sessions": sessions });
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

fn describe(record: &SessionRecord) -> Value {
    let mut session = json!({ "sessionId": record.id, "cwd": record.cwd });
    if let Some(title) = &record.title {
        session["title"] = json!(title);
    }
    if let Ok(updated) = jiff::Timestamp::from_millisecond(record.updated.0) {
        session["updatedAt"] = json!(updated.to_string());
    }
    session
}

fn write_cursor(last: &SessionRecord) -> String {
    format!("{}:{}", last.updated.0, last.id)
}

fn read_cursor(cursor: &str) -> Result<PageStart, RpcError> {
    let read = || {
        let (updated, id) = cursor.split_once(':')?;
        let id = SessionId::parse(id).ok()?;
        Some(PageStart { updated: Millis(updated.parse().ok()?), id })
    };
    read().ok_or_else(|| RpcError::invalid_params("this cursor is none of ours"))
}
