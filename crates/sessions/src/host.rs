//! Switchyard in ACP's client role: one agent process and the conversation with it.
//!
//! In: how to start the agent. Out: a connection that many sessions share; each gets its own
//! messages in order.
//!
//! Always true: when the agent's stdout ends, or it stops reading, or it exits, the whole
//! process tree is ended, every session is told, and `ended` says how.

mod capabilities;
mod circuit;
mod memory_budget;
mod routes;
mod slot;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bus::{ExitReport, SpawnError, StopStep, WorkerHandle};
use tokio::sync::watch;
use wire::{Json, TokenScope};

use crate::observer::StartupStep;
use crate::options::InitialOptions;
use crate::settings::{SessionSettings, WorkerSetup};
use bus::connection::{CallError, Connection};

pub use capabilities::{AgentCapabilities, AuthMethod};
pub use circuit::AgentKeepsFailing;
pub(crate) use circuit::{FailingAgents, StartCircuit};
pub(crate) use memory_budget::MemoryShare;
pub(crate) use routes::{AgentMessage, AgentMessages};
use routes::{Routes, dispatch};
pub use slot::{HostError, HostSlot};

/// An agent as a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// The name by which users and rules call it.
    pub name: String,
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: bus::Environment,
    /// It was given by name: its program and arguments may change from one start to the next.
    pub is_named: bool,
    pub quirks: AgentQuirks,
}

/// Quirks of one agent that a session has to handle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct AgentQuirks {
    /// The session mode in which it asks for permission, if it does not start in that one.
    pub session_mode: Option<String>,
    /// It cannot read our answer that a file does not exist: we say that we read no files.
    pub no_client_reads: bool,
    /// First words of an answer that is really a provider's error.
    pub failure_words: Vec<String>,
    /// It ends a turn without an answer when the provider failed.
    pub silence_is_failure: bool,
    /// The model of a new session that is made without one.
    pub default_model: Option<String>,
    /// It was started with the model that is wanted.
    pub model_is_set: bool,
    pub system_prompt: SystemPromptSupport,
    /// One process of it serves several sessions well, whatever their directories.
    pub shares_worker: bool,
    /// The remedy to show when it asks for a login.
    pub login: Option<String>,
    /// Titles, in small letters, of tools of its own that write one file and do nothing else, where
    /// its questions do not say of what kind they are.
    pub edit_tools: Vec<String>,
    /// It does not end when its input ends.
    pub stays_at_eof: bool,
    /// The scope of the token counts that it reports at the end of a turn.
    pub token_scope: TokenScope,
}

/// Whether `_meta.systemPrompt` of `session/new` reaches an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SystemPromptSupport {
    /// Nobody can tell: it is no part of ACP, and some agents read it.
    #[default]
    Unknown,
    Taken,
    NotTaken,
}

impl AgentQuirks {
    /// Whether an agent may have no choice of models: it was started with the one that is wanted,
    /// or none is named, and the configured default must not keep a session from its agent.
    pub(crate) fn may_lack_models(&self, named: &InitialOptions) -> bool {
        self.model_is_set || named.model.is_none()
    }
}

