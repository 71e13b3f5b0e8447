//! Handles each request of a client.

use std::sync::Arc;

use serde_json::{Value, json};
use store::{PageStart, SessionFilter};
use wire::{Message, RpcError, SessionId};

use super::AgentProcess;
use super::session_opening::{OpenParams, SessionStart, text};
use crate::native::client::ClientAbilities;
use crate::native::journal::AGENT;
use crate::native::lock;
use crate::native::prompt::PendingTurn;
use crate::native::session::NativeSession;

/// The only version of the protocol that there is.
const PROTOCOL_VERSION: u16 = 1;
const PAGE: usize = 50;

type MethodResult = Result<Value, RpcError>;

impl AgentProcess {
    pub(super) async fn outcome(self: &Arc<Self>, message: &Message) -> MethodResult {
        let params = message.body_json();
        let params: Value = params.read().map_err(RpcError::invalid_params)?;
        let method = message.method();
        if method == "initialize" {
            return self.initialize(&params);
        }
        self.abilities()?;
        match method {
            "session/new" => self.open(OpenParams::read(&params)?, SessionStart::New).await,
            "session/load" => self.open_again(&params, true).await,
            "session/resume" => self.open_again(&params, false).await,
            "session/fork" => {
                let from = saved_id(&params)?;
                self.open(OpenParams::read(&params)?, SessionStart::Copied(from)).await
            }
            "session/list" => self.list(&params).await,
            "session/close" => self.close(&params).await,
            "session/delete" => self.delete(&params).await,
            "session/set_mode" => {
                self.set(&params, "mode", &params["modeId"]).await.map(|_options| json!({}))
            }
            // Gone from the protocol, and still what some clients say.
            "session/set_model" => {
                self.set(&params, "model", &params["modelId"]).await.map(|_options| json!({}))
            }
            "session/set_config_option" => {
                let option = text(&params, "configId")?.to_owned();
                self.set(&params, &option, &params["value"]).await
            }
            // A notification by right; whoever asks gets an answer all the same.
            "session/cancel" => {
                self.open_session(&params)?.cancel();
                Ok(json!({}))
            }
            // No method is offered, because the endpoint's key is configured; some clients
            // come with one of their own all the same.
            "authenticate" => Ok(json!({})),
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    fn initialize(&self, params: &Value) -> MethodResult {
        // Whatever version is asked for, the answer names the only one. Before versions were
        // numbers they were dates.
        let is_version = match &params["protocolVersion"] {
            Value::String(version) => !version.is_empty(),
            version => version.as_u64().is_some_and(|version| u16::try_from(version).is_ok()),
        };
        if !is_version {
            return Err(RpcError::invalid_params("`protocolVersion` is not a number"));
        }
        // A second one changes nothing: sessions rely on what was said first.
        let _ = self.client.set(ClientAbilities::read(&params["clientCapabilities"]));
        Ok(json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": true },
                "sessionCapabilities": {
                    "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {},
                    "additionalDirectories": {},
                },
            },
            "authMethods": [],
            "agentInfo": {
                "name": "switchyard", "title": "Switchyard", "version": self.setup.version,
            },
        }))
    }

    async fn open_again(self: &Arc<Self>, params: &Value, is_replayed: bool) -> MethodResult {
        let id = saved_id(params)?;
        // Its client may have lost it, and comes back for it.
        self.end(id.as_str()).await;
        let past = if is_replayed { SessionStart::Replayed(id) } else { SessionStart::Resumed(id) };
        let mut opened = self.open(OpenParams::read(params)?, past).await?;
        if let Some(opened) = opened.as_object_mut() {
            opened.remove("sessionId");
        }
        Ok(opened)
    }

    async fn list(&self, params: &Value) -> MethodResult {
        let bad = || RpcError::invalid_params("`cursor` is not one of ours");
        let before = match params["cursor"].as_str() {
            Some(cursor) => Some(PageStart::parse(cursor).ok_or_else(bad)?),
            None => None,
        };
        let cwd = params["cwd"].as_str().map(str::to_owned);
        let agent = Some(AGENT.to_owned());
        let filter =
            SessionFilter { agent, cwd, before, limit: PAGE + 1, ..SessionFilter::default() };
        let mut records = self.setup.log.sessions(filter).await.map_err(RpcError::internal)?;
        let has_more = records.len() > PAGE;
        records.truncate(PAGE);
        let cursor =
            records.last().filter(|_| has_more).map(|last| PageStart::of(last).to_string());
        let sessions: Vec<Value> = records
            .iter()
            .map(|record| {
                let updated = jiff::Timestamp::from_millisecond(record.updated.0);
                json!({
                    "sessionId": record.id, "cwd": record.cwd, "title": record.title,
                    "updatedAt": updated.ok().map(|at| at.to_string()),
                })
            })
            .collect();
        let mut answer = json!({ "sessions": sessions });
        if let Some(cursor) = cursor {
            answer["nextCursor"] = json!(cursor);
        }
        Ok(answer)
    }

    async fn close(&self, params: &Value) -> MethodResult {
        self.end(text(params, "sessionId")?).await;
        Ok(json!({}))
    }

    async fn delete(&self, params: &Value) -> MethodResult {
        let named = text(params, "sessionId")?;
        self.end(named).await;
        // A session that is not there is gone already.
        if let Ok(id) = SessionId::parse(named) {
            self.setup.log.delete(id).await.map_err(RpcError::internal)?;
        }
        Ok(json!({}))
    }

    async fn end(&self, id: &str) {
        let session = lock(&self.sessions).remove(id);
        if let Some(session) = session {
            session.close().await;
        }
    }

    /// Begins the turn that a prompt asks for.
    pub(super) fn begin(&self, message: &Message) -> Result<PendingTurn, RpcError> {
        let params: Value = message.body_json().read().map_err(RpcError::invalid_params)?;
        self.abilities()?;
        let session = self.open_session(&params)?;
        let blocks = params["prompt"].as_array().cloned();
        let blocks = blocks.ok_or_else(|| RpcError::invalid_params("`prompt` is not an array"))?;
        if blocks.iter().any(|block| !block["type"].is_string()) {
            return Err(RpcError::invalid_params("a block of `prompt` has no `type`"));
        }
        let begun = session.begin(blocks)?;
        lock(&self.prompts).insert(message.id().as_str().to_owned(), session);
        Ok(begun)
    }

    async fn set(&self, params: &Value, option: &str, value: &Value) -> MethodResult {
        let session = self.open_session(params)?;
        let missing = || RpcError::invalid_params("the value is not a string");
        let value = match value {
            Value::Bool(true) => "on",
            Value::Bool(false) => "off",
            value => value.as_str().ok_or_else(missing)?,
        };
        let has_changed = session.set_option(option, value).await?;
        let offers = session.models.offers().await;
        let described = session.describe(&offers);
        let options = &described["configOptions"];
        let mode = &described["modes"]["currentModeId"];
        let update = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
        // Clients that only know one of the two ways learn of a change too.
        let of_mode = (option == "mode")
            .then(|| json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode }));
        for update in [update].into_iter().chain(of_mode).filter(|_| has_changed) {
            let _ = session.client().update(update).await;
        }
        Ok(json!({ "configOptions": options }))
    }

    /// The session that the request is about, which must be open.
    fn open_session(&self, params: &Value) -> Result<Arc<NativeSession>, RpcError> {
        let id = text(params, "sessionId")?;
        self.session(id).ok_or_else(|| RpcError::not_found(format_args!("session {}", short(id))))
    }
}

fn saved_id(params: &Value) -> Result<SessionId, RpcError> {
    let id = text(params, "sessionId")?;
    SessionId::parse(id).map_err(|_| RpcError::not_found(format_args!("session {}", short(id))))
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
