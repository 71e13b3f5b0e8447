//! The daemon's public API, for our own commands: requests, and a session's events.
//!
//! In: the path of a private socket, on which the daemon knows its own user. Out: answers as
//! they are, refusals in the daemon's words, and events that are told once and in order.
//! Nothing here knows what a request means.

mod error;
mod events;
mod frames;
mod socket;

pub use error::ClientError;
pub use events::{Events, Told};
pub use frames::{Frame, Frames, TooLong};

use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

/// A daemon that answers at all answers its own socket quickly.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// What is asked may take long, as an agent takes to start; so often is looked whether the
/// daemon still lives.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Long enough for a machine that has too much to do.
const LIVES_WITHIN: Duration = Duration::from_secs(10);

/// A daemon, as far as its socket is known. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
}

/// An answer whose body is still to come, and what carries it.
struct Answer {
    response: Response<Incoming>,
    carrying: AbortOnDropHandle<hyper::Result<()>>,
}

impl Client {
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// A connection on which nothing was said yet.
    pub async fn connect(&self) -> Result<UnixStream, ClientError> {
        match tokio::time::timeout(CONNECT_WITHIN, socket::connect(&self.socket)).await {
            Ok(connected) => connected.map_err(ClientError::Unreachable),
            Err(_) => Err(ClientError::Silent),
        }
    }

    pub async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, ClientError> {
        self.call(Method::GET, path, None).await
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

    /// Asks the daemon something; what it refuses is told as it says it.
    pub async fn call<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<A, ClientError> {
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
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
        let request = Request::post(path)
            .header("host", "localhost")
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
        let request = Request::get(path).header("host", "localhost").body(Full::default());
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

    /// The events of a session after `after`: a number, or the id of a frame.
    pub async fn events(&self, session: &str, after: &str) -> Result<Events, ClientError> {
        let path = format!("/v1/sessions/{}/events?after={}", encoded(session), encoded(after));
        let request = Request::get(path)
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .body(Full::default());
        let asking = self.ask(request?);
        let answer = match tokio::time::timeout(LIVES_WITHIN, asking).await {
            Ok(answer) => answer?,
            Err(_) => return Err(ClientError::Silent),
        };
        Ok(Events::new(answer.response.into_body(), answer.carrying))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Bytes, ClientError> {
        let exchange = async {
            let answer = self.ask(request).await?;
            let body = answer.response.into_body().collect().await?.to_bytes();
            drop(answer.carrying);
            Ok(body)
        };
        tokio::select! {
            exchanged = exchange => exchanged,
            () = self.silent() => Err(ClientError::Silent),
        }
    }

    /// The answer, if the daemon does not refuse.
    async fn ask(&self, request: Request<Full<Bytes>>) -> Result<Answer, ClientError> {
        let io = TokioIo::new(self.connect().await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        let carrying = AbortOnDropHandle::new(task::spawn(connection));
        let response = sender.send_request(request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(Answer { response, carrying });
        }
        let body = response.into_body().collect().await?.to_bytes();
        Err(ClientError::refused(status.as_u16(), &body))
    }

    /// Until the daemon does not even say that it lives.
    async fn silent(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let ask = Request::get("/healthz").header("host", "localhost").body(Full::default());
            let Ok(ask) = ask else { continue };
            // One that refuses connections is noticed by whoever waits for its answer.
            if tokio::time::timeout(LIVES_WITHIN, self.ask(ask)).await.is_err() {
                return;
            }
        }
    }
}

fn read<A: DeserializeOwned>(body: &[u8]) -> Result<A, ClientError> {
    let body = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(ClientError::Unreadable)
}

/// Words as they may stand in a path or a query.
pub fn encoded(words: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(words.len());
    for byte in words.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            // Writing to a String cannot fail.
            other => _ = write!(out, "%{other:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests;
