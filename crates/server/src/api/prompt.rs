//! Prompts: sent, cancelled, queued.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sessions::details::{ClientRequest, PromptEnd, PromptRequest, SessionDetails};
use sessions::mint;
use sessions::session::{PromptAcceptance, SessionHandle};
use store::SessionRecord;
use utoipa::ToSchema;
use wire::event::StopReason;
use wire::{SessionId, TurnId};

use super::session::SessionView;
use crate::daemon::Daemon;
use crate::input::{JsonBody, Observer, Operator, OptionalJsonBody, PathParams, SessionRequest};
use crate::principal::Principal;
use crate::problem::{Problem, kinds, shown};
use crate::request_names::digest;

/// Limit of a prompt's blocks: more is not a prompt but a program that has lost its way.
const MAX_BLOCKS: usize = 256;
const MAX_ATTACHMENTS: usize = 32;
const MAX_REASON_CHARS: usize = 100;
/// Enough of a waiting prompt to recognise it.
const MAX_SHOWN_CHARS: usize = 500;

/// A prompt to be sent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewPrompt {
    prompt: PromptContent,
    /// Ids of attachments of this session.
    #[serde(default)]
    attachments: Vec<String>,
    /// An idempotency key: the same id with the same body is one prompt.
    client_request_id: Option<String>,
}

/// Text, or ACP's content blocks.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PromptContent {
    Text(String),
    #[schema(value_type = Vec<Object>)]
    Blocks(Vec<Value>),
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptReceipt {
    /// The turn that the prompt begins, or will when those before it have ended.
    #[schema(value_type = String)]
    turn_id: TurnId,
    /// The same request was taken before; nothing was prompted now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reused: bool,
    /// What became of it, if it was taken before.
    #[serde(skip_serializing_if = "Option::is_none")]
    fate: Option<PromptFate>,
}

/// What became of a prompt.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptFate {
    state: PromptState,
    /// How its turn has ended: ACP's stop reason, or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptState {
    /// Its turn begins when those before it have ended.
    Waiting,
    Running,
    Ended,
    /// Its turn will not begin.
    Dropped,
}

impl PromptFate {
    fn of(daemon: &Daemon, record: &SessionRecord, taken: &PromptRequest, is_queued: bool) -> Self {
        let is_awake = || daemon.registry.awake_handle(record.id).is_some();
        let (state, stop_reason) = match (&taken.end, record.active_turn) {
            (Some(PromptEnd::Ended(reason)), _) => (PromptState::Ended, Some(reason.clone())),
            (Some(PromptEnd::Dropped), _) => (PromptState::Dropped, None),
            (None, _) if daemon.registry.has_halted(record.id, taken.turn) => {
                (PromptState::Ended, Some(StopReason::Error.as_str().to_owned()))
            }
            (None, _) if daemon.registry.is_given_up(record.id, taken.turn) => {
                (PromptState::Dropped, None)
            }
            (None, Some(active)) if active == taken.turn && !is_queued && is_awake() => {
                (PromptState::Running, None)
            }
            (None, Some(_)) => (PromptState::Waiting, None),
            // Of an earlier version, which noted no ends.
            (None, None) => (PromptState::Ended, None),
        };
        Self { state, stop_reason }
    }
}

/// Prompts the session; what follows is in its events.
#[utoipa::path(post, path = "/v1/sessions/{id}/prompt", operation_id = "promptSession", tag = "turns", request_body = NewPrompt,
    params(("id" = String, Path, description = "The session")),
    responses((status = 202, description = "In the log", body = PromptReceipt)))]
pub(crate) async fn prompt(
    session: SessionRequest<Operator>,
    JsonBody(prompt): JsonBody<NewPrompt>,
) -> Result<(StatusCode, Json<PromptReceipt>), Problem> {
    let (daemon, principal, record) = session.visible().await?;
    if prompt.attachments.len() > MAX_ATTACHMENTS {
        let why = format!("a prompt has at most {MAX_ATTACHMENTS} attachments");
        return Err(Problem::bad_request(why));
    }
    let accepted = |turn_id, fate: Option<PromptFate>| {
        let receipt = PromptReceipt { turn_id, reused: fate.is_some(), fate };
        (StatusCode::ACCEPTED, Json(receipt))
    };
    let request_turn = |id| request_turn(id, &prompt, &principal, record.id);
    let request = prompt.client_request_id.as_deref().map(request_turn).transpose()?;
    // Asked before anything is read or woken: the attachments may be gone by now.
    if let Some((turn, request)) = &request
        && let Some(taken) = SessionDetails::read(&record).request(*turn)
    {
        return match taken.digest == request.digest {
            true => Ok(accepted(*turn, Some(fate(&daemon, record.id, *turn).await?))),
            false => Err(Problem::other_request()),
        };
    }
    let mut blocks = blocks(prompt.prompt)?;
    let enclosed = super::prompt_attachments::read_attachments(
        &daemon,
        &principal,
        record.id,
        &prompt.attachments,
    )
    .await?;
    blocks.extend(enclosed.blocks);
    if blocks.is_empty() {
        return Err(Problem::bad_request("`prompt` is empty"));
    }
    let params = wire::Json::of(&BTreeMap::from([("prompt", blocks)]));
    let (turn, request) = request.unzip();
    let turn = turn.unwrap_or_else(mint::turn_id);
    let (params, by, request) = (&params, &principal.name, &request);
    let prompting = |session: SessionHandle| async move {
        let (params, by) = (params.clone(), by.clone());
        match request.clone() {
            Some(request) => session.prompt_once(turn, params, by, request).await,
            None => session.prompt(turn, params, by).await.map(|()| PromptAcceptance::New),
        }
    };
    let received = daemon.registry.with(record.id, prompting).await?;
    drop(enclosed.place);
    let fate = match received {
        PromptAcceptance::New => None,
        PromptAcceptance::Known => Some(fate(&daemon, record.id, turn).await?),
    };
    Ok(accepted(turn, fate))
}

