//! Questions of agents: what waits, and the answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessions::permission::Decider;
use sessions::session::{Answer, SessionHandle};
use store::Filter;
use utoipa::ToSchema;
use wire::{CallId, SessionId};

use super::caller::{Observer, Operator};
use super::document::Refused;
use super::input::{At, Body};
use super::pending::{self, Fate, Question};
use crate::daemon::{Daemon, shown};
use crate::problem::Problem;

/// Questions shown at once; whoever has more than this answers some first.
const MAX_SHOWN: usize = 1000;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Permissions {
    permissions: Vec<Permission>,
}

/// A question that waits for a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Permission {
    request_id: String,
    #[schema(value_type = String)]
    session_id: SessionId,
    agent: String,
    /// `permission` wants one of the options, `elicitation` a form that is filled in.
    kind: &'static str,
    /// For showing: the tool call's title, or the form's message.
    title: String,
    /// What kind of tool call it is about, as ACP names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_kind: Option<String>,
    options: Vec<PermissionOption>,
    /// The agent's question as it came.
    #[schema(value_type = Object)]
    request: Value,
    /// Place of the question in the log.
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    /// Milliseconds since 1970.
    since: i64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOption {
    option_id: String,
    name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    kind: String,
}

impl Permission {
    fn of(question: Question) -> Self {
        let Question { request, .. } = question;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let call = &request["toolCall"];
        let title = if question.is_form { &request["message"] } else { &call["title"] };
        let options = request["options"].as_array().into_iter().flatten();
        let read = |option: &Value| PermissionOption {
            option_id: text(&option["optionId"]),
            name: text(&option["name"]),
            kind: text(&option["kind"]),
        };
        Self {
            request_id: question.request_id,
            session_id: question.session,
            agent: question.agent,
            kind: if question.is_form { "elicitation" } else { "permission" },
            title: text(title),
            tool_kind: call["kind"].as_str().map(str::to_owned),
            options: options.map(read).collect(),
            seq: question.seq,
            turn_id: question.turn,
            since: question.since,
            request,
        }
    }
}

/// The questions of one session that wait.
#[utoipa::path(get, path = "/v1/sessions/{id}/permissions", operation_id = "listSessionPermissions", tag = "permissions",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Those that wait", body = Permissions), Refused))]
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Observer(principal): Observer,
    At(id): At<String>,
) -> Result<Json<Permissions>, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    let waiting = pending::of(&daemon, &record).await?;
    let permissions = waiting.into_iter().map(Permission::of).collect();
    Ok(Json(Permissions { permissions }))
}

/// The questions of all sessions that wait, the oldest first.
#[utoipa::path(get, path = "/v1/permissions", operation_id = "listPermissions", tag = "permissions",
    responses((status = 200, description = "Those that wait", body = Permissions), Refused))]
pub(crate) async fn list_all(
    State(daemon): State<Arc<Daemon>>,
    Observer(principal): Observer,
) -> Result<Json<Permissions>, Problem> {
    let filter =
        Filter { has_active_turn: Some(true), limit: Filter::MAX_LIMIT, ..Filter::default() };
    let mut permissions = Vec::new();
    for record in daemon.desk.log().sessions(filter).await? {
        if super::list::sees(&principal, &record) {
            let waiting = pending::of(&daemon, &record).await?;
            permissions.extend(waiting.into_iter().map(Permission::of));
        }
    }
    permissions.sort_by_key(|permission| permission.since);
    permissions.truncate(MAX_SHOWN);
    Ok(Json(Permissions { permissions }))
}

/// The answer to a question: exactly one of the three.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PermissionAnswer {
    /// One of the question's options.
    option_id: Option<String>,
    /// No answer is given; the agent is told so.
    outcome: Option<Cancelled>,
    /// ACP's answer to an elicitation, such as `{"action": "accept", "content": {…}}`.
    #[schema(value_type = Option<Object>)]
    response: Option<Value>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cancelled {
    Cancelled,
}

/// Who decided what.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Decision {
    request_id: String,
    /// `{who, detail?}`
    #[schema(value_type = Object)]
    by: Value,
    /// What was chosen; of a permission.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    outcome: Option<Value>,
    /// Of an elicitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    response: Option<Value>,
}

