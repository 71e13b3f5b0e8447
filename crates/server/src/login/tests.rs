//! A link that works once, and the two halves of a login.

mod moving;

use axum::body::Body;
use axum::http::{Method, Request};

use super::*;
use crate::guard::{GuardSettings, GuardedRouter, Peer, Routes};
use crate::limits::HttpLimits;
use crate::tokens::Tokens;

struct Case {
    _dir: tempfile::TempDir,
    login: Login,
    guarded: GuardedRouter,
}

fn case() -> Case {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::open(dir.path()).unwrap();
    let guard = Arc::new(Guard::new(tokens, Routes::default(), &GuardSettings::default()).unwrap());
    let login = Login::new(guard.clone());
    let router = routes().with_state(login.clone());
    let guarded = GuardedRouter::new(guard, router, HttpLimits::default());
    Case { _dir: dir, login, guarded }
}

impl Case {
    async fn ask(
        &self,
        is_tls: bool,
        method: Method,
        path: &str,
        body: &str,
        more: &[(&str, &str)],
    ) -> Response {
        let at = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let mut request =
            Request::builder().method(method).uri(path).header("host", "127.0.0.1:7433");
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let arrival =
            ConnectionInfo::new(Peer::Net(at(50_000)), Some(at(7433)), is_tls).of_our_user();
        let request = request.extension(arrival).body(Body::from(body.to_owned())).unwrap();
        self.guarded.clone().handle(request).await
    }

    async fn log_in(&self, is_tls: bool, code: &str) -> Response {
        let body = serde_json::json!({ "code": code }).to_string();
        self.ask(is_tls, Method::POST, "/v1/login", &body, &[]).await
    }
}

fn set_cookie(response: &Response) -> &str {
    response.headers()["set-cookie"].to_str().unwrap()
}

#[tokio::test]
async fn a_code_becomes_a_cookie_that_opens_until_the_logout() {
    let case = case();
    let link = case.login.new_link("http://127.0.0.1:7433", &Principal::local()).unwrap();
    let code = link.strip_prefix("http://127.0.0.1:7433/login#code=").unwrap();

    let response = case.log_in(false, code).await;
    assert_eq!(response.status(), 200);
    let line = set_cookie(&response).to_owned();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let pass = ("x-switchyard-page", body["pass"].as_str().unwrap());
    let (pair, flags) = line.split_once("; ").unwrap();
    assert_eq!(flags, "HttpOnly; SameSite=Strict; Path=/; Max-Age=604800");
    assert_eq!(case.log_in(false, code).await.status(), 401, "once");

    let own = ("origin", "http://127.0.0.1:7433");
    let cookie = ("cookie", pair);
    let refused = case.ask(false, Method::POST, "/v1/logout", "", &[cookie, pass]).await;
    assert_eq!(refused.status(), 403, "without our origin it changes nothing");
    let refused = case.ask(false, Method::POST, "/v1/logout", "", &[cookie, own]).await;
    assert_eq!(refused.status(), 401, "a cookie alone opens nothing");
    let secret = ("x-switchyard-page", body["pageSecret"].as_str().unwrap());
    let refused = case.ask(false, Method::POST, "/v1/logout", "", &[cookie, secret, own]).await;
    assert_eq!(refused.status(), 401, "nor does the secret, which is not to be sent");
    let out = case.ask(false, Method::POST, "/v1/logout", "", &[cookie, pass, own]).await;
    assert_eq!(out.status(), 204);
    assert!(set_cookie(&out).contains("Max-Age=0"));
    let after = case.ask(false, Method::POST, "/v1/logout", "", &[cookie, pass, own]).await;
    assert_eq!(after.status(), 401);
}

#[tokio::test]
async fn a_browser_that_logs_in_again_stays_one_login() {
    let case = case();
    let own = ("origin", "http://127.0.0.1:7433");
    let mut given = Vec::new();
    for _ in 0..2 {
        let code = serde_json::json!({ "code": case.login.new_code(&Principal::local()).unwrap() })
            .to_string();
        let cookie = given.first().map(|(pair, _): &(String, String)| ("cookie", pair.as_str()));
        let more: Vec<_> = cookie.into_iter().chain([own]).collect();
        let response = case.ask(false, Method::POST, "/v1/login", &code, &more).await;
        assert_eq!(response.status(), 200);
        let pair = set_cookie(&response).split_once("; ").unwrap().0.to_owned();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        given.push((pair, body["tabSecret"].as_str().unwrap().to_owned()));
    }
    assert_eq!(given[0], given[1]);
    assert_eq!(case.login.guard.tokens().list().iter().filter(|one| one.is_browser).count(), 1);
    // Another browser is another login.
    let code = case.login.new_code(&Principal::local()).unwrap();
    assert_ne!(
        set_cookie(&case.log_in(false, &code).await).split_once("; ").unwrap().0,
        given[0].0
    );
}

#[tokio::test]
async fn with_tls_the_cookie_stays_in_tls() {
    let case = case();
    let code = case.login.new_code(&Principal::local()).unwrap();
    let response = case.log_in(true, &code).await;
    assert!(set_cookie(&response).ends_with("; Secure"));
}

#[tokio::test]
async fn a_logout_with_another_token_ends_nothing() {
    let case = case();
    let tokens = case.login.guard.tokens().clone();
    let bearer = format!("Bearer {}", tokens.admin_token().unwrap());
    let auth = ("authorization", bearer.as_str());
    assert_eq!(case.ask(false, Method::POST, "/v1/logout", "", &[auth]).await.status(), 204);
    assert!(tokens.check(&tokens.admin_token().unwrap()).is_some());
}

#[tokio::test]
async fn wrong_codes_are_limited_and_a_right_one_still_works() {
    let case = case();
    let code = case.login.new_code(&Principal::local()).unwrap();
    let mut n_evaluated = 0;
    for n in 0..100 {
        match case.log_in(false, &format!("wrong{n}")).await.status().as_u16() {
            401 => n_evaluated += 1,
            429 => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!(n_evaluated, 10);
    assert_eq!(case.log_in(false, &code).await.status(), 200);
}

#[tokio::test]
async fn what_is_no_code_is_a_bad_request() {
    let case = case();
    for body in ["{", "[]", "{}", "{\"code\":1}", "null"] {
        let response = case.ask(false, Method::POST, "/v1/login", body, &[]).await;
        assert_eq!(response.status(), 400, "{body}");
    }
}
