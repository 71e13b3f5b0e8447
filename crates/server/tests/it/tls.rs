//! TLS: both kinds of HTTP, renewed certificates, and clients that do not speak it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use http_body_util::Full;
use rustls::pki_types::{CertificateDer, ServerName};
use server::limits::HttpLimits;
use server::listen::{BoundSocket, check_bind};
use server::tls::{Tls, TlsError, TlsProtocol};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::stage::{Setup, Stage, exchange, rest, shake_http2};

/// Writes a new certificate for this machine and returns it.
fn issue(dir: &Path) -> CertificateDer<'static> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let issued = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(dir.join("cert.pem"), issued.cert.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), issued.signing_key.serialize_pem()).unwrap();
    issued.cert.der().clone()
}

fn load(dir: &Path) -> Result<Tls, TlsError> {
    Tls::load(&dir.join("cert.pem"), &dir.join("key.pem"), TlsProtocol::Http)
}

async fn connect(
    stage: &Stage,
    trusted: &CertificateDer<'static>,
    protocol: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stage.tcp().await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn both_kinds_of_http_are_spoken_inside() {
    let dir = tempfile::tempdir().unwrap();
    let cert = issue(dir.path());
    let tls = load(dir.path()).unwrap();
    let stage = Stage::with(Setup { tls: Some(tls.clone()), ..Setup::default() }).await;

    let stream = connect(&stage, &cert, b"http/1.1").await.unwrap();
    let own = format!("Origin: https://{}", stage.host());
    let head = stage.head("GET", "/v1/whoami", &[&stage.bearer(), &own]);
    let answer = exchange(stream, head).await;
    assert_eq!(answer.status(), 200, "{}", answer.0);

    let plain = format!("Origin: http://{}", stage.host());
    let head = stage.head("GET", "/v1/whoami", &[&stage.bearer(), &plain]);
    let answer = exchange(connect(&stage, &cert, b"http/1.1").await.unwrap(), head).await;
    assert_eq!(answer.status(), 403, "a plain page is another origin");

    let stream = connect(&stage, &cert, b"h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut client = shake_http2(stream).await;
    let request = Request::builder()
        .uri(format!("https://{}/v1/things", stage.host()))
        .header("authorization", format!("Bearer {}", stage.token));
    let answer = client.send_request(request.body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    let request = Request::builder().uri(format!("https://{}/v1/things", stage.host()));
    let answer = client.send_request(request.body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_taken_and_a_bad_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let old = issue(dir.path());
    let tls = load(dir.path()).unwrap();
    let stage = Stage::with(Setup { tls: Some(tls.clone()), ..Setup::default() }).await;
    assert!(connect(&stage, &old, b"h2").await.is_ok());

    let new = issue(dir.path());
    assert!(connect(&stage, &new, b"h2").await.is_err(), "not before it is told");
    tls.reload().unwrap();
    assert!(connect(&stage, &new, b"h2").await.is_ok());
    assert!(connect(&stage, &old, b"h2").await.is_err());

    std::fs::write(dir.path().join("cert.pem"), "nothing").unwrap();
    assert!(tls.reload().is_err());
    assert!(connect(&stage, &new, b"h2").await.is_ok(), "the good one stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_certificate_are_named() {
    let dir = tempfile::tempdir().unwrap();
    assert!(load(dir.path()).unwrap_err().to_string().contains("cert.pem"));
    issue(dir.path());
    let key = std::fs::read(dir.path().join("key.pem")).unwrap();
    issue(dir.path());
    std::fs::write(dir.path().join("key.pem"), key).unwrap();
    assert!(matches!(load(dir.path()), Err(TlsError::Unfit { .. })), "another certificate's key");
    std::fs::write(dir.path().join("key.pem"), "").unwrap();
    assert!(load(dir.path()).unwrap_err().to_string().contains("key.pem"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_speak_tls_is_not_served() {
    let dir = tempfile::tempdir().unwrap();
    issue(dir.path());
    let tls = Some(load(dir.path()).unwrap());
    let limits = HttpLimits { head_timeout: Duration::from_millis(300), ..HttpLimits::default() };
    let stage = Stage::with(Setup { limits, tls, ..Setup::default() }).await;
    let answer = stage.say(stage.head("GET", "/v1/things", &[&stage.bearer()])).await;
    assert_eq!(answer.status(), 0, "{}", answer.0);
    // Returns only because a handshake that never starts has an end.
    rest(stage.tcp().await).await;
    assert_eq!(stage.counts.n_reached(), 0);
}

#[tokio::test]
async fn with_tls_other_machines_may_come() {
    let dir = tempfile::tempdir().unwrap();
    issue(dir.path());
    let tls = load(dir.path()).unwrap();
    let everywhere = "0.0.0.0:0".parse().unwrap();
    assert!(check_bind(everywhere, Some(&tls), false).is_ok());
    assert!(BoundSocket::tcp(everywhere, Some(tls), false).await.is_ok());
}
