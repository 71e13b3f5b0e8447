//! Reads what routing needs from one JSON-RPC line, in one pass and without allocating.
//!
//! In: one line. Out: its kind, and where its id, method, body, session, pool and request
//! id stand in it. The line is checked to be exactly one JSON value on the way, by the same
//! grammar as [`Message`](crate::Message); nothing is decoded. A member that decides routing
//! must not occur twice, or two readers could disagree about the same line.

use std::borrow::Cow;
use std::ops::Range;

use crate::MessageKind;
use fault::ScanFault;
use scan::{Member, Scanner};
use strings::LineSurvey;

mod fault;
mod scan;
mod strings;

/// The place of a part in its line; a part that is not there is empty.
///
/// Start and end are one number, so that a span is written and read at once: reading two halves
/// together that were just written apart makes the processor wait.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Span(u64);

impl Span {
    /// Both fit: longer lines are not read.
    const fn new(start: u32, end: u32) -> Self {
        Self((end as u64) << 32 | start as u64)
    }

    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    pub fn range(self) -> Range<usize> {
        let half = |n: u64| usize::try_from(n & u64::from(u32::MAX)).unwrap_or(usize::MAX);
        half(self.0)..half(self.0 >> 32)
    }

    /// The bytes; empty where the part is not there.
    pub fn of(self, line: &[u8]) -> &[u8] {
        line.get(self.range()).unwrap_or_default()
    }

    /// The text of a part that is a JSON string. Borrowed where it has no escapes.
    pub fn text(self, line: &[u8]) -> Option<Cow<'_, str>> {
        match self.bytes(line)? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        }
    }

    /// The same as bytes, for comparison: the line is known to be UTF-8.
    pub fn bytes(self, line: &[u8]) -> Option<Cow<'_, [u8]>> {
        let [b'"', inner @ .., b'"'] = self.of(line) else { return None };
        if !inner.contains(&b'\\') {
            return Some(Cow::Borrowed(inner));
        }
        let decoded = serde_json::from_slice::<String>(self.of(line)).ok()?;
        Some(Cow::Owned(decoded.into_bytes()))
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.range().fmt(f)
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

/// The error of a line that is no message, with what could still be made out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct UnreadableLine {
    /// Whether the line is not even JSON.
    pub is_parse_error: bool,
    pub why: &'static str,
    /// The raw id, if it stood before the fault and is one.
    pub id: Span,
    /// Whether a method was seen, so that the line was not meant as an answer.
    pub has_method: bool,
}

impl Envelope {
    pub fn read(line: &[u8]) -> Result<Self, UnreadableLine> {
        let mut head = EnvelopeHead::default();
        let is_short = u32::try_from(line.len()).is_ok();
        let survey = LineSurvey::of(line);
        if !is_short || !(survey.is_ascii || std::str::from_utf8(line).is_ok()) {
            return Err(head.unreadable(line, true, "the line is not UTF-8 text"));
        }
        if let Err(fault) = head.fill(Scanner::new(line, survey.has_control)) {
            return Err(head.unreadable(line, fault.is_parse_error(), fault.why()));
        }
        let (kind, body) = head.classify(line).map_err(|why| head.unreadable(line, false, why))?;
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
struct EnvelopeHead {
    jsonrpc: Span,
    id: Span,
    method: Span,
    session: Span,
    pool: Span,
    params: EnvelopeBody,
    result: EnvelopeBody,
    error: Span,
}

/// `params` or `result`, and the members of it that routing looks at.
#[derive(Default)]
struct EnvelopeBody {
    whole: Span,
    session: Span,
    request_id: Span,
    meta: Span,
}

impl EnvelopeHead {
    fn fill(&mut self, mut scanner: Scanner<'_>) -> Result<(), ScanFault> {
        if let Some(version) = scanner.usual_opening() {
            self.jsonrpc = version;
        } else if !scanner.open_object()? {
            return Err(scanner.not_an_object());
        }
        while let Some(member) = scanner.next_member()? {
            match member {
                Member::Params => self.params.fill(&mut scanner)?,
                Member::Result => self.result.fill(&mut scanner)?,
                Member::Id => once(&mut self.id, scanner.value(1)?)?,
                Member::Method => once(&mut self.method, scanner.value(1)?)?,
                Member::Jsonrpc => once(&mut self.jsonrpc, scanner.value(1)?)?,
                Member::Error => once(&mut self.error, scanner.value(1)?)?,
                Member::Session => once(&mut self.session, scanner.value(1)?)?,
                Member::Pool => once(&mut self.pool, scanner.value(1)?)?,
                Member::Request | Member::Meta | Member::Other => _ = scanner.value(1)?,
            }
        }
        scanner.end()
    }

    #[cold]
    fn unreadable(&self, line: &[u8], is_parse_error: bool, why: &'static str) -> UnreadableLine {
        let id = if is_id(self.id.of(line)) { self.id } else { Span::default() };
        UnreadableLine { is_parse_error, why, id, has_method: self.method.is_some() }
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
        let kind = MessageKind::of((self.method.is_some(), has_id, result.is_some(), has_error))?;
        Ok(match kind {
            MessageKind::Request | MessageKind::Notification => (kind, self.params.whole),
            MessageKind::Response => (kind, result),
            MessageKind::Error => (kind, self.error),
        })
    }
}

impl EnvelopeBody {
    fn fill(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanFault> {
        if self.whole.is_some() {
            return Err(ScanFault::Twice);
        }
        if !scanner.is_at(b'{') {
            self.whole = scanner.value(1)?;
            return Ok(());
        }
        let start = scanner.at;
        scanner.open_object()?;
        while let Some(member) = scanner.next_member()? {
            match member {
                Member::Session => once(&mut self.session, scanner.value(2)?)?,
                Member::Request => once(&mut self.request_id, scanner.value(2)?)?,
                Member::Meta => once(&mut self.meta, scanner.value(2)?)?,
                _ => _ = scanner.value(2)?,
            }
        }
        self.whole = scanner.span_from(start);
        Ok(())
    }
}

fn once(slot: &mut Span, value: Span) -> Result<(), ScanFault> {
    if slot.is_some() {
        return Err(ScanFault::Twice);
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