/// What became of a prompt that was taken before.
async fn fate(daemon: &Daemon, id: SessionId, turn: TurnId) -> Result<PromptFate, Problem> {
    let waiting = daemon.registry.waiting(id).await;
    let is_queued = waiting.iter().any(|queued| queued.turn == turn);
    // Read after the queue: a prompt that has left it is in the record.
    let record = daemon.registry.record(id).await?;
    let taken = SessionDetails::read(&record).request(turn).cloned();
    let taken = taken.unwrap_or(PromptRequest { turn, digest: String::new(), end: None });
    Ok(PromptFate::of(daemon, &record, &taken, is_queued))
}

/// The turn id of a prompt with a request id. It is derived from that id, so that it is the same
/// when the request comes again, and belongs to this principal and session alone.
fn request_turn(
    id: &str,
    prompt: &NewPrompt,
    principal: &Principal,
    session: SessionId,
) -> Result<(TurnId, ClientRequest), Problem> {
    super::check_request_id(id)?;
    let namespace = principal.namespace();
    let name = [session.as_str(), &namespace, id].map(str::as_bytes);
    let request = ClientRequest { id: id.to_owned(), digest: digest(prompt) };
    Ok((TurnId::derived(&name), request))
}

fn blocks(words: PromptContent) -> Result<Vec<Value>, Problem> {
    let blocks = match words {
        PromptContent::Text(text) if text.trim().is_empty() => Vec::new(),
        PromptContent::Text(text) => vec![json!({ "type": "text", "text": text })],
        PromptContent::Blocks(blocks) => blocks,
    };
    if blocks.len() > MAX_BLOCKS {
        return Err(Problem::bad_request(format!("a prompt has at most {MAX_BLOCKS} blocks")));
    }
    match blocks.iter().position(|block| !block["type"].is_string()) {
        Some(n) => Err(Problem::bad_request(format!("block {n} of `prompt` has no `type`"))),
        None => Ok(blocks),
    }
}

/// The cancelling of a turn.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelBody {
    /// The reason in a word, for the log: `timeout`.
    reason: Option<String>,
}

/// Stops the turn, drops what waits, ends commands left running; answers when nothing runs. What
/// runs in another process is refused with 409 `in-use`, which names that in `process`.
#[utoipa::path(post, path = "/v1/sessions/{id}/cancel", operation_id = "cancelTurn", tag = "turns", request_body = Option<CancelBody>,
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Nothing runs", body = SessionView)))]
pub(crate) async fn cancel(
    session: SessionRequest<Operator>,
    OptionalJsonBody(cancel): OptionalJsonBody<CancelBody>,
) -> Result<Json<SessionView>, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    let by = match cancel.reason {
        Some(reason) => format!("{} ({:.MAX_REASON_CHARS$})", principal.name, reason.trim()),
        None => principal.name.clone(),
    };
    daemon.registry.cancel(record.id, &by).await?;
    Ok(Json(SessionView::now(&daemon, record.id).await?))
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptQueue {
    /// The turn that runs.
    running: Option<String>,
    /// The prompts that wait, in order.
    queued: Vec<QueueEntry>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueEntry {
    #[schema(value_type = String)]
    turn_id: TurnId,
    /// The beginning of the prompt's text.
    text: String,
}

/// The prompts that wait for their turn.
#[utoipa::path(get, path = "/v1/sessions/{id}/queue", operation_id = "getQueue", tag = "turns",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "The queue", body = PromptQueue)))]
pub(crate) async fn queue(session: SessionRequest<Observer>) -> Result<Json<PromptQueue>, Problem> {
    let (daemon, _, record) = session.visible().await?;
    let waiting = daemon.registry.waiting(record.id).await;
    let record = daemon.registry.record(record.id).await?;
    let is_waiting = |turn: &TurnId| waiting.iter().any(|queued| queued.turn == *turn);
    let is_over = |turn: &TurnId| {
        daemon.registry.has_halted(record.id, *turn)
            || daemon.registry.is_given_up(record.id, *turn)
    };
    let running = record.active_turn.filter(|turn| !is_waiting(turn) && !is_over(turn));
    let queued = waiting
        .iter()
        .map(|queued| QueueEntry {
            turn_id: queued.turn,
            text: queued.text.chars().take(MAX_SHOWN_CHARS).collect(),
        })
        .collect();
    Ok(Json(PromptQueue { running: running.map(|turn| turn.to_string()), queued }))
}

/// Takes a prompt that waits out of the queue.
#[utoipa::path(delete, path = "/v1/sessions/{id}/queue/{turn}", operation_id = "dropQueued", tag = "turns",
    params(("id" = String, Path, description = "The session"),
        ("turn" = String, Path, description = "The turn that waits")),
    responses((status = 204, description = "It will not run")))]
pub(crate) async fn drop_queued(
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    PathParams((id, turn)): PathParams<(String, String)>,
) -> Result<StatusCode, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    let missing = || Problem::not_found(format!("no prompt `{}` waits", shown(&turn)));
    let turn = TurnId::parse(&turn).map_err(|_| missing())?;
    match daemon.registry.drop_queued(record.id, turn).await {
        true => Ok(StatusCode::NO_CONTENT),
        false if record.active_turn == Some(turn) => {
            Err(Problem::of(kinds::NOT_QUEUED).remedy("cancel the session"))
        }
        false => Err(missing()),
    }
}
