//! The `[webhook]` table of the configuration, checked.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;

/// A shorter secret could be guessed.
const MIN_SECRET_BYTES: usize = 16;
const MAX_SECRET_BYTES: u64 = 4096;
const MAX_CA_BYTES: u64 = 1 << 20;

/// The table as it is written in `switchyard.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookTable {
    url: Secret<String>,
    /// Relative to the configuration, like every path in it.
    secret_file: PathBuf,
    #[serde(default = "approvals")]
    events: Vec<WebhookTopic>,
    #[serde(default)]
    allow_http: bool,
    /// Certificates to trust beside the system's.
    ca_file: Option<PathBuf>,
    /// Where people reach the daemon, for links.
    public_url: Option<String>,
}

/// What is never shown: a secret, or a URL, which may hold a password.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Secret<T>(pub(super) T);

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a secret)")
    }
}

/// An event that can be announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookTopic {
    /// A question waits for a person.
    PermissionRequested,
    /// A question that waited has its answer.
    PermissionResolved,
    TurnEnded,
    /// A turn ended with an error, or the session cannot go on.
    SessionFailed,
}

impl WebhookTopic {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PermissionRequested => "permission_requested",
            Self::PermissionResolved => "permission_resolved",
            Self::TurnEnded => "turn_ended",
            Self::SessionFailed => "session_failed",
        }
    }
}

fn approvals() -> Vec<WebhookTopic> {
    vec![WebhookTopic::PermissionRequested, WebhookTopic::PermissionResolved]
}

/// A webhook that can be used.
#[derive(Debug, Clone)]
pub struct Webhook {
    pub(super) url: Url,
    pub(super) secret: Secret<Vec<u8>>,
    pub(super) topics: Vec<WebhookTopic>,
    pub(super) ca: Vec<reqwest::Certificate>,
    pub(super) public_url: Option<String>,
    pub(super) pace: DeliveryPace,
}

/// Timeouts and retries of deliveries.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliveryPace {
    pub(super) connect: Duration,
    /// For one try, from the first byte to the last.
    pub(super) whole: Duration,
    /// Before the second try; then twice as long each time.
    pub(super) first_wait: Duration,
    pub(super) longest_wait: Duration,
    pub(super) max_tries: u32,
}

impl Default for DeliveryPace {
    /// Ten tries within about ten minutes: after that a question has been rejected anyway.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            whole: Duration::from_secs(15),
            first_wait: Duration::from_secs(2),
            longest_wait: Duration::from_secs(128),
            max_tries: 10,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("webhook.url is not a URL: {0}")]
    BadUrl(String),
    #[error("webhook.url must begin with https://, or with http:// for an address on this machine")]
    BadScheme,
    #[error(
        "webhook.url is not encrypted and not on this machine; use https, or allow_http = true"
    )]
    PlainHttp,
    #[error("webhook.public_url must begin with http:// or https://")]
    BadPublicUrl,
    #[error("webhook.events is empty: nothing would be sent")]
    NoEvents,
    #[error("cannot read {what} {path}: {why}")]
    Unreadable { what: &'static str, path: PathBuf, why: String },
    #[error("others may read {path}: chmod 600 it")]
    SecretIsOpen { path: PathBuf },
    #[error(
        "{path} holds no usable secret: {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes are, \
         for example from `openssl rand -hex 32`"
    )]
    BadSecret { path: PathBuf },
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

impl WebhookTable {
    /// Checks everything and reads the secret. Relative paths are below `base`.
    pub fn check(&self, base: &Path) -> Result<Webhook, WebhookError> {
        let url =
            Url::parse(&self.url.0).map_err(|error| WebhookError::BadUrl(error.to_string()))?;
        match (url.scheme(), url.host_str()) {
            (_, None | Some("")) => return Err(WebhookError::BadScheme),
            ("https", _) => {}
            ("http", _) if self.allow_http || is_loopback(&url) => {}
            ("http", _) => return Err(WebhookError::PlainHttp),
            _ => return Err(WebhookError::BadScheme),
        }
        if self.events.is_empty() {
            return Err(WebhookError::NoEvents);
        }
        if let Some(public) = &self.public_url
            && !["http://", "https://"].iter().any(|scheme| public.starts_with(scheme))
        {
            return Err(WebhookError::BadPublicUrl);
        }
        let ca = match &self.ca_file {
            Some(path) => read_certificates(&base.join(path))?,
            None => Vec::new(),
        };
        Ok(Webhook {
            url,
            secret: read_secret(&base.join(&self.secret_file))?,
            topics: self.events.clone(),
            ca,
            public_url: self.public_url.clone(),
            pace: DeliveryPace::default(),
        })
    }

    /// The table with nothing in it that could be a secret, in the form of the file.
    pub fn shown(&self) -> String {
        let url = Url::parse(&self.url.0).map(|url| origin(&url)).unwrap_or_default();
        let names: Vec<&str> = self.events.iter().map(|topic| topic.name()).collect();
        format!(
            "[webhook]\n# url: {url}/…\nsecret_file = {}\nevents = {}\nallow_http = {}\n",
            wire::Json::of(&self.secret_file).as_str(),
            wire::Json::of(&names).as_str(),
            self.allow_http
        )
    }
}

impl Webhook {
    /// Where it goes, for people: user, password, path and query may be secrets.
    pub(super) fn shown(&self) -> String {
        origin(&self.url)
    }

    #[cfg(test)]
    pub(super) fn paced(mut self, pace: DeliveryPace) -> Self {
        self.pace = pace;
        self
    }
}

fn origin(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

/// Whether the URL can only lead to this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

fn read_secret(path: &Path) -> Result<Secret<Vec<u8>>, WebhookError> {
    use std::os::unix::fs::MetadataExt;
    let (text, meta) = read_file("the webhook's secret", path, MAX_SECRET_BYTES)?;
    if meta.mode() & 0o077 != 0 {
        return Err(WebhookError::SecretIsOpen { path: path.to_owned() });
    }
    let secret = text.trim_ascii();
    if secret.len() < MIN_SECRET_BYTES || text.len() as u64 > MAX_SECRET_BYTES {
        return Err(WebhookError::BadSecret { path: path.to_owned() });
    }
    Ok(Secret(secret.to_vec()))
}

fn read_certificates(path: &Path) -> Result<Vec<reqwest::Certificate>, WebhookError> {
    const WHAT: &str = "the webhook's certificates";
    let (pem, _) = read_file(WHAT, path, MAX_CA_BYTES)?;
    reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| WebhookError::Unreadable {
        what: WHAT,
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// At most one byte more than `max_bytes`.
fn read_file(
    what: &'static str,
    path: &Path,
    max_bytes: u64,
) -> Result<(Vec<u8>, std::fs::Metadata), WebhookError> {
    use std::io::Read;
    let unreadable = |error: std::io::Error| WebhookError::Unreadable {
        what,
        path: path.to_owned(),
        why: error.to_string(),
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok((bytes, meta))
}
