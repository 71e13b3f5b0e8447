//! What a page of another site can make a browser send.

use server::guard::GuardSettings;

use crate::stage::{Setup, Stage};

fn post(stage: &Stage, path: &str, lines: &[&str], body: &str) -> String {
    let length = format!("Content-Length: {}", body.len());
    let mut all = lines.to_vec();
    all.push(&length);
    stage.head("POST", path, &all) + body
}

#[tokio::test(flavor = "multi_thread")]
async fn only_json_is_parsed() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    for kind in [
        "Content-Type: text/plain",
        "Content-Type: text/plain; application/json",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=x",
        "Content-Type: application/jsonp",
        "Content-Type: application/json, text/plain",
        "Content-Type: image/png",
        "Content-Type:",
        "X-No-Type: at all",
        "Content-Type: application/json\r\nContent-Type: text/plain",
    ] {
        let answer = stage.say(post(&stage, "/v1/json", &[&bearer, kind], "{}")).await;
        assert_eq!(answer.status(), 415, "{kind}: {}", answer.0);
    }
    assert_eq!(stage.counts.n_reached(), 0);

    for kind in ["application/json", "Application/JSON; charset=utf-8"] {
        let kind = format!("Content-Type: {kind}");
        let answer = stage.say(post(&stage, "/v1/json", &[&bearer, &kind], "{}")).await;
        assert_eq!(answer.status(), 200, "{}", answer.0);
    }
    let nothing = stage.say(post(&stage, "/v1/json", &[&bearer], "")).await;
    assert_eq!(nothing.status(), 200, "no body has no type: {}", nothing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_have_types_of_their_own() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    let path = "/v1/sessions/x/attachments";
    for (kind, status) in [
        ("application/octet-stream", 200),
        ("image/png", 200),
        ("text/plain", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json", 415),
    ] {
        let kind = format!("Content-Type: {kind}");
        let answer = stage.say(post(&stage, path, &[&bearer, &kind], "x")).await;
        assert_eq!(answer.status(), status, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_are_refused_with_and_without_our_cookie() {
    let stage = Stage::start().await;
    let cookie = stage.login_lines().await;
    let json = "Content-Type: application/json";
    for foreign in [
        "Origin: http://evil.test",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Origin: http://evil.test\r\nSec-Fetch-Site: cross-site",
    ] {
        for credential in [cookie.as_str(), stage.bearer().as_str(), "X-None: 1"] {
            for path in ["/v1/json", "/v1/things", "/healthz", "/login", "/v1/login"] {
                let answer =
                    stage.say(post(&stage, path, &[foreign, credential, json], "{}")).await;
                assert_eq!(answer.status(), 403, "{path}, {foreign}: {}", answer.0);
                let answer = stage.say(stage.head("GET", path, &[foreign, credential])).await;
                assert_eq!(answer.status(), 403, "{path}, {foreign}: {}", answer.0);
                assert!(answer.header("access-control-allow-origin").is_none());
            }
        }
    }
    assert_eq!(stage.counts.n_reached(), 0);

    let own = format!("Origin: http://{}", stage.host());
    let lines = [cookie.as_str(), json, &own, "Sec-Fetch-Site: same-origin"];
    assert_eq!(stage.say(post(&stage, "/v1/json", &lines, "{}")).await.status(), 200);
    let lines = [cookie.as_str(), json];
    assert_eq!(stage.say(post(&stage, "/v1/json", &lines, "{}")).await.status(), 403);
    let lines = [cookie.as_str(), "Sec-Fetch-Site: same-origin"];
    assert_eq!(stage.say(stage.head("GET", "/v1/things", &lines)).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn cors_is_off_unless_an_origin_was_named() {
    let stage = Stage::start().await;
    let asks = [
        "Origin: https://app.example",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization",
    ];
    let answer = stage.say(stage.head("OPTIONS", "/v1/json", &asks)).await;
    assert_eq!(answer.status(), 403);
    assert!(answer.header("access-control-allow-origin").is_none(), "{}", answer.0);

    let settings = GuardSettings {
        allow_origins: vec!["https://app.example".into()],
        ..GuardSettings::default()
    };
    let stage = Stage::with(Setup { settings, ..Setup::default() }).await;
    let answer = stage.say(stage.head("OPTIONS", "/v1/json", &asks)).await;
    assert_eq!(answer.status(), 204, "{}", answer.0);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(answer.header("access-control-allow-headers").unwrap().contains("authorization"));
    assert!(answer.header("access-control-allow-credentials").is_none());
    assert!(answer.0.to_lowercase().contains("vary: origin"));
    assert_eq!(stage.counts.n_reached(), 0, "a preflight reaches nothing");

    let other = ["Origin: https://app.example.evil.test", asks[1], asks[2]];
    let answer = stage.say(stage.head("OPTIONS", "/v1/json", &other)).await;
    assert_eq!(answer.status(), 403);
    assert!(answer.header("access-control-allow-origin").is_none());

    let lines = [asks[0], "Sec-Fetch-Site: cross-site", &stage.bearer()];
    let answer = stage.say(stage.head("GET", "/v1/things", &lines)).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    let refused = stage.say(stage.head("GET", "/v1/things", &lines[..2])).await;
    assert_eq!(refused.status(), 401, "an origin is no token");
    let cookie = stage.login_lines().await;
    let refused = stage.say(stage.head("GET", "/v1/things", &[asks[0], &cookie])).await;
    assert_eq!(refused.status(), 403, "and gets no cookies");
}
