//! `switchyard serve`: sessions by POST, events by SSE or WebSocket.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bench::chunk::number_in;
use memchr::memmem::find;
use serde_json::json;
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::http::{Connection, EventStream, StreamEvent};
use super::processes::Program;
use super::service::{MeasuredSession, Service, WarmPool};
use super::setup::{Agent, DaemonBenchSetup, free_address};

const PATIENCE: Duration = Duration::from_secs(60);
/// The interval of polling the metrics, long enough not to slow the agent's start.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const AGENT: &str = "scripted";
const TURN_ENDED: &[u8] = b"\"turn_ended\"";

/// The transport of events to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventTransport {
    Sse,
    WebSocket,
}

#[derive(Debug)]
pub(super) struct Switchyard {
    program: Program,
    home: TempDir,
    address: SocketAddr,
    token: Option<String>,
    cwd: PathBuf,
    over: EventTransport,
}

impl Switchyard {
    pub(super) fn start(
        stage: &DaemonBenchSetup,
        agent: Agent,
        pool: WarmPool,
        over: EventTransport,
    ) -> anyhow::Result<(Self, Duration)> {
        let home = stage.home()?;
        let launcher = stage.launcher(agent);
        let launcher = launcher.to_str().context("the path of the agent is not UTF-8")?;
        let pool = match pool {
            WarmPool::AsItComes => "",
            WarmPool::Off => "[warm]\nenabled = false\n",
        };
        let config = format!("[agents.{AGENT}]\ncommand = {launcher:?}\n{pool}");
        fs::write(home.path().join("switchyard.toml"), config)?;
        let address = free_address()?;
        let mut command = stage.command(&stage.switchyard, home.path());
        command.env("SWITCHYARD_HOME", home.path());
        command.args(["serve", "--host", &address.to_string()]);
        let mut program = Program::start(Program::silent(&mut command))?;
        let is_ready =
            || Connection::open(address, None).and_then(|mut c| c.get("/healthz")).is_ok();
        let took = program.wait_until(is_ready)?;
        let token = fs::read_to_string(home.path().join("token")).ok();
        let token = token.map(|token| token.trim().to_owned());
        Ok((Self { program, home, address, token, cwd: stage.cwd(), over }, took))
    }

    fn connect(&self) -> anyhow::Result<Connection> {
        Connection::open(self.address, self.token.as_deref())
    }

    fn create(&self, requests: &mut Connection, starts_later: bool) -> anyhow::Result<String> {
        let mut order = json!({ "agent": AGENT, "cwd": self.cwd });
        if starts_later {
            order["startsLater"] = json!(true);
        }
        let session = requests.post("/v1/sessions", &order.to_string())?.json()?;
        Ok(session["id"].as_str().context("the session has no id")?.to_owned())
    }

    /// Waits until an agent stands ready.
    pub(super) fn wait_until_warm(&self) -> anyhow::Result<()> {
        let asked = Instant::now();
        let mut requests = self.connect()?;
        loop {
            let answer = requests.get("/metrics")?;
            if n_ready(&String::from_utf8_lossy(&answer.body)) > 0 {
                return Ok(());
            }
            ensure!(asked.elapsed() < PATIENCE, "no agent stands ready after {PATIENCE:?}");
            sleep(LOOK_EVERY);
        }
    }

    /// Sessions whose agents are not started.
    pub(super) fn create_idle(&self, n_sessions: usize) -> anyhow::Result<()> {
        let mut requests = self.connect()?;
        for _ in 0..n_sessions {
            self.create(&mut requests, true)?;
        }
        Ok(())
    }
}

impl Service for Switchyard {
    fn open(&mut self) -> anyhow::Result<Box<dyn MeasuredSession>> {
        let mut requests = self.connect()?;
        let id = self.create(&mut requests, false)?;
        let path = format!("/v1/sessions/{id}/events");
        let events = match self.over {
            EventTransport::Sse => {
                let mut events = self.connect()?.events(&path)?;
                events.wait_at_most(PATIENCE)?;
                Events::Sse(events)
            }
            EventTransport::WebSocket => Events::WebSocket(self.socket(&path)?),
        };
        Ok(Box::new(Session { prompt_path: format!("/v1/sessions/{id}/prompt"), requests, events }))
    }

    fn program(&self) -> Option<&Program> {
        Some(&self.program)
    }

    fn home(&self) -> Option<&Path> {
        Some(self.home.path())
    }
}

impl Switchyard {
    fn socket(&self, path: &str) -> anyhow::Result<WebSocket<TcpStream>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut request = format!("ws://{}{path}", self.address).into_client_request()?;
        if let Some(token) = &self.token {
            let value = format!("Bearer {token}").parse().context("an odd token")?;
            request.headers_mut().insert("authorization", value);
        }
        let (socket, _) =
            client(request, stream).map_err(|error| anyhow::anyhow!("no WebSocket: {error}"))?;
        Ok(socket)
    }
}

struct Session {
    prompt_path: String,
    requests: Connection,
    events: Events,
}

enum Events {
    Sse(EventStream),
    WebSocket(WebSocket<TcpStream>),
}

/// The meaning of an event for counting chunks.
#[derive(Debug, PartialEq, Eq)]
enum ChunkEvent {
    Chunk(u64),
    TurnEnded,
    Other,
}

impl ChunkEvent {
    fn of(event: &[u8]) -> Self {
        match number_in(event) {
            Some(number) => Self::Chunk(number),
            None if find(event, TURN_ENDED).is_some() => Self::TurnEnded,
            None => Self::Other,
        }
    }
}

impl Events {
    fn next(&mut self) -> anyhow::Result<ChunkEvent> {
        match self {
            Self::Sse(events) => match events.next()? {
                StreamEvent::Data(data) => Ok(ChunkEvent::of(data)),
                StreamEvent::Quiet => bail!("no event for {PATIENCE:?}"),
            },
            Self::WebSocket(socket) => match socket.read().context("no event")? {
                Message::Text(text) => Ok(ChunkEvent::of(text.as_bytes())),
                Message::Close(frame) => bail!("the WebSocket was closed: {frame:?}"),
                _ => Ok(ChunkEvent::Other),
            },
        }
    }
}

impl MeasuredSession for Session {
    /// The answer to it is read when the turn is over, so that the first event does not wait
    /// for the client.
    fn prompt(&mut self, text: &str) -> anyhow::Result<()> {
        self.requests.send_post(&self.prompt_path, &json!({ "prompt": text }).to_string())
    }

    fn next(&mut self) -> anyhow::Result<Option<u64>> {
        let started = Instant::now();
        loop {
            // Signs of life keep coming when events do not.
            ensure!(started.elapsed() < PATIENCE, "no event of the turn for {PATIENCE:?}");
            match self.events.next()? {
                ChunkEvent::Chunk(number) => return Ok(Some(number)),
                ChunkEvent::TurnEnded => {
                    let answer = self.requests.answer()?;
                    let said = String::from_utf8_lossy(&answer.body);
                    ensure!(answer.status == 202, "prompt: {}: {said}", answer.status);
                    return Ok(None);
                }
                ChunkEvent::Other => {}
            }
        }
    }
}

/// How many of our agents stand ready, by the daemon's metrics.
fn n_ready(metrics: &str) -> u64 {
    let is_ours = |line: &&str| {
        line.starts_with("switchyard_warm_workers{")
            && line.contains(&format!("agent=\"{AGENT}\""))
            && line.contains("state=\"ready\"")
    };
    let line = metrics.lines().find(is_ours);
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
