//! `scripted-agent`: an ACP agent that costs as little as possible, to measure what carries its
//! output.
//!
//! In: ACP lines on stdin. Out: for each prompt as many numbered chunks as it asks for, as fast
//! as they are taken. It can be slow to start and to open a session, as CLIs on Node are.

use std::thread::sleep;
use std::time::Duration;

use bench::chunk::{ChunkRequest, Chunks};
use bench::inbox::{FillOutcome, Inbox};
use bench::outbox::{FlushOutcome, Outbox};
use clap::Parser;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::stdio::{stdin, stdout};
use serde_json::{Value, json};

/// Chunks leave in writes of about this size: what a pipe holds.
const WRITE_BYTES: usize = 64 << 10;
const NO_SUCH_METHOD: i64 = -32601;

#[derive(Parser)]
#[command(about = "An ACP agent that streams as many chunks as it is asked for")]
struct Args {
    /// How long `initialize` takes
    #[arg(long, default_value_t = 0)]
    initialize_ms: u64,
    /// How long `session/new` takes
    #[arg(long, default_value_t = 0)]
    session_ms: u64,
}

fn main() -> anyhow::Result<()> {
    let mut agent = Agent { args: Args::parse(), outbox: Outbox::default(), n_sessions: 0 };
    let mut inbox = Inbox::default();
    loop {
        match inbox.fill(stdin())? {
            FillOutcome::Some => {}
            FillOutcome::NothingYet => wait_for(PollFd::from_borrowed_fd(stdin(), PollFlags::IN))?,
            FillOutcome::End => return Ok(()),
        }
        while let Some(line) = inbox.next_line() {
            if let Ok(message) = serde_json::from_slice(line) {
                agent.hear(&message)?;
            }
        }
    }
}

struct Agent {
    args: Args,
    outbox: Outbox,
    n_sessions: usize,
}

impl Agent {
    /// Handles a message; notifications and answers are ignored.
    fn hear(&mut self, message: &Value) -> anyhow::Result<()> {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return Ok(());
        };
        let result = match method {
            "initialize" => {
                sleep(Duration::from_millis(self.args.initialize_ms));
                json!({
                    "protocolVersion": 1,
                    "agentCapabilities": { "loadSession": false },
                    "agentInfo": { "name": "scripted-agent", "version": "1" },
                    "authMethods": [],
                })
            }
            "session/new" => {
                sleep(Duration::from_millis(self.args.session_ms));
                self.n_sessions += 1;
                // Some peers tell sessions apart by this id alone, whatever process made it.
                let id = format!("scripted-{}-{}", std::process::id(), self.n_sessions);
                json!({ "sessionId": id })
            }
            "session/prompt" => {
                self.stream(&message["params"])?;
                json!({ "stopReason": "end_turn" })
            }
            _ => {
                let error = json!({ "code": NO_SUCH_METHOD, "message": "no such method" });
                return self.say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
        };
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn stream(&mut self, params: &Value) -> anyhow::Result<()> {
        let blocks = params["prompt"].as_array().into_iter().flatten();
        let request =
            blocks.filter_map(|block| block["text"].as_str()).find_map(ChunkRequest::find_in);
        let request = request.unwrap_or(ChunkRequest { n_chunks: 1, n_bytes: 0 });
        let mut chunks =
            Chunks::new(params["sessionId"].as_str().unwrap_or_default(), request.n_bytes);
        let mut n_waiting_bytes = 0;
        for number in 1..=request.n_chunks {
            let line = chunks.line(number);
            self.outbox.push(line);
            n_waiting_bytes += line.len();
            if n_waiting_bytes >= WRITE_BYTES {
                self.flush()?;
                n_waiting_bytes = 0;
            }
        }
        self.flush()
    }

    fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        self.outbox.push(format!("{message}\n").as_bytes());
        self.flush()
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        while !self.outbox.is_empty() && self.outbox.flush(stdout())? == FlushOutcome::Part {
            wait_for(PollFd::from_borrowed_fd(stdout(), PollFlags::OUT))?;
        }
        Ok(())
    }
}

/// Waits for a pipe: a client may hand over pipes in non-blocking mode.
fn wait_for(mut pipe: PollFd<'_>) -> anyhow::Result<()> {
    poll(std::slice::from_mut(&mut pipe), None)?;
    Ok(())
}
