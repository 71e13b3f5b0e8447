//! Runs commands for an agent (`terminal/*`) inside the session's roots.
//!
//! Always true: a command is a worker like any other, so everything it starts ends with
//! it; its output is kept up to a limit that the agent can lower but not raise; ids are
//! never used twice. Its output is also kept for the log ([`terminal_log`]), from where the
//! session takes it; no command ever waits for that.

mod output_sampler;
mod stopping;
mod terminal_log;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bus::{ExitReport, PacedOutput, READ_BYTES, StderrKind, StdinKind, WorkerHandle, WorkerStdout};
use roots::Roots;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use wire::{Json, RpcError, TurnId};

pub(crate) use self::stopping::StoppedCommands;
use self::terminal_log::TerminalLogWriter;
pub(crate) use self::terminal_log::{TerminalEvents, TerminalLog};
use crate::lock::lock;
use crate::settings::WorkerSetup;

/// The wait for a killed command: one that is still there then is stuck in the kernel.
const ENDING: Duration = Duration::from_secs(30);
/// The wait for the log to have a command's end. The agent is told after that, so that what it
/// says about the end comes after it. A log that is too slow for that is not waited for.
const LOGGED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Terminals {
    setup: WorkerSetup,
    max_open: usize,
    max_output_bytes: usize,
    open: Mutex<HashMap<String, Arc<Terminal>>>,
    /// The turn that was stopped last. It starts nothing more.
    stopped: Mutex<Option<TurnId>>,
    /// Output and ends of commands, for the log.
    pub(crate) log: TerminalLog,
}

#[derive(Debug)]
struct Terminal {
    turn: Option<TurnId>,
    worker: WorkerHandle,
    is_stopping: AtomicBool,
    output: Mutex<TerminalOutputBuffer>,
    /// Its exit report, once it has ended and all of its output is here.
    ended: watch::Receiver<Option<ExitReport>>,
    is_logged: watch::Receiver<()>,
}

#[derive(Debug)]
struct TerminalOutputBuffer {
    bytes: VecDeque<u8>,
    limit: usize,
    is_truncated: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateParams {
    #[serde(flatten)]
    argv: Argv,
    output_byte_limit: Option<u64>,
}

/// The command line, environment and directory of a `terminal/create`.
#[derive(Deserialize)]
pub(crate) struct Argv {
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: Vec<Variable>,
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Deserialize)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TerminalParams {
    terminal_id: String,
}

impl Terminals {
    pub(crate) fn new(setup: WorkerSetup, max_open: usize, max_output_bytes: usize) -> Self {
        let (open, stopped, log) = (Mutex::default(), Mutex::default(), TerminalLog::default());
        Self { setup, max_open, max_output_bytes, open, stopped, log }
    }

