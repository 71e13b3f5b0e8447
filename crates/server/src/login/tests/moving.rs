//! A page with a name of its own, and the tabs that move when it is left.

use serde_json::{Value, json};

use super::*;
use crate::page_name::PageName;

/// One daemon after the other, with the same state.
struct Daemon {
    name: PageName,
    login: Login,
    guarded: GuardedRouter,
}

/// What a tab of the page has.
struct Tab {
    host: String,
    cookie: String,
    secret: String,
    pass: String,
    unstored: String,
}

impl Daemon {
    /// With sockets that were never open before.
    fn start(dir: &tempfile::TempDir, n: u64) -> Self {
        let name = PageName::choose(dir.path(), &[n]).unwrap();
        let tokens = Tokens::open(dir.path()).unwrap();
        let settings =
            GuardSettings { allow_hosts: vec!["yard.example".into()], ..GuardSettings::default() };
        let guard = Guard::new(tokens, Routes::default().document("/"), &settings).unwrap();
        let guard = Arc::new(guard.with_page_at(name.clone()));
        let login = Login::new(guard.clone());
        let router = routes().with_state(login.clone());
        let guarded = GuardedRouter::new(guard, router, HttpLimits::default());
        Self { name, login, guarded }
    }

    fn host(&self) -> String {
        format!("{}:7433", self.name)
    }

    async fn ask(
        &self,
        method: &str,
        host: &str,
        path: &str,
        body: Value,
        more: &[(&str, &str)],
    ) -> Response {
        let at = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let mut request = Request::builder().method(method).uri(path).header("host", host);
        if method == "POST" {
            request = request.header("origin", format!("http://{host}"));
            request = request.header("content-type", "application/json");
        }
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let arrival =
            ConnectionInfo::new(Peer::Net(at(50_000)), Some(at(7433)), false).of_our_user();
        let body = if method == "POST" { Body::from(body.to_string()) } else { Body::empty() };
        let request = request.extension(arrival).body(body).unwrap();
        self.guarded.clone().handle(request).await
    }

    async fn log_in(&self, host: &str, code: &str) -> Result<Tab, u16> {
        let answer = self.ask("POST", host, "/v1/login", json!({ "code": code }), &[]).await;
        if answer.status() != 200 {
            return Err(answer.status().as_u16());
        }
        let cookie = set_cookie(&answer).split(';').next().unwrap().to_owned();
        let given = read(answer).await;
        let text = |name: &str| given[name].as_str().unwrap().to_owned();
        let (secret, pass, unstored) = (text("pageSecret"), text("pass"), text("tabSecret"));
        Ok(Tab { host: host.to_owned(), cookie, secret, pass, unstored })
    }

    async fn as_tab(&self, tab: &Tab, path: &str, body: Value) -> Response {
        let shown = [("cookie", &*tab.cookie), ("x-switchyard-page", &*tab.pass)];
        self.ask("POST", &tab.host, path, body, &shown).await
    }

    async fn challenge(&self, tab: &Tab) -> Value {
        let answer = self.as_tab(tab, "/v1/login/challenge", json!({ "nonce": "n" })).await;
        assert_eq!(answer.status(), 200);
        read(answer).await
    }
}

