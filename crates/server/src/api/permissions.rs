//! Questions of agents: those that wait are listed and answered.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use sessions::pending::{ExpectedAnswer, PendingQuestion};
use sessions::permission::Decider;
use sessions::session::{SessionHandle, SubmittedAnswer};
use store::SessionRecord;
use utoipa::ToSchema;
use wire::event::DecidedBy;
use wire::{CallId, SessionId};

use super::decision::{self, QuestionDecision, QuestionOutcome};
use crate::daemon::Daemon;
use crate::input::{JsonBody, Observer, Operator, PathParams};
use crate::principal::Principal;
use crate::problem::{Problem, kinds, shown};

/// Questions shown at once; whoever has more than this answers some first.
const MAX_SHOWN: usize = 1000;
/// Bytes of agents' texts in one list, as agents know no measure; all of it is in the log.
const MAX_BYTES: usize = 4 << 20;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Permissions {
    permissions: Vec<Permission>,
}

/// A question that waits for a person.
#[skip_serializing_none]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Permission {
    request_id: String,
    #[schema(value_type = String)]
    session_id: SessionId,
    session_title: Option<String>,
    /// The session's directory.
    cwd: String,
    agent: String,
    /// `permission` wants one of the options, `elicitation` a form that is filled in.
    kind: &'static str,
    /// For showing: the tool call's title, or the form's message.
    title: String,
    /// What kind of tool call it is about, as ACP names it.
    tool_kind: Option<String>,
    options: Vec<PermissionOption>,
    /// The agent's question as it came. Not there if it has more than 256 KiB, or if the list has
    /// 4 MiB of them already: the event at `seq` has it.
    #[schema(value_type = Option<Object>)]
    request: Option<Arc<wire::Json>>,
    /// Place of the question in the log.
    seq: u64,
    turn_id: Option<String>,
    /// Milliseconds since 1970.
    since: i64,
    /// When it is rejected if nobody answers; without it, it waits.
    until: Option<i64>,
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
    fn of(record: &SessionRecord, question: &PendingQuestion) -> Self {
        let options = question.options.iter().map(|option| PermissionOption {
            option_id: option.id.clone(),
            name: option.name.clone(),
            kind: option.kind.clone(),
        });
        Self {
            request_id: question.request_id.to_string(),
            session_id: question.session,
            session_title: record.title.clone(),
            cwd: record.cwd.clone(),
            agent: question.agent.clone(),
            kind: match question.wants {
                ExpectedAnswer::Permission => "permission",
                ExpectedAnswer::Elicitation => "elicitation",
            },
            title: question.title.clone(),
            tool_kind: Some(question.kind.clone()).filter(|kind| !kind.is_empty()),
            options: options.collect(),
            request: question.request.clone(),
            seq: question.seq.0,
            turn_id: question.turn.map(|turn| turn.to_string()),
            since: question.since.0,
            until: question.until.map(|until| until.0),
        }
    }

    /// The questions of those sessions that `principal` sees.
    async fn all(
        daemon: &Daemon,
        principal: &Principal,
        questions: Vec<Arc<PendingQuestion>>,
    ) -> Result<Json<Permissions>, Problem> {
        let _place = daemon.load.lookup(&principal.name).await;
        let mut permissions = Vec::new();
        // A session that is gone takes its questions with it.
        let mut records: HashMap<SessionId, Option<SessionRecord>> = HashMap::new();
        let mut n_bytes = 0;
        let may_see = |question: &PendingQuestion| {
            !principal.own_sessions || question.made_by.as_ref() == Some(&principal.name)
        };
        for question in questions.into_iter().filter(|question| may_see(question)) {
            let record = match records.entry(question.session) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let record = daemon.registry.log().session(question.session).await?;
                    unknown.insert(record.filter(|record| principal.sees(record)))
                }
            };
            let Some(record) = record else { continue };
            let mut permission = Self::of(record, &question);
            n_bytes += permission.n_bytes();
            if n_bytes > MAX_BYTES || permissions.len() == MAX_SHOWN {
                break;
            }
            permission.request = permission.request.filter(|request| {
                let n_with = n_bytes + request.as_str().len();
                let fits = n_with <= MAX_BYTES;
                n_bytes = if fits { n_with } else { n_bytes };
                fits
            });
            permissions.push(permission);
        }
        Ok(Json(Permissions { permissions }))
    }

    /// Size of the agent's texts beside the request, in bytes.
    fn n_bytes(&self) -> usize {
        let options = self.options.iter();
        let options = options.map(|option| [&option.option_id, &option.name, &option.kind]);
        self.title.len() + options.flatten().map(String::len).sum::<usize>()
    }
}

/// The questions of one session that wait.
#[utoipa::path(get, path = "/v1/sessions/{id}/permissions", operation_id = "listSessionPermissions", tag = "permissions",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Those that wait", body = Permissions)))]
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Observer(principal): Observer,
    PathParams(id): PathParams<String>,
) -> Result<Json<Permissions>, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    Permission::all(&daemon, &principal, daemon.registry.context().pending.of(record.id)).await
}

/// The questions of all sessions that wait, the oldest first.
#[utoipa::path(get, path = "/v1/permissions", operation_id = "listPermissions", tag = "permissions",
    responses((status = 200, description = "Those that wait", body = Permissions)))]
