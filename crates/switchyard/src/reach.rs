//! Reaches the running daemon of this user over its private socket.
//!
//! In: requests of the daemon's public HTTP API. Out: its answers. Where no daemon runs,
//! nothing is reached, and the caller does the work itself.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

use crate::config::Config;
use crate::control;
use crate::outcome::{DENIED, ERROR, Failure, NOT_FOUND, USAGE};
use crate::serve::presence::{self, Whereabouts};

/// A daemon that answers at all answers its own socket quickly.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// What is asked may take long, as an agent takes to start; so often is looked whether the
/// daemon still lives.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Long enough for a machine that has too much to do.
const LIVES_WITHIN: Duration = Duration::from_secs(10);

/// A daemon that runs.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    socket: PathBuf,
    run: PathBuf,
    pub(crate) whereabouts: Whereabouts,
}

#[derive(Debug, Deserialize)]
struct Problem {
    title: String,
    detail: Option<String>,
    remedy: Option<String>,
}

impl Daemon {
    /// The daemon of this user, if one runs and is wanted.
    pub(crate) fn find(config: &Config) -> Option<Self> {
        if std::env::var_os("SWITCHYARD_NO_DAEMON").is_some_and(|value| !value.is_empty()) {
            return None;
        }
        let run = config.home.run.clone();
        let whereabouts = presence::find(&run)?;
        Some(Self { socket: presence::private_socket(&run), run, whereabouts })
    }

    /// Until this daemon is gone.
    pub(crate) async fn gone(&self) {
        const LOOK_EVERY: Duration = Duration::from_secs(1);
        // One that drains is no longer to be found, and still there.
        let is_another = |now: presence::Whereabouts| now.pid != self.whereabouts.pid;
        while presence::is_held(&self.run) && !presence::find(&self.run).is_some_and(is_another) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<UnixStream> {
        tokio::time::timeout(CONNECT_WITHIN, control::connect(&self.socket))
            .await
            .context("the daemon does not answer")?
            .context("cannot reach the daemon")
    }

    pub(crate) async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<A, Failure> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Asks the daemon something; what it refuses is told as it says it.
    pub(crate) async fn call<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<A, Failure> {
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(Full::new(Bytes::from(body.to_string()))),
            None => request.body(Full::default()),
        };
        let answer = self.send(request.context("this is no request")?).await?;
        let answer = if answer.is_empty() { Bytes::from_static(b"null") } else { answer };
        Ok(serde_json::from_slice(&answer).context("the daemon's answer cannot be read")?)
    }

    /// Sends a file as it is.
    pub(crate) async fn upload<A: DeserializeOwned>(
        &self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<A, Failure> {
        let request = Request::post(path)
            .header("host", "localhost")
            .header("content-type", "application/octet-stream")
            .body(Full::new(Bytes::from(bytes)));
        let answer = self.send(request.context("this is no request")?).await?;
        Ok(serde_json::from_slice(&answer).context("the daemon's answer cannot be read")?)
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Bytes, Failure> {
        let exchanged = tokio::select! {
            exchanged = self.exchange(request) => exchanged?,
            () = self.silent() => {
                let pid = self.whereabouts.pid;
                let failure = Failure::new(ERROR, "the daemon does not answer");
                return Err(failure.hint(format!("it is process {pid}; `--no-daemon` works without it")));
            }
        };
        match exchanged {
            (status, body) if status.is_success() => Ok(body),
            (status, body) => Err(refused(status, &body)),
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> anyhow::Result<(StatusCode, Bytes)> {
        let io = TokioIo::new(self.connect().await?);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(io).await.context("cannot talk to the daemon")?;
        let carrying = AbortOnDropHandle::new(tokio::spawn(connection));
        let answer = sender.send_request(request).await.context("the daemon did not answer")?;
        let status = answer.status();
        let body = answer.into_body().collect().await.context("the daemon broke off")?.to_bytes();
        drop(carrying);
        Ok((status, body))
    }

    /// Until the daemon does not even say that it lives.
    async fn silent(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let ask = Request::get("/healthz").header("host", "localhost").body(Full::default());
            let Ok(ask) = ask else { continue };
            if tokio::time::timeout(LIVES_WITHIN, self.exchange(ask)).await.is_err() {
                return;
            }
        }
    }
}

fn refused(status: StatusCode, body: &[u8]) -> Failure {
    let code = match status {
        StatusCode::NOT_FOUND => NOT_FOUND,
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => USAGE,
        StatusCode::FORBIDDEN => DENIED,
        _ => ERROR,
    };
    let Ok(problem) = serde_json::from_slice::<Problem>(body) else {
        return Failure::new(code, format!("the daemon answered with {status}"));
    };
    let failure = Failure::new(code, problem.detail.unwrap_or(problem.title));
    match problem.remedy {
        Some(remedy) => failure.hint(remedy),
        None => failure,
    }
}
