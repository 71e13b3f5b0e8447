//! A server by hand, good or bad as its part wants.

use std::io::{BufRead as _, Write as _};
use std::process::{Command, Stdio, exit};

use serde_json::{Value, json};

pub(crate) fn play(part: &str) {
    match part {
        // Hears everything and says nothing.
        "silent" => std::io::stdin().lines().for_each(drop),
        "flood" => flood(),
        "dies-at-once" => {
            eprint("no licence key found");
            exit(3);
        }
        _ => serve(part),
    }
}

fn serve(part: &str) {
    let mut has_more_tools = false;
    for (n, line) in std::io::stdin().lines().enumerate() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let method = message["method"].as_str().unwrap_or_default();
        if part == "picky" && n == 0 && method != "initialize" {
            exit(1);
        }
        if part == "noisy" {
            write_raw("Server running on stdio\n\n{\"half\": \n\u{1b}[31mred\n[]\n{}\n");
        }
        let id = &message["id"];
        match method {
            "initialize" => answer(
                id,
                json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": { "tools": { "listChanged": true } },
                    "serverInfo": { "name": "played", "version": "1" },
                }),
            ),
            "tools/list" if part == "liar" => answer(id, lies()),
            "tools/list" => list(id, &message["params"]["cursor"], has_more_tools),
            "tools/call" => {
                let name = message["params"]["name"].as_str().unwrap_or_default();
                has_more_tools |= name == "change";
                call(id, name, &message["params"]["arguments"]);
            }
            "notifications/cancelled" => {
                note(&format!("cancelled {}", message["params"]["requestId"]));
            }
            _ if !id.is_null() => say(&json!({
                "jsonrpc": "2.0", "id": id,
                "error": { "code": -32601, "message": "Method not found" },
            })),
            _ => {}
        }
    }
    note("end of input");
}

/// In two pages.
fn list(id: &Value, cursor: &Value, has_more_tools: bool) {
    let tool = |name: &str| {
        json!({
            "name": name, "description": format!("Does {name}."), "inputSchema": { "type": "object" },
        })
    };
    if cursor.is_null() {
        let look = json!({ "name": "look", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true } });
        return answer(id, json!({ "tools": [tool("echo"), look], "nextCursor": "2" }));
    }
    let mut tools: Vec<_> =
        ["environment", "pid", "die", "big", "huge", "hang", "spawn", "fail", "odd", "change"]
            .map(tool)
            .to_vec();
    if has_more_tools {
        tools.push(tool("added"));
    }
    answer(id, json!({ "tools": tools }));
}

fn lies() -> Value {
    json!({ "tools": [
        { "name": "good", "inputSchema": { "type": "object", "properties": {} } },
        { "name": "no schema" },
        { "name": "string", "inputSchema": "object" },
        { "name": "array", "inputSchema": { "type": "array" } },
        { "name": "good", "inputSchema": { "type": "object" } },
        { "inputSchema": { "type": "object" } },
        7,
    ] })
}

fn call(id: &Value, name: &str, arguments: &Value) {
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    match name {
        "echo" | "look" => answer(id, text(arguments.to_string())),
        "pid" => answer(id, text(std::process::id().to_string())),
        "environment" => {
            let all: serde_json::Map<_, _> =
                std::env::vars().map(|(name, value)| (name, json!(value))).collect();
            answer(id, text(Value::Object(all).to_string()));
        }
        "die" => {
            eprint("it was all too much");
            exit(7);
        }
        "big" => answer(id, text("b".repeat(1 << 20))),
        "huge" => answer(id, text("h".repeat(20 << 20))),
        "hang" => note(&format!("hangs {id}")),
        "fail" => {
            let content = json!([{ "type": "text", "text": "it did not work" }]);
            answer(id, json!({ "content": content, "isError": true }));
        }
        "odd" => answer(id, json!({ "content": [{ "type": "hologram", "rays": 3 }] })),
        "change" => {
            say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
            answer(id, text("changed".to_owned()));
        }
        "spawn" => {
            // A grandchild that leaves the session and the process group.
            let script = "setsid sleep 1000 & echo $!";
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).stderr(Stdio::null()).stdout(Stdio::piped());
            let mut child = shell.spawn().unwrap();
            let mut pid = String::new();
            let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
            stdout.read_line(&mut pid).unwrap();
            child.wait().unwrap();
            answer(id, text(pid.trim().to_owned()));
        }
        other => say(&json!({
            "jsonrpc": "2.0", "id": id,
            "error": { "code": -32602, "message": format!("no tool {other}") },
        })),
    }
}

/// Without an end, and without a line end.
fn flood() {
    let chunk = vec![b'x'; 1 << 20];
    let mut stdout = std::io::stdout().lock();
    while stdout.write_all(&chunk).is_ok() {}
}

fn answer(id: &Value, result: Value) {
    say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

fn say(message: &Value) {
    write_raw(&format!("{message}\n"));
}

fn write_raw(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // Nobody may be there any more.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn eprint(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// For the test, beside the protocol.
fn note(text: &str) {
    let Some(path) = std::env::var_os("STAGE_NOTES") else { return };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{text}").unwrap();
}
