//! The first message of a client of the bus, read by Switchyard itself and by no worker: the
//! client's token, and which pool it wants.
//!
//! Either a message of its own, `switchyard/hello` with `params {token?, pool?}`, or any other, as
//! the `initialize` of a client that cannot say more than its protocol has, with the token in
//! `params._meta.switchyard.token`; there it is blanked before the line goes on.

use std::borrow::Cow;
use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::{Envelope, MessageKind, RpcError, RpcId, codes};

/// The method of the first message with which a client shows its token and chooses its pool.
pub(crate) const HELLO: &str = "switchyard/hello";

pub(crate) fn is_hello(line: &[u8], envelope: &Envelope) -> bool {
    // Hardly any method begins like this, so that the rest is hardly ever looked at.
    envelope.method.of(line).starts_with(b"\"switchyard")
        && envelope.method.text(line).is_some_and(|method| method == HELLO)
}

/// The answer to a hello that asked for one.
pub(crate) fn welcome(raw_id: &[u8]) -> Bytes {
    wire::result_line(&id_text(raw_id), "{}").into()
}

/// A raw id, for an answer; `null` where there is none.
pub(crate) fn id_text(raw_id: &[u8]) -> Cow<'_, str> {
    match raw_id {
        [] => Cow::Borrowed(RpcId::NULL_TEXT),
        raw_id => String::from_utf8_lossy(raw_id),
    }
}

/// The first line of a client, as far as it is about the client itself: token, pool, and what of
/// the line goes on.
#[derive(Debug)]
pub struct FirstMessage {
    pub token: Option<String>,
    pub pool: Option<String>,
    /// The message to pass on, without its token; `None` for a hello, of which nothing goes on.
    pub message: Option<Bytes>,
    /// The response to a hello, if it was a request.
    pub answer: Option<Bytes>,
    raw_id: Bytes,
}

impl FirstMessage {
    /// Reads a line; `None` if it is no message.
    pub fn read(line: &Bytes) -> Option<Self> {
        #[derive(Default, Deserialize)]
        struct HelloParams {
            token: Option<String>,
            pool: Option<String>,
        }
        let envelope = Envelope::read(line).ok()?;
        let raw_id = envelope.id.of(line);
        let asks = envelope.kind == MessageKind::Request;
        if is_hello(line, &envelope) {
            let body = envelope.body.of(line);
            let HelloParams { token, pool } = serde_json::from_slice(body).unwrap_or_default();
            let answer = asks.then(|| welcome(raw_id));
            let raw_id = line.slice_ref(raw_id);
            return Some(Self { token, pool, message: None, answer, raw_id });
        }
        let meta = envelope.meta.of(line);
        let token = token_in(meta).and_then(|said| serde_json::from_str(said.get()).ok());
        let message = Some(blanked(line, meta).map_or_else(|| line.clone(), Bytes::from));
        let raw_id = line.slice_ref(raw_id);
        Some(Self { token, pool: None, message, answer: None, raw_id })
    }

    /// The error response to a client that is not authorized.
    pub fn refusal(&self, why: &str) -> Bytes {
        refusal(&self.raw_id, why)
    }
}

/// The error response to a client that is not authorized, under the raw id of its message.
pub fn refusal(raw_id: &[u8], why: &str) -> Bytes {
    let message = format!(
        "unauthorized: {why}; begin with `{HELLO}` and the token in `params.token`, or put it into \
         `params._meta.switchyard.token` of `initialize`"
    );
    let data = serde_json::json!({ "reason": "unauthorized" });
    let error = RpcError::new(codes::AUTH_REQUIRED, message).with_data(&data);
    wire::error_line(&id_text(raw_id), &error).into()
}

#[derive(Deserialize)]
struct HelloMeta<'a> {
    #[serde(borrow)]
    switchyard: Option<SwitchyardMeta<'a>>,
}

#[derive(Deserialize)]
struct SwitchyardMeta<'a> {
    #[serde(borrow)]
    token: Option<&'a RawValue>,
}

/// The token in a raw `_meta`, as raw JSON.
pub(crate) fn token_in(meta: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice::<HelloMeta<'_>>(meta).ok()?.switchyard?.token
}

/// The line without the token that its `_meta` holds; nothing if there is none.
pub(crate) fn blanked(line: &[u8], meta: &[u8]) -> Option<Vec<u8>> {
    const BLANK: &str = "\"\"";
    let token = token_in(meta).map(RawValue::get).filter(|token| *token != BLANK)?;
    // It is a part of the line, so its place is known.
    let at = (token.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
    let (before, rest) = line.split_at_checked(at)?;
    let after = rest.get(token.len()..)?;
    Some([before, BLANK.as_bytes(), after].concat())
}

/// A secret that authorizes a client.
#[derive(Clone, PartialEq, Eq)]
pub struct BusToken(Arc<str>);

impl BusToken {
    /// `None` if it is so short that it could be guessed.
    pub fn new(secret: &str) -> Option<Self> {
        const MIN_BYTES: usize = 16;
        (secret.len() >= MIN_BYTES).then(|| Self(secret.into()))
    }

    /// Compares in the same time for every wrong token of the same length.
    pub fn is(&self, said: &str) -> bool {
        let (own, said) = (self.0.as_bytes(), said.as_bytes());
        let differences = own.iter().zip(said).fold(0, |all, (a, b)| all | black_box(a ^ b));
        own.len() == said.len() && black_box(differences) == 0
    }
}

impl fmt::Debug for BusToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// An accepted hello, with the response to it if it was a request.
    Hello {
        pool: Option<Arc<str>>,
        answer: Option<Bytes>,
    },
    /// Any other message that may be passed on, without its token.
    Message(Bytes),
    Refused {
        answer: Bytes,
        why: &'static str,
    },
}

/// Reads the first line of a client.
pub(crate) fn greet(line: Bytes, token: Option<&BusToken>) -> Greeting {
    // Most clients of a bus without tokens say no hello; their line is read once, later.
    let is_plain = memchr::memmem::find(&line, b"hello").is_none();
    if token.is_none() && is_plain {
        return Greeting::Message(line);
    }
    let Some(words) = FirstMessage::read(&line) else {
        return match token {
            None => Greeting::Message(line),
            Some(_) => Greeting::refused(b"null", "its first line is no message"),
        };
    };
    let said = words.token.as_deref();
    let is_let_in = token.is_none_or(|token| said.is_some_and(|said| token.is(said)));
    if !is_let_in {
        let why = "its token is wrong or missing";
        return Greeting::Refused { answer: words.refusal(why), why };
    }
    match words.message {
        None => Greeting::Hello { pool: words.pool.map(Into::into), answer: words.answer },
        // Without its token here already, so that a recording of the inputs does not hold it.
        Some(message) if token.is_some() => Greeting::Message(message),
        Some(_) => Greeting::Message(line),
    }
}

impl Greeting {
    pub(crate) fn refused(raw_id: &[u8], why: &'static str) -> Self {
        Self::Refused { answer: refusal(raw_id, why), why }
    }
}

#[cfg(test)]
mod tests;
