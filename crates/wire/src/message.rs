//! Reads the envelope of one JSON-RPC line and leaves the rest alone.
//!
//! In: one line. Out: what kind of message it is and where its id, method and body stand
//! in the line. The body (`params`, `result` or `error`) is never decoded here: big
//! integers, unknown members and escapes stay as they are. A member that decides routing
//! must not occur twice, or two readers could disagree about the same line.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Json;
use crate::limits::MAX_NESTING;
use crate::rpc::{RpcError, RpcId, codes};
use crate::values::outside_strings;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    Request,
    Notification,
    Response,
    Error,
}

impl MessageKind {
    /// The kind of a message, by whether it has a method, an id, a result and an error; or why it
    /// is none.
    #[inline]
    pub(crate) fn of(members: (bool, bool, bool, bool)) -> Result<Self, &'static str> {
        match members {
            (true, _, true, _) | (true, _, _, true) => {
                Err("it is a request and a response at once")
            }
            (true, true, ..) => Ok(Self::Request),
            (true, false, ..) => Ok(Self::Notification),
            (false, _, true, true) => Err("it has a result and an error"),
            (false, true, true, false) => Ok(Self::Response),
            (false, true, false, true) => Ok(Self::Error),
            (false, false, ..) => Err("it has neither method nor id"),
            (false, true, false, false) => Err("it has neither method, result nor error"),
        }
    }
}

/// One JSON-RPC message; all text is a slice of its line.
#[derive(Debug, Clone)]
pub struct Message {
    line: Bytes,
    kind: MessageKind,
    id: Option<Range<usize>>,
    method: String,
    body: Option<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("nested deeper than {MAX_NESTING}")]
    TooDeep,
    #[error("there are too many values in it")]
    TooManyValues,
    #[error("not a JSON-RPC message: {why}")]
    Invalid { id: Option<RpcId>, why: String },
}

impl MessageError {
    /// The answer that the sender of the line should get.
    pub fn to_rpc(&self) -> (RpcId, RpcError) {
        let (id, code) = match self {
            Self::NotJson(_) => (None, codes::PARSE),
            Self::TooDeep => (None, codes::INVALID_REQUEST),
            Self::TooManyValues => (None, codes::INVALID_PARAMS),
            Self::Invalid { id, .. } => (id.clone(), codes::INVALID_REQUEST),
        };
        (id.unwrap_or_else(RpcId::null), RpcError::new(code, self.to_string()))
    }
}

impl Message {
    pub fn parse(line: Bytes) -> Result<Self, MessageError> {
        let text = std::str::from_utf8(&line)
            .map_err(|error| MessageError::NotJson(error.to_string()))?
            .trim_start_matches('\u{feff}');
        if is_deeper_than(text.as_bytes(), MAX_NESTING) {
            return Err(MessageError::TooDeep);
        }
        let head: MessageHead = match serde_json::from_str(text) {
            Ok(head) => head,
            Err(error) => return Err(why_unreadable(text, &error)),
        };
        let (kind, body) = head.classify()?;
        // A string id or a number is a slice of the line, so its place is a difference of
        // addresses; `span` checks that it is.
        let id = head.id.and_then(|raw| span(&line, raw.get()));
        let body = body.and_then(|raw| span(&line, raw.get()));
        let method = head.method.unwrap_or_default().into_owned();
        Ok(Self { line, kind, id, method, body })
    }

    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    /// Empty for responses.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The id; `null` where there is none.
    pub fn id(&self) -> RpcId {
        let raw = self.id.clone().map(|range| self.slice(range));
        raw.and_then(RpcId::from_raw).unwrap_or_else(RpcId::null)
    }

    /// The raw `params`, `result` or `error`; `null` where there is none.
    pub fn body(&self) -> &str {
        self.body.clone().map_or("null", |range| self.slice(range))
    }

    /// The body on its own.
    pub fn body_json(&self) -> Json {
        Json::trusted(self.body())
    }

    pub fn error(&self) -> RpcError {
        RpcError::read(self.body())
    }

    pub fn line(&self) -> &Bytes {
        &self.line
    }

    /// Reads the session and the update's name from the body, for routing and logging.
    pub fn peek(&self) -> Result<UpdatePeek, MessageError> {
        let body = self.body();
        let view: BodyView = serde_json::from_str(body).map_err(|error| self.invalid(&error))?;
        Ok(UpdatePeek {
            session: view.session.and_then(|raw| span(body.as_bytes(), raw.get())),
            session_id: view.session.and_then(|raw| serde_json::from_str(raw.get()).ok()),
            update: view.update.map(Cow::into_owned),
        })
    }

    /// The body with its top-level `sessionId`, if it has one, replaced.
    pub fn body_for_session(&self, peek: &UpdatePeek, session: &str) -> Json {
        let body = self.body();
        let Some(range) = &peek.session else { return Json::trusted(body) };
        let mut out = String::with_capacity(body.len() + session.len());
        out.push_str(body.get(..range.start).unwrap_or_default());
        out.push_str(Json::of(&session).as_str());
        out.push_str(body.get(range.end..).unwrap_or_default());
        Json::trusted(out)
    }

    fn slice(&self, range: Range<usize>) -> &str {
        // The line was checked to be UTF-8 and ranges come from `&str` slices of it.
        std::str::from_utf8(self.line.get(range).unwrap_or_default()).unwrap_or_default()
    }

    fn invalid(&self, why: &impl fmt::Display) -> MessageError {
        let id = matches!(self.kind, MessageKind::Request).then(|| self.id());
        MessageError::Invalid { id, why: why.to_string() }
    }
}

