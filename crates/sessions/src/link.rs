//! Links a session to an agent: by a new conversation, or by getting an earlier one back.
//!
//! In: a host and the facts about the session. Out: an [`AgentLink`], and how it came about.
//!
//! An earlier conversation is tried in order: `session/resume`, `session/load`, a new
//! conversation that is told what happened so far. What the agent replays is swallowed in
//! either case: the log has it. Agents have been seen to answer "resumed" for sessions that
//! they lost, so an answer is checked where the agent offers a way: a resumed session must
//! replay the last prompt or be in the agent's list, a loaded one must replay the last prompt.
//! What could not be checked is said to be so.

mod early;
mod replay;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use wire::event::{ResumeProof, ResumeWay, SessionResumed};
use wire::{Json, RpcError};

use crate::details::CreationParams;
use crate::host::{AgentMessages, Host};
use crate::options::{OptionChoice, request_for};
use bus::connection::CallError;
pub(crate) use early::EarlyMessages;
use replay::ReopenedSession;

/// The link of a session to a running agent, which has a conversation for it.
#[derive(Debug)]
pub(crate) struct AgentLink {
    pub(crate) host: Arc<Host>,
    pub(crate) agent_session: String,
    pub(crate) messages: AgentMessages,
    /// Messages that came with the answer already; to be handled before `messages`.
    pub(crate) early: EarlyMessages,
    /// The agent's answer to session/new, load or resume.
    pub(crate) answer: Json,
    pub(crate) how: ResumeWay,
}

