//! The tokens by which the daemon's clients authenticate.
//!
//! In: a state directory. Out: the principal of a presented token, and tokens made, listed, rotated
//! and revoked. `token` holds the admin's own in plain, for the user's scripts to read;
//! `tokens.json` holds all others as digests, and of a browser's login the secret that its parts
//! are made from. Both are private files, and commands use them with or without a running daemon:
//! whoever changes them, the daemon notices before the next request, and cuts open connections
//! within a second. Tokens in a file that cannot be trusted are refused. Those of a file that was
//! removed are not accepted either, but not called wrong; and where the whole directory is gone,
//! which revokes nothing, the last ones that were known stay good.

mod files;
mod record;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;
use wire::Millis;

use crate::locking::Locking as _;
use crate::page_name::PageName;
use crate::principal::{Principal, Role};
use files::{TokenFileStamp, TokenFiles};
pub use record::BrowserLogin;
pub use record::TokenInfo;
pub(crate) use record::mac;
use record::{LoginSeed, TokenRecord};

/// The name of the token in STATE/token.
pub const ADMIN: &str = "admin";
/// Prefix of the name of a login's token, before a part that tells it from others.
const BROWSER_PREFIX: &str = "browser ";
/// A person has a handful; a table that grows without end is a mistake of some script.
pub const MAX_TOKENS: usize = 256;
/// Part of the table that logins may fill; then the oldest login is forgotten.
const MAX_BROWSERS: usize = 64;
/// How long a browser stays logged in.
const BROWSER_LIFE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Interval of looking at the files: twice within the second in which a revoked token's connections
/// must be gone.
const POLL_EVERY: Duration = Duration::from_millis(400);
/// Names appear in logs and decisions.
const MAX_NAME_CHARS: usize = 64;
/// Prefix of tokens, so that people, and tools that look for leaked secrets, recognise them.
const TOKEN_PREFIX: &str = "sy_";
/// Limit of a presented token: a longer text is none, and is not hashed.
const MAX_TOKEN_BYTES: usize = 256;

pub(crate) type Sha256Sum = [u8; 32];

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} was removed or replaced; the tokens that were known stay good", path.display())]
    DirGone { path: PathBuf },
    #[error("{} {why}", path.display())]
    NotPrivate { path: PathBuf, why: &'static str },
    #[error("{} cannot be understood: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("another process keeps {} locked", path.display())]
    Busy { path: PathBuf },
    #[error("there is no token `{0}`; `switchyard token list` shows all")]
    NoSuch(String),
    #[error("there is a token `{0}` already; revoke or rotate it, or take another name")]
    Taken(String),
    #[error(
        "`{0}` is no name for a token: up to 64 letters, digits, `.`, `_`, `-`, `@`, and not `admin`, `local` or `browser`"
    )]
    BadName(String),
    #[error("there are {MAX_TOKENS} tokens already; revoke one")]
    Full,
    #[error("the admin's token cannot be revoked; rotate it")]
    Admin,
    #[error("the system gives no random bytes: {0}")]
    Entropy(getrandom::Error),
}

/// The properties of a new token.
#[derive(Debug, Clone)]
pub struct NewToken {
    pub name: String,
    pub role: Role,
    pub expires: Option<Timestamp>,
    pub own_sessions: bool,
}

/// The login of a cookie, and the other secrets of its browser at the same name of the page.
#[derive(Debug, Clone)]
pub(crate) struct BrowserToken {
    pub(crate) principal: Principal,
    pub(crate) login: BrowserLogin,
}

/// The table; a clone is the same table.
#[derive(Debug, Clone)]
pub struct Tokens {
    files: Arc<TokenFiles>,
    live: Arc<Mutex<LoadedTokens>>,
}

#[derive(Debug, Default)]
struct LoadedTokens {
    /// What the files looked like when they were read; none when they could not be.
    stamps: Option<[Option<TokenFileStamp>; 2]>,
    entries: Vec<TokenEntry>,
    /// The records of files that were removed.
    removed: Vec<TokenRecord>,
    /// The last error of reading them, which is logged once, not with every request.
    complaint: Option<String>,
}

