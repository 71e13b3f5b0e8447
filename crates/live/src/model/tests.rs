//! Each wire over a real socket, spoken by hand.

use super::scenario::CONTENT;
use super::wire::Wire;
use super::{MODELS, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ALL: [Wire; 4] = [Wire::Chat, Wire::Responses, Wire::Anthropic, Wire::Gemini];

/// Sends a request as HTTP/1.0, so that the body ends with the connection; gives status and body.
async fn send(server: &Server, method: &str, path: &str, body: &Value) -> (u16, String) {
    let mut stream = open(server, method, path, body).await;
    let mut answer = Vec::new();
    // A stream that was cut ends as an error or as an end, as the kernel likes.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn open(server: &Server, method: &str, path: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    stream
}

fn path_of(wire: Wire, is_stream: bool) -> &'static str {
    match wire {
        Wire::Chat => "/a/v1/chat/completions",
        Wire::Responses => "/a/v1/responses",
        Wire::Anthropic => "/a/v1/messages",
        Wire::Gemini if is_stream => "/a/v1beta/models/live-large:streamGenerateContent",
        Wire::Gemini => "/a/v1beta/models/live-large:generateContent",
    }
}

fn schema() -> Value {
    let text = json!({ "type": "string" });
    json!({ "type": "object", "properties": { "path": text, "content": text, "command": text },
        "required": ["path"] })
}

/// A conversation: prompts of the user, and after the last of them rounds of tool calls.
fn body(wire: Wire, is_stream: bool, prompts: &[&str], n_rounds: usize) -> Value {
    let mut rows = Vec::new();
    for prompt in prompts {
        rows.push(match wire {
            Wire::Gemini => json!({ "role": "user", "parts": [{ "text": prompt }] }),
            _ => json!({ "role": "user", "content": prompt }),
        });
    }
    for _ in 0..n_rounds {
        rows.extend(match wire {
            Wire::Chat => vec![
                json!({ "role": "assistant", "tool_calls": [] }),
                json!({ "role": "tool", "content": "x" }),
                json!({ "role": "tool", "content": "x" }),
            ],
            Wire::Responses => {
                vec![json!({ "type": "function_call" }), json!({ "type": "function_call_output" })]
            }
            Wire::Anthropic => vec![
                json!({ "role": "assistant", "content": [] }),
                json!({ "role": "user", "content": [{ "type": "tool_result", "content": "x" }] }),
            ],
            Wire::Gemini => vec![
                json!({ "role": "model", "parts": [{ "functionCall": {} }] }),
                json!({ "role": "user", "parts": [{ "functionResponse": {} }] }),
            ],
        });
    }
    let (name, schema) = ("write_file", schema());
    match wire {
        Wire::Chat => json!({ "model": "live-large", "stream": is_stream, "messages": rows,
            "tools": [{ "type": "function", "function": { "name": name, "parameters": schema } }] }),
        Wire::Responses => json!({ "model": "live-large", "stream": is_stream, "input": rows,
            "tools": [{ "type": "function", "name": name, "parameters": schema }] }),
        Wire::Anthropic => json!({ "model": "live-large", "stream": is_stream, "messages": rows,
            "tools": [{ "name": name, "input_schema": schema }] }),
        Wire::Gemini => json!({ "contents": rows,
            "tools": [{ "functionDeclarations": [{ "name": name, "parameters": schema }] }] }),
    }
}

/// What a client puts together from a stream.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    text: String,
    thought: String,
    call: String,
    arguments: String,
    finish: String,
}