/// The session and the update's name in a body, of which nothing else is decoded.
#[derive(Debug, Clone, Default)]
pub struct UpdatePeek {
    /// Where `sessionId` stands in the body.
    session: Option<Range<usize>>,
    session_id: Option<String>,
    update: Option<String>,
}

impl UpdatePeek {
    /// `sessionId`, when it is a string.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// `update.sessionUpdate`.
    pub fn update_name(&self) -> Option<&str> {
        self.update.as_deref()
    }
}

#[derive(Default)]
struct BodyView<'a> {
    session: Option<&'a RawValue>,
    update: Option<Cow<'a, str>>,
}

#[derive(Default)]
struct MessageHead<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<Cow<'a, str>>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'a> MessageHead<'a> {
    fn classify(&self) -> Result<(MessageKind, Option<&'a RawValue>), MessageError> {
        let id = self.id.map(|raw| RpcId::from_raw(raw.get()));
        let invalid = |why: &str| {
            Err(MessageError::Invalid { id: id.clone().flatten(), why: why.to_owned() })
        };
        // Some agents leave `jsonrpc` out; a wrong one is another protocol.
        if self.jsonrpc.is_some_and(|version| version.get() != "\"2.0\"") {
            return invalid("`jsonrpc` is not \"2.0\"");
        }
        if id == Some(None) {
            return invalid("`id` is neither a number nor a string nor null");
        }
        let error = self.error.filter(|raw| self.result.is_none() || raw.get() != "null");
        let (has_method, has_result) = (self.method.is_some(), self.result.is_some());
        match MessageKind::of((has_method, id.is_some(), has_result, error.is_some())) {
            Ok(MessageKind::Response) => Ok((MessageKind::Response, self.result)),
            Ok(MessageKind::Error) => Ok((MessageKind::Error, error)),
            Ok(kind) => Ok((kind, self.params)),
            Err(why) => invalid(why),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for MessageHead<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeadVisitor<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for HeadVisitor<'a> {
            type Value = MessageHead<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MessageHead<'a>, A::Error> {
                let mut head = MessageHead::default();
                while let Some(BorrowedText(key)) = map.next_key()? {
                    match &*key {
                        "jsonrpc" => once(&mut head.jsonrpc, map.next_value()?)?,
                        "id" => once(&mut head.id, map.next_value()?)?,
                        "method" => once(&mut head.method, map.next_value::<BorrowedText>()?.0)?,
                        "params" => once(&mut head.params, map.next_value()?)?,
                        "result" => once(&mut head.result, map.next_value()?)?,
                        "error" => once(&mut head.error, map.next_value()?)?,
                        _ => _ = map.next_value::<IgnoredAny>()?,
                    }
                }
                Ok(head)
            }
        }
        deserializer.deserialize_map(HeadVisitor(std::marker::PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BodyView<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PeekVisitor<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for PeekVisitor<'a> {
            type Value = BodyView<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("params")
            }
            fn visit_unit<E>(self) -> Result<BodyView<'a>, E> {
                Ok(BodyView::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BodyView<'a>, A::Error> {
                let mut peek = BodyView::default();
                let mut update = None;
                while let Some(key) = map.next_key::<BorrowedText>()? {
                    match &*key.0 {
                        "sessionId" => once(&mut peek.session, map.next_value()?)?,
                        "update" => once(&mut update, map.next_value::<&RawValue>()?)?,
                        _ => _ = map.next_value::<IgnoredAny>()?,
                    }
                }
                // An update of another shape is still an update; it just has no name.
                let tagged = update.map(|raw| serde_json::from_str::<TaggedUpdate>(raw.get()));
                peek.update = tagged.and_then(|tagged| tagged.ok()?.name);
                Ok(peek)
            }
        }
        // `any`, because bodies may be null, and arrays are somebody else's business.
        deserializer.deserialize_any(PeekVisitor(std::marker::PhantomData))
    }
}

/// A string, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// An update, of which only the name is read.
#[derive(serde::Deserialize)]
struct TaggedUpdate<'a> {
    #[serde(borrow, rename = "sessionUpdate", default)]
    name: Option<Cow<'a, str>>,
}

fn once<T, E: serde::de::Error>(slot: &mut Option<T>, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom("a member occurs twice")),
    }
}

/// The range of `part` in `whole`, if it is a slice of it.
fn span(whole: &[u8], part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}

/// The id of a line that is no message, and whether it was meant as a request, as far as
/// they can be made out: whoever waits for it should not wait for ever.
pub fn salvage_id(line: &[u8]) -> Option<(RpcId, bool)> {
    #[derive(serde::Deserialize)]
    struct IdAndMethod<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        method: Option<IgnoredAny>,
    }
    let text = String::from_utf8_lossy(line);
    let remains: IdAndMethod = serde_json::from_str(&text).ok()?;
    Some((RpcId::from_raw(remains.id.get())?, remains.method.is_some()))
}

/// Tells text that is no JSON from JSON that is no message.
fn why_unreadable(text: &str, error: &serde_json::Error) -> MessageError {
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(_) => MessageError::NotJson(error.to_string()),
        Ok(_) => MessageError::Invalid { id: None, why: error.to_string() },
    }
}

fn is_deeper_than(text: &[u8], limit: usize) -> bool {
    let mut depth = 0_usize;
    outside_strings(text).any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > limit
    })
}

#[cfg(test)]
mod tests;
