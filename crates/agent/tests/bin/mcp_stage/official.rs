//! A small server built with the official SDK, which speaks both lifecycles.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Official;

impl ServerHandler for Official {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Value::Object(schema) = json!({
            "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
        }) else {
            return Ok(ListToolsResult::default());
        };
        let echo = Tool::new("echo", "Says it again.", Arc::new(schema));
        Ok(ListToolsResult { tools: vec![echo], ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        match arguments.get("text").and_then(Value::as_str) {
            Some(text) => {
                let text = ContentBlock::text(format!("official: {text}"));
                Ok(CallToolResponse::Complete(CallToolResult::success(vec![text])))
            }
            None => Err(ErrorData::invalid_params("`text` is missing", None)),
        }
    }
}
