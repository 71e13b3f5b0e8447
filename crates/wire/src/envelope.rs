//! Reads what routing needs from one JSON-RPC line, in one pass and without allocating.
//!
//! In: one line. Out: its kind, and where its id, method, body, session, pool and request
//! id stand in it. The line is checked to be exactly one JSON value on the way, by the same
//! grammar as [`Message`](crate::Message); nothing is decoded. A member that decides routing
//! must not occur twice, or two readers could disagree about the same line.

use std::borrow::Cow;
use std::ops::Range;

use crate::MessageKind;
use scan::{Fault, Scanner};

mod scan;

/// Where a part stands in its line; a part that is not there is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub fn is_some(self) -> bool {
        self.end > self.start
    }

    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The bytes; empty where the part is not there.
    pub fn of(self, line: &[u8]) -> &[u8] {
        line.get(self.range()).unwrap_or_default()
    }

    /// The text of a part that is a JSON string. Borrowed where it has no escapes.
    pub fn text(self, line: &[u8]) -> Option<Cow<'_, str>> {
        let quoted = self.of(line);
        let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if memchr::memchr(b'\\', inner).is_none() {
            return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
        }
        serde_json::from_slice::<String>(quoted).ok().map(Cow::Owned)
    }
}

/// One message, as far as routing is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    pub kind: MessageKind,
    /// Raw: a number, a string with its quotes, or `null`.
    pub id: Span,
    /// A JSON string; read it with [`Span::text`].
    pub method: Span,
    /// The raw `params`, `result` or `error`.
    pub body: Span,
    /// `sessionId` of `params` or `result`, if it is a string that is not empty.
    pub session: Span,
    /// `sessionId` beside `method` and `id`, where some routers put it.
    pub top_session: Span,
    /// `pool` beside `method` and `id`.
    pub pool: Span,
    /// `requestId` of `params`, raw.
    pub request_id: Span,
    /// `_meta` of `params`, raw.
    pub meta: Span,
}

/// Why a line is no message, and what could still be made out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unreadable {
    /// Whether the line is not even JSON.
    pub is_parse_error: bool,
    pub why: &'static str,
    /// The raw id, if it stood before the fault and is one.
    pub id: Span,
    /// Whether a method was seen, so that the line was not meant as an answer.
    pub has_method: bool,
}

impl Envelope {
    pub fn read(line: &[u8]) -> Result<Self, Unreadable> {
        let mut head = Head::default();
        let faulty = |head: &Head, fault: Fault| {
            let id = if is_id(head.id.of(line)) { head.id } else { Span::default() };
            let Fault { why, is_parse_error } = fault;
            Unreadable { is_parse_error, why, id, has_method: head.method.is_some() }
        };
        if u32::try_from(line.len()).is_err() || std::str::from_utf8(line).is_err() {
            return Err(faulty(&head, Fault::json("the line is not UTF-8 text")));
        }
        head.fill(line).map_err(|fault| faulty(&head, fault))?;
        let (kind, body) = head.classify(line).map_err(|why| faulty(&head, Fault::message(why)))?;
        let session = match kind {
            MessageKind::Request | MessageKind::Notification => head.params.session,
            MessageKind::Response => head.result.session,
            MessageKind::Error => Span::default(),
        };
        let named = |span: Span| if is_name(span.of(line)) { span } else { Span::default() };
        Ok(Self {
            kind,
            id: head.id,
            method: head.method,
            body,
            session: named(session),
            top_session: named(head.session),
            pool: named(head.pool),
            request_id: head.params.request_id,
            meta: head.params.meta,
        })
    }
}

/// The members of a line that routing looks at.
#[derive(Default)]
struct Head {
    jsonrpc: Span,
    id: Span,
    method: Span,
    session: Span,
    pool: Span,
    params: Body,
    result: Body,
    error: Span,
}

