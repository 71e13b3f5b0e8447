//! A small MCP server on stdio: its tools echo a text, report the pid, and exit.

use serde_json::{Value, json};
use std::io::Write as _;

fn main() {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { continue };
        let params = &message["params"];
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "result": {
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "mcp-echo", "version": "1" },
            } }),
            "tools/list" => json!({ "result": { "tools": tools() } }),
            "tools/call" => json!({ "result": call(params) }),
            _ => json!({ "error": { "code": -32601, "message": "Method not found" } }),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn tools() -> Value {
    let tool = |name: &str| {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        json!({ "name": name, "description": format!("Does {name}."), "inputSchema": schema })
    };
    json!([tool("echo"), tool("pid"), tool("die")])
}

fn call(params: &Value) -> Value {
    let text = match params["name"].as_str() {
        Some("pid") => std::process::id().to_string(),
        Some("die") => std::process::exit(7),
        _ => {
            let prefix = std::env::var("ECHO_PREFIX").unwrap_or_default();
            format!("{prefix}: {}", params["arguments"]["text"].as_str().unwrap_or_default())
        }
    };
    json!({ "content": [{ "type": "text", "text": text }] })
}
