//! What the tests of turns share: a whole session with a played client and a scripted model.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use store::EventLog;
use testkit::MemoryLog;
use testkit::model_server::{MODEL, ModelServer};
use tokio::task::JoinHandle;
use wire::{Json, RpcError};

use super::rehearsal::Rehearsal;
use crate::native::client::ClientAbilities;
use crate::native::commands;
use crate::native::config::Config;
use crate::native::cost::Price;
use crate::native::endpoint::{ModelSettings, ProviderTable};
use crate::native::file_tools;
use crate::native::instructions::Instructions;
use crate::native::journal::{Journal, JournalEntry, JournalItem};
use crate::native::lenient::ConfigDuration;
use crate::native::mcp::{self, McpServers};
use crate::native::models::Models;
use crate::native::options::{ApprovalMode, SessionOptions};
use crate::native::permission_gate::Gate;
use crate::native::session::{Bill, NativeSession, RunningTurn, SessionNotices};
use crate::native::settings::ToolSettings;
use crate::native::settings::TurnLimits;
use crate::native::tool::{
    CallDescription, CallNeed, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
};
use roots::ForbiddenDirs;

pub(crate) struct Play {
    pub(crate) stage: Rehearsal,
    pub(crate) server: ModelServer,
    pub(crate) session: Arc<NativeSession>,
    pub(crate) log: Arc<dyn EventLog>,
}

/// How a play differs from the usual one.
pub(crate) struct Cast {
    pub(crate) can: ClientAbilities,
    pub(crate) mode: ApprovalMode,
    pub(crate) limits: TurnLimits,
    pub(crate) window: Option<u64>,
    pub(crate) price: Option<Price>,
    pub(crate) tools: Vec<Arc<Tool>>,
    pub(crate) settings: Box<dyn FnOnce(&mut ToolSettings)>,
}

impl Default for Cast {
    fn default() -> Self {
        Self {
            can: ClientAbilities::default(),
            mode: ApprovalMode::Auto,
            limits: TurnLimits::default(),
            window: None,
            price: None,
            tools: Vec::new(),
            settings: Box::new(|_| {}),
        }
    }
}

impl Play {
    pub(crate) async fn new() -> Self {
        Self::with(Cast::default()).await
    }

    pub(crate) async fn with(cast: Cast) -> Self {
        let server = ModelServer::start().await;
        let stage = Rehearsal::new(cast.can, cast.settings);
        stage.client.answers("session/request_permission", chosen("once"));
        let provider = ProviderTable {
            base_url: Some(server.base_url()),
            model: Some(MODEL.to_owned()),
            context_window: cast.window,
            retries: Some(0),
            first_byte: Some(ConfigDuration(std::time::Duration::from_mins(1))),
            ..ProviderTable::default()
        };
        let providers = BTreeMap::from([("played".to_owned(), provider)]);
        let about = ModelSettings { price: cast.price, ..ModelSettings::default() };
        let known = BTreeMap::from([(MODEL.to_owned(), about)]);
        let config = Config { providers, models: known, ..Config::default() };
        let models = Models::new(config.resolve(&|_| None).unwrap(), Vec::new());
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let cwd = stage.cwd().to_owned();
        let journal =
            Journal::create(&log, &cwd.to_string_lossy(), Json::trusted("{}")).await.unwrap();
        let workspace = stage.context.workspace.clone();
        let mut all = file_tools::all();
        all.push(commands::bash_tool());
        all.extend(cast.tools);
        let session = Arc::new(NativeSession {
            bill: Bill::of(&journal.all()),
            gate: Gate::default(),
            journal,
            servers: McpServers::start(
                [],
                mcp::McpSettings { cwd: cwd.clone(), keeper: workspace.settings.keeper.clone() },
            ),
            workspace,
            models: Arc::new(models),
            tools: all,
            instructions: Instructions {
                cwd,
                more_roots: Vec::new(),
                system_prompt: Some("Be good.".into()),
                session_prompt: None,
                user_file: None,
                forbidden: ForbiddenDirs::default(),
                denied: Mutex::default(),
            },
            limits: cast.limits,
            options: Mutex::new(SessionOptions {
                model: MODEL.to_owned(),
                mode: cast.mode,
                ..SessionOptions::default()
            }),
            has_title: true.into(),
            running: RunningTurn::default(),
            notices: SessionNotices::default(),
            refused_servers: Vec::new(),
        });
        Self { stage, server, session, log }
    }

