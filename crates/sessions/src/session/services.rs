//! Files and terminals that Switchyard serves to the agent itself.

use std::sync::Arc;

use roots::{Roots, resolve_path};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;
use wire::{Json, RpcError, TurnId, codes};

use crate::permission::{Policy, Question, RuleBook, Verdict};
use crate::settings::{Settings, WorkerSetup};
use crate::terminals::{Stopped, Telling, Terminals};

/// Requests of one agent that are served at once. Waiting for a command counts too.
const MAX_AT_ONCE: usize = 64;

#[derive(Debug)]
pub(super) struct Services {
    roots: Arc<Roots>,
    terminals: Terminals,
    policy: Policy,
    /// The rules that all sessions share.
    rules: RuleBook,
    agent: String,
    slots: Arc<Semaphore>,
}

#[derive(Deserialize)]
struct ReadFile {
    path: String,
    line: Option<u64>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
struct WriteFile {
    path: String,
    content: String,
}

impl Services {
    pub(super) fn new(
        roots: Arc<Roots>,
        setup: WorkerSetup,
        settings: &Settings,
        policy: Policy,
        rules: RuleBook,
        agent: String,
    ) -> Self {
        let terminals =
            Terminals::new(setup, settings.max_terminals, settings.terminal_output_bytes);
        let slots = Arc::new(Semaphore::new(MAX_AT_ONCE));
        Self { roots, terminals, policy, rules, agent, slots }
    }

    pub(super) fn serves(method: &str) -> bool {
        method.starts_with("fs/") || method.starts_with("terminal/")
    }

    /// Answers a request that the agent made in `turn`.
    pub(super) async fn serve(
        &self,
        method: &str,
        params: &str,
        turn: Option<TurnId>,
    ) -> Result<Json, RpcError> {
        let Ok(_slot) = self.slots.try_acquire() else {
            return Err(RpcError::internal(format_args!("{MAX_AT_ONCE} requests are in work")));
        };
        match method {
            "fs/read_text_file" => self.read(params).await,
            "fs/write_text_file" => self.write(params).await,
            "terminal/create" => {
                self.check_terminal(params)?;
                self.terminals.serve(method, params, &self.roots, turn).await
            }
            _ if method.starts_with("terminal/") => {
                self.terminals.serve(method, params, &self.roots, turn).await
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    /// What a rule says against a read that a client would serve instead of us.
    pub(super) fn check_read(&self, params: &str) -> Result<(), RpcError> {
        let ReadFile { path, .. } = parse(params)?;
        self.check(&Question {
            kind: "read".into(),
            paths: vec![resolve_path(path.as_ref())],
            ..self.question()
        })
    }

    /// Stops the commands that run.
    pub(super) fn pause(&self) {
        self.terminals.pause_all();
    }

    pub(super) fn resume(&self) {
        self.terminals.resume_all();
    }

    /// What commands print, for the log.
    pub(super) fn telling(&self) -> &Telling {
        self.terminals.telling()
    }

    /// Ends the commands that a cancelled turn left running.
    pub(super) fn stop_turn(&self, turn: TurnId) -> Stopped {
        self.terminals.stop_turn(turn)
    }

    /// Ends the commands that turns up to `last` left running.
    pub(super) fn stop_all(&self, last: Option<TurnId>) -> Stopped {
        self.terminals.stop_all(last)
    }

    /// Ends the commands that run; waiting for it is up to the caller.
    pub(super) fn end(&self) -> impl Future<Output = ()> + Send + use<> {
        self.terminals.end_all()
    }

    async fn read(&self, params: &str) -> Result<Json, RpcError> {
        self.check_read(params)?;
        let ReadFile { path, line, limit } = parse(params)?;
        let roots = self.roots.clone();
        let text =
            off_the_runtime(move || roots.read_text(&path, line, limit).map_err(explain)).await?;
        Ok(Json::of(&json!({ "content": text })))
    }

    async fn write(&self, params: &str) -> Result<Json, RpcError> {
        let WriteFile { path, content } = parse(params)?;
        self.check_changes()?;
        self.check(&Question {
            kind: "edit".into(),
            paths: vec![resolve_path(path.as_ref())],
            ..self.question()
        })?;
        let roots = self.roots.clone();
        off_the_runtime(move || roots.write_text(&path, &content).map_err(explain)).await?;
        Ok(Json::trusted("{}"))
    }

    fn check_terminal(&self, params: &str) -> Result<(), RpcError> {
        #[derive(Deserialize)]
        struct Argv {
            command: String,
            #[serde(default)]
            args: Vec<String>,
        }
        let Argv { command, args } = parse(params)?;
        self.check_changes()?;
        let words: Vec<String> = std::iter::once(command).chain(args).collect();
        let command = Some(words.join(" "));
        self.check(&Question { kind: "execute".into(), command, ..self.question() })
    }

    /// The agent asks for permission itself before it comes here, so nothing is asked a
    /// second time; but what is denied stays denied for agents that do not ask.
    fn check(&self, question: &Question) -> Result<(), RpcError> {
        match self.policy.judge_by_rules(&self.rules.current(), question) {
            Some(Verdict::Deny(by)) => Err(RpcError::denied(format_args!(
                "denied by rule {}",
                by.detail.unwrap_or_default()
            ))),
            Some(Verdict::Allow(_) | Verdict::Ask) | None => Ok(()),
        }
    }

    fn check_changes(&self) -> Result<(), RpcError> {
        match self.policy.mode.allows_changes() {
            true => Ok(()),
            false => Err(RpcError::internal("denied: this session may only read")),
        }
    }

    fn question(&self) -> Question {
        Question { agent: self.agent.clone(), roots: self.roots.paths(), ..Question::default() }
    }
}

async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(RpcError::internal(error)))
}

fn explain(error: roots::Error) -> RpcError {
    use std::io::ErrorKind;
    let code = match error.io_kind() {
        Some(ErrorKind::NotFound) => codes::NOT_FOUND,
        Some(ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::FileTooLarge) => {
            codes::INVALID_PARAMS
        }
        Some(_) => codes::INTERNAL,
        None => return RpcError::invalid_params(error),
    };
    RpcError::new(code, error.to_string())
}

fn parse<'a, T: Deserialize<'a>>(params: &'a str) -> Result<T, RpcError> {
    serde_json::from_str(params).map_err(RpcError::invalid_params)
}