impl AgentLink {
    /// Puts the agent into the mode in which it asks for permission, if it does not start in it.
    async fn enter_asking_mode(&mut self) -> Result<(), LinkError> {
        let Some(mode) = self.host.quirks.session_mode.clone() else { return Ok(()) };
        let not_held = |why: String| LinkError::ModeNotSet { mode: mode.clone(), why };
        let (method, params) = request_for(&self.answer, OptionChoice::Mode, &mode)
            .map_err(|error| not_held(error.to_string()))?;
        let params = params_for(&self.agent_session, &params);
        let setting = call(&self.host, method, &params);
        let set = while_buffering(&mut self.messages, &mut self.early, setting).await;
        // It would act without asking, and nobody would know.
        set.map(|_| ()).map_err(|error| not_held(error.to_string()))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the agent asks for authentication: {error}")]
    AuthRequired { error: RpcError, methods: Vec<crate::host::AuthMethod>, login: Option<String> },
    #[error("the agent refused `{method}`: {error}")]
    Refused { method: &'static str, error: RpcError },
    #[error("the agent ended while the session was being opened")]
    AgentEnded,
    #[error("the agent did not answer `{method}` within {waited:?}")]
    Silent { method: &'static str, waited: Duration },
    #[error(
        "the agent's answer to `session/new` has no session id of at most {MAX_ID_BYTES} bytes"
    )]
    NoSessionId,
    #[error("the agent could not be put into `{mode}`, its mode that asks for permission: {why}")]
    ModeNotSet { mode: String, why: String },
    #[error("the agent gave a session the id of another one that is open")]
    SameSession,
}

/// Longest session id of an agent: every list of sessions reads it.
const MAX_ID_BYTES: usize = 4 << 10;

/// A link and how it came about.
#[derive(Debug)]
pub(crate) struct LinkOutcome {
    pub(crate) link: AgentLink,
    pub(crate) resumed: Option<SessionResumed>,
    /// The conversation so far, for an agent that has forgotten it.
    pub(crate) recap: Option<String>,
    /// The text that the session's agents are sent once, before the first prompt.
    pub(crate) preface: Option<String>,
}

/// An earlier session, with what an agent needs to open it again.
#[derive(Debug, Clone)]
pub(crate) struct EarlierSession {
    pub(crate) agent_session: Option<String>,
    pub(crate) made_of: CreationParams,
    /// The text of the last prompt that reached the agent, to check a replay with.
    pub(crate) last_prompt: Option<String>,
    /// Why the agent is not asked for it: its error when it had forgotten the session.
    pub(crate) forgot: Option<String>,
}

/// Starts a conversation. `params` are those of `session/new`.
pub(crate) async fn open_new(
    host: &Arc<Host>,
    public_id: &str,
    params: &Json,
) -> Result<AgentLink, LinkError> {
    let opened = ask_for_new(host, public_id, params).await;
    note_answer(host, opened.as_ref().err());
    opened
}

/// Tells the host whether its agent has answered: one that ends or is silent instead, each time that
/// it is started, is not started for ever.
fn note_answer(host: &Host, error: Option<&LinkError>) {
    match error {
        Some(error @ (LinkError::AgentEnded | LinkError::Silent { .. })) => {
            host.session_not_answered(error.to_string());
        }
        _ => host.session_answered(),
    }
}

async fn ask_for_new(
    host: &Arc<Host>,
    public_id: &str,
    params: &Json,
) -> Result<AgentLink, LinkError> {
    let _opening = host.routes.opening();
    host.resume();
    let answer = call(host, "session/new", params).await?;
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct NewSessionAnswer {
        session_id: String,
    }
    let agent_session = match answer.read::<NewSessionAnswer>() {
        Ok(answer) if answer.session_id.len() <= MAX_ID_BYTES => answer.session_id,
        _ => return Err(LinkError::NoSessionId),
    };
    let messages = host.routes.add(&agent_session, public_id).ok_or(LinkError::SameSession)?;
    let (host, early, how) = (host.clone(), EarlyMessages::default(), ResumeWay::New);
    let mut link = AgentLink { host, agent_session, messages, early, answer, how };
    link.enter_asking_mode().await?;
    Ok(link)
}

/// Brings an earlier conversation back, or starts a new one that will get it as text.
pub(crate) async fn reopen(
    host: &Arc<Host>,
    public_id: &str,
    known: &EarlierSession,
) -> Result<(AgentLink, SessionResumed), LinkError> {
    let reopened = ask_for_earlier(host, public_id, known).await;
    note_answer(host, reopened.as_ref().err());
    reopened
}

async fn ask_for_earlier(
    host: &Arc<Host>,
    public_id: &str,
    known: &EarlierSession,
) -> Result<(AgentLink, SessionResumed), LinkError> {
    let mut tried: Vec<String> = known.forgot.iter().cloned().collect();
    if let Some(agent_session) = &known.agent_session {
        let can = &host.capabilities;
        for (name, is_offered) in [("resume", can.resume), ("load", can.load)] {
            let regained = match name {
                _ if !is_offered => continue,
                "resume" => resume(host, public_id, agent_session, known).await,
                _ => load(host, public_id, agent_session, known).await,
            };
            match regained {
                Ok((mut link, verified)) => {
                    link.enter_asking_mode().await?;
                    let report =
                        SessionResumed { how: link.how, verified, changed: Vec::new(), tried };
                    return Ok((link, report));
                }
                Err(ReopenFailure::Fatal(error)) => return Err(error),
                Err(ReopenFailure::Lost(why)) => tried.push(format!("{name}: {why}")),
            }
        }
        if tried.is_empty() {
            tried.push("the agent can neither resume nor load sessions".into());
        }
    }
    let mut link = ask_for_new(host, public_id, &known.made_of.new_params).await?;
    let has_history = known.last_prompt.is_some();
    link.how = if has_history { ResumeWay::Reseed } else { ResumeWay::New };
    let report =
        SessionResumed { how: link.how, verified: ResumeProof::New, changed: Vec::new(), tried };
    Ok((link, report))
}

enum ReopenFailure {
    /// The agent does not know the session: something else can be tried.
    Lost(String),
    Fatal(LinkError),
}

async fn resume(
    host: &Arc<Host>,
    public_id: &str,
    agent_session: &str,
    known: &EarlierSession,
) -> Result<(AgentLink, ResumeProof), ReopenFailure> {
    let ReopenedSession { mut link, prompts } =
        ReopenedSession::ask(host, public_id, agent_session, ResumeWay::Resume, known).await?;
    let is_confirmed = link
        .answer
        .read::<Value>()
        .is_ok_and(|answer| answer["_meta"]["switchyard"]["isConfirmed"] == true);
    let last_prompt = known.last_prompt.as_ref().filter(|_| !prompts.is_empty());
    let is_replayed = last_prompt.is_some_and(|prompt| prompts.has(prompt));
    let listing = async {
        match is_replayed {
            true => None,
            false => is_listed(host, agent_session, known).await,
        }
    };
    let verified = match while_buffering(&mut link.messages, &mut link.early, listing).await {
        None if is_replayed => ResumeProof::Replayed,
        None if is_confirmed => ResumeProof::Confirmed,
        Some(true) => ResumeProof::Listed,
        None => ResumeProof::Unchecked,
        Some(false) => {
            host.routes.remove(agent_session);
            return Err(ReopenFailure::Lost("the agent does not list the session".into()));
        }
    };
    // No prompt was sent yet: whatever it replays of the conversation, the log has.
    link.early.retain(|message| !replay::is_conversation(message));
    Ok((link, verified))
}

async fn load(
    host: &Arc<Host>,
    public_id: &str,
    agent_session: &str,
    known: &EarlierSession,
) -> Result<(AgentLink, ResumeProof), ReopenFailure> {
    let mut replay =
        ReopenedSession::ask(host, public_id, agent_session, ResumeWay::Load, known).await?;
    if let Some(prompt) = &known.last_prompt {
        // One agent answers first and replays then.
        if !replay.prompts.has(prompt) {
            replay.read_late().await;
        }
        if !replay.prompts.has(prompt) {
            host.routes.remove(agent_session);
            return Err(ReopenFailure::Lost("the agent did not replay the last prompt".into()));
        }
    }
    let verified = match known.last_prompt {
        Some(_) => ResumeProof::Replayed,
        None => ResumeProof::Unchecked,
    };
    Ok((replay.link, verified))
}

/// Does `work`, which asks the agent something, and keeps the agent's messages meanwhile:
/// the answer comes in the same stream, behind them.
pub(crate) async fn while_buffering<T>(
    messages: &mut AgentMessages,
    early: &mut EarlyMessages,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            Some(batch) = messages.recv() => early.extend(batch),
        }
    }
}

