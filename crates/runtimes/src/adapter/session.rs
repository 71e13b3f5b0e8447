//! One ACP session of the adapter: opened, prompted, configured and closed.
//!
//! One task owns the session and its CLI process. It always waits for both: the host's commands
//! and the CLI's output.

mod turn;

use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bus::connection::Connection;
use bus::{SpawnError, StopLadder};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use wire::{Category, Fault, Json, RpcError, RpcId};

use super::AdapterRuntime;
use super::initialize::HostCapabilities;
use super::options::SessionOptions;
use super::process::{CliProcess, PromptInput};
use crate::argv::{self, ArgumentValues, ConversationTarget};
use crate::definition::{McpChannel, OptionalArgument, PromptChannel, ResumeStyle};
use crate::dialect::{
    ConversationOptions, DialectOutput, Outputs, PermissionAnswer, TurnOutcome, stderr,
};
use crate::mcp;
use turn::AdapterTurn;

/// The longest wait for a CLI to open its conversation; one that takes longer hangs.
const OPEN_WITHIN: Duration = Duration::from_secs(90);
/// Answers of the host that may be queued; a CLI asks a few questions at a time.
const QUEUED_ANSWERS: usize = 64;

/// A request of the host to a session.
#[derive(Debug)]
pub(super) enum SessionCommand {
    Prompt { request: RpcId, blocks: Vec<Value> },
    Cancel,
    Set { request: RpcId, option: String, value: String },
    Close { request: RpcId },
}

pub(super) struct AdapterSession {
    runtime: Arc<AdapterRuntime>,
    connection: Connection,
    host_capabilities: HostCapabilities,
    id: String,
    options: SessionOptions,
    commands: mpsc::Receiver<SessionCommand>,
    answers: mpsc::Receiver<(String, PermissionAnswer)>,
    answer_sender: mpsc::Sender<(String, PermissionAnswer)>,
    process: Option<CliProcess>,
    /// The CLI's own id of the conversation, once it has one.
    cli_session_id: Option<String>,
    /// The id whose resume the CLI has still to confirm.
    unconfirmed_resume: Option<String>,
    /// A turn has ended in this conversation, so that there is something to resume.
    has_history: bool,
    turn: Option<AdapterTurn>,
    /// The questions to the host without an answer.
    asks: HashMap<String, AbortOnDropHandle<()>>,
    /// When the process is stopped, if it still runs.
    stop_at: Option<Instant>,
    /// The reason to replace the running process before the next turn.
    restart_reason: Option<String>,
    /// Outputs of the dialect that are not handled yet.
    pending_outputs: Outputs,
    /// The directory of private files for the CLI: images, MCP servers. Removed with the session.
    scratch: Option<tempfile::TempDir>,
}

impl AdapterSession {
    pub(super) fn new(
        runtime: Arc<AdapterRuntime>,
        connection: Connection,
        host_capabilities: HostCapabilities,
        id: String,
        options: SessionOptions,
        commands: mpsc::Receiver<SessionCommand>,
    ) -> Self {
        let (answer_sender, answers) = mpsc::channel(QUEUED_ANSWERS);
        Self {
            runtime,
            connection,
            host_capabilities,
            id,
            cli_session_id: options.chosen.resume.clone(),
            has_history: options.chosen.resume.is_some(),
            options,
            commands,
            answers,
            answer_sender,
            process: None,
            unconfirmed_resume: None,
            turn: None,
            asks: HashMap::new(),
            stop_at: None,
            restart_reason: None,
            pending_outputs: Outputs::default(),
            scratch: None,
        }
    }

    /// Opens the session, answers `request`, and serves it until it is closed.
    pub(super) async fn run(mut self, request: RpcId) {
        self.queue_notices_of_unsupported();
        let outcome = self.open().await.map(|()| self.opened_answer());
        let is_open = outcome.is_ok();
        let _ = self.connection.respond(&request, outcome).await;
        if is_open {
            self.handle_pending_outputs().await;
            while self.next_event().await.is_continue() {}
        }
        self.end().await;
    }

