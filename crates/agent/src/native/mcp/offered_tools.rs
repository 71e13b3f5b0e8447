//! The tools that a server offers, as far as they can be used.
//!
//! In: pages of `tools/list`, read leniently: one bad tool does not cost the others. Out: a
//! bounded list with schemas that every endpoint takes.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, RequestOptionalParam, ServerResult,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value, json};

use crate::native::excerpt;

/// Most tools of one server; models get lost in fewer.
const MAX_TOOLS: usize = 256;
const MAX_PAGES: usize = 64;
const MAX_NAME_CHARS: usize = 256;
/// A page of text; some servers hand over their manual.
const MAX_DESCRIPTION_CHARS: usize = 4000;
/// Each is sent with every request to a model.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    /// The server's own `readOnlyHint`.
    pub(super) only_reads: bool,
}

/// Asks for all tools; `within` for each page.
pub(super) async fn ask(
    peer: &Peer<RoleClient>,
    within: Duration,
) -> Result<Vec<OfferedTool>, String> {
    let has_tools = peer.peer_info().is_some_and(|info| info.capabilities.tools.is_some());
    match ask_all(peer, within).await {
        Ok(offers) => Ok(offers),
        Err(ServiceError::McpError(_)) if !has_tools => Ok(Vec::new()),
        Err(error) => Err(format!("did not list its tools: {error}")),
    }
}

async fn ask_all(
    peer: &Peer<RoleClient>,
    within: Duration,
) -> Result<Vec<OfferedTool>, ServiceError> {
    let (mut offers, mut cursor) = (Vec::<OfferedTool>::new(), None);
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request: ListToolsRequest = RequestOptionalParam::with_param(params);
        let request = ClientRequest::ListToolsRequest(request);
        let options = PeerRequestOptions::with_timeout(within);
        let asked = peer.send_request_with_option(request, options).await?;
        let page = value_of(&asked.await_response().await?);
        for tool in page["tools"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let offer = OfferedTool::read(tool);
            // Twice the same name: the later one could not be called.
            let is_new = |offer: &OfferedTool| offers.iter().all(|other| other.name != offer.name);
            match offer.filter(is_new) {
                Some(offer) if offers.len() < MAX_TOOLS => offers.push(offer),
                _ => {}
            }
        }
        let next = page["nextCursor"].as_str().map(str::to_owned);
        if next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    Ok(offers)
}

/// The typed answer as JSON, as far as it is of use to us.
pub(super) fn value_of(result: &ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

impl OfferedTool {
    fn read(tool: &Value) -> Option<Self> {
        let name = tool["name"].as_str()?;
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
            return None;
        }
        let text = |value: &Value| value.as_str().map(str::trim).unwrap_or_default().to_owned();
        let mut description = text(&tool["description"]);
        if description.is_empty() {
            description = text(&tool["title"]);
        }
        Some(Self {
            name: name.to_owned(),
            description: excerpt::head(&description, MAX_DESCRIPTION_CHARS),
            schema: usable_schema(&tool["inputSchema"]),
            only_reads: tool["annotations"]["readOnlyHint"] == json!(true),
        })
    }
}

/// The schema itself if it describes an object, one that takes any object otherwise.
fn usable_schema(schema: &Value) -> Value {
    let open = || json!({ "type": "object", "properties": {} });
    let Value::Object(members) = schema else { return open() };
    let is_object = match members.get("type") {
        None => true,
        Some(kind) => kind == "object",
    };
    let has_bad =
        |name, is_fine: fn(&Value) -> bool| members.get(name).is_some_and(|value| !is_fine(value));
    if !is_object
        || has_bad("properties", Value::is_object)
        || has_bad("required", Value::is_array)
        || schema.to_string().len() > MAX_SCHEMA_BYTES
    {
        return open();
    }
    let mut members = members.clone();
    members.entry("type").or_insert_with(|| json!("object"));
    // Some endpoints refuse an object without it.
    members.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Value::Object(members)
}

#[cfg(test)]
mod tests;