pub(crate) async fn list_all(
    State(daemon): State<Arc<Daemon>>,
    Observer(principal): Observer,
) -> Result<Json<Permissions>, Problem> {
    Permission::all(&daemon, &principal, daemon.registry.context().pending.list()).await
}

/// The answer to a question: exactly one of the three.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PermissionAnswer {
    /// One of the question's options.
    option_id: Option<String>,
    /// No answer: the question is cancelled, or it is rejected in whatever form it has for that.
    outcome: Option<AnswerRefusal>,
    /// ACP's answer to an elicitation, such as `{"action": "accept", "content": {…}}`.
    #[schema(value_type = Option<Object>)]
    response: Option<Value>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerRefusal {
    Cancelled,
    Rejected,
    /// As `rejected`, and the log says that nobody was there to ask.
    Unattended,
}

/// Answers a question. The first valid answer wins.
#[utoipa::path(post, path = "/v1/sessions/{id}/permissions/{requestId}", operation_id = "answerPermission", tag = "permissions",
    request_body = PermissionAnswer,
    params(("id" = String, Path, description = "The session"),
        ("requestId" = String, Path, description = "The question")),
    responses((status = 200, description = "Decided", body = QuestionDecision)))]
pub(crate) async fn answer(
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    PathParams((id, request)): PathParams<(String, String)>,
    JsonBody(answer): JsonBody<PermissionAnswer>,
) -> Result<Json<QuestionDecision>, Problem> {
    principal.require_person()?;
    let record = daemon.visible(&id, &principal).await?;
    let missing = || Problem::not_found(format!("there is no question `{}`", shown(&request)));
    let request_id = CallId::parse(&request).map_err(|_| missing())?;
    let listed = || daemon.registry.context().pending.get(record.id, request_id);
    let mut question = listed();
    if question.is_none()
        && let Some(session) = daemon.registry.live(record.id)
    {
        // Whoever reads the log may be faster than the list: a session answers this only when
        // what it has logged is listed too.
        let _asked = session.offer().await;
        question = listed();
    }
    if let Some(question) = question {
        let is_unattended = matches!(answer.outcome, Some(AnswerRefusal::Unattended));
        let answer = checked_answer(answer, &question)?;
        let client = principal.client("http");
        let by = match is_unattended {
            true => Decider::detailed(DecidedBy::Unattended, client),
            false => Decider::client(client),
        };
        let (answer, by) = (&answer, &by);
        let answering = |session: SessionHandle| async move {
            session.answer(request_id, answer.clone(), by.clone()).await
        };
        if daemon.registry.with(record.id, answering).await? {
            return decision(&daemon, &principal, record.id, request_id).await;
        }
    }
    match decision::question_outcome(&daemon, &principal, record.id, request_id).await? {
        QuestionOutcome::Unknown => Err(missing()),
        QuestionOutcome::Over => Err(Problem::of(kinds::NOT_PENDING)),
        QuestionOutcome::Decided(decision) => {
            Err(Problem::of(kinds::ALREADY_DECIDED).detail(decision.in_words()))
        }
    }
}

/// The answer in the form that the question wants.
fn checked_answer(
    answer: PermissionAnswer,
    question: &PendingQuestion,
) -> Result<SubmittedAnswer, Problem> {
    let PermissionAnswer { option_id, outcome, response } = answer;
    match (question.wants, option_id, outcome, response) {
        (ExpectedAnswer::Permission, Some(id), None, None) => {
            match question.options.iter().any(|option| option.id == id) {
                true => Ok(SubmittedAnswer::Permission(Some(id))),
                false => Err(Problem::bad_request(format!(
                    "`{}` is none of the question's options",
                    shown(&id)
                ))),
            }
        }
        (ExpectedAnswer::Permission, None, Some(AnswerRefusal::Cancelled), None) => {
            Ok(SubmittedAnswer::Permission(None))
        }
        (_, None, Some(AnswerRefusal::Rejected | AnswerRefusal::Unattended), None) => {
            Ok(SubmittedAnswer::Reject)
        }
        (ExpectedAnswer::Permission, ..) => {
            let why = "this question wants `optionId`, or `outcome`: `cancelled` or `rejected`";
            Err(Problem::bad_request(why))
        }
        (ExpectedAnswer::Elicitation, None, Some(AnswerRefusal::Cancelled), None) => {
            Ok(SubmittedAnswer::Reject)
        }
        (ExpectedAnswer::Elicitation, None, None, Some(response)) => {
            match ["accept", "decline", "cancel"].map(Value::from).contains(&response["action"]) {
                true => Ok(SubmittedAnswer::Elicitation(wire::Json::of(&response))),
                false => {
                    let why = "`response.action` is `accept`, `decline` or `cancel`";
                    Err(Problem::bad_request(why))
                }
            }
        }
        (ExpectedAnswer::Elicitation, ..) => {
            let why = "this question wants `response`, or `outcome`: `cancelled` or `rejected`";
            Err(Problem::bad_request(why))
        }
    }
}

async fn decision(
    daemon: &Daemon,
    principal: &Principal,
    session: SessionId,
    request: CallId,
) -> Result<Json<QuestionDecision>, Problem> {
    match decision::question_outcome(daemon, principal, session, request).await? {
        QuestionOutcome::Decided(decision) => Ok(Json(*decision)),
        _ => Err(Problem::internal("the decision is not in the log")),
    }
}

#[cfg(test)]
mod tests;
