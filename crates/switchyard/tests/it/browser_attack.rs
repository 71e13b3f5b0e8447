//! A web page as the attacker of the daemon, in a real browser whose user is logged in.
//!
//! Every attack is run three times: against a server without a guard, where it must succeed, or
//! it would prove nothing; against the daemon, where it must get nothing and leave nothing
//! behind; and what it tried is done by the daemon's own page, which may.

mod embedding;
mod impostor;
mod login;
mod neighbour;
mod rebinding;
mod requests;
pub(crate) mod site;
mod streams;
mod words;

use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome};

use crate::serve_events::{home, new_session, prompt};
use site::{SECRET, Site};

/// The victim: a daemon with a session, and a browser that is logged in to it.
struct Scene {
    home: TestHome,
    daemon: Daemon,
    browser: Browser,
    /// A session in which [`SECRET`] was said.
    session: String,
    /// The attacker's pages.
    site: Site,
    /// Somebody else without a guard, to see that an attack works at all.
    unguarded: Site,
}

impl Scene {
    async fn start() -> Self {
        let scene = Self::start_logged_out().await;
        scene.log_in().await;
        scene
    }

    async fn start_logged_out() -> Self {
        Self::start_with(Site::start().await, &[]).await
    }

    /// A daemon with more flags, for an attacker that is there already; nobody is logged in.
    async fn start_with(site: Site, args: &[&str]) -> Self {
        let home = home();
        let daemon = Daemon::start_with(&home, args);
        let session = new_session(&daemon, &home).await;
        prompt(&daemon, &session, &format!("say {SECRET}")).await;
        let browser = Browser::start().await;
        let unguarded = Site::start().await;
        let scene = Self { home, daemon, browser, session, site, unguarded };
        scene.until_idle().await;
        scene
    }

    /// Logs in by the link that the daemon printed.
    async fn log_in(&self) {
        enter(&self.browser, link(self.daemon.line())).await;
        assert_eq!(self.status().await, 200, "not logged in");
    }

    /// What the daemon says to the page that is open, if it is the daemon's.
    async fn status(&self) -> Value {
        let ask = with_pass("return (await fetch('/v1/sessions')).status");
        self.browser.run(&ask, Value::Null).await
    }

    /// The attacker under all names that make a difference: of the daemon's own host, so that
    /// its cookie is sent along; from far away; and, in the full size, of this machine, but
    /// another site, which browsers treat as they do one that is far away.
    fn origins(&self) -> Vec<String> {
        let hosts: &[_] = soak::size(&["evil.test"], &["evil.test", "localhost", "127.0.0.1"]);
        hosts.iter().chain([&self.own_name()]).map(|host| self.site.at(host)).collect()
    }

    /// The name that the page has, without the port.
    fn own_name(&self) -> &str {
        self.daemon.page_host().split(':').next().unwrap()
    }

    /// Runs a script in a page of the attacker.
    async fn attack(&self, origin: &str, script: &str, args: Value) -> Value {
        self.browser.open(&format!("{origin}/page")).await;
        self.browser.run(script, args).await
    }

    /// Runs a script in the daemon's own page.
    async fn at_home(&self, script: &str, args: Value) -> Value {
        self.browser.open(&self.daemon.page_url("/")).await;
        self.browser.run(&with_pass(script), args).await
    }

    async fn get(&self, path: &str) -> Value {
        let sent = self.daemon.client().get(self.daemon.url(path)).send().await.unwrap();
        assert_eq!(sent.status(), 200, "{path}");
        sent.json().await.unwrap()
    }

    /// All that an attacker may have changed: sessions and how far their logs go, their files,
    /// tokens and logins.
    async fn picture(&self) -> Value {
        let files = format!("/v1/sessions/{}/attachments", self.session);
        let tokens = self.get("/v1/tokens").await;
        let names: Vec<_> = tokens.as_array().unwrap().iter().map(|one| &one["name"]).collect();
        json!({
            "sessions": self.get("/v1/sessions").await,
            "files": self.get(&files).await,
            "questions": self.get("/v1/permissions").await,
            "runs": self.get("/api/runs").await,
            "tokens": names,
        })
    }