fn hear(wire: Wire, stream: &str) -> Heard {
    let mut heard = Heard::default();
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    for data in data.filter(|data| *data != "[DONE]") {
        let event: Value = serde_json::from_str(data).unwrap();
        let add = |to: &mut String, value: &Value| to.push_str(value.as_str().unwrap_or_default());
        match wire {
            Wire::Chat => {
                let choice = &event["choices"][0];
                let delta = &choice["delta"];
                add(&mut heard.text, &delta["content"]);
                add(&mut heard.thought, &delta["reasoning_content"]);
                add(&mut heard.call, &delta["tool_calls"][0]["function"]["name"]);
                add(&mut heard.arguments, &delta["tool_calls"][0]["function"]["arguments"]);
                add(&mut heard.finish, &choice["finish_reason"]);
            }
            Wire::Responses => match event["type"].as_str().unwrap() {
                "response.output_text.delta" => add(&mut heard.text, &event["delta"]),
                "response.reasoning_summary_text.delta" => add(&mut heard.thought, &event["delta"]),
                "response.output_item.added" => add(&mut heard.call, &event["item"]["name"]),
                "response.function_call_arguments.delta" => {
                    add(&mut heard.arguments, &event["delta"]);
                }
                "response.completed" => add(&mut heard.finish, &event["response"]["status"]),
                _ => {}
            },
            Wire::Anthropic => {
                let delta = &event["delta"];
                add(&mut heard.text, &delta["text"]);
                add(&mut heard.thought, &delta["thinking"]);
                add(&mut heard.call, &event["content_block"]["name"]);
                add(&mut heard.arguments, &delta["partial_json"]);
                add(&mut heard.finish, &delta["stop_reason"]);
            }
            Wire::Gemini => {
                let candidate = &event["candidates"][0];
                let part = &candidate["content"]["parts"][0];
                let is_thought = part["thought"] == true;
                add(if is_thought { &mut heard.thought } else { &mut heard.text }, &part["text"]);
                add(&mut heard.call, &part["functionCall"]["name"]);
                if let Some(arguments) = part["functionCall"].get("args") {
                    heard.arguments = arguments.to_string();
                }
                add(&mut heard.finish, &candidate["finishReason"]);
            }
        }
    }
    heard
}

async fn ask(server: &Server, wire: Wire, prompts: &[&str], n_rounds: usize) -> Heard {
    let body = body(wire, true, prompts, n_rounds);
    let (status, stream) = send(server, "POST", path_of(wire, true), &body).await;
    assert_eq!(status, 200, "{wire:?}: {stream}");
    hear(wire, &stream)
}

#[tokio::test]
async fn text_and_thoughts_are_streamed_on_every_wire() {
    let server = Server::start().await.unwrap();
    for wire in ALL {
        let heard = ask(&server, wire, &["please [model:think]"], 0).await;

        assert_eq!(heard.text, "The answer is 42.", "{wire:?}");
        assert!(heard.thought.ends_with("consider the question. Then I answer."), "{heard:?}");
        let ends = ["stop", "completed", "end_turn", "STOP"];
        assert!(ends.contains(&heard.finish.as_str()), "{heard:?}");
    }
}

#[tokio::test]
async fn a_tool_loop_advances_with_its_results() {
    let server = Server::start().await.unwrap();
    for wire in ALL {
        let prompts = ["[model:write path=/w/a.txt]"];
        let called = ask(&server, wire, &prompts, 0).await;
        let after = ask(&server, wire, &prompts, 1).await;

        assert_eq!(called.call, "write_file", "{wire:?}");
        let arguments: Value = serde_json::from_str(&called.arguments).unwrap();
        assert_eq!(arguments, json!({ "path": "/w/a.txt", "content": CONTENT }));
        assert_eq!((after.text.as_str(), after.call.as_str()), ("That was the file.", ""));
    }
}

#[tokio::test]
async fn the_last_marker_decides_and_the_conversation_is_remembered() {
    let server = Server::start().await.unwrap();
    for wire in ALL {
        let heard = ask(&server, wire, &["[model:text]", "no marker", "[model:recall]"], 0).await;
        assert_eq!(heard.text, "I see 2 prompts; the first was [model:text]", "{wire:?}");
    }
}

#[tokio::test]
async fn whole_answers_say_the_same_as_streams() {
    let server = Server::start().await.unwrap();
    for wire in ALL {
        let body = body(wire, false, &["[model:write]"], 0);
        let (status, whole) = send(&server, "POST", path_of(wire, false), &body).await;
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let (text, call) = match wire {
            Wire::Chat => {
                let message = &whole["choices"][0]["message"];
                (&message["content"], &message["tool_calls"][0]["function"]["name"])
            }
            Wire::Responses => {
                (&whole["output"][0]["content"][0]["text"], &whole["output"][1]["name"])
            }
            Wire::Anthropic => (&whole["content"][0]["text"], &whole["content"][1]["name"]),
            Wire::Gemini => {
                let parts = &whole["candidates"][0]["content"]["parts"];
                (&parts[0]["text"], &parts[2]["functionCall"]["name"])
            }
        };
        assert_eq!(status, 200);
        let text = text.as_str().unwrap();
        assert!("I will write the file.".starts_with(text) && !text.is_empty(), "{wire:?}: {text}");
        assert_eq!(call, "write_file", "{wire:?}");
    }
}

