//! A small ACP client that costs as little as possible, and the agent that it has started.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bench::chunk::{ChunkRequest, numbers_in};
use bench::usage::{family_of, memory_of};
use memchr::memmem::find;
use serde_json::{Value, json};

use super::stream::TokenSource;

const READ_BYTES: usize = 256 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    last_id: u64,
    cwd: PathBuf,
    session: String,
}

impl Client {
    /// Starts the agent; how long it took until it answered `initialize`.
    pub(super) fn start(command: &mut Command, cwd: PathBuf) -> anyhow::Result<(Self, Duration)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("no stdout")?;
        let stdout = BufReader::with_capacity(READ_BYTES, stdout);
        let (line, session) = (Vec::new(), String::new());
        let mut client = Self { child, stdin, stdout, line, last_id: 0, cwd, session };
        client.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }))?;
        Ok((client, started.elapsed()))
    }

    /// From now on prompts go to a new session.
    pub(super) fn open(&mut self) -> anyhow::Result<()> {
        let answer = self.call("session/new", &json!({ "cwd": self.cwd, "mcpServers": [] }))?;
        let session = answer["sessionId"].as_str().context("no session")?;
        session.clone_into(&mut self.session);
        Ok(())
    }

    /// The memory of all its processes, and their number. Shared memory is counted once where the
    /// system reports it.
    pub(super) fn memory(&self) -> (f64, usize) {
        let family = family_of(self.child.id());
        let kib = match family.as_slice() {
            [alone] => memory_of(*alone).resident_kib,
            all => all.iter().map(|pid| proportional_kib(*pid)).sum(),
        };
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let mb = kib as f64 / 1024.0;
        (mb, family.len())
    }

    fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.send(method, params)?;
        loop {
            if let Some(answer) = self.hear()? {
                return Ok(answer);
            }
        }
    }

    fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let stdin = self.stdin.as_mut().context("it was told to end")?;
        Ok(stdin.write_all(format!("{request}\n").as_bytes())?)
    }

    /// Reads a line; the answer to the last request if it is that.
    fn hear(&mut self) -> anyhow::Result<Option<Value>> {
        self.line.clear();
        let n_bytes = self.stdout.read_until(b'\n', &mut self.line)?;
        ensure!(n_bytes > 0, "the agent has ended");
        // Most lines are tokens, and reading them costs time that is not the agent's.
        if find(&self.line, br#""method""#).is_some() {
            return Ok(None);
        }
        let mut message: Value = serde_json::from_slice(&self.line)?;
        if message["id"] != self.last_id {
            return Ok(None);
        }
        match message.get("error") {
            Some(error) => bail!("{error}"),
            None => Ok(Some(message["result"].take())),
        }
    }
}

impl TokenSource for Client {
    fn begin_anew(&mut self) -> anyhow::Result<()> {
        self.open()
    }

    fn ask(&mut self, request: ChunkRequest) -> anyhow::Result<()> {
        let prompt = json!([{ "type": "text", "text": request.prompt() }]);
        let params = json!({ "sessionId": self.session, "prompt": prompt });
        self.send("session/prompt", &params)
    }

    fn next(&mut self, seen: &mut dyn FnMut(u64)) -> anyhow::Result<bool> {
        let answer = self.hear()?;
        if find(&self.line, b"agent_message_chunk").is_some() {
            numbers_in(&self.line).for_each(seen);
        }
        Ok(answer.is_none())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The end of its input is how an agent is told to go.
        self.stdin = None;
        let told = Instant::now();
        while told.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn proportional_kib(pid: u32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or_else(|| memory_of(pid).resident_kib)
}
