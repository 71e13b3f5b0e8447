//! JSON-RPC ids and errors, and the lines that carry them.
//!
//! An id is kept as the bytes it came in, so that it goes back unchanged: `1`, `1.0`,
//! `"1"` and `12345678901234567890123` are four different ids.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Json;

/// JSON-RPC's error codes and those that ACP adds.
pub mod codes {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;
    pub const REQUEST_CANCELLED: i64 = -32800;
    pub const AUTH_REQUIRED: i64 = -32000;
    pub const NOT_FOUND: i64 = -32002;
}

/// An id, byte for byte: a number, a string or `null`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RpcId(Box<str>);

impl RpcId {
    pub const NULL_TEXT: &str = "null";

    pub fn null() -> Self {
        Self(Self::NULL_TEXT.into())
    }

    pub fn number(n: u64) -> Self {
        Self(n.to_string().into())
    }

    /// `raw` must be the text of a JSON value; arrays, objects and booleans are no ids.
    pub(crate) fn from_raw(raw: &str) -> Option<Self> {
        let starts_well =
            raw.starts_with(['"', '-']) || raw.starts_with(|c: char| c.is_ascii_digit());
        (starts_well || raw == Self::NULL_TEXT).then(|| Self(raw.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The `error` member of a response.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}{} ({code})", self.detail())]
pub struct RpcError {
    #[serde(default = "internal_code")]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    pub data: Option<Json>,
}

fn internal_code() -> i64 {
    codes::INTERNAL
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = Some(Json::of(data));
        self
    }

    /// The part of `data` that adds something to the message: agents put the real reason there.
    fn detail(&self) -> String {
        let data = self.data.as_ref().and_then(|data| data.read::<serde_json::Value>().ok());
        let data = data.unwrap_or_default();
        let named = ["details", "message", "error"].iter().find_map(|name| data[*name].as_str());
        match named.or(data.as_str()) {
            Some(detail) if !detail.is_empty() && !self.message.contains(detail) => {
                format!(": {detail}")
            }
            _ => String::new(),
        }
    }

    pub fn method_not_found(method: &str) -> Self {
        let shown: String = method.chars().take(100).collect();
        Self::new(codes::METHOD_NOT_FOUND, format!("method not found: {shown}"))
    }

    pub fn invalid_params(why: impl fmt::Display) -> Self {
        Self::new(codes::INVALID_PARAMS, format!("invalid params: {why}"))
    }

    pub fn invalid_request(why: impl fmt::Display) -> Self {
        Self::new(codes::INVALID_REQUEST, format!("invalid request: {why}"))
    }

    pub fn internal(why: impl fmt::Display) -> Self {
        Self::new(codes::INTERNAL, why.to_string())
    }

    /// An error for what a rule forbids. Another way to the same thing is forbidden too, so whoever
    /// gets this must not take one.
    pub fn denied(why: impl fmt::Display) -> Self {
        Self::internal(why).with_data(&serde_json::json!({ "denied": true }))
    }

    pub fn is_denied(&self) -> bool {
        let data = self.data.as_ref().and_then(|data| data.read::<serde_json::Value>().ok());
        data.is_some_and(|data| data["denied"] == true)
    }

    pub fn not_found(what: impl fmt::Display) -> Self {
        Self::new(codes::NOT_FOUND, format!("not found: {what}"))
    }

    /// Reads an error object leniently: a code that is no integer or a missing message
    /// still leaves an error that can be shown.
    pub fn read(raw: &str) -> Self {
        serde_json::from_str(raw).unwrap_or_else(|_| Self {
            code: codes::INTERNAL,
            message: "the peer answered with an error that is not one of JSON-RPC".into(),
            data: Json::parse(raw).ok(),
        })
    }
}

/// A request as one line, newline included.
pub fn request_line(id: &RpcId, method: &str, params: &str) -> String {
    let method = Json::of(&method);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{},\"params\":{params}}}\n",
        method.as_str()
    )
}

/// A notification as one line, newline included.
pub fn notification_line(method: &str, params: &str) -> String {
    let method = Json::of(&method);
    format!("{{\"jsonrpc\":\"2.0\",\"method\":{},\"params\":{params}}}\n", method.as_str())
}

/// A successful response as one line, newline included.
pub fn result_line(id: &impl fmt::Display, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}

/// An error response as one line, newline included.
pub fn error_line(id: &impl fmt::Display, error: &RpcError) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}\n", Json::of(error).as_str())
}
