//! A page whose own name leads here, on plain requests and on upgrades.

use axum::http::Request;
use http_body_util::Full;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::stage::{LoggedIn, Stage};

fn hosts(port: u16) -> Vec<String> {
    let names = [
        "evil.test",
        "127.0.0.1.evil.test",
        "localhost.evil.test",
        "localhost.",
        "LOCALHOST",
        "LocalHost",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "0.0.0.0",
        "[::]",
        "127.1",
        "127.0.0.2",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "user@127.0.0.1",
        "127.0.0.1@evil.test",
        "evil.test#@127.0.0.1",
        "*",
        "null",
        "127.0.0.1,evil.test",
        "::1",
        "xn--localhost",
        "localhost%00",
        "127.0.0.1%2eevil.test",
        "",
    ];
    let mut hosts: Vec<_> = names.iter().map(|name| format!("{name}:{port}")).collect();
    hosts.extend(["127.0.0.1", "localhost", "[::1]", "", "evil.test", " "].map(str::to_owned));
    hosts.push(format!("127.0.0.1:{}", port.wrapping_add(1)));
    hosts.push(format!("127.0.0.1:0{port}"));
    hosts.push(format!("127.0.0.1:{port}:{port}"));
    hosts.push(format!("127.0.0.1:{port}/"));
    hosts.push(format!("http://127.0.0.1:{port}"));
    hosts
}

const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_are_refused_with_a_valid_token_too() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    for host in hosts(stage.address.port()) {
        for (path, extra) in [("/v1/things", ""), ("/healthz", ""), ("/v1/socket", UPGRADE)] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n{extra}Connection: close\r\n\r\n"
            );
            let answer = stage.say(request).await;
            assert!([400, 403].contains(&answer.status()), "{path} at `{host}`: {}", answer.0);
        }
    }
    assert_eq!(stage.counts.n_reached(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_said_twice_not_at_all_or_in_the_target_is_refused() {
    let stage = Stage::start().await;
    let (bearer, host) = (stage.bearer(), stage.host());
    for head in [
        format!("GET /v1/things HTTP/1.1\r\n{bearer}\r\n"),
        format!("GET /v1/things HTTP/1.0\r\n{bearer}\r\n"),
        format!("GET /v1/things HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n{bearer}\r\n"),
        format!("GET /v1/things HTTP/1.1\r\nHost: {host}\r\nHost: evil.test\r\n{bearer}\r\n"),
        format!("GET /v1/things HTTP/1.1\r\nHost: evil.test\r\nHost: {host}\r\n{bearer}\r\n"),
        format!("GET http://{host}/v1/things HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n"),
        format!("GET http://evil.test/v1/things HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n"),
        format!("GET http://{host}/v1/things HTTP/1.1\r\nHost: evil.test\r\n{bearer}\r\n"),
        format!("GET http://u:p@{host}/v1/things HTTP/1.1\r\n{bearer}\r\n"),
        format!("GET /v1/things HTTP/1.1\r\nHost : {host}\r\n{bearer}\r\n"),
        format!("GET /v1/things HTTP/1.1\r\nHost: {host}\r\n evil.test\r\n{bearer}\r\n"),
        format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n"),
    ] {
        for extra in ["", UPGRADE] {
            let answer = stage.say(format!("{head}{extra}Connection: close\r\n\r\n")).await;
            assert!([400, 403, 405].contains(&answer.status()), "{head}: {}", answer.0);
        }
    }
    assert_eq!(stage.counts.n_reached(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_authorities_are_held_to_the_same() {
    let stage = Stage::start().await;
    let mut client = stage.http2().await;
    let port = stage.address.port();
    let request = |authority: &str, host: Option<&str>| {
        let mut request = Request::builder().uri(format!("http://{authority}/v1/things"));
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request = request.header("authorization", format!("Bearer {}", stage.token));
        request.body(Full::default())
    };
    let mut n_sent = 0;
    // A slash would end the authority and begin the path.
    for host in hosts(port).into_iter().filter(|host| !host.contains('/')) {
        // Many of these cannot even be written down as an HTTP/2 request.
        let Ok(request) = request(&host, None) else { continue };
        let Ok(answer) = client.send_request(request).await else {
            client = stage.http2().await;
            continue;
        };
        n_sent += 1;
        assert!([400, 403].contains(&answer.status().as_u16()), "{host}: {}", answer.status());
    }
    assert!(n_sent > 10, "only {n_sent} were tried");
    let both = request(&stage.host(), Some("evil.test")).unwrap();
    assert_eq!(client.send_request(both).await.unwrap().status(), 400);
    assert_eq!(stage.counts.n_reached(), 0);

    let good = request(&format!("localhost:{port}"), None).unwrap();
    assert_eq!(client.send_request(good).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_names_are_served() {
    let stage = Stage::start().await;
    let port = stage.address.port();
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let head =
            format!("GET /v1/things HTTP/1.1\r\nHost: {host}:{port}\r\n{}\r\n", stage.bearer());
        let answer = stage.say(format!("{head}Connection: close\r\n\r\n")).await;
        assert_eq!(answer.status(), 200, "{host}: {}", answer.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_opens_for_a_token_or_for_our_own_page() {
    let stage = Stage::start().await;
    let own = format!("http://{}", stage.host());
    let LoggedIn { cookie, secret, pass } = stage.log_in().await;
    let page = ("x-switchyard-page", pass.as_str());
    let bearer = format!("Bearer {}", stage.token);
    let protocol = format!("acp.v1, switchyard-token.{}", stage.token);
    let open = async |lines: &[(&'static str, &str)]| {
        let mut request = format!("ws://{}/v1/socket", stage.host()).into_client_request().unwrap();
        for (name, value) in lines {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        tokio_tungstenite::client_async(request, stage.tcp().await).await
    };

    assert!(open(&[("authorization", &bearer)]).await.is_ok());
    assert!(open(&[("cookie", &cookie), page, ("origin", &own)]).await.is_ok());
    let (_socket, answer) =
        open(&[("sec-websocket-protocol", &protocol), ("origin", &own)]).await.unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "acp.v1", "the token is not echoed");
    assert_eq!(stage.counts.n_reached(), 3);

    for lines in [
        &[("cookie", cookie.as_str()), page][..],
        &[("cookie", &cookie), ("origin", &own)],
        &[("cookie", &cookie), ("x-switchyard-page", &secret), ("origin", &own)],
        &[("cookie", &cookie), page, ("origin", "http://evil.test")],
        &[("cookie", &cookie), page, ("origin", "null")],
        &[("authorization", &bearer), ("origin", "http://evil.test")],
        &[("authorization", &bearer), ("sec-fetch-site", "cross-site")],
        &[("sec-websocket-protocol", &protocol), ("origin", "http://evil.test")],
        &[("origin", &own)],
        &[],
    ] {
        assert!(open(lines).await.is_err(), "{lines:?}");
    }
    assert_eq!(stage.counts.n_reached(), 3);
}
