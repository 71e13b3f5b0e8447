//! Opens sessions: new ones, earlier ones, copies.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use store::RecordChanges;
use wire::{Json, RpcError, SessionId};

use super::{AgentProcess, MAX_SESSIONS};
use crate::native::client::AcpClient;
use crate::native::instructions::Instructions;
use crate::native::journal::{Journal, JournalEntry, JournalItem};
use crate::native::mcp::{self, McpServers, ServerFault, ServerSpec};
use crate::native::options::SessionOptions;
use crate::native::permission_gate::Gate;
use crate::native::session::{Bill, NativeSession, RunningTurn, SessionNotices};
use crate::native::tool::{Tool, Workspace};
use crate::native::{commands, file_tools, lock, replay, todo, webfetch};

/// The params of `session/new` and its like.
#[derive(Debug)]
pub(super) struct OpenParams {
    cwd: PathBuf,
    more_roots: Vec<PathBuf>,
    mcp: Vec<ServerSpec>,
    refused_servers: Vec<ServerFault>,
    system_prompt: Option<String>,
    /// Options by name, in the order in which they are chosen. Not in the protocol, but some
    /// clients send them.
    choices: Vec<(&'static str, String)>,
}

/// The past of a session that is opened.
#[derive(Debug, Clone, Copy)]
pub(super) enum SessionStart {
    New,
    Replayed(SessionId),
    Resumed(SessionId),
    Copied(SessionId),
}

impl OpenParams {
    pub(super) fn read(params: &Value) -> Result<Self, RpcError> {
        let cwd = directory(text(params, "cwd")?)?;
        let more = params["additionalDirectories"].as_array().cloned().unwrap_or_default();
        let more_roots = more
            .iter()
            .map(|dir| {
                let not_text = || RpcError::invalid_params("an additional directory is no string");
                directory(dir.as_str().ok_or_else(not_text)?)
            })
            .collect::<Result<_, _>>()?;
        if !matches!(params["mcpServers"], Value::Null | Value::Array(_) | Value::Object(_)) {
            return Err(RpcError::invalid_params("`mcpServers` is not an array"));
        }
        let choices = ["model", "mode"].into_iter();
        let choices = choices
            .filter_map(|name| Some((name, params[name].as_str()?.to_owned())))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let (mcp, refused_servers) = mcp::from_acp(&params["mcpServers"]);
        let system_prompt = params["systemPrompt"].as_str().map(str::to_owned);
        Ok(Self { cwd, more_roots, mcp, refused_servers, system_prompt, choices })
    }
}

pub(super) fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, RpcError> {
    let missing = || RpcError::invalid_params(format_args!("`{name}` is missing"));
    params[name].as_str().ok_or_else(missing)
}

fn directory(named: &str) -> Result<PathBuf, RpcError> {
    let path = Path::new(named);
    if !path.is_absolute() {
        return Err(RpcError::invalid_params(format_args!("`{named}` is not an absolute path")));
    }
    if !path.is_dir() {
        return Err(RpcError::invalid_params(format_args!("there is no directory `{named}`")));
    }
    Ok(path.to_owned())
}

impl AgentProcess {
    pub(super) async fn open(
        self: &Arc<Self>,
        wanted: OpenParams,
        past: SessionStart,
    ) -> Result<Value, RpcError> {
        if lock(&self.sessions).len() >= MAX_SESSIONS {
            return Err(RpcError::invalid_request(format_args!(
                "{MAX_SESSIONS} sessions are open already: close one"
            )));
        }
        let offers = self.setup.models.offers().await;
        let model = self.setup.models.default_id().await;
        // Checked before anything is made: a wrong choice leaves no session behind.
        let mut options = SessionOptions { model, ..SessionOptions::default() };
        let has_choices = matches!(past, SessionStart::New) && !wanted.choices.is_empty();
        for (name, value) in wanted.choices.iter().filter(|_| has_choices) {
            options.set(name, value, &offers)?;
        }
        let (journal, title) = self.start_journal(&wanted, past).await?;
        if has_choices {
            let item = JournalItem::Options { options: options.clone() };
            journal.add(item).await.map_err(RpcError::internal)?;
        }
        let entries = journal.all();
        let session = self.assemble(wanted, journal, &entries, title, options)?;
        if matches!(past, SessionStart::Replayed(_)) {
            self.replay(&session, &entries).await;
        }
        lock(&self.sessions).insert(session.id(), session.clone());
        let mut answer = session.describe(&offers);
        answer["sessionId"] = json!(session.id());
        Ok(answer)
    }