    fn opened_answer(&self) -> Json {
        let mut answer = json!({ "configOptions": self.options.offered(&self.runtime) });
        match self.options.chosen.resume {
            None => answer["sessionId"] = json!(self.id),
            // A process that lives with its session has opened the conversation by now.
            Some(_) if self.process.is_some() => {
                answer["_meta"] = json!({ "switchyard": { "isConfirmed": true } });
            }
            Some(_) => {}
        }
        Json::of(&answer)
    }

    /// Starts a CLI that lives as long as its session, and waits until the conversation is open.
    async fn open(&mut self) -> Result<(), RpcError> {
        let cwd = &self.options.chosen.cwd;
        if !cwd.is_dir() {
            let cwd = cwd.display();
            return Err(RpcError::invalid_params(format_args!("there is no directory {cwd}")));
        }
        self.open_conversation().await.map_err(|failure| RpcError::from(&failure))
    }

    async fn open_conversation(&mut self) -> Result<(), Fault> {
        // A mode or directory that the CLI does not take is refused now, not with the first prompt.
        self.arguments(&PromptInput::Lines)?;
        if self.runtime.form.prompt != PromptChannel::Dialect {
            return Ok(());
        }
        self.start_process(PromptInput::Lines).await?;
        let opening = tokio::time::timeout(OPEN_WITHIN, self.until_open());
        opening.await.unwrap_or_else(|_| {
            let message = format!("the CLI did not open a conversation within {OPEN_WITHIN:?}");
            Err(Fault::new(Category::Timeout, message))
        })
    }

    /// Waits for the CLI to open its conversation; its other outputs are handled afterwards.
    async fn until_open(&mut self) -> Result<(), Fault> {
        let mut early = Outputs::default();
        let (mut is_open, mut is_over) = (false, false);
        loop {
            for said in std::mem::take(&mut *self.pending_outputs) {
                match said {
                    DialectOutput::ConversationOpened(opened) => {
                        is_open = true;
                        self.options.models.clone_from(&opened.models);
                        self.options.current.clone_from(&opened.model);
                        if let Some(id) = opened.session {
                            early.push(DialectOutput::SessionId(id));
                        }
                    }
                    DialectOutput::ConversationLost(failure) => {
                        return Err(self.with_remedy(failure));
                    }
                    DialectOutput::TurnEnded(end) => {
                        if let TurnOutcome::Failed(failure) = end.ending {
                            return Err(self.with_remedy(failure));
                        }
                    }
                    DialectOutput::StdinLine(line) => self.write(line),
                    said => early.push(said),
                }
            }
            if is_over {
                let process = self.process.take();
                let exit = process.map(|process| process.exit).unwrap_or_default();
                return Err(self.with_remedy(stderr::exit_failure(&exit)));
            }
            if is_open {
                self.pending_outputs = early;
                return Ok(());
            }
            let Some(process) = &mut self.process else {
                return Err(Fault::new(Category::Internal, "the CLI was not started"));
            };
            tokio::select! {
                ended = process.next(&mut self.pending_outputs) => is_over = ended,
                // Only the end of the host is expected here.
                command = self.commands.recv() => if command.is_none() {
                    return Err(Fault::new(Category::Internal, "the host is gone"));
                },
            }
        }
    }

    /// Queues a notice for MCP servers and directories that the CLI does not take. Editors pass
    /// the user's MCP servers with every session; a CLI that takes none is still of use.
    fn queue_notices_of_unsupported(&mut self) {
        let takes_servers = self.runtime.form.mcp != McpChannel::None;
        let takes_dirs = self.runtime.takes(OptionalArgument::AddDir);
        let left_out = [
            ("MCP servers", takes_servers, self.options.chosen.mcp_servers.len()),
            ("further directories", takes_dirs, self.options.chosen.directories.len()),
        ];
        for (what, is_taken, n) in left_out {
            if !is_taken && n > 0 {
                let name = &self.runtime.definition.name;
                let title = format!("{name} takes no {what} from us; {n} left out");
                self.pending_outputs.warn(title);
            }
        }
    }

