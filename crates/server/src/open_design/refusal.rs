//! Errors of requests in Open Design's shape: `{error: {code, message, details?}}`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sessions::desk::DeskError;
use sessions::session::{ChooseError, SessionError};
use store::StoreError;
use wire::{Category, Fault};

use super::codes;
use crate::problem::Problem;

#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Option<Box<Value>>,
    retry_after: Option<u32>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), details: None, retry_after: None }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    pub(super) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Problem::internal(message).into()
    }

    pub(super) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message)
    }

    pub(super) fn other_request() -> Self {
        let message = "this `clientRequestId` was used for another request";
        Self::conflict("IDEMPOTENCY_CONFLICT", message)
    }

    /// What can be said beside the message, for programs.
    #[must_use]
    pub(super) fn details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// An agent that cannot be had, or does not take what it is asked for.
    pub(super) fn of_fault(fault: &Fault) -> Self {
        let (status, code) = match fault.category {
            Category::BadInput => (StatusCode::BAD_REQUEST, "BAD_REQUEST"),
            Category::AgentNotFound => (StatusCode::BAD_REQUEST, "AGENT_UNAVAILABLE"),
            category => (StatusCode::BAD_GATEWAY, codes::of_category(category, false)),
        };
        Self::new(status, code, words(fault))
    }
}

fn words(fault: &Fault) -> String {
    match &fault.remedy {
        Some(remedy) => format!("{}: {remedy}", fault.message),
        None => fault.message.clone(),
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let slug = problem.kind.rsplit(':').next().unwrap_or_default();
        let said = problem.detail.unwrap_or(problem.title);
        let message = match problem.remedy {
            Some(remedy) => format!("{said}: {remedy}"),
            None => said,
        };
        Self {
            status: StatusCode::from_u16(problem.status)
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: codes::of_problem(slug),
            message,
            details: None,
            retry_after: problem.retry_after,
        }
    }
}

impl From<DeskError> for Refusal {
    fn from(error: DeskError) -> Self {
        match &error {
            // There is no such agent, or not on this machine.
            DeskError::Agent(fault) => {
                Self::new(StatusCode::BAD_REQUEST, "AGENT_UNAVAILABLE", words(fault))
            }
            _ => Problem::from(error).into(),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Problem::from(error).into()
    }
}

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Self {
        DeskError::from(error).into()
    }
}

impl From<ChooseError> for Refusal {
    fn from(error: ChooseError) -> Self {
        match error {
            ChooseError::NotOffered(_) => Self::bad_request(error.to_string()),
            ChooseError::NotLinked(fault) => Self::of_fault(&fault),
            ChooseError::Session(error) => error.into(),
            ChooseError::Refused(_) => {
                Self::new(StatusCode::BAD_GATEWAY, "AGENT_EXECUTION_FAILED", error.to_string())
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { status, code, message, details, retry_after } = self;
        let mut error = json!({ "code": code, "message": message });
        if let Some(details) = details {
            error["details"] = *details;
        }
        let mut response = (status, Json(json!({ "error": error }))).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
