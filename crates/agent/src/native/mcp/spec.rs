//! The MCP servers of a session: as a client names them in `session/new`, and as the configuration
//! does.
//!
//! In: JSON of somebody else, a table of ours. Out: a checked [`ServerSpec`], or a sentence that
//! names the server and what is wrong. Values of variables and headers are never shown: they are
//! what secrets are passed in.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use super::ServerFault;
use crate::native::lenient::ConfigDuration;
use crate::native::secret::Secret;

/// A session with more is a mistake, and each may be a process.
const MAX_SERVERS: usize = 64;
/// Names are shown to people and become part of tool names.
const MAX_NAME_CHARS: usize = 128;
/// Time for a start: servers that are downloaded before their first start take a while.
const START_WITHIN: Duration = Duration::from_secs(30);
/// Time for a call: browsers and builds are behind some tools.
const CALL_WITHIN: Duration = Duration::from_mins(5);
/// Headers that the protocol itself sets.
const RESERVED_HEADERS: [&str; 4] =
    ["accept", "mcp-session-id", "mcp-protocol-version", "last-event-id"];

/// One server, and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    pub name: String,
    pub transport: ServerTransport,
    /// The server is believed about its tools: those that only read do not ask.
    pub trusted: bool,
    /// Time until it must have answered.
    pub start_within: Duration,
    /// Time for one call.
    pub call_within: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A process that speaks on its pipes. Never goes through a shell.
    Command { program: String, args: Vec<String>, env: SecretValues },
    /// Streamable HTTP.
    Http { url: String, headers: SecretValues },
    /// The transport of 2024: a stream of events, and a second address to post to.
    Sse { url: String, headers: SecretValues },
}

/// Variables or headers, whose values are not for logs.
pub type SecretValues = BTreeMap<String, Secret>;

/// Reads `session/new.mcpServers`. Servers that cannot be used are left out and reported.
pub fn from_acp(servers: &Value) -> (Vec<ServerSpec>, Vec<ServerFault>) {
    let entries = match servers {
        Value::Array(entries) => entries.clone(),
        // By name, as MCP's own configuration files have them.
        Value::Object(named) => {
            named.iter().map(|(name, entry)| named_entry(name, entry)).collect()
        }
        _ => Vec::new(),
    };
    let (mut specs, mut troubles) = (Vec::new(), Vec::new());
    for entry in entries.iter().take(MAX_SERVERS) {
        match ServerSpec::from_acp(entry) {
            Ok(spec) => specs.push(spec),
            Err(error) => {
                let server = entry["name"].as_str().unwrap_or("?");
                troubles.push(ServerFault::new(server, error));
            }
        }
    }
    if entries.len() > MAX_SERVERS {
        let message = format!("only the first {MAX_SERVERS} MCP servers are used");
        troubles.push(ServerFault::new("*", message));
    }
    (specs, troubles)
}

fn named_entry(name: &str, entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("name".to_owned(), name.into());
    }
    entry
}

impl ServerSpec {
    /// One entry of `mcpServers`. What the schema wants as a list of pairs may be a map, and
    /// what it wants untagged may have its type.
    pub fn from_acp(entry: &Value) -> Result<Self, String> {
        let name = checked_name(entry["name"].as_str().unwrap_or_default())?;
        let told = if entry["type"].is_string() { &entry["type"] } else { &entry["transport"] };
        let kind = match (told, entry["command"].is_null(), entry["url"].is_null()) {
            (Value::String(kind), ..) => kind.as_str(),
            (_, false, _) => "stdio",
            (_, true, false) => "http",
            (_, true, true) => return Err(neither(&name)),
        };
        let bad = |member: &str, wanted: &str| bad_member(&name, member, wanted);
        let named =
            |member| pairs(&entry[member]).ok_or_else(|| bad(member, "a list of { name, value }"));
        let url = || checked_url(&name, entry["url"].as_str().ok_or_else(|| bad("url", "a URL"))?);
        let headers = || checked_headers(&name, named("headers")?);
        let reach = match kind {
            "stdio" => ServerTransport::Command {
                program: entry["command"].as_str().unwrap_or_default().to_owned(),
                args: strings(&entry["args"]).ok_or_else(|| bad("args", "a list of strings"))?,
                env: named("env")?,
            },
            "http" | "streamable-http" | "streamable_http" => {
                ServerTransport::Http { url: url()?, headers: headers()? }
            }
            "sse" => ServerTransport::Sse { url: url()?, headers: headers()? },
            other => {
                return Err(format!(
                    "the MCP server `{name}` is of type `{other}`; only stdio, http and sse are \
                     supported"
                ));
            }
        };
        check_command(&name, &reach)?;
        Ok(Self {
            name,
            transport: reach,
            trusted: false,
            start_within: START_WITHIN,
            call_within: CALL_WITHIN,
        })
    }
}

/// `[native.mcp.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpConfig {
    pub command: Option<String>,
    pub args: Vec<String>,
    pub env: SecretValues,
    pub url: Option<String>,
    pub transport: Option<TransportName>,
    pub headers: SecretValues,
    /// On unless switched off.
    pub enabled: Option<bool>,
    /// Believe what the server says about its tools: those that only read do not ask.
    pub trusted: bool,
    /// For one call, such as `5m`.
    pub timeout: Option<ConfigDuration>,
    /// Until the server must have answered, such as `30s`.
    pub start_timeout: Option<ConfigDuration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportName {
    Http,
    Sse,
}

