//! Performs effects: requests to the daemon, each on a task of its own.
//!
//! Prompts go one after the other, and each has a request id of its own, so that one whose response
//! was lost can be sent again and is run once.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{ClientError, DaemonClient, encoded};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use wire::TurnId;
use wire::uri::file_uri;

use super::files;
use crate::ChatOptions;
use crate::effect::{ChatMessage, Effect};
use crate::error::ChatError;
use crate::info::{AgentInfo, SessionInfo};

/// Prompts that wait to be sent; the daemon takes no more at a time.
const MAX_PROMPTS: usize = 64;
/// Attempts to send a prompt again; with `RETRY_PAUSE` as long as a daemon may take to come back.
const MAX_RETRIES: u32 = 20;
const RETRY_PAUSE: Duration = Duration::from_millis(500);
const MAX_SESSIONS: usize = 200;

#[derive(Debug, Clone)]
pub(super) struct Requests {
    pub(super) client: DaemonClient,
    pub(super) messages: mpsc::Sender<ChatMessage>,
    session: Option<SessionInfo>,
    cwd: PathBuf,
    create_params: Map<String, Value>,
    prompts: Option<mpsc::Sender<Value>>,
    /// The prefix of request ids, which tells the prompts of this run from those of others.
    run: String,
}

impl Requests {
    pub(super) fn new(
        client: DaemonClient,
        wanted: &ChatOptions,
        messages: mpsc::Sender<ChatMessage>,
    ) -> Self {
        let (cwd, create_params) = (wanted.cwd.clone(), wanted.create_params.clone());
        let run = format!("chat-{}-{}", std::process::id(), super::now());
        Self { client, messages, session: None, cwd, create_params, prompts: None, run }
    }

    /// Sets the session that all requests are about from now on.
    pub(super) fn opened(&mut self, session: &SessionInfo) {
        let (sender, prompts) = mpsc::channel(MAX_PROMPTS);
        self.prompts = Some(sender);
        self.session = Some(session.clone());
        let path = format!("/v1/sessions/{}/prompt", encoded(&session.id));
        let messages = self.messages.clone();
        task::spawn(send_prompts(self.client.clone(), path, prompts, messages.clone()));
        let dir = PathBuf::from(&session.cwd);
        task::spawn(async move {
            if let Ok(found) = tokio::task::spawn_blocking(move || files::list_files(&dir)).await {
                let _ = messages.send(ChatMessage::Files(found)).await;
            }
        });
    }

    pub(super) fn run(&self, effect: Effect) {
        if let Effect::Prompt { text, mentions, name } = effect {
            self.prompt(text, &mentions, name);
            return;
        }
        task::spawn(self.clone().perform(effect));
    }

    fn prompt(&self, text: String, mentions: &[String], name: u64) {
        let cwd = Path::new(self.session.as_ref().map_or("", |session| &session.cwd));
        let mut blocks = vec![json!({ "type": "text", "text": text })];
        for path in mentions {
            let uri = file_uri(&cwd.join(path));
            blocks.push(json!({ "type": "resource_link", "uri": uri, "name": path }));
        }
        let name = format!("{}-{name}", self.run);
        let body = json!({ "prompt": blocks, "clientRequestId": name });
        let sent = self.prompts.as_ref().map(|prompts| prompts.try_send(body));
        if !matches!(sent, Some(Ok(()))) {
            let why = "too many prompts wait to be sent".to_owned();
            // Only full when the daemon is away; the state learns that from other messages.
            let _ = self.messages.try_send(ChatMessage::PromptRejected { text, why });
        }
    }

    async fn perform(self, effect: Effect) {
        let opens = matches!(effect, Effect::Create { .. } | Effect::Attach(_) | Effect::Fork);
        let message = match self.request(effect).await {
            Ok(message) => message,
            Err(why) if opens => Some(ChatMessage::CannotOpen(why)),
            Err(why) => Some(ChatMessage::Failed(why)),
        };
        if let Some(message) = message {
            let _ = self.messages.send(message).await;
        }
    }