    /// Handles one event: a command, an answer, output of the CLI, or the time to stop it.
    async fn next_event(&mut self) -> ControlFlow<()> {
        let running = self.process.as_mut().zip(Some(&mut self.pending_outputs));
        tokio::select! {
            command = self.commands.recv() => match command {
                Some(command) => return self.handle_command(command).await,
                None => return ControlFlow::Break(()),
            },
            // The sender is ours, so there is always a next.
            Some((ask, answer)) = self.answers.recv() => {
                self.answered(&ask, &answer);
                self.handle_pending_outputs().await;
            }
            is_over = if_any(running.map(|(process, out)| process.next(out))) => {
                self.handle_outputs(is_over).await;
            }
            () = if_any(self.stop_at.map(tokio::time::sleep_until)) => self.force_stop(),
        }
        ControlFlow::Continue(())
    }

    async fn handle_command(&mut self, command: SessionCommand) -> ControlFlow<()> {
        match command {
            SessionCommand::Prompt { request, blocks } => {
                if let Err(failure) = self.begin(request.clone(), &blocks).await {
                    let error = RpcError::from(&self.with_remedy(failure));
                    let _ = self.connection.respond(&request, Err(error)).await;
                }
            }
            SessionCommand::Cancel => {
                self.cancel();
                self.handle_pending_outputs().await;
            }
            SessionCommand::Set { request, option, value } => {
                let outcome = self.set(&option, &value);
                self.handle_pending_outputs().await;
                let _ = self.connection.respond(&request, outcome).await;
            }
            SessionCommand::Close { request } => {
                self.cancel();
                self.handle_pending_outputs().await;
                let _ = self.connection.respond(&request, Ok(Json::trusted("{}"))).await;
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn set(&mut self, option: &str, value: &str) -> Result<Json, RpcError> {
        let before = self.options.chosen.permissions;
        let change = self.options.set(&self.runtime, option, value);
        let modes = &self.runtime.form.permissions.modes;
        // The arguments of a running process do not change.
        let is_strict = modes.get(&before) != modes.get(&self.options.chosen.permissions);
        let change = change.map_err(RpcError::invalid_params)?;
        if let Some(process) = &mut self.process {
            let out = &mut self.pending_outputs;
            let is_told = change.is_some_and(|change| process.dialect.set(&change, out));
            if !is_told || is_strict {
                self.restart_reason = Some(format!("{option}_changed"));
            }
        }
        Ok(Json::of(&json!({ "configOptions": self.options.offered(&self.runtime) })))
    }

    /// The arguments of the next process, and the conversation it is to have.
    fn arguments(&self, input: &PromptInput) -> Result<(Vec<String>, ConversationTarget), Fault> {
        let form = &self.runtime.form;
        let conversation = match (&self.cli_session_id, form.resume.style) {
            (_, ResumeStyle::None | ResumeStyle::Protocol) => ConversationTarget::New,
            (Some(id), _) if self.has_history => ConversationTarget::Resume(id.clone()),
            (_, ResumeStyle::Chosen) => ConversationTarget::NewAs(self.id.clone()),
            (_, ResumeStyle::Told) => ConversationTarget::New,
        };
        let (prompt, prompt_file) = match input {
            PromptInput::Argument(text) => (Some(text.clone()), None),
            PromptInput::File(path) => (None, Some(path.clone())),
            PromptInput::Stdin(_) | PromptInput::Lines => (None, None),
        };
        let values = ArgumentValues {
            features: self.runtime.features.clone(),
            options: self.options.chosen.clone(),
            conversation: conversation.clone(),
            prompt_file,
            prompt,
        };
        let mut args = self.runtime.definition.prefix_args.clone();
        args.extend(argv::arguments(form, &values).map_err(|error| {
            let category = match error {
                argv::ArgvError::PromptTooLarge { .. } => Category::PromptTooLarge,
                _ => Category::BadInput,
            };
            Fault::new(category, error.to_string())
        })?);
        Ok((args, conversation))
    }

    async fn start_process(&mut self, input: PromptInput) -> Result<(), Fault> {
        let (mut args, conversation) = self.arguments(&input)?;
        let mut env = self.runtime.env.clone();
        let modes = &self.runtime.form.permissions.env;
        for (name, value) in modes.get(&self.options.chosen.permissions).into_iter().flatten() {
            env.set.insert(name.into(), value.into());
        }
        let style = self.runtime.form.mcp;
        if !self.options.chosen.mcp_servers.is_empty() && style != McpChannel::None {
            let dir = self.scratch_dir()?;
            let injected = mcp::inject(style, &self.options.chosen.mcp_servers, &dir)
                .map_err(|error| Fault::new(Category::Internal, error.to_string()))?;
            args.extend(injected.args);
            env.set.extend(injected.env);
        }
        self.unconfirmed_resume = match conversation {
            ConversationTarget::Resume(id) if self.runtime.form.resume.keeps_id => Some(id),
            _ => None,
        };
        let mut launch = self.runtime.launch.clone();
        launch.program = self.runtime.program.clone().into();
        launch.args = args.into_iter().map(Into::into).collect();
        launch.cwd.clone_from(&self.options.chosen.cwd);
        launch.env = env;
        tracing::debug!(program = ?launch.program, args = ?launch.args, "starting the CLI");
        let started =
            CliProcess::start(launch, self.runtime.dialect, self.runtime.max_line_bytes, input)
                .await;
        let mut process = started.map_err(|error| self.not_started(&error))?;
        process.dialect.open(&self.opening(), &mut self.pending_outputs);
        self.process = Some(process);
        (self.restart_reason, self.stop_at) = (None, None);
        Ok(())
    }

    fn not_started(&self, error: &SpawnError) -> Fault {
        /// Linux's error for arguments that are too long.
        const E2BIG: i32 = 7;
        let message = format!("cannot start the CLI: {error}");
        match error {
            SpawnError::NotFound { .. } | SpawnError::NotExecutable { .. } => {
                Fault::new(Category::ProcessExit, message)
                    .remedy(format!("install it: {}", self.runtime.definition.install))
            }
            SpawnError::BadCwd { .. } => Fault::new(Category::BadInput, message)
                .remedy("the session's directory must be there"),
            SpawnError::Exec { source, .. } if source.raw_os_error() == Some(E2BIG) => {
                let message = "the prompt or the system prompt is too long for a command line";
                Fault::new(Category::PromptTooLarge, message)
            }
            SpawnError::Exec { source, .. } if source.kind() == ErrorKind::InvalidInput => {
                Fault::new(Category::BadInput, message)
            }
            _ => Fault::new(Category::ProcessExit, message),
        }
    }

    fn opening(&self) -> ConversationOptions {
        let form = &self.runtime.form;
        // A system prompt that went by argument is not sent again.
        let is_said = form.has_argument(OptionalArgument::SystemPrompt, &self.runtime.features);
        let chosen = self.options.chosen.clone();
        ConversationOptions {
            resume: self.cli_session_id.clone().filter(|_| self.has_history),
            system_prompt: chosen.system_prompt.filter(|_| !is_said),
            ..chosen
        }
    }

    /// The session's private directory, made when it is first needed.
    fn scratch_dir(&mut self) -> Result<PathBuf, Fault> {
        let dir = match &mut self.scratch {
            Some(dir) => dir,
            none => none.insert(self.runtime.scratch.dir().map_err(|error| {
                Fault::new(Category::Internal, format!("no temporary directory: {error}"))
            })?),
        };
        Ok(dir.path().to_owned())
    }

    /// Adds a remedy: how to log in, if that is the error, or how to go on, if the CLI has ended.
    fn with_remedy(&self, failure: Fault) -> Fault {
        match (failure.category, &failure.remedy) {
            (Category::Auth, None) => failure.remedy(self.runtime.definition.login_hint()),
            (Category::ProcessExit, None) => {
                failure.remedy("prompt again: the CLI is started anew and given the session back")
            }
            _ => failure,
        }
    }

    fn write(&mut self, line: String) {
        let is_taken = self.process.as_ref().is_none_or(|process| process.write(line));
        if !is_taken {
            tracing::warn!("the CLI does not read its stdin");
            self.stop_at = Some(Instant::now());
        }
    }

    /// Ends the process and what is left of a turn.
    async fn end(&mut self) {
        self.asks.clear();
        let Some(process) = &mut self.process else { return };
        // Most CLIs save and exit at the end of their input.
        process.stop(StopLadder::default());
        while !process.next(&mut self.pending_outputs).await {
            self.pending_outputs.clear();
        }
    }
}

/// Waits for a future if there is one, else for ever.
async fn if_any<T>(future: Option<impl Future<Output = T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
