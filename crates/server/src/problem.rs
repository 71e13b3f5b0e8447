//! Errors as HTTP clients see them: `application/problem+json` with a stable type.
//!
//! In: a kind of [`kinds`], and texts. Out: a response, which also has the problem itself in its
//! extensions, for handlers that write it in another shape.

mod conversions;
pub(crate) mod kinds;

use std::io::ErrorKind;
use std::num::NonZeroU32;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

pub(crate) use kinds::ProblemKind;

/// Why a request was not served, and what to do about it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// `urn:switchyard:problem:…`; does not change between versions.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub title: &'static str,
    pub status: u16,
    pub detail: Option<String>,
    pub remedy: Option<String>,
    /// Seconds after which asking again makes sense; also sent as a header.
    pub retry_after: Option<u32>,
    /// The id of the process that has the session, where that is the problem.
    #[schema(value_type = Option<u32>)]
    pub process: Option<NonZeroU32>,
    /// Open Design's code for it.
    #[serde(skip)]
    pub(crate) open_design: &'static str,
    #[serde(skip)]
    pub(crate) details: Option<Box<Value>>,
}

impl Problem {
    pub(crate) fn of(kind: ProblemKind) -> Self {
        Self {
            kind: kind.urn,
            title: kind.title,
            status: kind.status,
            detail: None,
            remedy: None,
            retry_after: None,
            process: None,
            open_design: kind.open_design,
            details: None,
        }
    }

    pub(crate) fn is(&self, kind: ProblemKind) -> bool {
        self.kind == kind.urn
    }

    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Structured details, for clients of Open Design's API.
    #[must_use]
    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::of(kinds::BAD_INPUT).detail(detail)
    }

    pub fn unauthorized() -> Self {
        Self::of(kinds::UNAUTHORIZED)
            .remedy("send `Authorization: Bearer TOKEN`; `switchyard token show` prints one")
    }

    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::of(kinds::FORBIDDEN).detail(detail)
    }

    pub fn not_found(what: impl Into<String>) -> Self {
        Self::of(kinds::NOT_FOUND).detail(what)
    }

    /// A file of our own could not be read or written.
    pub(crate) fn of_file(why: ErrorKind, detail: impl Into<String>) -> Self {
        let kind = match why {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => kinds::DISK_FULL,
            _ => kinds::FILES_UNAVAILABLE,
        };
        Self::of(kind).detail(detail)
    }

    pub fn internal(detail: impl ToString) -> Self {
        let detail = detail.to_string();
        tracing::error!(detail, "a request failed");
        Self::of(kinds::INTERNAL).detail(detail)
    }
}

/// The problem of a task of ours that panicked.
impl From<tokio::task::JoinError> for Problem {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::internal(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = wire::Json::of(&self).as_str().to_owned();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let after = self.retry_after.map(|seconds| [(header::RETRY_AFTER, seconds)]);
        let mut response = (status, kind, after, body).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The beginning of something that a client sent, to be shown again.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
