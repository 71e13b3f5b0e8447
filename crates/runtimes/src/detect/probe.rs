//! Probes: short runs of a CLI to learn something about it.
//!
//! In: a program and arguments. Out: its output, or why there is none. A probe gets no input, works
//! in a directory of its own that is removed afterwards, may print up to a limit, and is
//! ended with everything it started when it is done or time is up.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use bus::{Launch, SpawnError, StderrKind, StdinKind, WorkerHandle, WorkerStdout};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, timeout, timeout_at};

use crate::scratch::Scratch;
use wire::text::last_screen;

/// The longest output. No version, help or list of models is longer; a probe that prints more is
/// ended.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// How long to read on after the exit: the last output is still in the pipe then.
const DRAIN_WAIT: Duration = Duration::from_millis(200);
/// How long to wait after SIGKILL until the tree is gone; the keeper waits longer.
const END_WAIT: Duration = Duration::from_millis(500);

/// One probe: a program, its arguments and its time limit.
#[derive(Debug, Clone)]
pub(super) struct ProbeCommand<'a> {
    pub launch: &'a Launch,
    pub scratch: &'a Scratch,
    pub program: &'a Path,
    pub args: Vec<String>,
    pub env: bus::Environment,
    pub until: Instant,
}

#[derive(Debug)]
pub(super) enum ProbeOutcome {
    Ran(ProbeOutput),
    TimedOut,
    /// The file is there but cannot be run: its interpreter is missing.
    NotFound,
    NotExecutable(String),
    NotStarted(String),
}

#[derive(Debug)]
pub(super) struct ProbeOutput {
    pub code: Option<i32>,
    /// The exit status, for people.
    pub exit: String,
    pub stdout: String,
    pub stderr: String,
}

impl ProbeCommand<'_> {
    pub(super) async fn run(self) -> ProbeOutcome {
        let dir = match self.scratch.dir() {
            Ok(dir) => dir,
            Err(error) => {
                return ProbeOutcome::NotStarted(format!("no temporary directory: {error}"));
            }
        };
        let until = self.until;
        let launch = self.launch(&dir, StdinKind::Null);
        let mut worker = match timeout_at(until, launch.spawn()).await {
            Ok(Ok(worker)) => worker,
            Ok(Err(error)) => return not_started(error),
            Err(_) => return ProbeOutcome::TimedOut,
        };
        let heard = timeout_at(until, listen(&mut worker.stdout, &worker.handle)).await;
        end(&worker.handle).await;
        match heard {
            Ok((stdout, exit)) => ProbeOutcome::Ran(ProbeOutput {
                code: exit.code,
                exit: exit.to_string(),
                stdout: last_screen(&String::from_utf8_lossy(&stdout)),
                stderr: last_screen(&worker.handle.stderr_tail()),
            }),
            Err(_) => ProbeOutcome::TimedOut,
        }
    }

    pub(super) fn launch(self, dir: &TempDir, stdin: StdinKind) -> Launch {
        let mut launch = self.launch.clone();
        launch.program = self.program.into();
        launch.args = self.args.into_iter().map(Into::into).collect();
        launch.cwd = dir.path().to_path_buf();
        launch.env = self.env;
        launch.stdin = stdin;
        launch.stderr = StderrKind::Captured;
        launch
    }
}

/// Ends the whole tree and waits until it is gone, but not for ever.
pub(super) async fn end(handle: &WorkerHandle) {
    handle.kill();
    let _ = timeout(END_WAIT, handle.ended()).await;
}

pub(super) fn not_started(error: SpawnError) -> ProbeOutcome {
    match error {
        SpawnError::NotFound { .. } => ProbeOutcome::NotFound,
        // The file is there, so it is its interpreter that is not.
        SpawnError::NotExecutable { source, .. } if source.kind() == ErrorKind::NotFound => {
            ProbeOutcome::NotFound
        }
        SpawnError::NotExecutable { source, .. } => ProbeOutcome::NotExecutable(source.to_string()),
        other => ProbeOutcome::NotStarted(other.to_string()),
    }
}

async fn listen(stdout: &mut WorkerStdout, handle: &WorkerHandle) -> (Vec<u8>, bus::ExitReport) {
    let mut bytes = Vec::new();
    let exit = tokio::select! {
        () = fill(stdout, &mut bytes) => {
            if bytes.len() >= MAX_OUTPUT_BYTES {
                handle.kill();
            }
            handle.exited().await
        }
        exit = handle.exited() => {
            // Something it left behind may hold the pipe open.
            let _ = timeout(DRAIN_WAIT, fill(stdout, &mut bytes)).await;
            exit
        }
    };
    (bytes, exit)
}

/// Reads until the end or the size limit. Cancel-safe: what was read is in `bytes`.
async fn fill(stdout: &mut WorkerStdout, bytes: &mut Vec<u8>) {
    while bytes.len() < MAX_OUTPUT_BYTES {
        match stdout.read_buf(bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}
