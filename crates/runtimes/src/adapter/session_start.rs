//! The checked parameters of `session/new` and `session/resume`.

use std::path::PathBuf;

use serde_json::Value;
use wire::RpcError;

use crate::{argument_checks, mcp};

/// The checked parameters of `session/new` or `session/resume`.
#[derive(Debug)]
pub(super) struct SessionStart {
    /// The session's id between host and adapter.
    pub(super) session: String,
    pub(super) cwd: PathBuf,
    pub(super) directories: Vec<PathBuf>,
    pub(super) mcp_servers: Vec<Value>,
    pub(super) system_prompt: Option<String>,
    /// The CLI's own id of an earlier conversation.
    pub(super) resume: Option<String>,
}

impl SessionStart {
    pub(super) fn read(params: &Value, resume: Option<String>) -> Result<Self, RpcError> {
        let cwd = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
        if !cwd.is_absolute() {
            return Err(RpcError::invalid_params("`cwd` must be an absolute path"));
        }
        let directories = params["additionalDirectories"].as_array().into_iter().flatten();
        let directories = directories.filter_map(Value::as_str).map(PathBuf::from);
        let mcp_servers = match &params["mcpServers"] {
            Value::Null => Vec::new(),
            Value::Array(servers) => servers.clone(),
            _ => return Err(RpcError::invalid_params("`mcpServers` is not a list")),
        };
        mcp::check(&mcp_servers).map_err(RpcError::invalid_params)?;
        if let Some(id) = &resume {
            argument_checks::session_id(id).map_err(RpcError::invalid_params)?;
        }
        let system = &params["_meta"]["systemPrompt"];
        let system = system.as_str().or(system["append"].as_str());
        Ok(Self {
            session: resume.clone().unwrap_or_else(crate::ids::uuid),
            cwd,
            directories: directories.collect(),
            mcp_servers,
            system_prompt: system.filter(|text| !text.trim().is_empty()).map(str::to_owned),
            resume,
        })
    }
}