    /// How many requests the guard has refused as foreign: those of an attack that got there.
    async fn n_refused(&self) -> u64 {
        let sent = self.daemon.client().get(self.daemon.url("/metrics")).send().await.unwrap();
        let text = sent.text().await.unwrap();
        let of_foreign = r#"switchyard_auth_failures_total{why="forbidden"} "#;
        let line = text.lines().find_map(|line| line.strip_prefix(of_foreign));
        line.map_or(0, |number| number.parse().unwrap())
    }

    async fn until_idle(&self) {
        let deadline = std::time::Instant::now() + PATIENCE;
        let path = format!("/v1/sessions/{}", self.session);
        while self.get(&path).await["status"] != "idle" {
            assert!(std::time::Instant::now() < deadline, "the turn never ended");
            testkit::test_home::pause_between_polls().await;
        }
    }
}

/// Comes to a `pass` as the page does, by proving that it has the login's secret, with each daemon
/// anew; and has a `fetch` that shows it, as the page's own requests do.
const PROVE: &str = r"
const prove = async (secret) => {
  const bytes = (text) => new TextEncoder().encode(text);
  const ask = async (path, body) => {
    const headers = { 'Content-Type': 'application/json' };
    return (await window.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };
  const { nonce } = await ask('/v1/login/challenge', { nonce: 'test' });
  const hashed = await crypto.subtle.digest('SHA-256', bytes(secret));
  const kind = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', hashed, kind, false, ['sign']);
  const signed = bytes(['page', location.host, 'test', nonce].join('\n'));
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  const encoded = btoa(String.fromCharCode(...mac)).replaceAll('+', '-').replaceAll('/', '_');
  return (await ask('/v1/login/prove', { nonce, proof: encoded.replaceAll('=', '') })).pass;
};
const newPass = async () => {
  const secret = localStorage.getItem('switchyard.page');
  return (secret && await prove(secret)) ?? '';
};
let pass = await newPass();
const fetch = async (url, order = {}) => {
  const send = () => {
    const headers = new Headers(order.headers);
    headers.set('X-Switchyard-Page', pass);
    return window.fetch(url, { ...order, headers });
  };
  const answer = await send();
  if (answer.status !== 401) return answer;
  pass = await newPass();
  return send();
};
";

/// A script that has a `pass`, and whose `fetch` shows it.
pub(crate) fn with_pass(script: &str) -> String {
    format!("{PROVE}\n{script}")
}

/// Does what the page does with a login link, in binaries without the page too.
pub(crate) async fn enter(browser: &Browser, link: &str) {
    let (page, code) = link.split_once("/login#code=").expect("a link");
    browser.open(&format!("{page}/healthz")).await;
    let enter = "const headers = { 'Content-Type': 'application/json' };
      const body = JSON.stringify({ code: args });
      const answer = await fetch('/v1/login', { method: 'POST', headers, body });
      if (!answer.ok) throw new Error(await answer.text());
      const { pageSecret } = await answer.json();
      localStorage.setItem('switchyard.page', pageSecret);";
    browser.run(enter, json!(code)).await;
}

/// The files that the daemon's page consists of.
async fn assets(daemon: &Daemon) -> Vec<String> {
    let page = daemon.client().get(daemon.url("/")).send().await.unwrap().text().await.unwrap();
    let quoted = page.split('"').filter(|one| one.starts_with("/assets/"));
    quoted.map(str::to_owned).collect()
}

/// The link in what the daemon printed.
pub(crate) fn link(line: &str) -> &str {
    line.split_whitespace().find(|word| word.contains("/login#code=")).expect("a link")
}

/// A new link, as `switchyard token login` prints it.
async fn new_link(daemon: &Daemon) -> String {
    let sent = daemon.client().post(daemon.url("/v1/login-link")).send().await.unwrap();
    let made: Value = sent.json().await.unwrap();
    made["link"].as_str().unwrap().to_owned()
}