    /// Answers one `terminal/*` request, made in `turn`.
    pub(crate) async fn serve(
        &self,
        method: &str,
        params: &str,
        roots: &Roots,
        turn: Option<TurnId>,
    ) -> Result<Json, RpcError> {
        if method == "terminal/create" {
            return self.create(read(params)?, roots, turn).await;
        }
        let named: TerminalParams = read(params)?;
        let find = || {
            let found = lock(&self.open).get(&named.terminal_id).cloned();
            found.ok_or_else(|| RpcError::not_found(format_args!("terminal {}", named.terminal_id)))
        };
        match method {
            "terminal/output" => Ok(Json::of(&find()?.describe())),
            "terminal/wait_for_exit" => {
                let terminal = find()?;
                let report = terminal.finished().await;
                let _ = timeout(LOGGED_WITHIN, terminal.logged()).await;
                Ok(Json::of(&exit_status(report)))
            }
            "terminal/kill" => {
                find()?.worker.kill();
                Ok(Json::trusted("{}"))
            }
            "terminal/release" => {
                let terminal = find()?;
                lock(&self.open).remove(&named.terminal_id);
                terminal.worker.kill();
                // It is looked after until its end is known.
                task::spawn(async move { timeout(ENDING, terminal.finished()).await.is_ok() });
                Ok(Json::trusted("{}"))
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }

    /// Stops every command where it is.
    pub(crate) fn pause_all(&self) {
        lock(&self.open).values().for_each(|terminal| terminal.worker.pause());
    }

    pub(crate) fn resume_all(&self) {
        lock(&self.open).values().for_each(|terminal| terminal.worker.resume());
    }

    /// Ends every command that still runs, also if the caller does not wait for the future.
    pub(crate) fn end_all(&self) -> impl Future<Output = ()> + Send + use<> {
        let left: Vec<_> = lock(&self.open).drain().map(|(_, terminal)| terminal).collect();
        for terminal in &left {
            terminal.worker.kill();
        }
        let ending = task::spawn(async move {
            for terminal in left {
                terminal.worker.ended().await;
                let _ = timeout(ENDING, terminal.finished()).await;
            }
        });
        async move {
            let _ = ending.await;
        }
    }

    async fn create(
        &self,
        CreateParams { argv, output_byte_limit }: CreateParams,
        roots: &Roots,
        turn: Option<TurnId>,
    ) -> Result<Json, RpcError> {
        self.check_not_stopped(turn)?;
        if lock(&self.open).len() >= self.max_open {
            return Err(RpcError::internal(format_args!(
                "{} terminals are open; release one first",
                self.max_open
            )));
        }
        let cwd = match argv.cwd {
            Some(cwd) if cwd.is_absolute() && roots.contains(&cwd) => cwd,
            Some(cwd) => {
                return Err(RpcError::invalid_params(format_args!(
                    "cwd `{}` is not an existing directory inside the session's directories",
                    cwd.display()
                )));
            }
            None => roots.paths().first().cloned().unwrap_or_default(),
        };
        let (program, args) = command_line(argv.command, argv.args);
        let mut launch = self.setup.launch(program, cwd);
        launch.args = args.into_iter().map(Into::into).collect();
        launch.stdin = StdinKind::Null;
        launch.stderr = StderrKind::MergedIntoStdout;
        launch.env.set =
            argv.env.into_iter().map(|var| (var.name.into(), var.value.into())).collect();
        let worker = launch.spawn().await.map_err(RpcError::invalid_params)?;
        let limit = output_byte_limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(self.max_output_bytes).min(self.max_output_bytes);
        let (ended_sender, ended) = watch::channel(None);
        let id = format!("term_{}", crate::mint::turn_id());
        let stdout = worker.handle.paced(worker.stdout);
        let (writer, is_told) = self.log.begin(id.clone(), turn, self.max_output_bytes);
        let terminal = Arc::new(Terminal {
            turn,
            worker: worker.handle,
            is_stopping: AtomicBool::new(false),
            output: Mutex::new(TerminalOutputBuffer {
                bytes: VecDeque::new(),
                limit,
                is_truncated: false,
            }),
            ended,
            is_logged: is_told,
        });
        task::spawn(drain(stdout, Arc::downgrade(&terminal), writer, ended_sender));
        lock(&self.open).insert(id.clone(), terminal.clone());
        // The turn may have been stopped while the command was being started.
        self.check_not_stopped(turn).inspect_err(|_| {
            lock(&self.open).remove(&id);
            terminal.worker.kill();
        })?;
        Ok(Json::of(&json!({ "terminalId": id })))
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        // Whoever reads from a command keeps it alive until it has closed its output.
        lock(&self.open).values().for_each(|terminal| terminal.worker.kill());
    }
}

impl Terminal {
    /// Waits until the log has its end.
    async fn logged(&self) {
        let mut is_told = self.is_logged.clone();
        while is_told.changed().await.is_ok() {}
    }

    async fn finished(&self) -> ExitReport {
        let mut ended = self.ended.clone();
        let report = ended.wait_for(Option::is_some).await.ok().and_then(|report| *report);
        match report {
            Some(report) => report,
            // Whoever read its output was dropped with its runtime.
            None => self.worker.exited().await,
        }
    }

    /// The exit report, if it has ended.
    fn report(&self) -> Option<ExitReport> {
        *self.ended.borrow()
    }

    fn describe(&self) -> Value {
        let (text, is_truncated) = {
            let mut output = lock(&self.output);
            (output.text(), output.is_truncated)
        };
        let mut answer = json!({ "output": text, "truncated": is_truncated });
        if let Some(report) = self.report() {
            answer["exitStatus"] = exit_status(report);
        }
        answer
    }
}

impl TerminalOutputBuffer {
    /// Keeps the end of the output.
    fn push(&mut self, chunk: &[u8]) {
        let kept = &chunk[chunk.len().saturating_sub(self.limit)..];
        let n_over = (self.bytes.len() + kept.len()).saturating_sub(self.limit);
        self.is_truncated |= n_over > 0 || kept.len() < chunk.len();
        self.bytes.drain(..n_over);
        self.bytes.extend(kept);
    }

    /// What is kept, beginning at a whole character.
    fn text(&mut self) -> String {
        let bytes = &*self.bytes.make_contiguous();
        let is_inside = |byte: &&u8| self.is_truncated && **byte & 0xc0 == 0x80;
        let n_inside = bytes.iter().take_while(is_inside).count();
        String::from_utf8_lossy(&bytes[n_inside..]).into_owned()
    }
}

async fn drain(
    mut stdout: PacedOutput<WorkerStdout>,
    terminal: std::sync::Weak<Terminal>,
    writer: TerminalLogWriter,
    ended: watch::Sender<Option<ExitReport>>,
) {
    let mut chunk = vec![0; READ_BYTES];
    while let Ok(n @ 1..) = stdout.read(&mut chunk).await {
        writer.push(&chunk[..n]);
        // A released terminal is read on, so that the command is not blocked while dying.
        let Some(terminal) = terminal.upgrade() else { continue };
        lock(&terminal.output).push(&chunk[..n]);
    }
    let report = match terminal.upgrade() {
        Some(terminal) => terminal.worker.exited().await,
        None => ExitReport::default(),
    };
    writer.end(report);
    let _ = ended.send(Some(report));
}

/// Agents that send a whole shell line as `command` mean a shell; a program whose name has
/// a blank in it is given with arguments, or is found as it is.
fn command_line(command: String, args: Vec<String>) -> (String, Vec<String>) {
    let is_line = args.is_empty()
        && command.contains(|c: char| c.is_whitespace() || "|&;<>$`".contains(c))
        && !std::path::Path::new(&command).exists();
    if is_line { ("sh".into(), vec!["-c".into(), command]) } else { (command, args) }
}

fn exit_status(report: ExitReport) -> Value {
    json!({ "exitCode": report.code, "signal": report.signal.map(|signal| signal.to_string()) })
}

/// The params of a request.
pub(crate) fn read<'a, T: Deserialize<'a>>(params: &'a str) -> Result<T, RpcError> {
    serde_json::from_str(params).map_err(RpcError::invalid_params)
}