#[derive(Debug)]
struct TokenEntry {
    record: TokenRecord,
    revoked: CancellationToken,
}

impl Tokens {
    /// Opens the table in a state directory; makes the directory and the admin's token if
    /// there are none.
    pub fn open(state_dir: &Path) -> Result<Self, TokensError> {
        let files = TokenFiles::in_dir(state_dir)?;
        {
            let _lock = files.lock()?;
            if files.admin_token()?.is_none() {
                files.put_admin_token(&new_secret()?)?;
            }
        }
        let tokens = Self { files: Arc::new(files), live: Arc::default() };
        tokens.load(&mut tokens.live.locked())?;
        Ok(tokens)
    }

    /// The table for a daemon whose clients have no tokens: it is read when a token is presented,
    /// and no file is made.
    pub fn open_lazily(state_dir: &Path) -> Result<Self, TokensError> {
        Ok(Self { files: Arc::new(TokenFiles::in_dir(state_dir)?), live: Arc::default() })
    }

    /// The admin's token in plain.
    pub fn admin_token(&self) -> Result<String, TokensError> {
        self.files.admin_token()?.ok_or_else(|| TokensError::NoSuch(ADMIN.to_owned()))
    }

    /// All tokens, the admin's first; also the expired, which are not accepted.
    pub fn list(&self) -> Vec<TokenInfo> {
        self.refresh();
        self.live.locked().entries.iter().map(|entry| entry.record.info()).collect()
    }

    /// Makes a token and returns it in plain, which is the only time that it is seen.
    pub fn add(&self, new: NewToken) -> Result<String, TokensError> {
        if !is_good_name(&new.name) {
            return Err(TokensError::BadName(new.name));
        }
        let secret = new_secret()?;
        self.change(|records| {
            if records.iter().any(|record| record.name == new.name) {
                return Err(TokensError::Taken(new.name));
            }
            records.push(TokenRecord {
                since: Some(Timestamp::now()),
                expires: new.expires,
                own_sessions: new.own_sessions,
                ..TokenRecord::new(new.name, &secret, new.role)
            });
            Ok(())
        })?;
        Ok(secret)
    }

    /// Makes a login: an admin's, as the person who holds the login link is. `place` is what the
    /// page is called, if it has a name of its own.
    pub fn add_browser(&self, place: Option<&PageName>) -> Result<BrowserLogin, TokensError> {
        let now = Timestamp::now();
        let mut tail = [0_u8; 6];
        getrandom::fill(&mut tail).map_err(TokensError::Entropy)?;
        let name = format!("{BROWSER_PREFIX}{}", URL_SAFE_NO_PAD.encode(tail));
        let browser = LoginSeed { root: new_secret()?, is_at_page_name: place.is_some() };
        let made = browser.secrets_at(&name, place);
        self.change(|records| {
            let browsers = records.iter().filter(|record| record.is_browser());
            if browsers.clone().count() >= MAX_BROWSERS {
                let oldest = browsers.min_by_key(|record| record.created);
                let oldest = oldest.map(|record| record.name.clone());
                records.retain(|record| Some(&record.name) != oldest.as_ref());
            }
            records.push(TokenRecord {
                created: now,
                expires: now.checked_add(BROWSER_LIFE).ok(),
                browser: Some(browser.clone()),
                ..TokenRecord::new(name.clone(), &browser.root, Role::Admin)
            });
            Ok(())
        })?;
        made.ok_or(TokensError::NoSuch(name))
    }

    /// The secrets of a login's browser at another name of the page.
    pub(crate) fn browser_at(&self, name: &str, place: Option<&PageName>) -> Option<BrowserLogin> {
        self.refresh();
        let live = self.live.locked();
        let entry = live.entries.iter().find(|entry| entry.record.name == name)?;
        let is_good = !entry.record.is_expired(Timestamp::now());
        entry.record.browser.as_ref().filter(|_| is_good)?.secrets_at(name, place)
    }