async fn read(answer: Response) -> Value {
    let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

#[tokio::test]
async fn a_tab_comes_over_by_what_is_stored_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let first = Daemon::start(&dir, 1);
    let tab = first
        .log_in(&first.host(), &first.login.new_code(&Principal::local()).unwrap())
        .await
        .unwrap();
    assert_eq!(first.challenge(&tab).await["movedTo"], Value::Null);
    let body = json!({ "nonce": "n", "proof": "p" });
    assert_eq!(first.as_tab(&tab, "/v1/login/move", body).await.status(), 409);

    let second = Daemon::start(&dir, 2);
    assert_ne!(first.name, second.name);
    // Nothing is served there any more, whatever is shown.
    for path in ["/v1/logout", "/v1/tokens", "/v1/login", "/v1/login/prove"] {
        let answer = second.as_tab(&tab, path, json!({})).await;
        assert_eq!(answer.status(), 401, "{path}");
        assert_eq!(read(answer).await["type"], "urn:switchyard:problem:page-moved", "{path}");
    }
    let elsewhere = Tab { host: second.host(), ..tab };
    let body = json!({ "nonce": "n" });
    let answer = second.as_tab(&elsewhere, "/v1/login/challenge", body).await;
    assert_eq!(answer.status(), 401, "a login of another name");
    let tab = Tab { host: first.host(), ..elsewhere };

    // What is stored proves nothing; what the tab knows does, once.
    let way = format!("{}>{}", first.host(), second.host());
    for secret in [&tab.secret, &tab.pass, &tab.cookie] {
        let asked = second.challenge(&tab).await;
        let nonce = asked["nonce"].as_str().unwrap();
        let body = json!({ "nonce": nonce, "proof": proof(&sha256(secret), ProofSide::Page, &way, "n", nonce) });
        assert_eq!(second.as_tab(&tab, "/v1/login/move", body).await.status(), 401);
        let code = proof(&sha256(secret), ProofSide::Code, &way, "n", nonce);
        assert_eq!(second.log_in(&second.host(), &code).await.err(), Some(401));
    }
    let key = sha256(&tab.unstored);
    let asked = second.challenge(&tab).await;
    let nonce = asked["nonce"].as_str().unwrap();
    assert_eq!(asked["movedTo"], second.host());
    assert_eq!(asked["proof"], proof(&key, ProofSide::Daemon, &way, "n", nonce));
    let code = proof(&key, ProofSide::Code, &way, "n", nonce);
    assert_eq!(second.log_in(&second.host(), &code).await.err(), Some(401), "not proved yet");
    let body = json!({ "nonce": nonce, "proof": proof(&key, ProofSide::Page, &way, "n", nonce) });
    let moved = second.as_tab(&tab, "/v1/login/move", body.clone()).await;
    assert_eq!(moved.status(), 204);
    assert_eq!(second.as_tab(&tab, "/v1/login/move", body).await.status(), 401, "once");
    let there = second.log_in(&second.host(), &code).await.unwrap();
    assert_eq!(second.log_in(&second.host(), &code).await.err(), Some(401), "once");
    assert_eq!(second.as_tab(&there, "/v1/logout", json!({})).await.status(), 204);
}

/// Comes over as the page does.
async fn come_over(daemon: &Daemon, tab: &Tab) -> Result<Tab, u16> {
    let (key, way) = (sha256(&tab.unstored), format!("{}>{}", tab.host, daemon.host()));
    let asked = daemon.challenge(tab).await;
    let nonce = asked["nonce"].as_str().unwrap();
    let proved = proof(&key, ProofSide::Page, &way, "n", nonce);
    let body = json!({ "nonce": nonce, "proof": proved });
    let moved = daemon.as_tab(tab, "/v1/login/move", body).await.status();
    assert_eq!(moved, 204);
    daemon.log_in(&daemon.host(), &proof(&key, ProofSide::Code, &way, "n", nonce)).await
}

#[tokio::test]
async fn a_tab_may_ask_for_a_proof_that_nobody_can_give_who_has_what_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&dir, 1);
    let host = daemon.host();
    let tab =
        daemon.log_in(&host, &daemon.login.new_code(&Principal::local()).unwrap()).await.unwrap();
    for (by, secret, other) in
        [("tab", &tab.unstored, &tab.secret), ("page", &tab.secret, &tab.unstored)]
    {
        let body = json!({ "nonce": "n", "by": by });
        let asked = read(daemon.as_tab(&tab, "/v1/login/challenge", body).await).await;
        let nonce = asked["nonce"].as_str().unwrap();
        assert_eq!(
            asked["proof"],
            proof(&sha256(secret), ProofSide::Daemon, &host, "n", nonce),
            "{by}"
        );
        for (secret, status) in [(other, 401), (secret, 200)] {
            let asked = json!({ "nonce": "n", "by": by });
            let asked = read(daemon.as_tab(&tab, "/v1/login/challenge", asked).await).await;
            let nonce = asked["nonce"].as_str().unwrap();
            let proved = proof(&sha256(secret), ProofSide::Page, &host, "n", nonce);
            let body = json!({ "nonce": nonce, "proof": proved, "by": by });
            let answer = daemon.as_tab(&tab, "/v1/login/prove", body).await;
            assert_eq!(answer.status(), status, "{by}");
        }
    }
}

