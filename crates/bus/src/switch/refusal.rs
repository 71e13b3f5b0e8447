//! The errors with which the switch itself answers a request.
//!
//! Every error of the switch has `data {reason, pool?, worker?, retryAfterMs?}`, so that a
//! program can tell them apart without reading the message.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use wire::{RpcError, codes};

use super::WorkerId;
use crate::hello::id_text;

/// Error codes of the switch, beside those of JSON-RPC and ACP.
pub const WORKER_LOST: i64 = -32010;
pub const UNAVAILABLE: i64 = -32011;
pub const OVERLOADED: i64 = -32012;
pub const TIMED_OUT: i64 = -32013;
pub const NO_ROUTE: i64 = -32014;
pub const CLIENT_GONE: i64 = -32015;

/// An error; what is serialised of it is its `data`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Refusal {
    #[serde(skip)]
    code: i64,
    #[serde(skip)]
    message: String,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl Refusal {
    pub(super) fn new(code: i64, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, reason, message, pool: None, worker: None, retry_after_ms: None }
    }

    /// A part of a request that would have to be remembered is too long for that.
    pub(super) fn not_kept(what: &str, max_bytes: usize) -> Self {
        let why = format!("{what} may have {max_bytes} bytes at most");
        Self::new(codes::INVALID_REQUEST, "invalid_request", why)
    }

    pub(super) fn bad_line(is_parse_error: bool, why: &str) -> Self {
        match is_parse_error {
            true => Self::new(codes::PARSE, "parse_error", format!("not JSON: {why}")),
            false => Self::new(
                codes::INVALID_REQUEST,
                "invalid_request",
                format!("not a JSON-RPC message: {why}"),
            ),
        }
    }

    pub(super) fn line_too_long() -> Self {
        let message = "the line is longer than allowed and was skipped";
        Self::new(codes::INVALID_REQUEST, "line_too_long", message)
    }

    pub(super) fn overloaded(what: &str) -> Self {
        Self::new(OVERLOADED, "overloaded", format!("overloaded: {what}"))
    }

    pub(super) fn no_route(why: impl Into<String>) -> Self {
        Self::new(NO_ROUTE, "no_route", why)
    }

    pub(super) fn draining() -> Self {
        Self::new(UNAVAILABLE, "draining", "no new requests are taken: draining")
    }

    pub(super) fn session_lost(session: &str) -> Self {
        let message = format!("not found: session {session} ended with its worker");
        Self::new(codes::NOT_FOUND, "session_lost", message)
    }

    pub(super) fn timed_out(limit: u64) -> Self {
        Self::new(TIMED_OUT, "timed_out", format!("no answer within {limit} ms"))
    }

    pub(super) fn cancelled() -> Self {
        Self::new(codes::REQUEST_CANCELLED, "cancelled", "cancelled before it reached a worker")
    }

    pub(super) fn worker_lost(why: &str) -> Self {
        Self::new(WORKER_LOST, "worker_died", format!("the worker was lost: {why}"))
    }

    #[must_use]
    pub(super) fn of_pool(mut self, pool: &Arc<str>) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    #[must_use]
    pub(super) fn of_worker(mut self, worker: WorkerId) -> Self {
        self.worker = Some(worker);
        self
    }

    #[must_use]
    pub(super) fn retry_after(mut self, n_millis: u64) -> Self {
        self.retry_after_ms = Some(n_millis);
        self
    }

    /// The error response as one line, under the asker's own id.
    pub(super) fn to_line(&self, raw_id: &[u8]) -> Bytes {
        let error = RpcError::new(self.code, &*self.message).with_data(self);
        wire::error_line(&id_text(raw_id), &error).into()
    }
}
