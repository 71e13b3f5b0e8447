//! The floor: the agent at the client's own pipe, with nothing between.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::processes::Program;
use super::rpc::{AcpSession, AgentLine};
use super::service::{MeasuredSession, Service};
use super::setup::{Agent, DaemonBenchSetup};

const READ_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct BarePipe {
    launcher: PathBuf,
    cwd: PathBuf,
}

impl BarePipe {
    pub(super) fn new(stage: &DaemonBenchSetup, agent: Agent) -> Self {
        Self { launcher: stage.launcher(agent), cwd: stage.cwd() }
    }
}

impl Service for BarePipe {
    fn open(&mut self) -> anyhow::Result<Box<dyn MeasuredSession>> {
        let mut command = Command::new(&self.launcher);
        command.current_dir(&self.cwd).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the agent")?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = child.stdout.take().context("no stdout")?;
        let stdout = BufReader::with_capacity(READ_BYTES, stdout);
        let mut pipe =
            Pipe { child, stdin, stdout, line: Vec::new(), speaker: AcpSession::default() };
        let initialize = pipe.speaker.initialize();
        pipe.call(initialize)?;
        let new_session = pipe.speaker.new_session(&self.cwd);
        let session = pipe.call(new_session)?;
        pipe.speaker.set_session(&session)?;
        Ok(Box::new(pipe))
    }

    fn program(&self) -> Option<&Program> {
        None
    }

    fn home(&self) -> Option<&Path> {
        None
    }
}

struct Pipe {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    speaker: AcpSession,
}

impl Pipe {
    fn call(&mut self, request: String) -> anyhow::Result<Value> {
        self.send(request)?;
        loop {
            if let AgentLine::Result(result) = self.hear()? {
                return Ok(result);
            }
        }
    }

    fn send(&mut self, mut request: String) -> anyhow::Result<()> {
        request.push('\n');
        Ok(self.stdin.write_all(request.as_bytes())?)
    }

    fn hear(&mut self) -> anyhow::Result<AgentLine> {
        self.line.clear();
        let n_bytes = self.stdout.read_until(b'\n', &mut self.line)?;
        ensure!(n_bytes > 0, "the agent has ended");
        self.speaker.hear(&self.line)
    }
}

impl MeasuredSession for Pipe {
    fn prompt(&mut self, text: &str) -> anyhow::Result<()> {
        let request = self.speaker.prompt(text);
        self.send(request)
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

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