    /// The login that a browser has already, unless it ends soon, or a new one.
    pub(crate) fn login_again(
        &self,
        known: Option<&str>,
        place: Option<&PageName>,
    ) -> Result<BrowserLogin, TokensError> {
        let soon = Timestamp::now().checked_add(BROWSER_LIFE / 2).ok();
        let list = self.list();
        let known = list.iter().find(|token| Some(token.name.as_str()) == known);
        let lasting = known.filter(|token| token.expires >= soon);
        match lasting.and_then(|token| self.browser_at(&token.name, place)) {
            Some(login) => Ok(login),
            None => self.add_browser(place),
        }
    }

    /// Ends a token; connections that it opened are cut.
    pub fn revoke(&self, name: &str) -> Result<(), TokensError> {
        if name == ADMIN {
            return Err(TokensError::Admin);
        }
        self.change(|records| {
            let before = records.len();
            records.retain(|record| record.name != name);
            if records.len() == before {
                return Err(TokensError::NoSuch(name.to_owned()));
            }
            Ok(())
        })
    }

    /// Gives a name a new token; the old one is dead and its connections are cut.
    pub fn rotate(&self, name: &str) -> Result<String, TokensError> {
        let secret = new_secret()?;
        if name == ADMIN {
            let _lock = self.files.lock()?;
            self.files.put_admin_token(&secret)?;
            self.load(&mut self.live.locked())?;
            return Ok(secret);
        }
        self.change(|records| {
            let record = records.iter_mut().find(|record| record.name == name);
            let record = record.ok_or_else(|| TokensError::NoSuch(name.to_owned()))?;
            record.digest = sha256(&secret);
            record.created = Timestamp::now();
            Ok(())
        })?;
        Ok(secret)
    }

    /// The principal of a token; the secrets of a login are none.
    pub fn check(&self, presented: &str) -> Option<Principal> {
        let presented = (presented.len() <= MAX_TOKEN_BYTES).then(|| sha256(presented))?;
        self.find(|record| !record.is_browser() && record.digest.ct_eq(&presented).into())
            .map(|(principal, _)| principal)
    }

    /// Why a token that was good is not any more, if nobody has revoked it.
    pub(crate) fn why_removed(&self, presented: &str) -> Option<String> {
        let presented = (presented.len() <= MAX_TOKEN_BYTES).then(|| sha256(presented))?;
        let live = self.live.locked();
        let is_it = |record: &&TokenRecord| bool::from(record.digest.ct_eq(&presented));
        let record = live.removed.iter().find(is_it)?;
        let file = self.files.file_of(&record.name).display();
        Some(format!(
            "`{file}`, which had this token, was removed; the daemon makes a new one when it \
                      starts again"
        ))
    }

    /// The login that a cookie is of, where the page is called `place`.
    pub(crate) fn check_cookie(
        &self,
        cookie: &str,
        place: Option<&PageName>,
    ) -> Option<BrowserToken> {
        let is_it = |browser: &LoginSeed| browser.has_cookie(cookie, place);
        let (principal, browser) =
            self.find(|record| record.browser.as_ref().is_some_and(is_it))?;
        let login = browser?.secrets_at(&principal.name, place)?;
        Some(BrowserToken { principal, login })
    }

    /// Every record is looked at, so that the time that it takes says nothing about the table.
    fn find(&self, is_it: impl Fn(&TokenRecord) -> bool) -> Option<(Principal, Option<LoginSeed>)> {
        self.refresh();
        let live = self.live.locked();
        let entry = live.entries.iter().filter(|entry| is_it(&entry.record)).last()?;
        if entry.record.is_expired(Timestamp::now()) {
            entry.revoked.cancel();
            return None;
        }
        let principal = Principal {
            name: entry.record.name.clone(),
            role: entry.record.role,
            own_sessions: entry.record.own_sessions,
            since: Millis(entry.record.since.map_or(0, Timestamp::as_millisecond)),
            is_local: false,
            is_worker: false,
            revoked: entry.revoked.clone(),
        };
        Some((principal, entry.record.browser.clone()))
    }