    async fn request(&self, effect: Effect) -> Result<Option<ChatMessage>, String> {
        let client = &self.client;
        let told = |error: ClientError| words(&error);
        let id = self.session.as_ref().map(|session| session.id.as_str());
        let base = id.map(|id| format!("/v1/sessions/{}", encoded(id)));
        let base = || base.as_deref().ok_or_else(|| "there is no session yet".to_owned());
        Ok(Some(match effect {
            Effect::Create { agent } => {
                let session = create(client, &self.create_params, agent).await;
                ChatMessage::Opened(Box::new(session.map_err(told)?))
            }
            Effect::Attach(id) => {
                let session = client.get(&format!("/v1/sessions/{}", encoded(&id))).await;
                ChatMessage::Opened(Box::new(session.map_err(told)?))
            }
            Effect::Fork => {
                let forked = client.post(&format!("{}/fork", base()?), &json!({})).await;
                ChatMessage::Opened(Box::new(forked.map_err(told)?))
            }
            Effect::Refresh => {
                ChatMessage::Info(Box::new(client.get(base()?).await.map_err(told)?))
            }
            Effect::CheckUptime => match client.health().await {
                Ok(health) => match health["uptimeSeconds"].as_i64() {
                    // Seconds are cut off, so it may be almost one more.
                    Some(seconds) => {
                        let now = i64::try_from(super::now()).unwrap_or_default();
                        let ran_for = seconds.saturating_add(1).saturating_mul(1000);
                        ChatMessage::DaemonSince(now.saturating_sub(ran_for))
                    }
                    None => return Ok(None),
                },
                // Without an answer the age is not known, which needs no message.
                Err(_) => return Ok(None),
            },
            Effect::Change(change) => {
                let changed = client.patch(base()?, &change).await;
                ChatMessage::Info(Box::new(changed.map_err(told)?))
            }
            Effect::Cancel => {
                let path = format!("{}/cancel", base()?);
                client.post::<Value>(&path, &json!({})).await.map_err(told)?;
                return Ok(None);
            }
            Effect::Answer { id, body } => {
                let path = format!("{}/permissions/{id}", base()?);
                match client.post::<Value>(&path, &body).await {
                    Ok(_) => return Ok(None),
                    // Somebody else was first; the log says who.
                    Err(error) if error.status() == Some(409) => {
                        ChatMessage::Done(error.to_string())
                    }
                    Err(error) => return Err(words(&error)),
                }
            }
            Effect::DropQueued(turn) => {
                let path = format!("{}/queue/{}", base()?, encoded(&turn));
                client.delete(&path).await.map_err(told)?;
                return Ok(None);
            }
            Effect::Sessions => {
                let all = sessions(client, &format!("limit={MAX_SESSIONS}")).await;
                ChatMessage::Sessions(all.map_err(told)?)
            }
            Effect::Agents => {
                let (found, is_complete) = agents(client).await.map_err(told)?;
                ChatMessage::Agents { found, is_complete }
            }
            Effect::Export(path) => {
                let id = id.unwrap_or_default();
                let path = match path.as_str() {
                    "" => free_file_name(&self.cwd, &format!("session-{id:.10}")),
                    path => self.cwd.join(path),
                };
                let n_bytes = export(client, &format!("{}/export", base()?), &path).await?;
                ChatMessage::Done(format!("exported {n_bytes} bytes to {}", path.display()))
            }
            // Performed by `App` itself.
            _ => return Ok(None),
        }))
    }
}

