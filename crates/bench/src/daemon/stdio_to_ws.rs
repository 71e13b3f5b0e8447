//! stdio-to-ws: a WebSocket server that starts one agent for each connection and copies lines.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::processes::Program;
use super::rpc::{AcpSession, AgentLine};
use super::service::{MeasuredSession, Service};
use super::setup::{Agent, DaemonBenchSetup, free_address};

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct StdioToWs {
    program: Program,
    home: TempDir,
    address: SocketAddr,
    cwd: PathBuf,
}

impl StdioToWs {
    pub(super) fn start(
        stage: &DaemonBenchSetup,
        agent: Agent,
    ) -> anyhow::Result<(Self, Duration)> {
        let (node, home) = (stage.peer("bin/node")?, stage.home()?);
        let script = stage.peer("stdio-to-ws/node_modules/stdio-to-ws/dist/main.js")?;
        let address = free_address()?;
        let mut command = stage.command(&node, home.path());
        command.arg(script).args(["--quiet", "--port", &address.port().to_string()]);
        command.arg(stage.launcher(agent));
        // It prints every message, quiet or not; a file would cost it even more.
        let mut program = Program::start(Program::silent(&mut command))?;
        let took = program.wait_until(|| TcpStream::connect(address).is_ok())?;
        Ok((Self { program, home, address, cwd: stage.cwd() }, took))
    }
}

impl Service for StdioToWs {
    fn open(&mut self) -> anyhow::Result<Box<dyn MeasuredSession>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (socket, _) = client(format!("ws://{}/", self.address), stream)
            .map_err(|error| anyhow::anyhow!("no WebSocket: {error}"))?;
        let mut socket = Socket { socket, speaker: AcpSession::default() };
        let initialize = socket.speaker.initialize();
        socket.call(initialize)?;
        let new_session = socket.speaker.new_session(&self.cwd);
        let session = socket.call(new_session)?;
        socket.speaker.set_session(&session)?;
        Ok(Box::new(socket))
    }

    fn program(&self) -> Option<&Program> {
        Some(&self.program)
    }

    fn home(&self) -> Option<&Path> {
        Some(self.home.path())
    }
}

struct Socket {
    socket: WebSocket<TcpStream>,
    speaker: AcpSession,
}

impl Socket {
    fn call(&mut self, request: String) -> anyhow::Result<Value> {
        self.socket.send(Message::text(request))?;
        loop {
            if let AgentLine::Result(result) = self.hear()? {
                return Ok(result);
            }
        }
    }

    fn hear(&mut self) -> anyhow::Result<AgentLine> {
        match self.socket.read().context("no answer over the WebSocket")? {
            Message::Text(text) => self.speaker.hear(text.as_bytes()),
            Message::Close(_) => bail!("the WebSocket was closed"),
            _ => Ok(AgentLine::Other),
        }
    }
}

impl MeasuredSession for Socket {
    fn prompt(&mut self, text: &str) -> anyhow::Result<()> {
        Ok(self.socket.send(Message::text(self.speaker.prompt(text)))?)
    }

    fn next(&mut self) -> anyhow::Result<Option<u64>> {
        loop {
            match self.hear()? {
                AgentLine::Chunk(number) => return Ok(Some(number)),
                AgentLine::Result(_) => return Ok(None),
                AgentLine::Other => {}
            }
        }
    }
}