/// Whether the agent's list has the session; `None` where it cannot be asked.
async fn is_listed(host: &Arc<Host>, agent_session: &str, known: &EarlierSession) -> Option<bool> {
    /// A session that was just resumed is recent; agents list recent ones first.
    const MAX_PAGES: usize = 5;
    if !host.capabilities.list {
        return None;
    }
    let new_params: Value = known.made_of.new_params.read().unwrap_or_default();
    let mut params = json!({ "cwd": new_params["cwd"] });
    for _ in 0..MAX_PAGES {
        let answer = call(host, "session/list", &Json::of(&params)).await.ok()?;
        let answer: Value = answer.read().ok()?;
        let sessions = answer["sessions"].as_array()?;
        if sessions.iter().any(|session| session["sessionId"] == agent_session) {
            return Some(true);
        }
        match &answer["nextCursor"] {
            Value::Null => return Some(false),
            cursor => params["cursor"] = cursor.clone(),
        }
    }
    None
}

/// Asks `method` of the agent, within the time that opening a session may take.
pub(crate) async fn call(
    host: &Host,
    method: &'static str,
    params: &Json,
) -> Result<Json, LinkError> {
    let within = host.settings.open_within;
    let answer = host.connection.call_within(within, method, params).await;
    answer.map_err(|error| explain(host, method, error))
}

fn explain(host: &Host, method: &'static str, error: CallError) -> LinkError {
    match error {
        CallError::Refused(error) if error.code == wire::codes::AUTH_REQUIRED => {
            let methods = host.capabilities.auth_methods.clone();
            let login = host.quirks.login.clone();
            LinkError::AuthRequired { error, methods, login }
        }
        CallError::Refused(error) => LinkError::Refused { method, error },
        CallError::TimedOut { waited, .. } => LinkError::Silent { method, waited },
        CallError::Closed | CallError::Full => LinkError::AgentEnded,
    }
}

/// Wording and codes for "no such session" differ from agent to agent, so every refusal
/// but a request to log in means that something else may be tried.
fn reopen_failure(host: &Host, agent_session: &str, error: LinkError) -> ReopenFailure {
    host.routes.remove(agent_session);
    match error {
        LinkError::Refused { error, .. } => ReopenFailure::Lost(error.to_string()),
        LinkError::Silent { waited, .. } => ReopenFailure::Lost(format!("no answer in {waited:?}")),
        fatal => ReopenFailure::Fatal(fatal),
    }
}

/// Params with a session's id, as whoever gets them knows it.
pub(crate) fn params_for(session: &str, params: &Json) -> Json {
    let id = Json::of(&session);
    wire::set_member(params, &["sessionId"], &id).unwrap_or_else(|_| params.clone())
}
