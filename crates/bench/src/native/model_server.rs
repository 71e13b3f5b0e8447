//! The model that all agents talk to: numbered tokens over Chat Completions, and when each of
//! them was written.
//!
//! A thread for each connection and blocking writes: nothing is between the clock and the
//! socket. What is asked on the side (titles, summaries: no tools) gets one word.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::Context;
use bench::chunk::{ChunkRequest, token};
use serde_json::{Value, json};

pub(super) const MODEL: &str = "bench-model";
/// Tokens of one answer whose times are kept.
pub(super) const MAX_TOKENS: usize = 1 << 17;
/// The bytes of one write of a fast endpoint.
const BATCH_BYTES: usize = 16 << 10;
const MAX_BODY_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct ModelServer {
    address: SocketAddr,
    clock: Arc<TokenWriteTimes>,
}

/// When each token was written, in nanoseconds since the server started.
#[derive(Debug)]
pub(super) struct TokenWriteTimes {
    started: Instant,
    written: Vec<AtomicU64>,
    pace_micros: AtomicU64,
}

impl TokenWriteTimes {
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long ago, at `now`, a token was written.
    pub(super) fn since(&self, number: u64, now: u64) -> Option<u64> {
        let written = self.written.get(usize::try_from(number).ok()?)?;
        Some(now.saturating_sub(written.load(Ordering::Acquire)))
    }

    /// Tokens one by one with this much time between; without pace as fast as they go.
    pub(super) fn set_pace(&self, pace: Duration) {
        let micros = u64::try_from(pace.as_micros()).unwrap_or(u64::MAX);
        self.pace_micros.store(micros, Ordering::Relaxed);
    }

    fn write(&self, number: u64) {
        if let Some(slot) = usize::try_from(number).ok().and_then(|at| self.written.get(at)) {
            slot.store(self.now(), Ordering::Release);
        }
    }
}

impl ModelServer {
    pub(super) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port for the model")?;
        let address = listener.local_addr()?;
        let written = std::iter::repeat_with(AtomicU64::default).take(MAX_TOKENS).collect();
        let clock = Arc::new(TokenWriteTimes {
            started: Instant::now(),
            written,
            pace_micros: AtomicU64::new(0),
        });
        let heard = Arc::clone(&clock);
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let clock = Arc::clone(&heard);
                // A peer that goes away in the middle is not the server's trouble.
                spawn(move || serve(stream, &clock).ok());
            }
        });
        Ok(Self { address, clock })
    }

    pub(super) fn clock(&self) -> &Arc<TokenWriteTimes> {
        &self.clock
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

/// What an agent would send, in as few words as possible.
pub(super) fn plain_request(request: ChunkRequest) -> Value {
    let tool = json!({ "type": "function", "function": { "name": "t", "parameters": {} } });
    json!({
        "model": MODEL, "stream": true, "tools": [tool],
        "messages": [{ "role": "user", "content": request.prompt() }],
    })
}

fn serve(stream: TcpStream, clock: &TokenWriteTimes) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((path, body)) = next_request(&mut reader)? {
        if path.ends_with("/models") {
            let list = json!({ "object": "list", "data": [{ "id": MODEL, "object": "model",
                "created": 0, "owned_by": "bench" }] });
            whole(&mut writer, &list)?;
        } else {
            answer(&mut writer, &body, clock)?;
        }
    }
    Ok(())
}

fn next_request(reader: &mut impl BufRead) -> anyhow::Result<Option<(String, Value)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut n_bytes = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            n_bytes = value.trim().parse::<usize>()?.min(MAX_BODY_BYTES);
        }
    }
    let mut body = vec![0; n_bytes];
    reader.read_exact(&mut body)?;
    Ok(Some((path, serde_json::from_slice(&body).unwrap_or_default())))
}

fn answer(writer: &mut TcpStream, body: &Value, clock: &TokenWriteTimes) -> anyhow::Result<()> {
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let n_tokens =
        if has_tools { last_request(body).map_or(1, |request| request.n_chunks) } else { 0 };
    if body["stream"] != true {
        let message = json!({ "role": "assistant", "content": "ok" });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        return whole(
            writer,
            &json!({ "id": "b", "object": "chat.completion", "created": 0,
            "model": MODEL, "choices": [choice], "usage": usage(1) }),
        );
    }
    writer.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let pace = Duration::from_micros(clock.pace_micros.load(Ordering::Relaxed));
    let mut batch = Vec::new();
    if n_tokens == 0 {
        event(&mut batch, &chunk(&json!({ "content": "ok" }), None, None));
    }
    for number in 0..n_tokens {
        event(&mut batch, &chunk(&json!({ "content": token(number) }), None, None));
        clock.write(number);
        if !pace.is_zero() {
            send(writer, &mut batch)?;
            sleep(pace);
        } else if batch.len() >= BATCH_BYTES {
            send(writer, &mut batch)?;
        }
    }
    event(&mut batch, &chunk(&json!({}), Some("stop"), None));
    event(&mut batch, &chunk(&Value::Null, None, Some(&usage(n_tokens))));
    batch.extend_from_slice(b"data: [DONE]\n\n");
    send(writer, &mut batch)?;
    Ok(writer.write_all(b"0\r\n\r\n")?)
}

/// The last request for tokens in the last message that has one.
fn last_request(body: &Value) -> Option<ChunkRequest> {
    let messages = body["messages"].as_array()?;
    let users = messages.iter().rev().filter(|message| message["role"] == "user");
    users
        .map(|message| message["content"].to_string())
        .find_map(|text| ChunkRequest::find_last_in(&text))
}

fn usage(n_tokens: u64) -> Value {
    json!({ "prompt_tokens": 100, "completion_tokens": n_tokens, "total_tokens": 100 + n_tokens })
}

fn chunk(delta: &Value, finish: Option<&str>, usage: Option<&Value>) -> Value {
    let choices = match delta {
        Value::Null => json!([]),
        delta => json!([{ "index": 0, "delta": delta, "finish_reason": finish }]),
    };
    let mut chunk = json!({ "id": "b", "object": "chat.completion.chunk", "created": 0,
        "model": MODEL, "choices": choices });
    if let Some(usage) = usage {
        chunk["usage"] = usage.clone();
    }
    chunk
}

fn event(batch: &mut Vec<u8>, chunk: &Value) {
    batch.extend_from_slice(format!("data: {chunk}\n\n").as_bytes());
}

/// One piece of the body.
fn send(writer: &mut TcpStream, batch: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut piece = format!("{:x}\r\n", batch.len()).into_bytes();
    piece.append(batch);
    piece.extend_from_slice(b"\r\n");
    Ok(writer.write_all(&piece)?)
}

fn whole(writer: &mut TcpStream, body: &Value) -> anyhow::Result<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Ok(writer.write_all((head + &body).as_bytes())?)
}