impl AgentCommand {
    /// The command line, for people and for the log.
    pub fn argv(&self) -> Vec<String> {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot start the agent: {0}")]
    Spawn(#[from] SpawnError),
    #[error("cannot start the agent: {0}")]
    Place(roots::RootsError),
    #[error("the agent ended before it had said anything in ACP: {exit}{}", output_part(.said))]
    DiedEarly { exit: ExitReport, said: String },
    #[error("the agent did not answer `initialize` within {waited:?}{}", output_part(.said))]
    Silent { waited: Duration, said: String },
    #[error("the agent refused to initialize: {0}")]
    Refused(wire::RpcError),
    #[error("the agent speaks version {0} of ACP, Switchyard speaks version 1")]
    OtherVersion(String),
    #[error("the agent's answer to `initialize` has {0} bytes, which is too long")]
    TooLong(usize),
}

impl StartError {
    /// Whether it was the agent's process that failed, and not what is needed to start it.
    fn is_of_agent(&self) -> bool {
        match self {
            Self::DiedEarly { .. }
            | Self::Silent { .. }
            | Self::Refused(_)
            | Self::OtherVersion(_)
            | Self::TooLong(_) => true,
            Self::Spawn(_) | Self::Place(_) => false,
        }
    }

    /// The directory whose disk is full, if that is why it did not start.
    pub(crate) fn full_disk(&self) -> Option<&std::path::Path> {
        match self {
            Self::Spawn(error) => error.full_disk(),
            _ => None,
        }
    }

    /// Whether it did not start because too many files are open.
    pub(crate) fn is_out_of_descriptors(&self) -> bool {
        match self {
            Self::Spawn(error) => error.is_out_of_descriptors(),
            Self::Place(error) => error.is_out_of_descriptors(),
            _ => false,
        }
    }
}

/// The wait after the end of input for agents that do not end then: enough to write what is left.
const AFTER_EOF_IF_STAYING: Duration = Duration::from_millis(200);

/// Largest answer to `initialize`: it is sent to every client, and kept for later ones.
const MAX_INITIALIZE_BYTES: usize = 1 << 20;

fn output_part(said: &str) -> String {
    match said.trim() {
        "" => String::new(),
        said => format!("; it said: {}", last_lines(said, 3)),
    }
}

/// The last `n` lines of `text`.
pub(crate) fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// A running, initialized agent.
#[derive(Debug)]
pub struct Host {
    pub connection: Connection,
    pub(crate) worker: WorkerHandle,
    pub(crate) routes: Arc<Routes>,
    pub(crate) settings: SessionSettings,
    /// The agent's answer to `initialize`, byte for byte.
    pub(crate) initialized: Json,
    pub(crate) capabilities: AgentCapabilities,
    pub(crate) quirks: AgentQuirks,
    /// The memory for its messages, of which each session has a share.
    pub(crate) memory_budget: memory_budget::MemoryBudget,
    ended: watch::Receiver<Option<ExitReport>>,
    /// We asked it to end.
    is_stopping: AtomicBool,
    circuit: StartCircuit,
    /// It has answered when it was asked to open a session.
    has_answered: AtomicBool,
}

impl Drop for Host {
    /// Nobody can stop it any more, so it ends now. Whoever wants it to end in good order
    /// calls [`stop`](Self::stop) first.
    fn drop(&mut self) {
        self.connection.close();
        self.worker.kill();
    }
}

impl Host {
    /// Starts the agent and shakes hands with it; tells its circuit if that fails.
    pub(crate) async fn start(
        command: &AgentCommand,
        setup: &WorkerSetup,
        settings: &SessionSettings,
        circuit: &StartCircuit,
    ) -> Result<Arc<Self>, StartError> {
        let started = Self::begin(command, setup, settings, circuit).await;
        if let Err(error) = &started
            && error.is_of_agent()
        {
            circuit.failed(error.to_string(), settings.limits.restarts);
        }
        started
    }

    async fn begin(
        command: &AgentCommand,
        setup: &WorkerSetup,
        settings: &SessionSettings,
        circuit: &StartCircuit,
    ) -> Result<Arc<Self>, StartError> {
        // The path may lead elsewhere by now than when the session was made.
        if settings.forbidden.renewed().covers(&command.cwd) {
            let cwd = command.cwd.display().to_string();
            return Err(StartError::Place(roots::RootsError::Forbidden(cwd)));
        }
        let mut launch = setup.launch(&command.program, &command.cwd);
        launch.args.clone_from(&command.args);
        launch.env = command.env.clone();
        tracing::debug!(agent = command.name, argv = ?command.argv(), "starting an agent");
        let observers = &settings.observers;
        let starting = observers.step(StartupStep::StartWorker, &command.name);
        let worker = starting.ended(launch.spawn().await)?;
        let mut settings = settings.clone();
        if command.quirks.stays_at_eof {
            settings.stop.after_eof = settings.stop.after_eof.min(AFTER_EOF_IF_STAYING);
        }
        let settings = &settings;
        let (Some(stdin), handle) = (worker.stdin, worker.handle) else {
            return Err(StartError::DiedEarly {
                exit: ExitReport::default(),
                said: "it was started without a stdin".into(),
            });
        };
        watch_worker(settings, &command.name, &handle);
        let (connection, inbox) =
            Connection::open(worker.stdout, stdin, &settings.worker_connection());
        let routes = Arc::new(Routes::default());
        let (ended_sender, ended) = watch::channel(None);
        task::spawn(dispatch(
            inbox,
            connection.clone(),
            routes.clone(),
            handle.clone(),
            settings.stop,
            ended_sender,
        ));
        if let Some(stderr) = worker.stderr {
            task::spawn(routes::forward_stderr(stderr, routes.clone()));
        }
        let mut host = Self {
            connection,
            worker: handle,
            routes,
            settings: settings.clone(),
            initialized: Json::trusted("{}"),
            capabilities: AgentCapabilities::default(),
            quirks: command.quirks.clone(),
            memory_budget: memory_budget::MemoryBudget::default(),
            ended,
            is_stopping: AtomicBool::new(false),
            circuit: circuit.clone(),
            has_answered: AtomicBool::new(false),
        };
        let initializing = observers.step(StartupStep::Initialize, &command.name);
        let introduction = capabilities::initialize_params(&host.settings, &host.quirks);
        match initializing.ended(host.initialize(&introduction).await) {
            Ok(initialized) => {
                host.capabilities = AgentCapabilities::read(&initialized);
                host.initialized = initialized;
                Ok(Arc::new(host))
            }
            Err(error) => {
                host.stop(|_| {}).await;
                Err(error)
            }
        }
    }

    async fn initialize(&self, params: &Json) -> Result<Json, StartError> {
        let within = self.settings.initialize_within;
        let answer = self.connection.call_within(within, "initialize", params).await;
        let initialized = match answer {
            Ok(initialized) => initialized,
            Err(CallError::TimedOut { .. }) => {
                return Err(StartError::Silent { waited: within, said: self.early_output() });
            }
            Err(CallError::Refused(error)) => return Err(StartError::Refused(error)),
            Err(CallError::Closed | CallError::Full) => {
                let exit = self.ended().await;
                return Err(StartError::DiedEarly { exit, said: self.early_output() });
            }
        };
        let n_bytes = initialized.as_str().len();
        if n_bytes > MAX_INITIALIZE_BYTES {
            return Err(StartError::TooLong(n_bytes));
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            #[serde(default)]
            protocol_version: serde_json::Value,
        }
        // Three agents echo whatever version they are asked for; we asked for 1.
        match initialized.read::<Version>().map(|version| version.protocol_version) {
            Ok(version) if version == 1 => Ok(initialized),
            Ok(version) => Err(StartError::OtherVersion(version.to_string())),
            Err(error) => Err(StartError::OtherVersion(error.to_string())),
        }
    }

    /// The agent's output that was no ACP, of both streams.
    fn early_output(&self) -> String {
        format!("{}\n{}", self.routes.early_garbage(), self.worker.stderr_tail())
    }

    /// Notes that the agent answered when it was asked to open a session, if only to refuse it.
    pub(crate) fn session_answered(&self) {
        if !self.has_answered.swap(true, Ordering::Relaxed) {
            self.circuit.succeeded();
        }
    }

    /// Notes that the agent did not, and why. One that did before is no start that has failed.
    pub(crate) fn session_not_answered(&self, why: String) {
        if !self.is_stopping() && !self.has_answered.load(Ordering::Relaxed) {
            self.circuit.failed(why, self.settings.limits.restarts);
        }
    }

    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// As [`is_running`](Self::is_running), and the process was looked at just now.
    pub(crate) fn is_present(&self) -> bool {
        self.is_running() && self.worker.is_present()
    }

    pub fn is_running(&self) -> bool {
        self.ended.borrow().is_none() && !self.connection.is_closed()
    }

    /// Whether we have asked it to end.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Waits until the agent and everything it started are gone.
    pub async fn ended(&self) -> ExitReport {
        let mut ended = self.ended.clone();
        let report = ended.wait_for(Option::is_some).await.ok().and_then(|report| *report);
        match report {
            Some(report) => report,
            // The dispatcher was dropped with its runtime.
            None => self.worker.ended().await,
        }
    }

    /// Closes stdin, then SIGTERM, then SIGKILL; tells each step. What the agent still
    /// says after its stdin closed is delivered.
    pub async fn stop(&self, observe: impl FnMut(StopStep) + Send) -> ExitReport {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.connection.close();
        self.worker.stop_with(&self.settings.stop, observe).await;
        self.ended().await
    }

    /// Stops the agent where it is, with everything it started, unless it serves more than one
    /// session; whether it did. Another session that is opened makes it go on.
    pub(crate) fn pause(&self) -> bool {
        if self.is_stopping() {
            return false;
        }
        self.routes.if_alone(|| {
            self.connection.set_patient(true);
            self.worker.pause();
        })
    }

    pub(crate) fn resume(&self) {
        self.worker.resume();
        self.connection.set_patient(false);
    }
}

/// Tells the observers when the worker has ended.
fn watch_worker(settings: &SessionSettings, agent: &str, worker: &WorkerHandle) {
    if settings.observers.is_empty() {
        return;
    }
    let (observers, agent, worker) = (settings.observers.clone(), agent.to_owned(), worker.clone());
    let running = observers.watch(|observer| observer.worker(&agent));
    task::spawn(async move {
        let exit = worker.ended().await;
        drop(running);
        observers.for_each(|observer| observer.worker_exited(&agent, &exit));
    });
}
