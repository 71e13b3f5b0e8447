//! A small daemon behind the real guard, and clients that say what they like.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get, post};
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use server::guard::{BodyKind, BodyRule, Guard, GuardSettings, GuardedRouter, Routes};
use server::limits::HttpLimits;
use server::listen::{BoundSocket, HttpListener, UnixKind};
use server::login::{self, Login};
use server::principal::{Principal, Role};
use server::tls::Tls;
use server::tokens::{NewToken, Tokens};
use soak::PATIENCE;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// Requests that got past the guard.
    pub(crate) reached: Arc<AtomicUsize>,
    /// Bodies that were read to their end by a handler.
    pub(crate) parsed: Arc<AtomicUsize>,
    /// Answers that are still being produced.
    pub(crate) streams: Arc<AtomicUsize>,
}

impl Counts {
    pub(crate) fn n_reached(&self) -> usize {
        self.reached.load(Ordering::SeqCst)
    }

    pub(crate) fn n_parsed(&self) -> usize {
        self.parsed.load(Ordering::SeqCst)
    }

    pub(crate) fn n_streams(&self) -> usize {
        self.streams.load(Ordering::SeqCst)
    }
}

pub(crate) struct Stage {
    dir: Arc<tempfile::TempDir>,
    pub(crate) tokens: Tokens,
    pub(crate) login: Login,
    /// Of an operator.
    pub(crate) token: String,
    pub(crate) counts: Counts,
    pub(crate) address: SocketAddr,
    pub(crate) private: PathBuf,
    pub(crate) shared: PathBuf,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: Vec<JoinHandle<()>>,
}

#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) limits: HttpLimits,
    pub(crate) settings: GuardSettings,
    pub(crate) tls: Option<Tls>,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn limited(limits: HttpLimits) -> Self {
        Self::with(Setup { limits, ..Setup::default() }).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), setup).await
    }

    /// Ends this daemon, and starts another with the same state.
    pub(crate) async fn restart(mut self) -> Self {
        self.stop.cancel();
        for serving in self.serving.drain(..) {
            serving.await.unwrap();
        }
        Self::at(self.dir.clone(), Setup::default()).await
    }

    async fn at(dir: Arc<tempfile::TempDir>, setup: Setup) -> Self {
        let Setup { limits, settings, tls } = setup;
        let tokens = Tokens::open(dir.path()).unwrap();
        // Of the daemon before.
        let _ = tokens.revoke("test");
        let new = NewToken {
            name: "test".into(),
            role: Role::Operator,
            expires: None,
            own_sessions: false,
        };
        let token = tokens.add(new).unwrap();
        let upload = BodyRule { kind: BodyKind::Upload, max_bytes: Some(1 << 20) };
        let routes = Routes::default().body("/v1/sessions/{id}/attachments", upload);
        let guard = Arc::new(Guard::new(tokens.clone(), routes, &settings).unwrap());

        let login = Login::new(guard.clone());
        let counts = Counts::default();
        let stop = CancellationToken::new();
        let (private, shared) = (dir.path().join("run/daemon.sock"), dir.path().join("shared"));
        let tcp = BoundSocket::tcp("127.0.0.1:0".parse().unwrap(), tls, false).await.unwrap();
        let address = tcp.local_addr().unwrap();
        let doors = [
            tcp,
            BoundSocket::unix(&private, UnixKind::Private).await.unwrap(),
            BoundSocket::unix(&shared, UnixKind::Shared).await.unwrap(),
        ];
        let serving = doors.map(|bound| {
            let logins: Router = login::routes().with_state(login.clone());
            let router = router(counts.clone()).merge(logins);
            let guarded = GuardedRouter::new(guard.clone(), router, limits.clone());
            tokio::spawn(HttpListener { bound, guarded, stop: stop.clone() }.serve())
        });
        tokio::spawn(tokens.clone().watch(stop.clone()));
        let serving = serving.into();
        Self { dir, tokens, login, token, counts, address, private, shared, stop, serving }
    }

    pub(crate) fn state_dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// The table as the verbs of another process see it.
    pub(crate) fn other_process(&self) -> Tokens {
        Tokens::open(self.dir.path()).unwrap()
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// What a browser has that logged in.
    pub(crate) async fn log_in(&self) -> LoggedIn {
        let body = json!({ "code": self.login.new_code(&Principal::local()).unwrap() }).to_string();
        let length = format!("Content-Length: {}", body.len());
        let lines = ["Content-Type: application/json", &length];
        let answer = self.say(self.head("POST", "/v1/login", &lines) + &body).await;
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let given = answer.json();
        let text = |name: &str| given[name].as_str().unwrap().to_owned();
        LoggedIn { cookie, secret: text("pageSecret"), pass: text("pass") }
    }

    /// What it shows, as lines of a request's head.
    pub(crate) async fn login_lines(&self) -> String {
        let LoggedIn { cookie, pass, .. } = self.log_in().await;
        format!("Cookie: {cookie}\r\nX-Switchyard-Page: {pass}")
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A request's head with `Host`, the lines given, and `Connection: close`.
    pub(crate) fn head(&self, method: &str, path: &str, lines: &[&str]) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host());
        for line in lines {
            head.push_str(line);
            head.push_str("\r\n");
        }
        head + "Connection: close\r\n\r\n"
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    /// Sends bytes on a new TCP connection and returns all that comes back.
    pub(crate) async fn say(&self, bytes: impl AsRef<[u8]>) -> Answer {
        exchange(self.tcp().await, bytes).await
    }

    pub(crate) async fn http2(&self) -> http2::SendRequest<Full<Bytes>> {
        shake_http2(self.tcp().await).await
    }
}

