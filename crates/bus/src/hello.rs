//! What a client says first, to Switchyard itself and to no worker: a hello, and its token.
//!
//! The token stands in the hello, or in `params._meta.switchyard.token` of any other message;
//! there it is blanked before the line goes on.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::{Envelope, MessageKind};

/// What a client may say first, to show its token and to choose its pool.
pub(crate) const HELLO: &str = "switchyard/hello";

pub(crate) fn is_hello(line: &[u8], envelope: &Envelope) -> bool {
    // Hardly any method begins like this, so that the rest is hardly ever looked at.
    envelope.method.of(line).starts_with(b"\"switchyard")
        && envelope.method.text(line).is_some_and(|method| method == HELLO)
}

/// The answer to a hello that asked for one.
pub(crate) fn welcome(raw_id: &[u8]) -> Bytes {
    Bytes::from([br#"{"jsonrpc":"2.0","id":"#, raw_id, br#","result":{}}"#, b"\n"].concat())
}

/// The first line of a client, as far as it is about the client itself.
#[derive(Debug)]
pub struct FirstWords {
    pub token: Option<String>,
    pub pool: Option<String>,
    /// A message that goes on, without its token; nothing of a hello does.
    pub message: Option<Bytes>,
    /// What a hello is told, if it asked.
    pub answer: Option<Bytes>,
    raw_id: Bytes,
}

impl FirstWords {
    /// Reads a line; `None` if it is no message.
    pub fn read(line: &Bytes) -> Option<Self> {
        #[derive(Default, Deserialize)]
        struct Params {
            token: Option<String>,
            pool: Option<String>,
        }
        let envelope = Envelope::read(line).ok()?;
        let raw_id = envelope.id.of(line);
        let asks = envelope.kind == MessageKind::Request;
        if is_hello(line, &envelope) {
            let body = envelope.body.of(line);
            let Params { token, pool } = serde_json::from_slice(body).unwrap_or_default();
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

    /// The answer to a client that is not let in.
    pub fn refusal(&self, why: &str) -> Bytes {
        refusal(&self.raw_id, why)
    }
}

/// The answer to a client that is not let in, under the raw id of what it said.
pub fn refusal(raw_id: &[u8], why: &str) -> Bytes {
    let raw_id = if raw_id.is_empty() { b"null" } else { raw_id };
    let error = format!(
        r#","error":{{"code":-32000,"message":"not let in: {why}; begin with `{HELLO}` and the token in `params.token`, or put it into `params._meta.switchyard.token` of `initialize`","data":{{"reason":"unauthorized"}}}}}}"#
    );
    Bytes::from([br#"{"jsonrpc":"2.0","id":"#, raw_id, error.as_bytes(), b"\n"].concat())
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow)]
    switchyard: Option<Own<'a>>,
}

#[derive(Deserialize)]
struct Own<'a> {
    #[serde(borrow)]
    token: Option<&'a RawValue>,
}

/// The token in a raw `_meta`, as it stands there.
pub(crate) fn token_in(meta: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice::<Meta<'_>>(meta).ok()?.switchyard?.token
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
