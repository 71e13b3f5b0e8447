//! One-time codes: few, short-lived, and gone when used.

use std::sync::Mutex;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::locking::Locking as _;
use crate::tokens::{Sha256Sum, TokensError, sha256};

const LIFE: Duration = Duration::from_secs(10 * 60);
/// Limit of links that wait to be opened; beyond it a new one takes the place of the oldest.
const MAX_CODES: usize = 16;
/// Length of a code: too long to guess, short enough to read a link aloud if need be.
const CODE_BYTES: usize = 20;

#[derive(Debug, Default)]
pub(super) struct LoginCodes {
    waiting: Mutex<Vec<LoginCode>>,
}

#[derive(Debug)]
struct LoginCode {
    digest: Sha256Sum,
    until: Instant,
    login: Option<String>,
    /// Cancelled when the token of its maker is revoked.
    revoked: CancellationToken,
}

/// The login that a code is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodeLogin {
    /// A new login.
    New,
    /// One that is there already, by the name of its token.
    Existing(String),
}

impl LoginCodes {
    /// A code for a new login, good until the token of its maker is revoked.
    pub(super) fn issue(&self, revoked: &CancellationToken) -> Result<String, TokensError> {
        let mut bytes = [0_u8; CODE_BYTES];
        getrandom::fill(&mut bytes).map_err(TokensError::Entropy)?;
        let code = URL_SAFE_NO_PAD.encode(bytes);
        self.put(&code, None, revoked.clone());
        Ok(code)
    }

    /// A code for a tab of a login that is there already. Both sides compute it, and nobody else
    /// can.
    pub(super) fn take(&self, code: &str, login: &str) {
        self.put(code, Some(login.to_owned()), CancellationToken::new());
    }

    fn put(&self, code: &str, login: Option<String>, revoked: CancellationToken) {
        let now = Instant::now();
        let mut waiting = self.waiting.locked();
        waiting.retain(|code| code.until > now);
        if waiting.len() >= MAX_CODES {
            waiting.remove(0);
        }
        waiting.push(LoginCode { digest: sha256(code), until: now + LIFE, login, revoked });
    }

    /// The login that a code is for, if the code is valid; it is used up by that.
    pub(super) fn redeem(&self, code: &str) -> Option<CodeLogin> {
        let now = Instant::now();
        let presented = sha256(code);
        let mut waiting = self.waiting.locked();
        waiting.retain(|code| code.until > now && !code.revoked.is_cancelled());
        // Each is compared in constant time, also after a match.
        let is_it = |code: &mut LoginCode| bool::from(code.digest.ct_eq(&presented));
        let found = waiting.extract_if(.., is_it).last()?;
        Some(found.login.map_or(CodeLogin::New, CodeLogin::Existing))
    }
}

#[cfg(test)]
mod tests;