async fn send_prompts(
    client: DaemonClient,
    path: String,
    mut prompts: mpsc::Receiver<Value>,
    messages: mpsc::Sender<ChatMessage>,
) {
    while let Some(body) = prompts.recv().await {
        let mut sent: Result<Value, ClientError> = client.post(&path, &body).await;
        for _ in 0..MAX_RETRIES {
            match &sent {
                Err(error) if !error.is_final() => {}
                _ => break,
            }
            tokio::time::sleep(RETRY_PAUSE).await;
            sent = client.post(&path, &body).await;
        }
        let text = body["prompt"][0]["text"].as_str().unwrap_or_default().to_owned();
        let told = match sent {
            Ok(taken) => {
                let turn = taken["turnId"].as_str().and_then(|turn| TurnId::parse(turn).ok());
                ChatMessage::PromptAccepted { text, turn }
            }
            Err(error) => ChatMessage::PromptRejected { text, why: words(&error) },
        };
        if messages.send(told).await.is_err() {
            return;
        }
    }
}

/// Makes a session; an agent that is named takes the place of the command.
pub(crate) async fn create(
    client: &DaemonClient,
    params: &Map<String, Value>,
    agent: Option<String>,
) -> Result<SessionInfo, ClientError> {
    let mut params = params.clone();
    if let Some(agent) = agent {
        params.remove("command");
        params.insert("agent".to_owned(), json!(agent));
    }
    let made: SessionInfo = client.post("/v1/sessions", &Value::Object(params)).await?;
    Ok(SessionInfo { is_new: true, ..made })
}

/// Deletes a session that nobody has used yet; true if it is gone.
pub(super) async fn delete_unused(client: &DaemonClient, id: &str) -> bool {
    let path = format!("/v1/sessions/{}", encoded(id));
    let now: Result<SessionInfo, _> = client.get(&path).await;
    now.is_ok_and(|now| now.is_unused()) && client.delete(&path).await.is_ok()
}

/// The agents of this machine, and whether all were looked for.
pub(crate) async fn agents(client: &DaemonClient) -> Result<(Vec<AgentInfo>, bool), ClientError> {
    let answer: Value = client.get("/v1/agents").await?;
    let all = answer["agents"].as_array().into_iter().flatten();
    let read = |agent: &Value| AgentInfo::deserialize(agent).ok();
    Ok((all.filter_map(read).collect(), answer["isComplete"] != false))
}

async fn sessions(client: &DaemonClient, query: &str) -> Result<Vec<SessionInfo>, ClientError> {
    let answer: Value = client.get(&format!("/v1/sessions?{query}")).await?;
    let all = answer["sessions"].as_array().into_iter().flatten();
    Ok(all.filter_map(|session| SessionInfo::deserialize(session).ok()).collect())
}

/// The session that was used last in a directory.
pub(crate) async fn last_session(client: &DaemonClient, cwd: &Path) -> Result<String, ChatError> {
    let query = format!("limit=1&cwd={}", encoded(&cwd.to_string_lossy()));
    let found = sessions(client, &query).await?.into_iter().next();
    let none = || ChatError::NothingToContinue(cwd.display().to_string());
    found.map(|session| session.id).ok_or_else(none)
}

/// A name that no file has yet: `session-x.ndjson`, `session-x-2.ndjson`, …
fn free_file_name(dir: &Path, stem: &str) -> PathBuf {
    let mut names = (1_u32..).map(|n| match n {
        1 => dir.join(format!("{stem}.ndjson")),
        n => dir.join(format!("{stem}-{n}.ndjson")),
    });
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    names.find(is_free).unwrap_or_else(|| dir.join(stem))
}

async fn export(client: &DaemonClient, from: &str, path: &Path) -> Result<u64, String> {
    let cannot = |error: io::Error| format!("cannot write {}: {error}", path.display());
    let mut options = tokio::fs::OpenOptions::new();
    // A log holds whatever secrets were said; and nothing is overwritten.
    let file = options.write(true).create_new(true).mode(0o600).open(path).await;
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} exists already; name another file", path.display())
        }
        _ => cannot(error),
    })?;
    client.download(from, file).await.map_err(|error| words(&error))
}

/// An error and its remedy, in a line.
fn words(error: &ClientError) -> String {
    match error.remedy() {
        Some(remedy) => format!("{error} ({remedy})"),
        None => error.to_string(),
    }
}
