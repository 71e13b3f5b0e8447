//! The methods a client may call, except for `session/prompt`, which is a turn of its own.
//!
//! In: method and params. Out: the result, after the replay where there is one, and the updates
//! that follow it. A method that was not offered is "not found", as if it did not exist. A session
//! is looked up in memory first and then on disk, so it is found again by a later process on the
//! same state directory.

use super::commands;
use super::connection::{DemoConnection, invalid, read, unknown_session};
use super::session::{DemoRecord, DemoSession, RecordHead};
use super::settings::DemoSettings;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use wire::{RpcError, codes};

// Small enough that a test with a few dozen sessions sees a second page.
const LIST_PAGE: usize = 50;

pub(super) struct MethodReply {
    pub(super) result: Value,
    /// An update of a session to send after the result.
    pub(super) then: Option<(String, Value)>,
}

impl From<Value> for MethodReply {
    fn from(result: Value) -> Self {
        Self { result, then: None }
    }
}

type MethodResult = Result<MethodReply, RpcError>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    #[expect(
        dead_code,
        reason = "must be there and a number, and is answered with 1 all the same"
    )]
    protocol_version: u16,
    #[serde(default)]
    client_capabilities: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticateParams {
    method_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSessionParams {
    cwd: String,
    #[expect(dead_code, reason = "must be there; the demo agent connects to none of them")]
    mcp_servers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadSessionParams {
    session_id: String,
    cwd: String,
    #[expect(dead_code, reason = "must be there; the demo agent connects to none of them")]
    mcp_servers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResumeSessionParams {
    session_id: String,
    cwd: String,
}

#[derive(Deserialize, Default)]
struct ListSessionsParams {
    cwd: Option<String>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionIdParams {
    pub(super) session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetModeParams {
    session_id: String,
    mode_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetOptionParams {
    session_id: String,
    config_id: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetModelParams {
    session_id: String,
    model_id: String,
}

impl DemoConnection {
    pub(super) async fn answer(&self, method: &str, params: &str) -> MethodResult {
        match method {
            "initialize" => self.initialize(read(params)?),
            "authenticate" => self.authenticate(&read(params)?),
            "session/new" => self.new_session(read(params)?).await,
            "session/load" if self.offers("load") => self.load(read(params)?).await,
            "session/resume" if self.offers("resume") => self.resume(read(params)?).await,
            // The only method that needs no params at all.
            "session/list" if self.offers("list") && params == "null" => {
                self.list(ListSessionsParams::default()).await
            }
            "session/list" if self.offers("list") => self.list(read(params)?).await,
            "session/close" if self.offers("close") => self.close(&read(params)?).await,
            "session/delete" if self.offers("delete") => self.delete(&read(params)?).await,
            "session/set_mode" if self.has_config() => self.set_mode(read(params)?).await,
            "session/set_config_option" if self.has_config() => {
                self.set_option(read(params)?).await
            }
            "session/set_model" if self.has_config() => self.set_model(read(params)?).await,
            _ => Err(RpcError::new(codes::METHOD_NOT_FOUND, format!("no such method: {method}"))),
        }
    }

    fn offers(&self, method: &str) -> bool {
        self.options.offers.contains(method)
    }

    fn has_config(&self) -> bool {
        !self.options.has_no_config
    }

    fn initialize(&self, params: InitializeParams) -> MethodResult {
        if !matches!(params.client_capabilities, Value::Null | Value::Object(_)) {
            return Err(invalid("clientCapabilities is not an object"));
        }
        let mut state = self.state();
        state.is_initialized = true;
        state.client = params.client_capabilities;
        let auth_methods: Vec<Value> = self
            .options
            .auth
            .iter()
            .map(
                |id| json!({ "id": id, "name": "Demo login", "description": "Always lets you in" }),
            )
            .collect();
        // Loading has a member of its own.
        let of_sessions = ["list", "resume", "close", "delete"].into_iter();
        let of_sessions = of_sessions.filter(|method| self.offers(method));
        let of_sessions: Value = of_sessions.map(|name| (name.to_owned(), json!({}))).collect();
        Ok(json!({
            "protocolVersion": self.options.version_answer.unwrap_or(1),
            "agentCapabilities": {
                "loadSession": self.offers("load"),
                "promptCapabilities": { "image": true, "audio": true, "embeddedContext": true },
                "mcpCapabilities": { "http": false, "sse": false },
                "sessionCapabilities": of_sessions,
            },
            "authMethods": auth_methods,
            "agentInfo": {
                "name": "demo",
                "title": "Switchyard demo agent",
                "version": env!("CARGO_PKG_VERSION"),
            },
        })
        .into())
    }

    fn authenticate(&self, params: &AuthenticateParams) -> MethodResult {
        if self.options.auth.as_deref() != Some(params.method_id.as_str()) {
            return Err(invalid(format!("no such auth method: {}", params.method_id)));
        }
        self.state().is_authenticated = true;
        Ok(json!({}).into())
    }

    async fn new_session(&self, params: NewSessionParams) -> MethodResult {
        self.check(&params.cwd)?;
        tokio::time::sleep(self.options.slow_new).await;
        let id = self.unique("demo");
        if self.options.has_early_updates {
            self.send_update(&id, &commands::available()).await;
        }
        let session = DemoSession::open(DemoRecord::new(id.clone(), params.cwd));
        let mut result = self.describe(session.record.head());
        self.state().sessions.insert(id.clone(), session);
        self.save(&id).await.map_err(storage)?;
        result["sessionId"] = Value::from(id.as_str());
        Ok(MethodReply { result, then: Some((id, commands::available())) })
    }

    async fn load(&self, params: LoadSessionParams) -> MethodResult {
        let LoadSessionParams { session_id, cwd, .. } = params;
        let result = self.reopen(&session_id, cwd).await?;
        let updates =
            self.state().sessions.get(&session_id).map(|session| session.record.updates());
        for update in updates.unwrap_or_default() {
            self.send_update(&session_id, &update).await;
        }
        Ok(MethodReply { result, then: Some((session_id, commands::available())) })
    }

    async fn resume(&self, params: ResumeSessionParams) -> MethodResult {
        Ok(self.reopen(&params.session_id, params.cwd).await?.into())
    }

    /// Opens an earlier session; gives what there is to choose in it.
    async fn reopen(&self, id: &str, cwd: String) -> Result<Value, RpcError> {
        self.check(&cwd)?;
        if self.options.forgets {
            return Err(unknown_session(id));
        }
        let is_in_memory = self.state().sessions.contains_key(id);
        if !is_in_memory {
            let record = match self.store.lock().await.load(id).await {
                Some(record) => record,
                None if self.options.lies_on_resume => DemoRecord::new(id.to_owned(), cwd.clone()),
                None => return Err(unknown_session(id)),
            };
            self.state().sessions.insert(id.to_owned(), DemoSession::open(record));
        }
        let mut state = self.state();
        let session = state.sessions.get_mut(id).ok_or_else(|| unknown_session(id))?;
        session.is_open = true;
        session.record.updated_at = Timestamp::now();
        session.record.set_cwd(cwd);
        Ok(self.describe(session.record.head()))
    }

    async fn list(&self, params: ListSessionsParams) -> MethodResult {
        self.check_auth()?;
        let skip: usize = match params.cursor {
            Some(cursor) => cursor.parse().map_err(|_| invalid("no such cursor"))?,
            None => 0,
        };
        let store = self.store.lock().await.clone();
        let mut used: HashMap<String, Timestamp> = store.list().await.into_iter().collect();
        for (id, session) in &self.state().sessions {
            used.insert(id.clone(), session.record.updated_at);
        }
        let mut used: Vec<(String, Timestamp)> = used.into_iter().collect();
        // Newest first; the id makes the order the same on every page.
        used.sort_by(|(a, used_a), (b, used_b)| used_b.cmp(used_a).then_with(|| a.cmp(b)));
        // Only as many are read as it takes to know whether there is another page.
        let end = skip.saturating_add(LIST_PAGE);
        let (mut n_meant, mut sessions) = (0, Vec::new());
        for (id, updated_at) in used {
            let in_memory =
                self.state().sessions.get(&id).map(|session| session.record.head().clone());
            let head = match in_memory {
                Some(head) => Some(head),
                None => store.head(&id).await,
            };
            let is_meant =
                |head: &RecordHead| params.cwd.as_ref().is_none_or(|cwd| *cwd == head.cwd);
            let Some(head) = head.filter(is_meant) else { continue };
            n_meant += 1;
            if n_meant > end {
                break;
            }
            if n_meant > skip {
                sessions.push(json!({
                    "sessionId": id,
                    "cwd": head.cwd,
                    "title": head.title,
                    "updatedAt": updated_at.to_string(),
                }));
            }
        }
        let mut result = json!({ "sessions": sessions });
        if n_meant > end {
            result["nextCursor"] = Value::from(end.to_string());
        }
        Ok(result.into())
    }

    async fn close(&self, params: &SessionIdParams) -> MethodResult {
        self.state().open_session(&params.session_id)?.close();
        self.save(&params.session_id).await.map_err(storage)?;
        Ok(json!({}).into())
    }

    async fn delete(&self, params: &SessionIdParams) -> MethodResult {
        let store = self.store.lock().await;
        if let Some(session) = self.state().sessions.remove(&params.session_id) {
            session.cancel();
        }
        store.remove(&params.session_id).await.map_err(storage)?;
        Ok(json!({}).into())
    }

    async fn set_mode(&self, params: SetModeParams) -> MethodResult {
        let SetModeParams { session_id, mode_id } = params;
        self.change(&session_id, |settings| settings.set_mode(&mode_id)).await?;
        let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode_id });
        Ok(MethodReply { result: json!({}), then: Some((session_id, update)) })
    }

    async fn set_option(&self, params: SetOptionParams) -> MethodResult {
        let SetOptionParams { session_id, config_id, value } = params;
        let set = |settings: &mut DemoSettings| settings.set_option(&config_id, &value);
        let options = self.change(&session_id, set).await?;
        Ok(json!({ "configOptions": options }).into())
    }

    async fn set_model(&self, params: SetModelParams) -> MethodResult {
        let SetModelParams { session_id, model_id } = params;
        let set = |settings: &mut DemoSettings| settings.set_option("model", &model_id);
        let options = self.change(&session_id, set).await?;
        let update = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
        Ok(MethodReply { result: json!({}), then: Some((session_id, update)) })
    }

    /// Applies a change and gives the complete list of options after it.
    async fn change(
        &self,
        id: &str,
        apply: impl FnOnce(&mut DemoSettings) -> bool,
    ) -> Result<Value, RpcError> {
        let options = {
            let mut state = self.state();
            let session = state.open_session(id)?;
            if !apply(session.record.settings_mut()) {
                return Err(invalid("no such option or no such value"));
            }
            session.record.head().settings.options()
        };
        // The choice holds for this process even when it cannot be written down.
        let _ = self.save(id).await;
        Ok(options)
    }

    /// The modes and config options of a session, for the answers to new, load and resume.
    fn describe(&self, head: &RecordHead) -> Value {
        match self.has_config() {
            true => json!({
                "modes": head.settings.modes(),
                "configOptions": head.settings.options(),
            }),
            false => json!({}),
        }
    }

    fn check_auth(&self) -> Result<(), RpcError> {
        match self.state().is_authenticated {
            true => Ok(()),
            false => Err(RpcError::new(codes::AUTH_REQUIRED, "call authenticate first")),
        }
    }

    fn check(&self, cwd: &str) -> Result<(), RpcError> {
        self.check_auth()?;
        match Path::new(cwd).is_absolute() {
            true => Ok(()),
            false => Err(invalid(format!("cwd is not an absolute path: {cwd}"))),
        }
    }
}

fn storage(problem: std::io::Error) -> RpcError {
    RpcError::new(codes::INTERNAL, format!("cannot save the session: {problem}"))
}
