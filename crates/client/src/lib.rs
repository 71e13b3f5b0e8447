//! The daemon's public API, for our own commands: requests, and a session's events.
//!
//! In: a daemon, over the private socket on which it knows its own user, or inside of this process,
//! where requests are handed to it without a socket. Out: responses as they are, errors in the
//! daemon's words, and each event once and in order. Nothing here knows what a request means.

mod error;
mod follower;
mod session;
mod transport;

pub use error::ClientError;
pub use follower::{Follower, FollowerMessage};
pub use session::{Attachment, QuestionAnswer, SessionClient};
pub use transport::{Body, RequestHandler, connect};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncWrite;
use wire::uri::percent_encoded;
use wire::{Seq, SessionId};

use transport::{DaemonResponse, Transport};

/// How often a health check asks whether the daemon still lives while it works on a request, which
/// may take as long as an agent takes to start.
const HEALTH_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long a health check may take: long enough for a machine that has too much to do.
const HEALTH_CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of one daemon. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DaemonClient {
    transport: Transport,
}

impl DaemonClient {
    /// The daemon that listens on a private socket.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { transport: Transport::Socket(socket.into()) }
    }

    /// A daemon inside of this process.
    pub fn inside(daemon: Arc<dyn RequestHandler>) -> Self {
        Self { transport: Transport::Inside(daemon) }
    }

    pub fn session(&self, id: SessionId) -> SessionClient {
        SessionClient { client: self.clone(), id }
    }

    pub async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, ClientError> {
        self.call(Method::GET, path, None).await
    }

    /// The daemon's health, which it also tells when something is wrong with it.
    pub async fn health(&self) -> Result<Value, ClientError> {
        let request = request(Method::GET, "/v1/health").body(Full::default())?;
        let exchange = async {
            let mut answer = self.transport.send(request).await?;
            let status = answer.response.status();
            let body = answer.response.body_mut().collect().await?.to_bytes();
            match read::<Value>(&body) {
                // Degraded, it says so with an error's status.
                Ok(health) if health["status"].is_string() => Ok(health),
                _ => Err(ClientError::refused(status.as_u16(), &body)),
            }
        };
        tokio::time::timeout(HEALTH_CHECK_TIMEOUT, exchange)
            .await
            .map_err(|_| ClientError::Silent)?
    }

    pub async fn post<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<A, ClientError> {
        self.call(Method::POST, path, Some(body)).await
    }

    pub async fn patch<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<A, ClientError> {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Result<(), ClientError> {
        self.call::<Value>(Method::DELETE, path, None).await.map(drop)
    }

    /// Sends a request and reads the answer; a refusal is reported as the daemon words it.
    pub async fn call<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<A, ClientError> {
        let request = request(method, path);
        let request = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(Full::new(Bytes::from(body.to_string()))),
            None => request.body(Full::default()),
        };
        read(&self.send(request?).await?)
    }

    /// Sends a file as it is.
    pub async fn upload<A: DeserializeOwned>(
        &self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<A, ClientError> {
        let request = request(Method::POST, path)
            .header("content-type", "application/octet-stream")
            .body(Full::new(Bytes::from(bytes)));
        read(&self.send(request?).await?)
    }

    /// Writes an answer to `sink` as it comes, however large it is. Returns its length.
    pub async fn download(
        &self,
        path: &str,
        mut sink: impl AsyncWrite + Unpin,
    ) -> Result<u64, ClientError> {
        use tokio::io::AsyncWriteExt as _;
        let request = request(Method::GET, path).body(Full::default());
        let mut answer = self.ask(request?).await?;
        let mut n_bytes = 0;
        while let Some(frame) = answer.response.body_mut().frame().await {
            let Ok(bytes) = frame?.into_data() else { continue };
            n_bytes += bytes.len() as u64;
            sink.write_all(&bytes).await.map_err(ClientError::Write)?;
        }
        sink.flush().await.map_err(ClientError::Write)?;
        Ok(n_bytes)
    }

    /// Opens a stream of a session's events after `after`: a number, or the id of a frame.
    pub(crate) async fn events(
        &self,
        session: &str,
        after: &str,
    ) -> Result<DaemonResponse, ClientError> {
        let path = format!("/v1/sessions/{}/events?after={}", encoded(session), encoded(after));
        let request = request(Method::GET, &path).header("accept", "text/event-stream");
        let asking = self.ask(request.body(Full::default())?);
        let answer = tokio::time::timeout(HEALTH_CHECK_TIMEOUT, asking).await;
        answer.map_err(|_| ClientError::Silent)?
    }

    /// The events of a session after `after`, with a new connection whenever one is lost.
    pub fn follow(&self, session: &str, after: Seq) -> Follower {
        Follower::new(self.clone(), session.to_owned(), after)
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Bytes, ClientError> {
        let exchange = async {
            let mut answer = self.ask(request).await?;
            Ok(answer.response.body_mut().collect().await?.to_bytes())
        };
        tokio::select! {
            exchanged = exchange => exchanged,
            () = self.unresponsive() => Err(ClientError::Silent),
        }
    }

    /// Sends a request; an error response becomes an error.
    async fn ask(&self, request: Request<Full<Bytes>>) -> Result<DaemonResponse, ClientError> {
        let mut answer = self.transport.send(request).await?;
        let status = answer.response.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = answer.response.body_mut().collect().await?.to_bytes();
        Err(ClientError::refused(status.as_u16(), &body))
    }

    /// Resolves when the daemon does not even answer a health check.
    async fn unresponsive(&self) {
        if let Transport::Inside(_) = self.transport {
            // One that hangs would take us with it.
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(HEALTH_CHECK_INTERVAL).await;
            let ask = request(Method::GET, "/healthz").body(Full::default());
            let Ok(ask) = ask else { continue };
            // One that refuses connections is noticed by whoever waits for its answer.
            if tokio::time::timeout(HEALTH_CHECK_TIMEOUT, self.ask(ask)).await.is_err() {
                return;
            }
        }
    }
}

fn request(method: Method, path: &str) -> hyper::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", "localhost")
}

fn read<A: DeserializeOwned>(body: &[u8]) -> Result<A, ClientError> {
    let body = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(ClientError::Unreadable)
}

/// A text, percent-encoded for a path or a query.
pub fn encoded(words: &str) -> String {
    percent_encoded(words.as_bytes(), b"-._~")
}

#[cfg(test)]
mod tests;