/// Answers a question. The first valid answer wins.
#[utoipa::path(post, path = "/v1/sessions/{id}/permissions/{requestId}", operation_id = "answerPermission", tag = "permissions",
    request_body = PermissionAnswer,
    params(("id" = String, Path, description = "The session"),
        ("requestId" = String, Path, description = "The question")),
    responses((status = 200, description = "Decided", body = Decision), Refused))]
pub(crate) async fn answer(
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    At((id, request)): At<(String, String)>,
    Body(answer): Body<PermissionAnswer>,
) -> Result<Json<Decision>, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    let missing = || Problem::not_found(format!("there is no question `{}`", shown(&request)));
    let request_id = CallId::parse(&request).map_err(|_| missing())?;
    let waiting = pending::of(&daemon, &record).await?;
    let is_asked = waiting.into_iter().find(|question| question.request_id == request);
    if let Some(question) = is_asked {
        let answer = fitting(answer, &question)?;
        let by = Decider::detailed("client", principal.name.clone());
        let answering = |session: SessionHandle| {
            let (answer, by) = (answer.clone(), by.clone());
            async move { session.answer(request_id, answer, by).await }
        };
        if daemon.desk.with(record.id, answering).await? {
            return decision(&daemon, record.id, request_id).await;
        }
    }
    match pending::fate(&daemon, record.id, request_id).await? {
        Fate::Unknown => Err(missing()),
        Fate::Over => {
            Err(Problem::conflict("not-pending", "nobody waits for this answer any more"))
        }
        Fate::Decided(payload) => {
            Err(Problem::conflict("already-decided", "somebody else decided")
                .detail(told(&payload)))
        }
    }
}

/// The answer in the form that the question wants.
fn fitting(answer: PermissionAnswer, question: &Question) -> Result<Answer, Problem> {
    let is_option = |id: &String| {
        let mut options = question.request["options"].as_array().into_iter().flatten();
        options.any(|option| option["optionId"] == **id)
    };
    match (answer.option_id, answer.outcome, answer.response) {
        (Some(id), None, None) if !question.is_form => match is_option(&id) {
            true => Ok(Answer::Permission(Some(id))),
            false => Err(Problem::bad_request(format!(
                "`{}` is none of the question's options",
                shown(&id)
            ))),
        },
        (None, Some(Cancelled::Cancelled), None) if !question.is_form => {
            Ok(Answer::Permission(None))
        }
        (None, Some(Cancelled::Cancelled), None) => Ok(Answer::Reject),
        (None, None, Some(response)) if question.is_form => {
            match ["accept", "decline", "cancel"].map(Value::from).contains(&response["action"]) {
                true => Ok(Answer::Elicitation(wire::Json::of(&response))),
                false => Err(Problem::bad_request(
                    "`response.action` is `accept`, `decline` or `cancel`",
                )),
            }
        }
        _ if question.is_form => {
            Err(Problem::bad_request("this question wants `response`, or `outcome`: `cancelled`"))
        }
        _ => Err(Problem::bad_request("this question wants `optionId`, or `outcome`: `cancelled`")),
    }
}

async fn decision(
    daemon: &Daemon,
    session: SessionId,
    request: CallId,
) -> Result<Json<Decision>, Problem> {
    let Fate::Decided(mut payload) = pending::fate(daemon, session, request).await? else {
        return Err(Problem::internal("the decision is not in the log"));
    };
    let some = |value: Value| Some(value).filter(|value| !value.is_null());
    Ok(Json(Decision {
        request_id: request.to_string(),
        by: payload["by"].take(),
        outcome: some(payload["outcome"].take()),
        response: some(payload["response"].take()),
    }))
}

/// A decision in words.
fn told(payload: &Value) -> String {
    let by = &payload["by"];
    let who = [by["who"].as_str(), by["detail"].as_str()];
    let who: Vec<&str> = who.into_iter().flatten().collect();
    let outcome = &payload["outcome"];
    let what = outcome["name"].as_str().or(outcome["outcome"].as_str());
    let what = what.or(payload["response"]["action"].as_str()).unwrap_or("answered");
    format!("{} decided: {what}", who.join(" "))
}