    /// One whole turn.
    pub(crate) async fn prompt(&self, text: &str) -> Value {
        let ended = self.session.begin(blocks(text)).unwrap().run().await.unwrap();
        self.settle().await;
        ended
    }

    /// Waits until the client has heard everything that was said to it: what is asked comes
    /// after what was told.
    pub(crate) async fn settle(&self) {
        self.session.client().terminal("settle", json!({})).await.unwrap();
    }

    /// A turn that goes on while the test does.
    pub(crate) fn begin(&self, text: &str) -> JoinHandle<Result<Value, RpcError>> {
        let (session, blocks) = (self.session.clone(), blocks(text));
        let begun = session.begin(blocks);
        task::spawn(async move { begun?.run().await })
    }

    pub(crate) fn items(&self) -> Vec<JournalEntry> {
        self.session.journal.all()
    }

    /// What the calls gave to the model, in the order in which they ended.
    pub(crate) fn results(&self) -> Vec<String> {
        let items = self.items();
        let results = items.iter().filter_map(|entry| match &*entry.item {
            JournalItem::Called { parts, .. } => Some(super::rehearsal::text_of(&ToolOutput {
                parts: parts.clone(),
                ..ToolOutput::default()
            })),
            _ => None,
        });
        results.collect()
    }

    /// The tool calls as they were shown last, by their ids.
    pub(crate) fn calls(&self) -> BTreeMap<String, Value> {
        let mut calls: BTreeMap<String, Value> = BTreeMap::new();
        for update in self.stage.client.updates() {
            if !matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update")) {
                continue;
            }
            let id = update["toolCallId"].as_str().unwrap().to_owned();
            let call = calls.entry(id).or_insert_with(|| json!({}));
            for (member, value) in update.as_object().unwrap() {
                call[member] = value.clone();
            }
        }
        calls
    }

    pub(crate) fn updates_of(&self, kind: &str) -> Vec<Value> {
        let updates = self.stage.client.updates();
        updates.into_iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }
}

pub(crate) fn blocks(text: &str) -> Vec<Value> {
    vec![json!({ "type": "text", "text": text })]
}

/// As a client answers a question for permission.
pub(crate) fn chosen(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

type Working = BoxFuture<'static, Result<ToolOutput, ToolError>>;

/// A tool that does what a test wants, and only looks.
pub(crate) fn looking(
    name: &'static str,
    work: impl Fn(Value) -> Working + Send + Sync + 'static,
) -> Arc<Tool> {
    prop(name, ToolKind::Read, CallNeed::Nothing, work)
}

/// One that has to be allowed.
pub(crate) fn changing(
    name: &'static str,
    work: impl Fn(Value) -> Working + Send + Sync + 'static,
) -> Arc<Tool> {
    prop(name, ToolKind::Other, CallNeed::Permission { key: format!("mcp:{name}") }, work)
}

fn prop(
    name: &'static str,
    kind: ToolKind,
    need: CallNeed,
    work: impl Fn(Value) -> Working + Send + Sync + 'static,
) -> Arc<Tool> {
    let prepare = move |arguments, _: &ToolContext| {
        let shown = CallDescription { title: name.to_owned(), ..CallDescription::default() };
        Ok(PreparedCall { shown, need: need.clone(), work: work(arguments) })
    };
    Tool::at_once(name, kind, "A prop.", [], prepare)
}
