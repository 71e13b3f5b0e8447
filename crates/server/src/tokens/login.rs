//! What a browser has of a login: made from one secret, for each name of the page anew.
//!
//! So all tabs of a browser have the same, however many names the page had since somebody logged
//! in, and what they have at one name tells nothing about another.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::record::LoginSeed;
use super::{MARK, Sum, sum};
use crate::page_name::PageName;

/// What a browser gets when it logs in.
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
    /// What it is where the page is called `place`; none where it is good for nothing.
    pub(super) fn at(&self, name: &str, place: Option<&PageName>) -> Option<BrowserLogin> {
        (self.is_at_page_name == place.is_some()).then(|| BrowserLogin {
            name: name.to_owned(),
            cookie: self.part("cookie", place),
            page: self.part("page", place),
            tab: self.part("tab", place),
        })
    }

    /// Whether it is its cookie, in a time that says nothing about it.
    pub(super) fn has_cookie(&self, presented: &str, place: Option<&PageName>) -> bool {
        let is_it = self.part("cookie", place).as_bytes().ct_eq(presented.as_bytes());
        bool::from(is_it) && self.is_at_page_name == place.is_some()
    }

    fn part(&self, what: &str, place: Option<&PageName>) -> String {
        let place = place.map(PageName::to_string).unwrap_or_default();
        format!("{MARK}{}", mac(&sum(&self.root), &format!("{what}\n{place}")))
    }
}

/// HMAC-SHA-256 in base64url.
pub(crate) fn mac(key: &Sum, text: &str) -> String {
    // A key that is shorter than the hash's block counts as if zeros followed it.
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(text.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}
