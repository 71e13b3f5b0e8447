//! acpx: no daemon but a command for each prompt, which hands it to a process that keeps the
//! session's agent for a while.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use bench::chunk::number_in;
use tempfile::TempDir;

use super::processes::{Program, end_all_of};
use super::service::{MeasuredSession, Service};
use super::setup::{Agent, DaemonBenchSetup, MARK};

const READ_BYTES: usize = 256 << 10;
/// Longer than any of the measurements; what is left is ended.
const KEPT_SECONDS: &str = "900";

#[derive(Debug)]
pub(super) struct Acpx {
    invocation: Invocation,
    home: TempDir,
    n_sessions: usize,
}

/// The command line up to the verb.
#[derive(Debug, Clone)]
struct Invocation {
    node: PathBuf,
    arguments: Vec<OsString>,
    home: PathBuf,
    cwd: PathBuf,
}

impl Acpx {
    pub(super) fn new(stage: &DaemonBenchSetup, agent: Agent) -> anyhow::Result<Self> {
        let (node, home) = (stage.peer("bin/node")?, stage.home()?);
        let script = stage.peer("acpx/node_modules/acpx/dist/cli.js")?;
        let mut arguments = vec![script.into(), "--agent".into(), stage.launcher(agent).into()];
        arguments.extend(["--format", "json", "--ttl", KEPT_SECONDS, "--cwd"].map(OsString::from));
        arguments.push(stage.cwd().into());
        let (home_path, cwd) = (home.path().to_owned(), stage.cwd());
        let invocation = Invocation { node, arguments, home: home_path, cwd };
        Ok(Self { invocation, home, n_sessions: 0 })
    }
}

impl Invocation {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.args(&self.arguments).current_dir(&self.cwd);
        command.env("HOME", &self.home).env(MARK, &self.home);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }
}

impl Service for Acpx {
    fn open(&mut self) -> anyhow::Result<Box<dyn MeasuredSession>> {
        self.n_sessions += 1;
        let name = format!("s{}", self.n_sessions);
        let output =
            self.invocation.command().args(["sessions", "new", "--name", &name]).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "acpx sessions new: {}", said.trim());
        Ok(Box::new(Session { invocation: self.invocation.clone(), name, turn: None }))
    }

    fn program(&self) -> Option<&Program> {
        None
    }

    fn home(&self) -> Option<&Path> {
        Some(self.home.path())
    }
}

impl Drop for Acpx {
    fn drop(&mut self) {
        end_all_of(self.home.path());
    }
}

struct Session {
    invocation: Invocation,
    name: String,
    turn: Option<Turn>,
}

struct Turn {
    child: Child,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl MeasuredSession for Session {
    fn prompt(&mut self, text: &str) -> anyhow::Result<()> {
        let mut command = self.invocation.command();
        let mut child = command.args(["prompt", "-s", &self.name, text]).spawn()?;
        let stdout = child.stdout.take().context("no stdout")?;
        let stdout = BufReader::with_capacity(READ_BYTES, stdout);
        self.turn = Some(Turn { child, stdout, line: Vec::new() });
        Ok(())
    }

    fn next(&mut self) -> anyhow::Result<Option<u64>> {
        let turn = self.turn.as_mut().context("no prompt was sent")?;
        loop {
            turn.line.clear();
            if turn.stdout.read_until(b'\n', &mut turn.line)? == 0 {
                let status = turn.child.wait()?;
                ensure!(status.success(), "acpx prompt: {status}");
                return Ok(None);
            }
            if let Some(number) = number_in(&turn.line) {
                return Ok(Some(number));
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