#[tokio::test]
async fn errors_come_in_the_vendors_form_for_ever_or_once() {
    let server = Server::start().await.unwrap();
    for wire in ALL {
        let path = path_of(wire, true);
        for code in [401, 429, 500] {
            let marker = format!("[model:http{code}]");
            for _ in 0..2 {
                let body = body(wire, true, &[&marker], 0);
                let (status, answer) = send(&server, "POST", path, &body).await;
                assert_eq!(status, code);
                let answer: Value = serde_json::from_str(&answer).unwrap();
                let message = answer["error"]["message"].as_str().unwrap();
                assert!(message.starts_with(&format!("model {code}: ")), "{message}");
            }
        }
        let once = body(wire, true, &["[model:http500-once]"], 0);
        assert_eq!(send(&server, "POST", path, &once).await.0, 500);
        let heard = ask(&server, wire, &["[model:http500-once]"], 0).await;
        assert_eq!(heard.text, "Recovered after 500.", "{wire:?}");
    }
}

#[tokio::test]
async fn a_stream_is_cut_or_broken_after_some_text() {
    let server = Server::start().await.unwrap();
    for wire in ALL {
        let cut = ask(&server, wire, &["[model:cut at=3]"], 0).await;
        assert_eq!((cut.text.as_str(), cut.finish.as_str()), ("Hello, this is ", ""), "{wire:?}");

        let body = body(wire, true, &["[model:stream-error]"], 0);
        let (_, broken) = send(&server, "POST", path_of(wire, true), &body).await;
        assert!(broken.trim_end().lines().last().unwrap().contains("\"error\""), "{broken}");
    }
}

#[tokio::test]
async fn a_hanging_stream_stays_open_and_is_given_up_with_its_reader() {
    let server = Server::start().await.unwrap();
    let body = body(Wire::Chat, true, &["[model:hang at=1]"], 0);
    let mut stream = open(&server, "POST", path_of(Wire::Chat, true), &body).await;
    let mut heard = String::new();
    while !heard.contains("Hello") {
        let mut chunk = [0; 4096];
        let n = stream.read(&mut chunk).await.unwrap();
        assert_ne!(n, 0, "it ended: {heard}");
        heard.push_str(std::str::from_utf8(&chunk[..n]).unwrap());
    }
    assert!(!heard.contains("speaking") && !heard.contains("[DONE]"));
    drop(stream);
    assert_eq!(ask(&server, Wire::Chat, &["[model:text]"], 0).await.finish, "stop");
}

#[tokio::test]
async fn what_is_asked_on_the_side_gets_as_little_as_fits() {
    let server = Server::start().await.unwrap();
    let title = json!({ "messages": [{ "role": "user", "content": "A title for: [model:write]" }],
        "response_format": { "json_schema": { "schema": { "type": "object",
            "properties": { "title": { "type": "string" } }, "required": ["title"] } } } });
    let (_, answer) = send(&server, "POST", "/v1/chat/completions", &title).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], r#"{"title":"ok"}"#);

    let bare = json!({ "messages": [{ "role": "user", "content": "[model:text tools=none]" }] });
    let (_, answer) = send(&server, "POST", "/v1/chat/completions", &bare).await;
    assert!(answer.contains("this is the model speaking"), "{answer}");
}

#[tokio::test]
async fn models_are_listed_and_everything_is_logged_by_path() {
    let server = Server::start().await.unwrap();
    for path in ["/b/v1/models", "/b/v1beta/models"] {
        let (status, list) = send(&server, "GET", path, &Value::Null).await;
        assert!(status == 200 && MODELS.iter().all(|model| list.contains(model)), "{list}");
    }
    ask(&server, Wire::Gemini, &["[model:text]"], 0).await;

    let entry = server.log().wait_for(|entry| entry.scenario.as_deref() == Some("text")).await;
    assert_eq!(
        (entry.model.as_str(), entry.tools.as_slice()),
        ("live-large", &["write_file".to_owned()][..])
    );
    assert_eq!((server.log().below("/a/").len(), server.log().below("/b/").len()), (1, 2));
    assert_eq!(send(&server, "CONNECT", "example.org:443", &Value::Null).await.0, 502);
    assert_eq!(send(&server, "POST", "/nowhere", &Value::Null).await.0, 404);
}
