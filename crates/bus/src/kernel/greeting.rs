//! The first line of a client: who it is and which pool it wants.
//!
//! Either a message of its own, `switchyard/hello` with `params {token?, pool?}`, or the
//! `initialize` of a client that cannot say more than its protocol has, with
//! `params._meta.switchyard.token`. Neither goes further than here.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use wire::{Envelope, MessageKind};

use crate::hello::{HELLO, blanked, is_hello, token_in, welcome};

/// A secret that lets a client in.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

impl Token {
    /// `None` if it is so short that it could be guessed.
    pub fn new(secret: &str) -> Option<Self> {
        const MIN_BYTES: usize = 16;
        (secret.len() >= MIN_BYTES).then(|| Self(secret.into()))
    }

    /// Takes as long for every wrong token of the same length.
    pub fn is(&self, said: &str) -> bool {
        let (own, said) = (self.0.as_bytes(), said.as_bytes());
        let differences = own.iter().zip(said).fold(0, |all, (a, b)| all | black_box(a ^ b));
        own.len() == said.len() && black_box(differences) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// A hello that was in order. `answer` is what it is told, if it asked.
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
pub(super) fn greet(line: Bytes, token: Option<&Token>) -> Greeting {
    // Most clients of a bus without tokens say no hello; their line is read once, later.
    let is_plain = memchr::memmem::find(&line, b"hello").is_none();
    if token.is_none() && is_plain {
        return Greeting::Message(line);
    }
    let Ok(envelope) = Envelope::read(&line) else {
        return match token {
            None => Greeting::Message(line),
            Some(_) => Greeting::refused(b"null", "its first line is no message"),
        };
    };
    let raw_id = envelope.id.of(&line);
    if is_hello(&line, &envelope) {
        let params = serde_json::from_slice::<Params>(envelope.body.of(&line)).unwrap_or_default();
        return match token {
            Some(token) if !params.token.as_deref().is_some_and(|said| token.is(said)) => {
                Greeting::refused(raw_id, "its token is wrong or missing")
            }
            _ => Greeting::Hello {
                pool: params.pool.map(Into::into),
                answer: (envelope.kind == MessageKind::Request).then(|| welcome(raw_id)),
            },
        };
    }
    let Some(token) = token else { return Greeting::Message(line) };
    let meta = envelope.meta.of(&line);
    match token_in(meta).map(|said| serde_json::from_str::<String>(said.get())) {
        // Here already, so that a recording of the switch's inputs does not hold it.
        Some(Ok(said)) if token.is(&said) => {
            Greeting::Message(blanked(&line, meta).map_or(line, Bytes::from))
        }
        _ => Greeting::refused(raw_id, "its token is wrong or missing"),
    }
}

#[derive(Default, Deserialize)]
struct Params {
    token: Option<String>,
    pool: Option<String>,
}

impl Greeting {
    pub(super) fn refused(raw_id: &[u8], why: &'static str) -> Self {
        let raw_id = if raw_id.is_empty() { b"null" } else { raw_id };
        let error = format!(
            r#","error":{{"code":-32000,"message":"not let in: {why}; begin with `{HELLO}` and the bus's token in `params.token`, or put it into `params._meta.switchyard.token` of `initialize`","data":{{"reason":"unauthorized"}}}}}}"#
        );
        let answer = [br#"{"jsonrpc":"2.0","id":"#, raw_id, error.as_bytes(), b"\n"].concat();
        Self::Refused { answer: Bytes::from(answer), why }
    }
}

#[cfg(test)]
mod tests;
