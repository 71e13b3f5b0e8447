//! `session/list`: the sessions of the log, which are those that can be loaded.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use store::{PageStart, SessionFilter, SessionRecord};
use wire::{Json, Message, RpcError};

use super::Front;
use bus::connection::RpcResult;

const PAGE: usize = 50;

#[derive(Deserialize, Default)]
#[serde(default)]
struct ListParams {
    cwd: Option<String>,
    cursor: Option<String>,
}

impl Front {
    pub(super) async fn list_sessions(self: Arc<Self>, message: Message) -> RpcResult {
        let params: Option<ListParams> =
            serde_json::from_str(message.body()).map_err(RpcError::invalid_params)?;
        let params = params.unwrap_or_default();
        let before = params.cursor.as_deref().map(read_cursor).transpose()?;
        let filter = SessionFilter {
            agent: self.order().agent,
            cwd: params.cwd,
            made_by: self.only_made_by(),
            limit: PAGE,
            before,
            ..SessionFilter::default()
        };
        let found = self.registry.log().sessions(filter).await.map_err(RpcError::internal)?;
        let seen = found.iter().filter(|record| self.sees(record));
        let mut page = json!({ "sessions": seen.map(describe).collect::<Vec<_>>() });
        if let Some(last) = found.last().filter(|_| found.len() == PAGE) {
            page["nextCursor"] = json!(PageStart::of(last).to_string());
        }
        Ok(Json::of(&page))
    }
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

fn read_cursor(cursor: &str) -> Result<PageStart, RpcError> {
    let bad = || RpcError::invalid_params("`cursor` is not one that `session/list` gave");
    PageStart::parse(cursor).ok_or_else(bad)
}
