//! One-time codes: few, short-lived, and gone when used.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use crate::tokens::{Sum, TokensError, sum};

const LIFE: Duration = Duration::from_secs(10 * 60);
/// Links that wait to be opened; a new one beyond takes the place of the oldest.
const MAX_CODES: usize = 16;
/// Too many to guess, few enough to read a link aloud if need be.
const CODE_BYTES: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Codes {
    waiting: Mutex<Vec<Code>>,
}

#[derive(Debug)]
struct Code {
    digest: Sum,
    until: Instant,
}

impl Codes {
    pub(super) fn issue(&self) -> Result<String, TokensError> {
        let mut bytes = [0_u8; CODE_BYTES];
        getrandom::fill(&mut bytes).map_err(TokensError::Entropy)?;
        let code = URL_SAFE_NO_PAD.encode(bytes);
        self.take(&code);
        Ok(code)
    }

    /// A code that somebody else came to, and that nobody can guess, counts as one of ours.
    pub(super) fn take(&self, code: &str) {
        let now = Instant::now();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|code| code.until > now);
        if waiting.len() >= MAX_CODES {
            waiting.remove(0);
        }
        waiting.push(Code { digest: sum(code), until: now + LIFE });
    }

    /// Whether it is one of ours; it is none afterwards.
    pub(super) fn redeem(&self, code: &str) -> bool {
        let now = Instant::now();
        let presented = sum(code);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|code| code.until > now);
        let before = waiting.len();
        // Each is compared in constant time, also after a match.
        waiting.retain(|code| !bool::from(code.digest.ct_eq(&presented)));
        waiting.len() < before
    }
}

#[cfg(test)]
mod tests;
