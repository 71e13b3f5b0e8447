//! A program that serves pages at another port of the daemon's host: the browser sends it the
//! cookie of the login, and it may say what it likes to the daemon.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::Scene;

/// What the daemon's own page would send, letter by letter, with more of its own.
struct Forger<'a> {
    scene: &'a Scene,
    client: reqwest::Client,
}

impl Forger<'_> {
    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> StatusCode {
        let daemon = &self.scene.daemon;
        let mut request = self.client.request(method.clone(), daemon.url(path));
        request = request.header("Host", daemon.page_host()).header("Origin", daemon.page());
        request = request.header("Sec-Fetch-Site", "same-origin");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if method == Method::POST {
            request = request.json(&json!({ "agent": "demo", "cwd": self.scene.home.work() }));
        }
        request.send().await.unwrap().status()
    }

    /// Whether a WebSocket opens.
    async fn opens(&self, headers: &[(&'static str, &str)]) -> bool {
        let daemon = &self.scene.daemon;
        let url = format!("ws://{}/v1/events", daemon.address());
        let mut request = url.into_client_request().unwrap();
        let own = [("host", daemon.page_host()), ("origin", daemon.page())];
        for (name, value) in own.iter().chain(headers) {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = tokio::net::TcpStream::connect(daemon.address()).await.unwrap();
        tokio_tungstenite::client_async(request, stream).await.is_ok()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_that_is_sent_the_cookie_comes_no_further() {
    let scene = Scene::start().await;
    let before = scene.picture().await;
    let forger = Forger { scene: &scene, client: testkit::daemon::client(None) };

    // The user looks at the neighbour's page; the browser brings the cookie along.
    scene.browser.open(&format!("{}/page", scene.site.at(scene.own_name()))).await;
    let visit = scene.site.heard().into_iter().find(|one| one.target == "/page").unwrap();
    let cookie = visit.header("cookie").to_owned();
    let (name, value) = cookie.split_once('=').unwrap();
    assert!(name.starts_with("switchyard_session_"), "{cookie}");
    // And nothing else: what the daemon's page keeps is for its own origin.
    let kept = "return JSON.stringify([{ ...localStorage }, { ...sessionStorage }])";
    assert_eq!(scene.browser.run(kept, Value::Null).await, "[{},{}]");

    let bearer = format!("Bearer {value}");
    let offered = format!("switchyard.v1, switchyard-token.{value}");
    let as_page = |secret| vec![("cookie", cookie.as_str()), ("x-switchyard-page", secret)];
    let tries = [
        vec![("cookie", cookie.as_str())],
        vec![("authorization", bearer.as_str())],
        as_page(""),
        as_page(value),
        as_page("sy_guess"),
    ];
    let paths = ["/v1/sessions", "/v1/tokens", "/v1/events", "/acp", "/metrics"];
    for headers in &tries {
        for path in paths {
            let status = forger.send(Method::GET, path, headers).await;
            assert!([401, 429].contains(&status.as_u16()), "{path} {headers:?}: {status}");
        }
        for path in ["/v1/sessions", "/v1/tokens", "/v1/login-link", "/v1/logout", "/api/runs"] {
            let status = forger.send(Method::POST, path, headers).await;
            assert!([401, 429].contains(&status.as_u16()), "{path} {headers:?}: {status}");
        }
        assert!(!forger.opens(headers).await, "{headers:?}");
    }
    assert!(!forger.opens(&[("sec-websocket-protocol", &offered)]).await);
    let as_socket = |secret: &str| format!("switchyard.v1, switchyard-page.{secret}");
    for secret in ["", value, "sy_guess"] {
        let offered = as_socket(secret);
        let both = [("cookie", cookie.as_str()), ("sec-websocket-protocol", offered.as_str())];
        assert!(!forger.opens(&both).await, "{secret}");
    }
    assert_eq!(scene.picture().await, before);

    // It failed for want of the pass, and of nothing else.
    let pass = scene.at_home("return pass", Value::Null).await;
    let whole = as_page(pass.as_str().unwrap());
    assert_eq!(forger.send(Method::GET, "/v1/sessions", &whole).await, 200);
    assert_eq!(forger.send(Method::POST, "/v1/sessions", &whole).await, 201);
    assert!(forger.opens(&whole).await);
    let offered = as_socket(pass.as_str().unwrap());
    let both = [("cookie", cookie.as_str()), ("sec-websocket-protocol", offered.as_str())];
    assert!(forger.opens(&both).await);
}