#[tokio::test]
async fn all_tabs_of_a_login_come_over_also_past_daemons_that_they_never_met() {
    let dir = tempfile::tempdir().unwrap();
    let first = Daemon::start(&dir, 1);
    let tab = first
        .log_in(&first.host(), &first.login.new_code(&Principal::local()).unwrap())
        .await
        .unwrap();
    let (_second, third) = (Daemon::start(&dir, 2), Daemon::start(&dir, 3));
    let moved = come_over(&third, &tab).await.unwrap();
    let other = come_over(&third, &tab).await.unwrap();
    assert_eq!([&moved.cookie, &moved.secret], [&other.cookie, &other.secret], "one login");
    let fourth = Daemon::start(&dir, 4);
    for tab in [&tab, &moved, &other] {
        let there = come_over(&fourth, tab).await.unwrap();
        let asked = fourth.as_tab(&there, "/v1/login/challenge", json!({ "nonce": "n" })).await;
        assert_eq!(asked.status(), 200);
    }
    let names = |login: &Login| login.guard.tokens().list().len();
    assert_eq!(names(&fourth.login), 2, "the admin's, and one for all of them");
    // One that is ended is ended everywhere.
    let there = come_over(&fourth, &moved).await.unwrap();
    assert_eq!(fourth.as_tab(&there, "/v1/logout", json!({})).await.status(), 204);
    for tab in [&tab, &there] {
        let asked = fourth.as_tab(tab, "/v1/login/challenge", json!({ "nonce": "n" })).await;
        assert_eq!(asked.status(), 401);
    }
}

#[tokio::test]
async fn addresses_that_others_can_have_lead_to_the_page_and_take_no_login() {
    let dir = tempfile::tempdir().unwrap();
    let (first, daemon) = (Daemon::start(&dir, 1), Daemon::start(&dir, 2));
    let there = format!("http://{}/?a=b", daemon.host());
    for host in ["127.0.0.1:7433", "localhost:7433", "[::1]:7433", &first.host()] {
        let answer = daemon.ask("GET", host, "/?a=b", Value::Null, &[]).await;
        assert_eq!(answer.status(), 307, "{host}");
        assert_eq!(answer.headers()["location"], there, "{host}");
        assert_eq!(answer.headers()["cache-control"], "no-store", "{host}");
        let code = daemon.login.new_code(&Principal::local()).unwrap();
        let refused = daemon.log_in(host, &code).await.err();
        assert!([Some(401), Some(403)].contains(&refused), "{host}: {refused:?}");
        let mut tab = daemon.log_in(&daemon.host(), &code).await.unwrap();
        tab.host = host.to_owned();
        let status = daemon.as_tab(&tab, "/v1/logout", json!({})).await.status();
        assert!([401, 403].contains(&status.as_u16()), "{host}: {status}");
    }
    // A page elsewhere learns nothing, and cannot have itself led here in secret.
    let foreign = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
    let answer = daemon.ask("GET", "127.0.0.1:7433", "/", Value::Null, &foreign).await;
    assert_eq!(answer.status(), 403);
    for host in ["evil.localhost:7433", "localhost:7434", &format!("{}:7434", daemon.name)] {
        assert_eq!(daemon.ask("GET", host, "/", Value::Null, &[]).await.status(), 403, "{host}");
    }
    // A name that somebody gave to the daemon is theirs to keep.
    let code = daemon.login.new_code(&Principal::local()).unwrap();
    let tab = daemon.log_in("yard.example", &code).await.unwrap();
    let tab = Tab { host: daemon.host(), ..tab };
    let asked = daemon.as_tab(&tab, "/v1/login/challenge", json!({ "nonce": "n" })).await;
    assert_eq!(asked.status(), 401, "and a login there is none here");
}
