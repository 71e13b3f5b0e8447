//! MCP servers of a session, in the form that a CLI takes them.
//!
//! In: ACP's `mcpServers`. Out: arguments and environment. Servers may hold secrets, so they
//! go through a private file or the environment, never through an argument.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::definition::McpBy;
use crate::scratch::write_private;

#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("an MCP server has no name")]
    NoName,
    #[error("MCP server `{0}` has neither a command nor a url")]
    NoAddress(String),
    #[error("the list of MCP servers cannot be written: {0}")]
    Write(#[from] std::io::Error),
}

/// What a process is started with for its MCP servers.
#[derive(Debug, Default)]
pub struct Injected {
    pub args: Vec<String>,
    pub env: BTreeMap<OsString, OsString>,
}

/// Whether `servers` can be given to the CLI, before anything is started.
pub fn check(servers: &[Value]) -> Result<(), McpError> {
    for server in servers {
        let name = server["name"].as_str().filter(|name| !name.is_empty());
        let name = name.ok_or(McpError::NoName)?;
        if server["command"].as_str().is_none() && server["url"].as_str().is_none() {
            return Err(McpError::NoAddress(name.to_owned()));
        }
    }
    Ok(())
}

/// How the CLI is given `servers`; files go into `dir`.
pub fn inject(style: McpBy, servers: &[Value], dir: &Path) -> Result<Injected, McpError> {
    check(servers)?;
    let mut injected = Injected::default();
    match style {
        McpBy::ClaudeJson => {
            let path = dir.join("mcp.json");
            let servers = json!({ "mcpServers": by_name(servers, claude_server) });
            write_private(&path, servers.to_string().as_bytes())?;
            injected.args = vec!["--mcp-config".to_owned(), path.display().to_string()];
        }
        McpBy::OpencodeEnv => {
            let config = json!({ "mcp": by_name(servers, opencode_server) });
            injected.env.insert("OPENCODE_CONFIG_CONTENT".into(), config.to_string().into());
        }
        // The dialect or ACP tells it; nothing to add here.
        McpBy::Acp | McpBy::Dialect | McpBy::None => {}
    }
    Ok(injected)
}

fn by_name(servers: &[Value], shape: impl Fn(&Value) -> Value) -> Map<String, Value> {
    let named = servers
        .iter()
        .filter_map(|server| Some((server["name"].as_str()?.to_owned(), shape(server))));
    named.collect()
}

/// ACP's list of `{name, value}` as an object.
fn pairs(list: &Value) -> Map<String, Value> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|pair| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone())))
        .collect()
}

fn claude_server(server: &Value) -> Value {
    match server["url"].as_str() {
        Some(url) => json!({
            "type": server["type"].as_str().unwrap_or("http"),
            "url": url,
            "headers": pairs(&server["headers"]),
        }),
        None => json!({
            "command": server["command"],
            "args": server["args"],
            "env": pairs(&server["env"]),
        }),
    }
}

fn opencode_server(server: &Value) -> Value {
    match server["url"].as_str() {
        Some(url) => json!({
            "type": "remote", "url": url, "headers": pairs(&server["headers"]), "enabled": true,
        }),
        None => {
            let mut command = vec![server["command"].clone()];
            command.extend(server["args"].as_array().cloned().unwrap_or_default());
            json!({
                "type": "local", "command": command, "environment": pairs(&server["env"]),
                "enabled": true,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Vec<Value> {
        vec![
            json!({ "name": "files", "command": "/bin/x", "args": ["-v"],
                    "env": [{ "name": "TOKEN", "value": "secret" }] }),
            json!({ "type": "http", "name": "web", "url": "https://h/mcp",
                    "headers": [{ "name": "A", "value": "b" }] }),
        ]
    }

    #[test]
    fn claude_reads_them_from_a_private_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let injected = inject(McpBy::ClaudeJson, &servers(), dir.path()).unwrap();
        assert_eq!(injected.args[0], "--mcp-config");
        assert!(!injected.args.join(" ").contains("secret"));
        let path = Path::new(&injected.args[1]);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let written: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(written["mcpServers"]["files"]["env"]["TOKEN"], "secret");
        assert_eq!(written["mcpServers"]["web"]["type"], "http");
    }

    #[test]
    fn opencode_reads_them_from_its_environment() {
        let injected = inject(McpBy::OpencodeEnv, &servers(), Path::new("/")).unwrap();
        let config = injected.env[&OsString::from("OPENCODE_CONFIG_CONTENT")].to_str().unwrap();
        let config: Value = serde_json::from_str(config).unwrap();
        assert_eq!(config["mcp"]["files"]["command"], json!(["/bin/x", "-v"]));
        assert_eq!(config["mcp"]["web"]["headers"]["A"], "b");
    }

    #[test]
    fn what_cannot_be_given_is_refused() {
        assert!(check(&servers()).is_ok());
        let nameless = [json!({ "command": "x" })];
        assert!(matches!(check(&nameless), Err(McpError::NoName)));
        let nowhere = [json!({ "name": "x" })];
        assert!(matches!(check(&nowhere), Err(McpError::NoAddress(_))));
    }
}
