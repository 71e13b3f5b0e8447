//! Posts batches of spans: the SDK's thread asks, our runtime does it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::{Bytes, BytesMut};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

/// A collector's answer says how many spans it refused, no more.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct CollectorClient {
    http: reqwest::Client,
    runtime: Handle,
    /// The last batch was not taken; logged once, until it works again.
    is_failing: AtomicBool,
}

impl CollectorClient {
    pub(super) fn new(within: Duration) -> Result<Self> {
        // One TLS for all of the process; whoever comes first installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .timeout(within)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("cannot make an HTTP client")?;
        Ok(Self { http, runtime: Handle::try_current()?, is_failing: AtomicBool::new(false) })
    }

    fn note(&self, error: Option<String>) {
        let is_failing = error.is_some();
        if self.is_failing.swap(is_failing, Ordering::Relaxed) == is_failing {
            return;
        }
        match error {
            Some(error) => tracing::warn!(error, "spans are not taken by the collector"),
            None => tracing::info!("spans are taken by the collector again"),
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let sent = self.runtime.spawn(task::boxed(send(self.http.clone(), request))).await;
        let sent = sent.map_err(HttpError::from).and_then(|sent| sent);
        self.note(match &sent {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(answer.status().to_string()),
            Err(error) => Some(error.to_string()),
        });
        sent
    }
}

async fn send(
    http: reqwest::Client,
    request: reqwest::Request,
) -> Result<Response<Bytes>, HttpError> {
    let mut answer = http.execute(request).await?;
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        response = response.header(name, value);
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err("the collector's answer is too long".into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(response.body(body.freeze())?)
}
