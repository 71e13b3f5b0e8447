//! Questions of agents: those that wait are listed and answered, and of those that are over the log
//! says how.

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
use wire::event::{self, DecidedBy, RecordedOutcome};
use wire::{CallId, Event, OwnEvent, Seq, SessionId};

use crate::daemon::Daemon;
use crate::input::{JsonBody, Observer, Operator, PathParams, SessionRequest};
use crate::principal::Principal;
use crate::problem::{Problem, kinds, shown};

/// Questions shown at once; whoever has more than this answers some first.
const MAX_SHOWN: usize = 1000;
/// Bytes of agents' texts in one list, as agents know no measure; all of it is in the log.
const MAX_BYTES: usize = 4 << 20;
/// Events read at once.
const PAGE: usize = 512;
/// How far back a decision is looked for.
const MAX_LOOKED_AT: u64 = 1 << 16;

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
pub(crate) async fn list(session: SessionRequest<Observer>) -> Result<Json<Permissions>, Problem> {
    let (daemon, principal, record) = session.visible().await?;
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
        && let Some(session) = daemon.registry.awake_handle(record.id)
    {
        // Whoever reads the log may be faster than the list: a session answers this only when
        // what it has logged is listed too.
        let _asked = session.offer().await;
        question = listed();
    }
    let mut is_answered = false;
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
        is_answered = daemon.registry.with(record.id, answering).await?;
    }
    match question_outcome(&daemon, &principal, record.id, request_id).await? {
        QuestionOutcome::Decided(decision) if is_answered => Ok(Json(*decision)),
        _ if is_answered => Err(Problem::internal("the decision is not in the log")),
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
    let is_permission = question.wants == ExpectedAnswer::Permission;
    match (option_id, outcome, response) {
        (Some(id), None, None) if is_permission => {
            match question.options.iter().any(|option| option.id == id) {
                true => Ok(SubmittedAnswer::Permission(Some(id))),
                false => Err(Problem::bad_request(format!(
                    "`{}` is none of the question's options",
                    shown(&id)
                ))),
            }
        }
        (None, Some(AnswerRefusal::Cancelled), None) if is_permission => {
            Ok(SubmittedAnswer::Permission(None))
        }
        (None, Some(_), None) => Ok(SubmittedAnswer::Reject),
        (None, None, Some(response)) if !is_permission => {
            match ["accept", "decline", "cancel"].map(Value::from).contains(&response["action"]) {
                true => Ok(SubmittedAnswer::Elicitation(wire::Json::of(&response))),
                false => {
                    let why = "`response.action` is `accept`, `decline` or `cancel`";
                    Err(Problem::bad_request(why))
                }
            }
        }
        _ => {
            let wanted = if is_permission { "optionId" } else { "response" };
            Err(Problem::bad_request(format!(
                "this question wants `{wanted}`, or `outcome`: `cancelled` or `rejected`"
            )))
        }
    }
}

/// A decision about an agent's question.
#[skip_serializing_none]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuestionDecision {
    request_id: String,
    by: event::Decider,
    /// The chosen option, where a permission was asked for.
    outcome: Option<RecordedOutcome>,
    /// The answer to an elicitation.
    #[schema(value_type = Option<Object>)]
    response: Option<Value>,
}

/// The outcome of one question, as the session's log has it.
#[derive(Debug)]
enum QuestionOutcome {
    /// The log has nothing: there was no such question, or it is long ago.
    Unknown,
    /// It was asked, and is over without an answer.
    Over,
    Decided(Box<QuestionDecision>),
}

/// The outcome of a question; the log is read backwards from its end.
async fn question_outcome(
    daemon: &Daemon,
    principal: &Principal,
    session: SessionId,
    request: CallId,
) -> Result<QuestionOutcome, Problem> {
    let budget = daemon.load.budget(&principal.name);
    let head = daemon.registry.record(session).await?.head.0;
    let least = head.saturating_sub(MAX_LOOKED_AT);
    let mut end = head;
    while end > least {
        let start = end.saturating_sub(PAGE as u64).max(least);
        let mut after = Seq(start);
        let mut fate = QuestionOutcome::Unknown;
        while after.0 < end {
            let read = budget.read(&**daemon.registry.log(), session, after, PAGE).await?;
            let Some(last) = read.events.last() else { break };
            after = last.seq;
            for event in &read.events {
                fate = later(fate, event, request);
            }
        }
        if !matches!(fate, QuestionOutcome::Unknown) {
            return Ok(fate);
        }
        end = start;
    }
    Ok(QuestionOutcome::Unknown)
}

fn later(before: QuestionOutcome, event: &Event, request: CallId) -> QuestionOutcome {
    let Some(own) = event.own() else { return before };
    let asked = own.question().map(|asked| asked.id);
    if asked.or_else(|| own.answered_question()) != Some(request) {
        return before;
    }
    QuestionDecision::of(own)
        .map_or(QuestionOutcome::Over, |decision| QuestionOutcome::Decided(Box::new(decision)))
}

impl QuestionDecision {
    /// The decision that an event records.
    fn of(own: OwnEvent<'_>) -> Option<Self> {
        let (request_id, by, outcome, response) = match own {
            OwnEvent::PermissionResolved(told) => {
                (told.request_id, told.by, Some(told.outcome), None)
            }
            OwnEvent::ElicitationResolved(told) => {
                (told.request_id, told.by, None, told.response.read().ok())
            }
            _ => return None,
        };
        Some(Self { request_id: request_id.to_string(), by, outcome, response })
    }

    fn in_words(&self) -> String {
        let detail =
            self.by.detail.as_ref().map_or_else(String::new, |detail| format!(" {detail}"));
        let outcome = self.outcome.as_ref();
        let what =
            outcome.map(|outcome| outcome.name.as_ref().unwrap_or(&outcome.outcome).as_str());
        let action = || self.response.as_ref()?["action"].as_str();
        let what = what.or_else(action).unwrap_or("answered");
        format!("{}{detail} decided: {what}", self.by.who.as_str())
    }
}

#[cfg(test)]
mod tests;
