//! One try to deliver an announcement.
//!
//! In: a body and its id. Out: what came of it. Redirects are not followed: they would take
//! what is announced somewhere that nobody named. Everything has an end: connecting, the
//! whole try, and what is read of the answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use sha2::Sha256;

use super::announcement::Announcement;
use super::settings::{Secret, Webhook, WebhookError, is_loopback};

/// Bytes that are read of an answer: enough to use its connection again; nothing in it matters.
const MAX_ANSWER_BYTES: usize = 16 << 10;
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum DeliveryAttempt {
    Delivered,
    /// There was nothing to announce any more.
    Moot,
    /// The receiver is up and wants no more of this.
    Refused {
        why: String,
    },
    Failed {
        why: String,
        retry_after: Option<Duration>,
    },
}

impl DeliveryAttempt {
    pub(super) fn failed(why: String) -> Self {
        Self::Failed { why, retry_after: None }
    }
}

#[derive(Debug)]
pub(super) struct WebhookSender {
    client: Client,
    url: Url,
    secret: Secret<Vec<u8>>,
}

impl WebhookSender {
    pub(super) fn new(webhook: &Webhook) -> Result<Self, WebhookError> {
        // Another part of the program may have done so already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("switchyard/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(webhook.pace.connect)
            .timeout(webhook.pace.whole);
        if is_loopback(&webhook.url) {
            // `localhost` is this machine, whatever name servers and proxies say.
            let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            let here = here.map(|address| SocketAddr::new(address, 0));
            builder = builder.no_proxy().resolve_to_addrs("localhost", &here);
        }
        builder = match webhook.url.scheme() {
            "https" => builder.https_only(true).tls_certs_merge(webhook.ca.clone()),
            // http works also on a machine without certificates.
            _ => builder.tls_certs_only([]),
        };
        let client = builder.build().map_err(|error| WebhookError::Client(causes(&error)))?;
        Ok(Self { client, url: webhook.url.clone(), secret: webhook.secret.clone() })
    }

    pub(super) async fn send(&self, announcement: &Announcement) -> DeliveryAttempt {
        let Announcement { id, body } = announcement;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let signature = signature(&self.secret, now.as_secs(), body.as_str());
        let sent = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Switchyard-Event-Id", id)
            .header("Switchyard-Signature", signature)
            .body(body.as_str().to_owned())
            .send()
            .await;
        match sent {
            Ok(response) => answered(response).await,
            Err(error) => DeliveryAttempt::failed(causes(&error.without_url())),
        }
    }
}

async fn answered(mut response: Response) -> DeliveryAttempt {
    let status = response.status();
    let retry_after = retry_after(&response);
    let mut n_bytes = 0;
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            n_bytes += chunk.len();
            if n_bytes > MAX_ANSWER_BYTES {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(ANSWER_WITHIN, reading).await;
    let why = format!("the receiver answered {status}");
    match status {
        status if status.is_success() => DeliveryAttempt::Delivered,
        StatusCode::GONE => DeliveryAttempt::Refused { why },
        status if status.is_redirection() => {
            DeliveryAttempt::failed(format!("{why}; redirects are not followed"))
        }
        _ => DeliveryAttempt::Failed { why, retry_after },
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// `t=…,v1=…`: a receiver that checks the time as well cannot be shown an old one again.
pub(super) fn signature(secret: &Secret<Vec<u8>>, unix_seconds: u64, body: &str) -> String {
    use std::fmt::Write;
    let mut text = format!("t={unix_seconds},v1=");
    // Keys of every length are taken.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&secret.0) {
        mac.update(format!("{unix_seconds}.").as_bytes());
        mac.update(body.as_bytes());
        for byte in mac.finalize().into_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
    }
    text
}

/// An error with its causes, on one line.
fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
