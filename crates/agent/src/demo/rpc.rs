//! JSON-RPC 2.0 messages, read and written.
//!
//! In: one line. Out: what kind of message it is, with id and payload as the bytes that came.
//! An id is echoed byte for byte, whatever number or string the client chose.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL: i64 = -32603;
pub(super) const AUTH_REQUIRED: i64 = -32000;
pub(super) const NOT_FOUND: i64 = -32002;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
}

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// What the other side said to one of our requests, as it was written.
#[derive(Debug)]
pub(super) enum Answer {
    Result(Box<RawValue>),
    Error(Box<RawValue>),
}

#[derive(Debug)]
pub(super) enum Incoming<'a> {
    Request { id: &'a RawValue, method: Cow<'a, str>, params: &'a RawValue },
    Notification { method: Cow<'a, str>, params: &'a RawValue },
    Response { id: &'a RawValue, answer: Answer },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    // A request may have the id null, which is not the same as having none.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

pub(super) fn read(line: &[u8]) -> Result<Incoming<'_>, RpcError> {
    let envelope: Envelope<'_> =
        serde_json::from_slice(line).map_err(|problem| classify(line, &problem))?;
    let params = envelope.params.unwrap_or(RawValue::NULL);
    match (envelope.method, envelope.id) {
        (Some(method), Some(id)) => Ok(Incoming::Request { id, method, params }),
        (Some(method), None) => Ok(Incoming::Notification { method, params }),
        (None, Some(id)) => {
            let answer = match (envelope.result, envelope.error) {
                (_, Some(error)) => Answer::Error(error.to_owned()),
                (Some(result), None) => Answer::Result(result.to_owned()),
                (None, None) => {
                    return Err(RpcError::new(INVALID_REQUEST, "neither a method nor a result"));
                }
            };
            Ok(Incoming::Response { id, answer })
        }
        (None, None) => Err(RpcError::new(INVALID_REQUEST, "neither a method nor an id")),
    }
}

fn classify(line: &[u8], problem: &serde_json::Error) -> RpcError {
    let is_json = serde_json::from_slice::<&RawValue>(line).is_ok();
    let code = if is_json { INVALID_REQUEST } else { PARSE_ERROR };
    RpcError::new(code, format!("cannot read the message: {problem}"))
}

pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    let method = Value::from(method);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{params}}}\n")
}

pub(super) fn notification(method: &str, params: &str) -> String {
    let method = Value::from(method);
    format!("{{\"jsonrpc\":\"2.0\",\"method\":{method},\"params\":{params}}}\n")
}

/// A `session/update` whose update is given as JSON text, so that it goes out byte for byte.
pub(super) fn update(session: &str, update: &str) -> String {
    let session = Value::from(session);
    notification("session/update", &format!("{{\"sessionId\":{session},\"update\":{update}}}"))
}

pub(super) fn success(id: &RawValue, result: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n", id.get())
}

pub(super) fn failure(id: &RawValue, error: &RpcError) -> String {
    let body = json!({ "code": error.code, "message": error.message });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{body}}}\n", id.get())
}

pub(super) fn outcome(id: &RawValue, outcome: &Result<Value, RpcError>) -> String {
    match outcome {
        Ok(result) => success(id, result),
        Err(error) => failure(id, error),
    }
}

#[cfg(test)]
mod tests;
