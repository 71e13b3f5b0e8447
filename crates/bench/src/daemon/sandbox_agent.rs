//! sandbox-agent: an HTTP server with one agent for each server id; requests by POST, updates
//! by SSE.
//!
//! It knows a fixed list of agents and no others. Its `mock` is a launcher in a directory of
//! its own; ours in that place is started like any agent that it has installed.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;
use tempfile::TempDir;

use super::http::{Connection, EventStream, StreamEvent};
use super::processes::Program;
use super::rpc::{AcpSession, AgentLine};
use super::service::{MeasuredSession, Service};
use super::setup::{Agent, DaemonBenchSetup, free_address};

const LAUNCHERS: &str = "data/sandbox-agent/bin/agent_processes";
/// How long to wait for chunks after the answer to a prompt; later ones were dropped.
const QUIET: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct SandboxAgent {
    program: Program,
    home: TempDir,
    address: SocketAddr,
    cwd: PathBuf,
    n_sessions: usize,
}

impl SandboxAgent {
    pub(super) fn start(
        stage: &DaemonBenchSetup,
        agent: Agent,
    ) -> anyhow::Result<(Self, Duration)> {
        let (server, home) = (stage.peer("bin/sandbox-agent")?, stage.home()?);
        let launchers = home.path().join(LAUNCHERS);
        fs::create_dir_all(&launchers)?;
        fs::copy(stage.launcher(agent), launchers.join("mock-acp"))?;
        let address = free_address()?;
        let mut command = stage.command(&server, home.path());
        command.env("XDG_DATA_HOME", home.path().join("data"));
        command.args(["server", "--no-telemetry", "--no-token"]);
        command.args(["--port", &address.port().to_string()]);
        let mut program = Program::start(Program::silent(&mut command))?;
        let is_ready = || {
            let health = Connection::open(address, None).and_then(|mut c| c.get("/v1/health"));
            health.is_ok_and(|answer| answer.status == 200)
        };
        let took = program.wait_until(is_ready)?;
        Ok((Self { program, home, address, cwd: stage.cwd(), n_sessions: 0 }, took))
    }
}

impl Service for SandboxAgent {
    fn open(&mut self) -> anyhow::Result<Box<dyn MeasuredSession>> {
        self.n_sessions += 1;
        let path = format!("/v1/acp/bench-{}", self.n_sessions);
        let mut requests = Connection::open(self.address, None)?;
        let mut speaker = AcpSession::default();
        let initialize = speaker.initialize();
        result_of(&speaker, &requests.post(&format!("{path}?agent=mock"), &initialize)?.body)?;
        let new_session = speaker.new_session(&self.cwd);
        let session = result_of(&speaker, &requests.post(&path, &new_session)?.body)?;
        speaker.set_session(&session)?;
        let mut events = Connection::open(self.address, None)?.events(&path)?;
        events.wait_at_most(QUIET)?;
        Ok(Box::new(Session { path, requests, events, speaker }))
    }

    fn program(&self) -> Option<&Program> {
        Some(&self.program)
    }

    fn home(&self) -> Option<&Path> {
        Some(self.home.path())
    }
}

struct Session {
    path: String,
    requests: Connection,
    events: EventStream,
    speaker: AcpSession,
}

impl MeasuredSession for Session {
    fn prompt(&mut self, text: &str) -> anyhow::Result<()> {
        self.requests.send_post(&self.path, &self.speaker.prompt(text))
    }

    fn next(&mut self) -> anyhow::Result<Option<u64>> {
        loop {
            match self.events.next()? {
                StreamEvent::Data(data) => {
                    if let AgentLine::Chunk(number) = self.speaker.hear(data)? {
                        return Ok(Some(number));
                    }
                }
                StreamEvent::Quiet if self.requests.has_answer()? => {
                    self.finish()?;
                    return Ok(None);
                }
                StreamEvent::Quiet => {}
            }
        }
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        result_of(&self.speaker, &self.requests.answer()?.body).map(|_| ())
    }
}

fn result_of(speaker: &AcpSession, body: &[u8]) -> anyhow::Result<Value> {
    match speaker.hear(body)? {
        AgentLine::Result(result) => Ok(result),
        _ => bail!("sandbox-agent answered: {}", String::from_utf8_lossy(body)),
    }
}