impl McpConfig {
    /// `None` if it is switched off.
    pub fn to_spec(&self, name: &str) -> Result<Option<ServerSpec>, String> {
        let name = checked_name(name)?;
        let out_of_place = |member: &str, with: &str| {
            format!("`{member}` of the MCP server `{name}` belongs to {with}; hint: remove it")
        };
        let reach = match (&self.command, &self.url) {
            (None, None) => return Err(neither(&name)),
            (Some(_), Some(_)) => {
                return Err(format!(
                    "the MCP server `{name}` has a `command` and a `url`; hint: keep one of them"
                ));
            }
            (Some(_), None) if self.transport.is_some() => {
                return Err(out_of_place("transport", "a `url`"));
            }
            (Some(_), None) if !self.headers.is_empty() => {
                return Err(out_of_place("headers", "a `url`"));
            }
            (None, Some(_)) if !self.args.is_empty() => {
                return Err(out_of_place("args", "a `command`"));
            }
            (None, Some(_)) if !self.env.is_empty() => {
                return Err(out_of_place("env", "a `command`"));
            }
            (Some(program), None) => ServerTransport::Command {
                program: program.clone(),
                args: self.args.clone(),
                env: self.env.clone(),
            },
            (None, Some(url)) => {
                let url = checked_url(&name, url)?;
                let headers = checked_headers(&name, self.headers.clone())?;
                match self.transport.unwrap_or(TransportName::Http) {
                    TransportName::Http => ServerTransport::Http { url, headers },
                    TransportName::Sse => ServerTransport::Sse { url, headers },
                }
            }
        };
        check_command(&name, &reach)?;
        let some_time = |wait: Option<ConfigDuration>, usual, member| match wait {
            None => Ok(usual),
            Some(ConfigDuration(Duration::ZERO)) => {
                Err(bad_member(&name, member, "some time, such as `30s` or `5m`"))
            }
            Some(ConfigDuration(wait)) => Ok(wait),
        };
        let start_within = some_time(self.start_timeout, START_WITHIN, "start_timeout")?;
        let call_within = some_time(self.timeout, CALL_WITHIN, "timeout")?;
        Ok(self.enabled.unwrap_or(true).then_some(ServerSpec {
            name,
            transport: reach,
            trusted: self.trusted,
            start_within,
            call_within,
        }))
    }
}

fn neither(name: &str) -> String {
    format!(
        "the MCP server `{name}` has neither a `command` nor a `url`; hint: give `command` and \
         `args`, or `url`"
    )
}

fn bad_member(name: &str, member: &str, wanted: &str) -> String {
    format!("`{member}` of the MCP server `{name}` must be {wanted}")
}

fn checked_name(name: &str) -> Result<String, String> {
    match name.trim() {
        "" => Err("an MCP server must be an object with a `name`".to_owned()),
        name if name.chars().count() > MAX_NAME_CHARS => {
            Err(format!("the name of an MCP server is longer than {MAX_NAME_CHARS} characters"))
        }
        name => Ok(name.to_owned()),
    }
}

fn checked_url(name: &str, text: &str) -> Result<String, String> {
    let failed = |why: String| format!("the URL of the MCP server `{name}` cannot be used: {why}");
    // The text itself may hold a token, so it is not repeated.
    let url = reqwest::Url::parse(text).map_err(|error| failed(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url.to_string()),
        other => Err(failed(format!("`{other}` is not http or https"))),
    }
}

fn checked_headers(name: &str, headers: SecretValues) -> Result<SecretValues, String> {
    for (header, value) in &headers {
        let failed = |why: &str| {
            let header: String = header.chars().take(MAX_NAME_CHARS).collect();
            format!("the header `{header}` of the MCP server `{name}` {why}")
        };
        let parsed = HeaderName::from_bytes(header.as_bytes())
            .map_err(|_invalid| failed("is no name of a header"))?;
        if RESERVED_HEADERS.contains(&parsed.as_str()) {
            return Err(failed("is set by the protocol; hint: remove it"));
        }
        HeaderValue::from_str(value.reveal())
            .map_err(|_invalid| failed("has a value that no header can have"))?;
    }
    Ok(headers)
}

/// Refuses a command that `execve` would refuse, or cut short without a word.
fn check_command(name: &str, reach: &ServerTransport) -> Result<(), String> {
    let ServerTransport::Command { program, args, env } = reach else { return Ok(()) };
    let failed = |member: &str, wanted: &str| Err(bad_member(name, member, wanted));
    let has_nul = |text: &str| text.contains('\0');
    if program.trim().is_empty() || has_nul(program) {
        return failed("command", "the name or path of a program");
    }
    if args.iter().any(|arg| has_nul(arg)) {
        return failed("args", "free of NUL characters");
    }
    let is_bad = |name: &str| name.is_empty() || name.contains('=') || has_nul(name);
    if env.iter().any(|(name, value)| is_bad(name) || has_nul(value.reveal())) {
        return failed("env", "names without `=` and values without NUL characters");
    }
    Ok(())
}

fn strings(list: &Value) -> Option<Vec<String>> {
    match list {
        Value::Null => Some(Vec::new()),
        list => list.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
    }
}

/// Reads `[{ name, value }]`, or a map.
fn pairs(list: &Value) -> Option<SecretValues> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(Secret::new(text)),
        Value::Number(number) => Some(Secret::new(number.to_string())),
        Value::Bool(is_so) => Some(Secret::new(is_so.to_string())),
        _ => None,
    };
    match list {
        Value::Null => Some(BTreeMap::new()),
        Value::Object(map) => {
            map.iter().map(|(name, value)| Some((name.clone(), text(value)?))).collect()
        }
        Value::Array(entries) => entries
            .iter()
            .map(|entry| Some((entry["name"].as_str()?.to_owned(), text(&entry["value"])?)))
            .collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