/// `params` or `result`, and the members of it that routing looks at.
#[derive(Default)]
struct Body {
    whole: Span,
    session: Span,
    request_id: Span,
    meta: Span,
}

impl Head {
    fn fill(&mut self, line: &[u8]) -> Result<(), Fault> {
        let mut scanner = Scanner::new(line);
        if !scanner.open_object()? {
            return Err(scanner.not_an_object());
        }
        while let Some(key) = scanner.next_key()? {
            match &*scanner.key_text(key) {
                b"params" => self.params.fill(&mut scanner)?,
                b"result" => self.result.fill(&mut scanner)?,
                b"id" => once(&mut self.id, scanner.value(1)?)?,
                b"method" => once(&mut self.method, scanner.value(1)?)?,
                b"jsonrpc" => once(&mut self.jsonrpc, scanner.value(1)?)?,
                b"error" => once(&mut self.error, scanner.value(1)?)?,
                b"sessionId" => once(&mut self.session, scanner.value(1)?)?,
                b"pool" => once(&mut self.pool, scanner.value(1)?)?,
                _ => _ = scanner.value(1)?,
            }
        }
        scanner.end()
    }

    fn classify(&self, line: &[u8]) -> Result<(MessageKind, Span), &'static str> {
        // Some agents leave `jsonrpc` out; a wrong one is another protocol.
        if self.jsonrpc.is_some() && self.jsonrpc.of(line) != b"\"2.0\"" {
            return Err("`jsonrpc` is not \"2.0\"");
        }
        if self.id.is_some() && !is_id(self.id.of(line)) {
            return Err("`id` is neither a number nor a string nor null");
        }
        if self.method.is_some() && !self.method.of(line).starts_with(b"\"") {
            return Err("`method` is not a string");
        }
        let (result, has_id) = (self.result.whole, self.id.is_some());
        let has_error =
            self.error.is_some() && !(result.is_some() && self.error.of(line) == b"null");
        match (self.method.is_some(), has_id, result.is_some(), has_error) {
            (true, _, true, _) | (true, _, _, true) => {
                Err("it is a request and a response at once")
            }
            (true, true, ..) => Ok((MessageKind::Request, self.params.whole)),
            (true, false, ..) => Ok((MessageKind::Notification, self.params.whole)),
            (false, _, true, true) => Err("it has a result and an error"),
            (false, true, true, false) => Ok((MessageKind::Response, result)),
            (false, true, false, true) => Ok((MessageKind::Error, self.error)),
            (false, false, ..) => Err("it has neither method nor id"),
            (false, true, false, false) => Err("it has neither method, result nor error"),
        }
    }
}

impl Body {
    fn fill(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        if self.whole.is_some() {
            return Err(TWICE);
        }
        if !scanner.is_at(b'{') {
            self.whole = scanner.value(1)?;
            return Ok(());
        }
        let start = scanner.position();
        scanner.open_object()?;
        while let Some(key) = scanner.next_key()? {
            match &*scanner.key_text(key) {
                b"sessionId" => once(&mut self.session, scanner.value(2)?)?,
                b"requestId" => once(&mut self.request_id, scanner.value(2)?)?,
                b"_meta" => once(&mut self.meta, scanner.value(2)?)?,
                _ => _ = scanner.value(2)?,
            }
        }
        self.whole = scanner.span_from(start);
        Ok(())
    }
}

const TWICE: Fault = Fault::message("a member occurs twice");

fn once(slot: &mut Span, value: Span) -> Result<(), Fault> {
    if slot.is_some() {
        return Err(TWICE);
    }
    *slot = value;
    Ok(())
}

fn is_id(raw: &[u8]) -> bool {
    matches!(raw, [b'"' | b'-' | b'0'..=b'9', ..]) || raw == b"null"
}

fn is_name(raw: &[u8]) -> bool {
    raw.starts_with(b"\"") && raw.len() > 2
}

#[cfg(test)]
mod tests;