    /// Looks at the files for as long as the daemon runs, so that what another process
    /// revoked, and what expired, also ends connections on which nobody asks anything.
    pub async fn watch(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(POLL_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            self.refresh();
            let now = Timestamp::now();
            for entry in
                self.live.locked().entries.iter().filter(|entry| entry.record.is_expired(now))
            {
                entry.revoked.cancel();
            }
        }
    }

    /// Reads the files again if somebody changed them.
    pub(crate) fn refresh(&self) {
        let mut live = self.live.locked();
        if live.stamps.is_some() && live.stamps == self.files.stamps() {
            return;
        }
        let loaded = if self.files.is_dir_gone() {
            Err(TokensError::DirGone { path: self.files.dir().to_owned() })
        } else {
            self.load(&mut live)
        };
        let complaint = loaded.err().map(|error| error.to_string());
        if let Some(complaint) =
            complaint.as_ref().filter(|now| live.complaint.as_ref() != Some(now))
        {
            tracing::error!(%complaint, "the tokens cannot be read");
        }
        live.complaint = complaint;
    }

    fn load(&self, live: &mut LoadedTokens) -> Result<(), TokensError> {
        // Taken before reading: a change in between is seen as one by the next look.
        let stamps = self.files.stamps();
        let (records, outcome) = self.read_all();
        let mut before = std::mem::take(&mut live.entries);
        for record in records {
            let same = before.iter().position(|entry| entry.record.has_same_rights(&record));
            let revoked = match same {
                Some(place) => before.swap_remove(place).revoked,
                None => CancellationToken::new(),
            };
            live.entries.push(TokenEntry { record, revoked });
        }
        let is_removed = |record: &TokenRecord| {
            stamps.is_some_and(|stamps| stamps[usize::from(record.name != ADMIN)].is_none())
        };
        live.removed.retain(&is_removed);
        for gone in before {
            gone.revoked.cancel();
            if is_removed(&gone.record) && !gone.record.is_browser() {
                live.removed.push(gone.record);
            }
        }
        live.stamps = outcome.is_ok().then_some(stamps).flatten();
        outcome
    }

    /// The records of the files that can be trusted. One bad file takes its own tokens with it, not
    /// the other's.
    fn read_all(&self) -> (Vec<TokenRecord>, Result<(), TokensError>) {
        let admin = self.files.admin_token().map(|token| {
            token.map(|token| TokenRecord {
                created: self.files.admin_made(),
                ..TokenRecord::new(ADMIN.to_owned(), &token, Role::Admin)
            })
        });
        let mut records = Vec::new();
        let admin = admin.map(|admin| records.extend(admin));
        let others = self.files.records().map(|others| records.extend(others));
        (records, admin.and(others))
    }

    /// Changes the table on disk, alone among all processes, and then here.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<TokenRecord>) -> Result<(), TokensError>,
    ) -> Result<(), TokensError> {
        let _lock = self.files.lock()?;
        let mut records = self.files.records()?;
        let now = Timestamp::now();
        records.retain(|record| !(record.is_browser() && record.is_expired(now)));
        change(&mut records)?;
        if records.len() >= MAX_TOKENS {
            records.retain(|record| !record.is_expired(now));
        }
        // One place is the admin's.
        if records.len() >= MAX_TOKENS {
            return Err(TokensError::Full);
        }
        self.files.put_records(&records)?;
        self.load(&mut self.live.locked())
    }
}

fn is_good_name(name: &str) -> bool {
    let is_reserved = [ADMIN, "local", BROWSER_PREFIX.trim_end()].contains(&name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    !is_reserved && (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(is_plain)
}

/// 256 random bits in letters that fit a header, a cookie and a WebSocket subprotocol.
pub(crate) fn new_secret() -> Result<String, TokensError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(TokensError::Entropy)?;
    Ok(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

pub(crate) fn sha256(secret: &str) -> Sha256Sum {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests;
