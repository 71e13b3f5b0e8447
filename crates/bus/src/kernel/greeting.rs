//! The first line of a client: who it is and which pool it wants.
//!
//! Either a message of its own, `switchyard/hello` with `params {token?, pool?}`, or the
//! `initialize` of a client that cannot say more than its protocol has, with
//! `params._meta.switchyard.token`. Neither goes further than here.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;

use crate::hello::{FirstWords, refusal};

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
    let Some(words) = FirstWords::read(&line) else {
        return match token {
            None => Greeting::Message(line),
            Some(_) => Greeting::refused(b"null", "its first line is no message"),
        };
    };
    let is_let_in = match (token, &words.token) {
        (None, _) => true,
        (Some(token), said) => said.as_deref().is_some_and(|said| token.is(said)),
    };
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
    pub(super) fn refused(raw_id: &[u8], why: &'static str) -> Self {
        Self::Refused { answer: refusal(raw_id, why), why }
    }
}

#[cfg(test)]
mod tests;
