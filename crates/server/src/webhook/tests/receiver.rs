//! A real HTTP server that checks every signature and answers as it is told.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use soak::PATIENCE;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub(super) const SECRET: &str = "a secret of more than sixteen bytes";

#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) event_id: String,
    pub(super) body: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Reply {
    Status(u16),
    RedirectTo(String),
    /// Never answers.
    Hang,
    /// A success whose body never ends.
    Endless,
}

type Decide = Box<dyn Fn(&Received, usize) -> Reply + Send + Sync>;

struct Shared {
    received: watch::Sender<Vec<Received>>,
    decide: Decide,
}

pub(super) struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Receiver {
    /// `decide` is given what came, and how many came before it.
    pub(super) async fn start(
        decide: impl Fn(&Received, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), decide)
    }

    pub(super) fn on(
        listener: TcpListener,
        decide: impl Fn(&Received, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let shared =
            Arc::new(Shared { received: watch::Sender::default(), decide: Box::new(decide) });
        let router = router(&shared);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(super) fn all(&self) -> Vec<Received> {
        self.shared.received.borrow().clone()
    }

    /// The announcement that comes as number `n`, from 0. Patience is for each that comes before
    /// it, as many take long on a busy machine.
    pub(super) async fn nth(&self, n: usize) -> Received {
        let mut received = self.shared.received.subscribe();
        loop {
            if let Some(one) = received.borrow_and_update().get(n) {
                return one.clone();
            }
            let waited = tokio::time::timeout(PATIENCE, received.changed()).await;
            assert!(waited.is_ok(), "only {} came", received.borrow().len());
        }
    }
}

fn router(shared: &Arc<Shared>) -> Router {
    Router::new().fallback(receive).with_state(shared.clone())
}

/// Serves one TLS connection after the other; gives the address.
pub(super) async fn over_tls(
    config: rustls::ServerConfig,
    decide: impl Fn(&Received, usize) -> Reply + Send + Sync + 'static,
) -> Receiver {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shared = Arc::new(Shared { received: watch::Sender::default(), decide: Box::new(decide) });
    let router = router(&shared);
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, router) = (acceptor.clone(), router.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = hyper_util::service::TowerToHyperService::new(router);
                let io = hyper_util::rt::TokioIo::new(stream);
                let http = hyper::server::conn::http1::Builder::new();
                let _ = http.serve_connection(io, service).await;
            });
        }
    });
    Receiver { address, shared }
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    check_signature(&text("switchyard-signature"), &body);
    assert_eq!(text("content-type"), "application/json");
    let received = Received {
        event_id: text("switchyard-event-id"),
        body: serde_json::from_slice(&body).unwrap(),
    };
    let mut n_before = 0;
    shared.received.send_modify(|all| {
        n_before = all.len();
        all.push(received.clone());
    });
    match (shared.decide)(&received, n_before) {
        Reply::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Reply::RedirectTo(to) => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        }
        Reply::Hang => std::future::pending().await,
        Reply::Endless => {
            let chunks = futures_util::stream::repeat_with(|| {
                Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 4096]))
            });
            Body::from_stream(chunks).into_response()
        }
    }
}

/// As the documentation tells receivers to.
#[track_caller]
fn check_signature(header: &str, body: &[u8]) {
    let (time, signature) = header.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    let bytes: Vec<u8> = (0..signature.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap())
        .collect();
    mac.verify_slice(&bytes).expect("a valid signature");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!(now.abs_diff(time.parse().unwrap()) < 300, "an old signature");
}

pub(super) fn write_secret(dir: &Path, secret: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join("secret");
    std::fs::write(&path, format!("{secret}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}
