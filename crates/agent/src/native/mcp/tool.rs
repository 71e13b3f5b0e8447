//! A server's tool as one of ours, under a name that models accept.
//!
//! The name is `mcp__server__tool` in letters, digits, `_` and `-`, at most 64 long. The same pair
//! of server and tool has the same name in every session, and two pairs do not share one: where
//! something had to be changed, a digest of both is added.

use std::sync::Arc;

use futures_util::future::ready;
use serde_json::{Map, Value};

use super::super::chat::ToolSpec;
use super::super::display_text;
use super::super::tool::{
    CallContent, CallDescription, CallNeed, PreparedCall, Tool, ToolError, ToolKind,
};
use super::offered_tools::OfferedTool;
use super::output;
use super::server::McpServer;
use crate::native::excerpt;

/// Characters of the arguments that people see; nobody should allow what was not shown.
const SHOWN_CHARS: usize = 100_000;

/// A server's tool as one of ours. What the server says about it counts only where it is trusted.
pub(super) fn tool(name: String, offer: &OfferedTool, server: &Arc<McpServer>) -> Tool {
    let (called, of) = (offer.name.clone(), Arc::clone(server));
    let only_reads = server.spec.trusted && offer.only_reads;
    let spec = ToolSpec {
        name,
        description: match offer.description.is_empty() {
            true => format!("The tool {called} of {}.", server.spec.name),
            false => offer.description.clone(),
        },
        parameters: offer.schema.clone(),
    };
    let kind = if only_reads { ToolKind::Read } else { ToolKind::Other };
    Tool::taking_any(spec, kind, move |arguments, _| {
        Box::pin(ready(prepare(&called, &of, only_reads, arguments)))
    })
}

fn prepare(
    tool: &str,
    server: &Arc<McpServer>,
    only_reads: bool,
    arguments: Value,
) -> Result<PreparedCall, ToolError> {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::Null => Map::new(),
        _ => return Err(ToolError::new("The arguments must be one JSON object.")),
    };
    let content = match arguments.is_empty() {
        true => Vec::new(),
        false => {
            let text = serde_json::to_string_pretty(&arguments).unwrap_or_default();
            let text = display_text::asked(&excerpt::head(&text, SHOWN_CHARS));
            vec![CallContent::Text(display_text::fenced("json", &text))]
        }
    };
    let name = &server.spec.name;
    let shown =
        CallDescription { title: format!("{name}: {tool}"), content, ..CallDescription::default() };
    let need = match only_reads {
        true => CallNeed::Nothing,
        false => CallNeed::Permission { key: format!("mcp:{name}:{tool}") },
    };
    let (server, tool) = (Arc::clone(server), tool.to_owned());
    let work = async move { output::read(&server.call(&tool, arguments).await?) };
    Ok(PreparedCall { shown, need, work: Box::pin(work) })
}

/// Longest name that the strictest endpoints take.
const MAX_BYTES: usize = 64;
/// `_` and eight digits.
const DIGEST_BYTES: usize = 9;

pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let plain = format!("mcp__{}__{}", sanitised(server), sanitised(tool));
    // A server that held the separator, or ended in half of it, could be read in two ways.
    let is_ambiguous = server.contains("__") || server.ends_with('_') || server.is_empty();
    let is_changed = sanitised(server) != server || sanitised(tool) != tool;
    if !is_ambiguous && !is_changed && plain.len() <= MAX_BYTES {
        return plain;
    }
    let kept: String = plain.chars().take(MAX_BYTES - DIGEST_BYTES).collect();
    format!("{kept}_{:08x}", digest(server, tool))
}

fn sanitised(text: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().map(|c| if is_fine(c) { c } else { '_' }).collect()
}

/// FNV-1a: it has to be the same tomorrow, and need not be secure.
fn digest(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests;
