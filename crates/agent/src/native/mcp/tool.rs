//! A server's tool as one of ours.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::chat::ToolSpec;
use super::super::scene::Scene;
use super::super::tools::{Content, Kind, Need, Prepared, Preparing, Shown, Tool, ToolError};
use super::super::visible;
use super::offer::Offer;
use super::server::Server;
use super::{output, shorten};

/// Of the arguments, for people; nobody should allow what was not shown.
const SHOWN_CHARS: usize = 100_000;

#[derive(Debug)]
pub(super) struct McpTool {
    pub(super) name: String,
    pub(super) offer: Offer,
    pub(super) server: Arc<Server>,
}

impl McpTool {
    /// What a server says about itself counts only where somebody trusts it.
    fn only_reads(&self) -> bool {
        self.server.spec.trusted && self.offer.only_reads
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: match self.offer.description.is_empty() {
                true => format!("The tool {} of {}.", self.offer.name, self.server.spec.name),
                false => self.offer.description.clone(),
            },
            parameters: self.offer.schema.clone(),
        }
    }

    fn kind(&self) -> Kind {
        if self.only_reads() { Kind::Read } else { Kind::Other }
    }

    fn prepare<'a>(&'a self, arguments: Value, _scene: &'a Scene) -> Preparing<'a> {
        Box::pin(async move {
            let arguments = match arguments {
                Value::Object(arguments) => arguments,
                Value::Null => Map::new(),
                _ => return Err(ToolError::new("The arguments must be one JSON object.")),
            };
            let (server, tool) = (Arc::clone(&self.server), self.offer.name.clone());
            let shown = Shown {
                kind: None,
                title: format!("{}: {tool}", server.spec.name),
                locations: Vec::new(),
                content: match arguments.is_empty() {
                    true => Vec::new(),
                    false => {
                        let text = serde_json::to_string_pretty(&arguments).unwrap_or_default();
                        let text = visible::asked(&shorten(&text, SHOWN_CHARS));
                        vec![Content::Text(visible::fenced("json", &text))]
                    }
                },
            };
            let need = match self.only_reads() {
                true => Need::Nothing,
                false => Need::Permission { key: format!("mcp:{}:{tool}", server.spec.name) },
            };
            let work = async move { output::read(&server.call(&tool, arguments).await?) };
            Ok(Prepared { shown, need, work: Box::pin(work) })
        })
    }
}