    /// The journal that the session goes on with, and its title.
    async fn start_journal(
        &self,
        wanted: &OpenParams,
        past: SessionStart,
    ) -> Result<(Journal, Option<String>), RpcError> {
        let cwd = wanted.cwd.to_string_lossy();
        let create = || Journal::create(&self.setup.log, &cwd, Json::trusted("{}"));
        match past {
            SessionStart::New => Ok((create().await.map_err(RpcError::internal)?, None)),
            SessionStart::Replayed(id) | SessionStart::Resumed(id) => {
                let (journal, record) = self.journal(id).await?;
                Ok((journal, record.title))
            }
            SessionStart::Copied(from) => {
                let (entries, title) = self.entries_of(from).await?;
                let journal = create().await.map_err(RpcError::internal)?;
                copy(&entries, &journal).await.map_err(RpcError::internal)?;
                let changes =
                    RecordChanges { title: Some(title.clone()), ..RecordChanges::default() };
                journal.change(changes).await.map_err(RpcError::internal)?;
                Ok((journal, title))
            }
        }
    }

    async fn journal(&self, id: SessionId) -> Result<(Journal, store::SessionRecord), RpcError> {
        let found = Journal::open(&self.setup.log, id).await.map_err(RpcError::internal)?;
        found.ok_or_else(|| RpcError::not_found(format_args!("session {id}")))
    }

    /// The entries and the title of a session, which may be open here.
    async fn entries_of(
        &self,
        id: SessionId,
    ) -> Result<(Vec<JournalEntry>, Option<String>), RpcError> {
        if let Some(session) = self.session(id.as_str()) {
            let record = self.setup.log.session(id).await.map_err(RpcError::internal)?;
            return Ok((session.journal.all(), record.and_then(|record| record.title)));
        }
        let (journal, record) = self.journal(id).await?;
        Ok((journal.all(), record.title))
    }

    fn assemble(
        &self,
        wanted: OpenParams,
        journal: Journal,
        entries: &[JournalEntry],
        title: Option<String>,
        usual: SessionOptions,
    ) -> Result<Arc<NativeSession>, RpcError> {
        let OpenParams { cwd, more_roots, mcp, refused_servers, system_prompt, choices: _ } =
            wanted;
        let client =
            AcpClient::new(self.connection.clone(), journal.id().to_string(), self.abilities()?);
        let setup = &self.setup;
        let specs: Vec<ServerSpec> = setup.mcp.iter().cloned().chain(mcp).collect();
        let workspace = Workspace::new(cwd.clone(), &more_roots, client, setup.tools.clone());
        let workspace = workspace.map_err(RpcError::invalid_params)?;
        let keeper = workspace.settings.keeper.clone();
        let servers = McpServers::start(specs, mcp::McpSettings { cwd: cwd.clone(), keeper });
        let instructions = Instructions {
            cwd,
            more_roots,
            system_prompt: setup.system_prompt.clone(),
            session_prompt: system_prompt,
            user_file: setup.user_instructions.clone(),
            forbidden: workspace.settings.forbidden.clone(),
            denied: Mutex::default(),
        };
        let chosen = entries.iter().rev().find_map(|entry| match &*entry.item {
            JournalItem::Options { options } => Some(options.clone()),
            _ => None,
        });
        let options = chosen.unwrap_or(usual);
        Ok(Arc::new(NativeSession {
            bill: Bill::of(entries),
            journal,
            workspace: Arc::new(workspace),
            gate: Gate::default(),
            models: setup.models.clone(),
            servers,
            refused_servers,
            tools: own_tools(entries),
            instructions,
            limits: setup.limits,
            options: Mutex::new(options),
            has_title: title.is_some().into(),
            running: RunningTurn::default(),
            notices: SessionNotices::default(),
        }))
    }

    async fn replay(&self, session: &NativeSession, entries: &[JournalEntry]) {
        for update in replay::updates(entries, session.client().can.shows_compaction) {
            if session.client().update(update).await.is_err() {
                return;
            }
        }
    }
}

/// The tools of a session, with the plan as it was left.
fn own_tools(entries: &[JournalEntry]) -> Vec<Arc<Tool>> {
    let list = entries.iter().rev().find_map(|entry| match &*entry.item {
        JournalItem::Called { shown, .. } => todo::list_of(shown),
        _ => None,
    });
    let todo = todo::tool(Arc::new(Mutex::new(list.unwrap_or_default())));
    file_tools::all().into_iter().chain([commands::bash_tool(), webfetch::tool(), todo]).collect()
}

/// Copies entries: items refer to each other by number, and the numbers differ.
async fn copy(entries: &[JournalEntry], journal: &Journal) -> Result<(), store::StoreError> {
    let mut places = std::collections::HashMap::new();
    for entry in entries {
        if let Some(item) = entry.item.renumbered(&places) {
            places.insert(entry.seq, journal.add(item).await?);
        }
    }
    Ok(())
}
