//! One token as it is kept, as it is shown, and the secrets that a browser has of a login.
//!
//! The latter are made from one secret, for each name of the page anew. So all tabs of a browser
//! have the same ones, however many names the page had since somebody logged in, and what they have
//! at one name tells nothing about another.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::skip_serializing_none;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{BROWSER_PREFIX, Sha256Sum, TOKEN_PREFIX, sha256};
use crate::page_name::PageName;
use crate::principal::Role;

/// A line of the table. The token itself is not in it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TokenRecord {
    pub(super) name: String,
    #[serde(with = "hex")]
    pub(super) digest: Sha256Sum,
    pub(super) role: Role,
    pub(super) created: Timestamp,
    /// When the name was given; a new secret does not change that. None in older tables.
    pub(super) since: Option<Timestamp>,
    pub(super) expires: Option<Timestamp>,
    #[serde(default)]
    pub(super) own_sessions: bool,
    /// Of a login; the digest is then that of its root secret, and no token.
    pub(super) browser: Option<LoginSeed>,
}

/// The root secret of a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoginSeed {
    /// The secrets of the browser are made from this, for each name of the page anew.
    pub(super) root: String,
    /// Whether the login is good only at the page's own temporary names; if not, it is good
    /// everywhere else.
    pub(super) is_at_page_name: bool,
}

/// A token without its secret.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    pub name: String,
    #[schema(value_type = String)]
    pub role: Role,
    #[schema(value_type = String)]
    pub created: Timestamp,
    #[schema(value_type = Option<String>)]
    pub expires: Option<Timestamp>,
    /// Sees only the sessions that it made itself.
    pub own_sessions: bool,
    pub is_expired: bool,
    /// Made by a login, not by `switchyard token add`.
    pub is_browser: bool,
}

impl TokenRecord {
    /// A record made now, without expiry, and good for all sessions.
    pub(super) fn new(name: String, secret: &str, role: Role) -> Self {
        Self {
            name,
            digest: sha256(secret),
            role,
            created: Timestamp::now(),
            since: None,
            expires: None,
            own_sessions: false,
            browser: None,
        }
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub(super) fn is_browser(&self) -> bool {
        self.name.starts_with(BROWSER_PREFIX)
    }

    /// Whether a connection opened under this record may stay open under the other. A later expiry
    /// is no reason to cut it; fewer rights are.
    pub(super) fn has_same_rights(&self, other: &Self) -> bool {
        self.digest == other.digest
            && self.name == other.name
            && self.since == other.since
            && self.role == other.role
            && self.own_sessions == other.own_sessions
            && self.browser == other.browser
    }

    pub(super) fn info(&self) -> TokenInfo {
        TokenInfo {
            name: self.name.clone(),
            role: self.role,
            created: self.created,
            expires: self.expires,
            own_sessions: self.own_sessions,
            is_expired: self.is_expired(Timestamp::now()),
            is_browser: self.is_browser(),
        }
    }
}

mod hex {
    use super::{Deserialize, Deserializer, Serializer, Sha256Sum};
    use serde::de::Error;
    use std::fmt::Write;

    pub(super) fn serialize<S: Serializer>(sum: &Sha256Sum, to: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(64);
        for byte in sum {
            let _ = write!(text, "{byte:02x}");
        }
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Sha256Sum, D::Error> {
        let text = String::deserialize(from)?;
        let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex {
            return Err(D::Error::custom("a digest is 64 hexadecimal digits"));
        }
        let mut sum = Sha256Sum::default();
        for (byte, pair) in sum.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(D::Error::custom)?;
            *byte = u8::from_str_radix(pair, 16).map_err(D::Error::custom)?;
        }
        Ok(sum)
    }
}

/// The secrets that a browser gets when it logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserLogin {
    /// As the token is listed.
    pub name: String,
    /// Sent by the browser, to whatever listens on our host.
    pub cookie: String,
    /// Kept by our page, and sent to nobody again.
    pub page: String,
    /// Known to the page's open tabs alone, and kept nowhere.
    pub tab: String,
}

impl LoginSeed {
    /// The secrets where the page is called `place`; none where the login is not good.
    pub(super) fn secrets_at(&self, name: &str, place: Option<&PageName>) -> Option<BrowserLogin> {
        (self.is_at_page_name == place.is_some()).then(|| BrowserLogin {
            name: name.to_owned(),
            cookie: self.part("cookie", place),
            page: self.part("page", place),
            tab: self.part("tab", place),
        })
    }

    /// Whether this is the login's cookie, compared in constant time.
    pub(super) fn has_cookie(&self, presented: &str, place: Option<&PageName>) -> bool {
        let is_it = self.part("cookie", place).as_bytes().ct_eq(presented.as_bytes());
        bool::from(is_it) && self.is_at_page_name == place.is_some()
    }

    fn part(&self, what: &str, place: Option<&PageName>) -> String {
        let place = place.map(PageName::to_string).unwrap_or_default();
        format!("{TOKEN_PREFIX}{}", mac(&sha256(&self.root), &format!("{what}\n{place}")))
    }
}

/// HMAC-SHA-256 in base64url.
pub(crate) fn mac(key: &Sha256Sum, text: &str) -> String {
    // A key that is shorter than the hash's block counts as if zeros followed it.
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(text.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}
