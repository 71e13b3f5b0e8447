//! The MCP servers of a session, as arguments and environment of a CLI.
//!
//! In: ACP's `mcpServers`. Out: arguments and environment. Servers may hold secrets, so they
//! go through a private file or the environment, never through an argument.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::definition::McpChannel;
use crate::scratch::write_private;

#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("an MCP server has no name")]
    NoName,
    #[error("MCP server `{0}` has neither a command nor a url, or not what its type says")]
    NoAddress(String),
    #[error("MCP server `{0}` has a command and a url; which is it?")]
    TwoAddresses(String),
    #[error("the list of MCP servers cannot be written: {0}")]
    Write(#[from] std::io::Error),
}

/// Arguments and environment that configure a CLI's MCP servers.
#[derive(Debug, Default)]
pub struct McpLaunchOptions {
    pub args: Vec<String>,
    pub env: BTreeMap<OsString, OsString>,
}

/// One entry of ACP's `mcpServers`.
#[derive(Debug)]
enum McpServer<'a> {
    Remote { kind: &'a str, url: &'a str, headers: Map<String, Value> },
    Command { program: &'a str, args: Vec<Value>, env: Map<String, Value> },
}

impl<'a> McpServer<'a> {
    fn read(server: &'a Value) -> Result<(&'a str, Self), McpError> {
        let name = server["name"].as_str().filter(|name| !name.is_empty());
        let name = name.ok_or(McpError::NoName)?;
        let kind = server["type"].as_str();
        let read = match (kind, server["url"].as_str(), server["command"].as_str()) {
            (_, Some(_), Some(_)) => return Err(McpError::TwoAddresses(name.to_owned())),
            (None | Some("http" | "sse"), Some(url), None) => Self::Remote {
                kind: kind.unwrap_or("http"),
                url,
                headers: pairs(&server["headers"]),
            },
            (None | Some("stdio"), None, Some(program)) => Self::Command {
                program,
                args: server["args"].as_array().cloned().unwrap_or_default(),
                env: pairs(&server["env"]),
            },
            _ => return Err(McpError::NoAddress(name.to_owned())),
        };
        Ok((name, read))
    }

    fn for_claude(self) -> Value {
        match self {
            Self::Remote { kind, url, headers } => {
                json!({ "type": kind, "url": url, "headers": headers })
            }
            Self::Command { program, args, env } => {
                json!({ "command": program, "args": args, "env": env })
            }
        }
    }

    fn for_codex(self) -> Value {
        match self {
            Self::Remote { url, headers, .. } => json!({ "url": url, "http_headers": headers }),
            command @ Self::Command { .. } => command.for_claude(),
        }
    }

    fn for_opencode(self) -> Value {
        match self {
            Self::Remote { url, headers, .. } => {
                json!({ "type": "remote", "url": url, "headers": headers, "enabled": true })
            }
            Self::Command { program, args, env } => {
                let command: Vec<Value> = std::iter::once(json!(program)).chain(args).collect();
                json!({ "type": "local", "command": command, "environment": env, "enabled": true })
            }
        }
    }
}

/// `servers` as Codex's configuration has them; those that cannot be given are left out.
pub(crate) fn for_codex(servers: &[Value]) -> Map<String, Value> {
    let shaped = servers.iter().filter_map(|server| {
        let (name, server) = McpServer::read(server).ok()?;
        // A dot would begin another level of the configuration.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        Some((format!("mcp_servers.{name}"), server.for_codex()))
    });
    shaped.collect()
}

/// Checks that `servers` can be given to a CLI, before anything is started.
pub fn check(servers: &[Value]) -> Result<(), McpError> {
    servers.iter().try_for_each(|server| McpServer::read(server).map(drop))
}

/// Arguments and environment that give `servers` to the CLI; files go into `dir`.
pub fn inject(
    style: McpChannel,
    servers: &[Value],
    dir: &Path,
) -> Result<McpLaunchOptions, McpError> {
    check(servers)?;
    let mut injected = McpLaunchOptions::default();
    match style {
        McpChannel::ClaudeJson => {
            let path = dir.join("mcp.json");
            let servers = json!({ "mcpServers": by_name(servers, McpServer::for_claude)? });
            write_private(&path, servers.to_string().as_bytes())?;
            injected.args = vec!["--mcp-config".to_owned(), path.display().to_string()];
        }
        McpChannel::OpencodeEnv => {
            let config = json!({ "mcp": by_name(servers, McpServer::for_opencode)? });
            injected.env.insert("OPENCODE_CONFIG_CONTENT".into(), config.to_string().into());
        }
        // The dialect or ACP sends them; nothing to add here.
        McpChannel::Acp | McpChannel::Dialect | McpChannel::None => {}
    }
    Ok(injected)
}

fn by_name<'a>(
    servers: &'a [Value],
    shape: fn(McpServer<'a>) -> Value,
) -> Result<Map<String, Value>, McpError> {
    let named = servers.iter().map(|server| {
        let (name, server) = McpServer::read(server)?;
        Ok((name.to_owned(), shape(server)))
    });
    named.collect()
}

/// ACP's list of `{name, value}` as an object.
fn pairs(list: &Value) -> Map<String, Value> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|pair| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone())))
        .collect()
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
        let injected = inject(McpChannel::ClaudeJson, &servers(), dir.path()).unwrap();
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
        let injected = inject(McpChannel::OpencodeEnv, &servers(), Path::new("/")).unwrap();
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