#[derive(Debug, Clone)]
pub(crate) struct LoggedIn {
    /// `name=value`.
    pub(crate) cookie: String,
    pub(crate) secret: String,
    pub(crate) pass: String,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) async fn shake_http2(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> http2::SendRequest<Full<Bytes>> {
    let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await;
    let (sender, connection) = shaken.unwrap();
    tokio::spawn(connection);
    sender
}

pub(crate) async fn unix(path: &std::path::Path) -> UnixStream {
    UnixStream::connect(path).await.unwrap()
}

/// What came back: empty if the connection was closed without a word.
#[derive(Debug, Clone)]
pub(crate) struct Answer(pub(crate) String);

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.0.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn json(&self) -> Value {
        let body = self.0.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {}", self.0))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next()?;
        head.split("\r\n").find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(crate) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    bytes: impl AsRef<[u8]>,
) -> Answer {
    // The other side may refuse before it has read all; what it said counts.
    let _ = stream.write_all(bytes.as_ref()).await;
    rest(stream).await
}

/// Reads to the end, or until the connection breaks.
pub(crate) async fn rest(mut stream: impl AsyncRead + Unpin) -> Answer {
    let mut all = Vec::new();
    let reading = async {
        let mut some = [0; 8192];
        while let Ok(n @ 1..) = stream.read(&mut some).await {
            all.extend_from_slice(&some[..n]);
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("the connection stays open");
    Answer(String::from_utf8_lossy(&all).into_owned())
}

/// Reads until `text` was seen.
pub(crate) async fn until(stream: &mut (impl AsyncRead + Unpin), text: &str) {
    assert!(says(stream, text).await, "the connection ended");
}

/// Reads until `text` was seen, or the connection ended without it.
pub(crate) async fn says(stream: &mut (impl AsyncRead + Unpin), text: &str) -> bool {
    let mut all = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&all).contains(text) {
            let Ok(byte) = stream.read_u8().await else { return false };
            all.push(byte);
        }
        true
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("nothing more comes")
}

pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

fn router(counts: Counts) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/v1/things", any(|| async { "things" }))
        .route("/v1/whoami", get(|principal: Principal| async move { principal.name }))
        .route("/v1/json", post(read))
        .route("/v1/sessions/{id}/attachments", post(read))
        .route("/v1/events", get(events))
        .route("/v1/flood", get(flood))
        .route("/v1/slow", get(slow))
        .route("/v1/socket", any(socket))
        .fallback(|| async { axum::http::StatusCode::NOT_FOUND })
        .layer(from_fn_with_state(counts.clone(), count))
        .with_state(counts)
}

async fn count(State(counts): State<Counts>, request: Request, next: Next) -> Response {
    counts.reached.fetch_add(1, Ordering::SeqCst);
    next.run(request).await
}

async fn read(State(counts): State<Counts>, body: Bytes) -> String {
    counts.parsed.fetch_add(1, Ordering::SeqCst);
    body.len().to_string()
}

async fn slow() -> &'static str {
    tokio::time::sleep(Duration::from_millis(500)).await;
    "done"
}

struct Running(Counts);

impl Running {
    fn begin(counts: Counts) -> Self {
        counts.streams.fetch_add(1, Ordering::SeqCst);
        Self(counts)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Says hello and then nothing, without a thought for revoked tokens.
async fn events(State(counts): State<Counts>) -> Body {
    let running = Running::begin(counts);
    Body::from_stream(futures_util::stream::unfold(
        (running, false),
        |(running, is_said)| async move {
            if is_said {
                std::future::pending::<()>().await;
            }
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"hello\n\n")), (running, true)))
        },
    ))
}

/// More than anybody can read.
async fn flood(State(counts): State<Counts>) -> Body {
    let running = Running::begin(counts);
    Body::from_stream(futures_util::stream::unfold(running, |running| async move {
        Some((Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 16 << 10])), running))
    }))
}

async fn socket(State(counts): State<Counts>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.protocols(["acp.v1"]).on_upgrade(|mut socket| async move {
        let _running = Running::begin(counts);
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                return;
            }
        }
    })
}
