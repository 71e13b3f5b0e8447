//! The scripted agent streams what a prompt asks for, and nothing else.

use std::io::Write;
use std::process::{Command, Stdio};

use bench::chunk::{ChunkRequest, number_in};
use serde_json::{Value, json};

const AGENT: &str = env!("CARGO_BIN_EXE_scripted-agent");

/// The lines that the agent says to these.
fn talk(messages: &[Value]) -> Vec<String> {
    let mut command = Command::new(AGENT);
    let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = agent.stdin.take().unwrap();
    let writer = std::thread::spawn({
        let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
        move || writeln!(stdin, "{}", lines.join("\n")).unwrap()
    });
    let output = agent.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn result(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap();
    assert!(message["error"].is_null(), "{line}");
    message["result"].clone()
}

#[test]
fn every_chunk_comes_once_in_order_before_the_answer() {
    let chunks = ChunkRequest { n_chunks: 5000, n_bytes: 100 };
    let blocks = json!([{ "type": "text", "text": chunks.prompt() }]);

    let lines = talk(&[
        request(1, "initialize", json!({ "protocolVersion": 1 })),
        request(2, "session/new", json!({ "cwd": "/", "mcpServers": [] })),
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": {} }),
        request(3, "session/prompt", json!({ "sessionId": "s", "prompt": blocks })),
    ]);

    assert_eq!(lines.len(), 5003);
    assert_eq!(result(&lines[0])["protocolVersion"], 1);
    assert!(result(&lines[1])["sessionId"].is_string());
    let numbers: Vec<_> = lines[2..5002].iter().filter_map(|l| number_in(l.as_bytes())).collect();
    assert_eq!(numbers, (1..=5000).collect::<Vec<_>>());
    assert_eq!(result(&lines[5002])["stopReason"], "end_turn");
}

#[test]
fn a_prompt_without_a_size_gets_one_chunk_and_an_unknown_method_an_error() {
    let blocks = json!([{ "type": "text", "text": "hello" }]);

    let lines = talk(&[
        request(1, "session/prompt", json!({ "sessionId": "s", "prompt": blocks })),
        request(2, "session/load", json!({})),
    ]);

    assert_eq!(lines.len(), 3);
    assert_eq!(number_in(lines[0].as_bytes()), Some(1));
    let refusal: Value = serde_json::from_str(&lines[2]).unwrap();
    assert_eq!(refusal["error"]["code"], -32601);
}
