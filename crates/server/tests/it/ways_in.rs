//! Nobody gets in without a token, on any route, verb, protocol or socket.

use axum::http::Request;
use http_body_util::{BodyExt, Full};
use jiff::{SignedDuration, Timestamp};
use server::principal::Role;
use server::tokens::NewToken;

use crate::stage::{Stage, exchange, unix};

const PATHS: [&str; 12] = [
    "/v1/things",
    "/v1/whoami",
    "/v1/json",
    "/v1/sessions/x/attachments",
    "/v1/events",
    "/v1/flood",
    "/v1/socket",
    "/v1/nothing",
    "/nothing",
    "/healthz/../v1/things",
    "//",
    "/v1/things?token=TOKEN&access_token=TOKEN",
];
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const UPGRADE: [&str; 4] = [
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

fn bad_credentials(stage: &Stage) -> Vec<String> {
    let past = Timestamp::now() - SignedDuration::from_secs(1);
    let new = NewToken {
        name: "expired".into(),
        role: Role::Admin,
        expires: Some(past),
        own_sessions: false,
    };
    let expired = stage.tokens.add(new).unwrap();
    let token = &stage.token;
    vec![
        "X-Nothing: at all".into(),
        "Authorization: Bearer wrong".into(),
        format!("Authorization: Bearer {expired}"),
        format!("Authorization: Basic {token}"),
        format!("Authorization: Bearer {}", token.to_uppercase()),
        format!("Authorization: Bearer {}", token.get(..token.len() - 1).unwrap()),
        format!("X-Api-Key: {token}"),
        format!("Sec-WebSocket-Protocol: {token}"),
        "Sec-WebSocket-Protocol: acp.v1, switchyard-token.wrong".into(),
        format!("Cookie: switchyard_session_{}=wrong", stage.address.port()),
        format!("Cookie: session={token}"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_is_reached_without_a_valid_token() {
    let stage = Stage::start().await;
    for credential in bad_credentials(&stage) {
        for path in PATHS {
            let path = path.replace("TOKEN", &stage.token);
            for method in METHODS {
                let answer = stage.say(stage.head(method, &path, &[&credential])).await;
                // Wrong ones are soon told to wait; a cookie without our page is refused for that.
                let ok = [401, 403, 429].contains(&answer.status());
                assert!(ok, "{method} {path} with {credential}: {}", answer.0);
                assert!(answer.header("access-control-allow-origin").is_none());
            }
        }
    }
    assert_eq!(stage.counts.n_reached(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_socket_is_upgraded_without_a_valid_token() {
    let stage = Stage::start().await;
    for credential in bad_credentials(&stage) {
        for path in PATHS {
            let path = path.replace("TOKEN", &stage.token);
            let mut lines = UPGRADE.to_vec();
            lines.push(&credential);
            let answer = stage.say(stage.head("GET", &path, &lines)).await;
            assert!(
                [401, 403, 429].contains(&answer.status()),
                "{path}, {credential}: {}",
                answer.0
            );
        }
    }
    assert_eq!(stage.counts.n_reached(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_no_way_around() {
    let stage = Stage::start().await;
    let mut client = stage.http2().await;
    for credential in bad_credentials(&stage) {
        let (name, value) = credential.split_once(": ").unwrap();
        for path in PATHS {
            let request = Request::builder()
                .uri(format!("http://{}{path}", stage.host()))
                .header(name, value)
                .body(Full::default())
                .unwrap();
            let status = client.send_request(request).await.unwrap().status().as_u16();
            assert!([401, 403, 429].contains(&status), "{path} with {credential}: {status}");
        }
    }
    assert_eq!(stage.counts.n_reached(), 0);

    let request = Request::builder()
        .uri(format!("http://{}/v1/whoami", stage.host()))
        .header("authorization", format!("Bearer {}", stage.token))
        .body(Full::default())
        .unwrap();
    let answer = client.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "test");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_asks_for_tokens_too() {
    let stage = Stage::start().await;
    for credential in bad_credentials(&stage) {
        let head = stage.head("GET", "/v1/things", &[&credential]);
        let answer = exchange(unix(&stage.shared).await, head).await;
        assert!([401, 403, 429].contains(&answer.status()), "{credential}: {}", answer.0);
    }
    assert_eq!(stage.counts.n_reached(), 0);
    let head = stage.head("GET", "/v1/whoami", &[&stage.bearer()]);
    assert!(exchange(unix(&stage.shared).await, head).await.0.ends_with("test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_private_socket_knows_its_own_user() {
    let stage = Stage::start().await;
    let plain = "GET /v1/whoami HTTP/1.1\r\nConnection: close\r\nHost: anything\r\n\r\n";
    let answer = exchange(unix(&stage.private).await, plain).await;
    assert_eq!(answer.status(), 200);
    assert!(answer.0.ends_with("local"), "{}", answer.0);

    let head = stage.head("GET", "/v1/whoami", &["Authorization: Bearer wrong"]);
    assert_eq!(exchange(unix(&stage.private).await, head).await.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_token_opens_and_what_is_open_needs_none() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    for method in METHODS {
        assert_eq!(stage.say(stage.head(method, "/v1/things", &[&bearer])).await.status(), 200);
    }
    assert_eq!(stage.say(stage.head("GET", "/nothing", &[&bearer])).await.status(), 404);
    assert_eq!(stage.say(stage.head("GET", "/healthz", &[])).await.status(), 200);
    assert_eq!(stage.say(stage.head("POST", "/healthz", &[])).await.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_protects_itself_from_browsers() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    let answers = [
        stage.say(stage.head("GET", "/v1/things", &[&bearer])).await,
        stage.say(stage.head("GET", "/v1/things", &[])).await,
        stage.say(stage.head("GET", "/nothing", &[&bearer])).await,
        stage.say(stage.head("GET", "/healthz", &[])).await,
        stage.say("GET / HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n").await,
    ];
    for answer in answers {
        let is = |name: &str, value: &str| {
            assert_eq!(answer.header(name), Some(value), "{name} in {}", answer.0);
        };
        is("x-content-type-options", "nosniff");
        is("referrer-policy", "no-referrer");
        is("cache-control", "no-store");
        is("x-frame-options", "DENY");
        is("cross-origin-resource-policy", "same-origin");
        is("cross-origin-opener-policy", "same-origin");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    }
    let refused = stage.say(stage.head("GET", "/v1/things", &[])).await;
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"));
    assert!(refused.0.contains("urn:switchyard:problem:unauthorized"));
}
