//! The handshake with the server, and the opening of a thread.

use serde_json::{Map, Value, json};
use wire::{Category, Fault};

use super::super::{
    ConversationInfo, ConversationOptions, DialectOutput, Model, OptionChange, Outputs,
    PermissionMode, TokenUsage, TurnOutcome, learn_session,
};
use super::{CodexAppServer, CodexRequest};
use crate::mcp;

/// How many pages of the list of models are requested.
const MAX_MODEL_PAGES: u32 = 10;

/// The settings of a turn: model, effort, permissions, sandbox.
#[derive(Debug, Default)]
pub(super) struct CodexTurnSettings {
    pub(super) options: ConversationOptions,
    /// Sandbox policies that Codex made from its own configuration, by type.
    sandboxes: Map<String, Value>,
}

impl CodexTurnSettings {
    pub(super) fn take(&mut self, change: &OptionChange) {
        match change {
            OptionChange::Model(model) => self.options.model = Some(model.clone()),
            OptionChange::Effort(effort) => self.options.effort = Some(effort.clone()),
            OptionChange::Permissions(mode) => self.options.permissions = *mode,
        }
    }

    /// The approval policy: what Codex asks about before it does it.
    ///
    /// `untrusted` asks before every command and every change of a file, and what is then
    /// allowed runs without a sandbox. `on-request` runs all that the sandbox permits without
    /// asking, and asks for what it does not permit. Rules and users are to see everything
    /// that could change something.
    pub(super) fn approval_policy(&self) -> &'static str {
        match self.options.permissions {
            // Nothing can be written, so commands that run unasked only read.
            PermissionMode::ReadOnly => "on-request",
            _ => "untrusted",
        }
    }

    fn sandbox_mode(&self) -> &'static str {
        if self.options.permissions.allows_changes() { "workspace-write" } else { "read-only" }
    }

    /// The sandbox as a policy object, which a turn takes. The one that the thread was opened
    /// with has the user's own settings in it, such as network access.
    pub(super) fn sandbox_policy(&self) -> Value {
        let name =
            if self.options.permissions.allows_changes() { "workspaceWrite" } else { "readOnly" };
        match self.sandboxes.get(name) {
            Some(known) => known.clone(),
            None if self.options.permissions.allows_changes() => {
                json!({ "type": name, "writableRoots": self.options.directories })
            }
            None => json!({ "type": name }),
        }
    }
}

impl CodexAppServer {
    pub(super) fn initialize(&mut self, out: &mut Outputs) {
        let client = json!({
            "name": "switchyard",
            "title": "Switchyard",
            "version": env!("CARGO_PKG_VERSION"),
        });
        self.request(CodexRequest::Initialize, "initialize", json!({ "clientInfo": client }), out);
    }

    pub(super) fn initialized(&mut self, out: &mut Outputs) {
        self.is_initialized = true;
        out.write(&json!({ "method": "initialized" }));
        // Requested first, the list is mostly there before the thread is; nothing waits for it.
        self.request(CodexRequest::Models { page: 0 }, "model/list", json!({}), out);
        self.open_thread(out);
    }

    pub(super) fn open_thread(&mut self, out: &mut Outputs) {
        let Some(opening) = &self.pending_open else { return };
        let mut params = json!({
            "cwd": opening.cwd,
            "approvalPolicy": self.settings.approval_policy(),
            "sandbox": self.settings.sandbox_mode(),
            // Else the user's configuration may let another model approve in our place.
            "approvalsReviewer": "user",
        });
        if let Some(model) = &opening.model {
            params["model"] = json!(model);
        }
        if let Some(prompt) = &opening.system_prompt {
            params["developerInstructions"] = json!(prompt);
        }
        let config = config(opening);
        if !config.is_empty() {
            params["config"] = Value::Object(config);
        }
        match &opening.resume {
            Some(id) => {
                params["threadId"] = json!(id);
                // The session has its own log of the conversation.
                params["excludeTurns"] = json!(true);
                self.request(CodexRequest::Resume, "thread/resume", params, out);
            }
            None => self.request(CodexRequest::Start, "thread/start", params, out),
        }
    }

    /// The thread is open; `before` are the tokens it had used so far, if known.
    pub(super) fn opened(&mut self, result: &Value, before: Option<TokenUsage>, out: &mut Outputs) {
        let Some(id) = result["thread"]["id"].as_str() else {
            let failure = Fault::new(Category::Protocol, "Codex opened a thread without an id");
            return self.refuse(failure, out);
        };
        self.pending_open = None;
        self.thread_usage = before;
        self.model = result["model"].as_str().map(str::to_owned);
        if let Some(name) = result["sandbox"]["type"].as_str() {
            self.settings.sandboxes.insert(name.to_owned(), result["sandbox"].clone());
        }
        learn_session(&mut self.thread, id, out);
        self.say_opened(out);
        if let Some(prompt) = self.pending_prompt.take() {
            self.start_turn(&prompt, out);
        }
    }

    /// The thread cannot be opened; a waiting turn ends with the same failure.
    pub(super) fn refuse(&mut self, failure: Fault, out: &mut Outputs) {
        self.pending_open = None;
        self.pending_prompt = None;
        self.refusal = Some(failure.clone());
        out.push(DialectOutput::ConversationLost(failure.clone()));
        self.end_turn(TurnOutcome::Failed(failure), out);
    }

    pub(super) fn listed(&mut self, result: &Value, page: u32, out: &mut Outputs) {
        let models = result["data"].as_array().into_iter().flatten();
        self.models.extend(models.filter(|model| model["hidden"] != true).filter_map(read_model));
        if let (Some(cursor), true) = (result["nextCursor"].as_str(), page < MAX_MODEL_PAGES) {
            let params = json!({ "cursor": cursor });
            return self.request(
                CodexRequest::Models { page: page + 1 },
                "model/list",
                params,
                out,
            );
        }
        if self.thread.is_some() && self.pending_open.is_none() {
            self.say_opened(out);
        }
    }

    fn say_opened(&self, out: &mut Outputs) {
        out.push(DialectOutput::ConversationOpened(ConversationInfo {
            session: self.thread.clone(),
            model: self.model.clone(),
            models: self.models.clone(),
        }));
    }
}

/// The failure of a refused resume: the conversation counts as lost, unless the reason (a login,
/// a limit) would also refuse a new one.
pub(super) fn resume_failure(failure: Fault) -> Fault {
    match failure.category {
        Category::Internal | Category::BadInput | Category::ModelUnavailable => {
            Fault { category: Category::SessionLost, ..failure }
        }
        _ => failure,
    }
}

fn read_model(model: &Value) -> Option<Model> {
    let text = |name: &str| model[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let efforts = model["supportedReasoningEfforts"].as_array().into_iter().flatten();
    Some(Model {
        id: text("model").or_else(|| text("id"))?,
        name: text("displayName"),
        description: text("description"),
        efforts: efforts
            .filter_map(|effort| effort["reasoningEffort"].as_str().map(str::to_owned))
            .collect(),
        ..Model::default()
    })
}

/// Configuration of the thread beyond the user's own: effort, directories, MCP servers.
fn config(opening: &ConversationOptions) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(effort) = &opening.effort {
        config.insert("model_reasoning_effort".to_owned(), json!(effort));
    }
    if !opening.directories.is_empty() {
        let name = "sandbox_workspace_write.writable_roots".to_owned();
        config.insert(name, json!(opening.directories));
    }
    config.extend(mcp::for_codex(&opening.mcp_servers));
    config
}
