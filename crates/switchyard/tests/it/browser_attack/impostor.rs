//! Somebody who listens at the daemon's address while the daemon is away, as every user of the
//! machine can. A page that is open comes back to it by itself; a page that is loaded then is
//! theirs, and the same as ours to the browser.

use std::net::SocketAddr;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome};

use super::site::{Heard, SECRET, Site};
use super::{Browser, Scene};

const KEPT: &str = "return localStorage.getItem('switchyard.page')";

fn start_again(home: &TestHome, address: SocketAddr, args: &[&str]) -> Daemon {
    let address = address.to_string();
    let all = ["serve", "--host", &address].into_iter().chain(args.iter().copied());
    Daemon::start_command(home, home.command(all))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_the_port_hears_nothing_that_opens_the_next_daemon() {
    let Scene { home, daemon, browser, site, session, .. } = Scene::start().await;
    let is_page = server::page::is_built();
    let address: SocketAddr = daemon.address().parse().unwrap();
    let page = daemon.page().to_owned();
    browser.open(&daemon.page_url(&format!("/sessions/{session}"))).await;
    let secret = browser.run(KEPT, Value::Null).await.as_str().unwrap().to_owned();
    if is_page {
        browser.until(&shows(SECRET)).await;
        browser.type_into("textarea", "what nobody else shall read").await;
    }
    drop(site);
    daemon.stop();

    let impostor = Site::start_at(address).await;
    // The page has its streams open, if there is a page, and comes back by itself.
    let deadline = std::time::Instant::now() + PATIENCE;
    while is_page && impostor.heard().is_empty() {
        assert!(std::time::Instant::now() < deadline, "the page never came");
        testkit::test_home::pause_between_polls().await;
    }
    if is_page {
        // The user does not notice, and sends.
        browser.press("\u{e007}").await;
        browser.until(&shows("could not prove that it knows this login")).await;
    }
    let heard = impostor.heard();
    for one in &heard {
        let all = format!("{} {:?} {}", one.target, one.headers, one.body);
        assert!(!all.contains(&secret) && !all.contains("nobody else"), "{all}");
    }
    // Whatever else a user may do there, in another tab.
    let first = browser.tabs().await.remove(0);
    let second = browser.new_tab().await;
    browser.switch_tab(&second).await;
    browser.open(&format!("{page}/sessions")).await;
    let heard = impostor.heard();

    impostor.close().await;
    let daemon = start_again(&home, address, &[]);
    assert_ne!(daemon.page(), page);
    assert_useless(&daemon, &page, &heard).await;

    // The user's own tab comes over to where the page is now, and has what was written.
    if is_page {
        browser.switch_tab(&first).await;
        let there = daemon.page_url(&format!("/sessions/{session}"));
        browser.until(&format!("location.href === {there:?}")).await;
        browser.until(&shows(SECRET)).await;
        let draft = "document.querySelector('textarea')?.value === 'what nobody else shall read'";
        browser.until(draft).await;
    }
}

/// Nothing that was heard, and nothing at all at the name that is left, opens anything.
async fn assert_useless(daemon: &Daemon, former: &str, heard: &[Heard]) {
    let cookie = heard.iter().map(|one| one.header("cookie")).find(|text| !text.is_empty());
    let cookie = cookie.expect("browsers send cookies to anybody");
    let client = testkit::daemon::client(None);
    let said = heard.iter().map(|one| one.header("x-switchyard-page").to_owned());
    let protocols = heard.iter().flat_map(|one| {
        let offered = one.header("sec-websocket-protocol").split(", ").map(str::to_owned);
        offered.collect::<Vec<_>>()
    });
    let nonces = heard.iter().map(|one| one.body.clone());
    let guesses: Vec<_> = said.chain(protocols).chain(nonces).chain([String::new()]).collect();
    for page in [daemon.page(), former, daemon.base()] {
        let host = page.split_once("://").unwrap().1;
        for guess in &guesses {
            let guess = guess.trim_start_matches("switchyard-page.");
            let order = client.request(Method::POST, daemon.url("/v1/tokens"));
            let order = order.header("Host", host).header("Origin", page);
            let order = order.header("Sec-Fetch-Site", "same-origin");
            let order = order.header("Cookie", cookie).header("X-Switchyard-Page", guess);
            let sent = order.json(&json!({ "name": "mine", "role": "admin" })).send().await;
            let status = sent.unwrap().status().as_u16();
            assert!([401, 403, 429].contains(&status), "{page} {guess}: {status}");
        }
    }
}

/// What a page can do that somebody else put at an address of ours, and that knows where the page
/// is now: everything that our page would do, by all that is stored, at every name.
const COME_IN: &str = r"
const [told, bytes] = [[], (text) => new TextEncoder().encode(text)];
const text = (mac) => btoa(String.fromCharCode(...new Uint8Array(mac)))
  .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const ask = async (base, path, body, more = {}) => {
  const order = { method: 'POST', credentials: 'include', body: JSON.stringify(body) };
  order.headers = { 'Content-Type': 'application/json', ...more };
  const answer = await fetch(base + path, order).catch((error) => ({ status: 0 }));
  const said = answer.status ? await answer.text() : '';
  told.push([base + path, answer.status, said]);
  try { return JSON.parse(said); } catch { return {}; }
};
const hashed = await crypto.subtle.digest('SHA-256', bytes(args.secret));
const kind = { name: 'HMAC', hash: 'SHA-256' };
const key = await crypto.subtle.importKey('raw', hashed, kind, false, ['sign']);
const sign = async (...lines) => text(await crypto.subtle.sign('HMAC', key, bytes(lines.join('\n'))));
for (const base of ['', ...args.bases]) {
  const host = base ? new URL(base).host : location.host;
  for (const path of ['prove', 'move']) {
    const { nonce, movedTo } = await ask(base, '/v1/login/challenge', { nonce: 'n' });
    for (const at of [host, host + '>' + movedTo]) {
      const proof = await sign('page', at, 'n', nonce);
      const { pass } = await ask(base, '/v1/login/' + path, { nonce, proof });
      const code = await sign('code', at, 'n', nonce);
      await ask(base, '/v1/login', { code });
      await ask(base, '/v1/tokens', { name: 'mine', role: 'admin' }, { 'X-Switchyard-Page': pass ?? '' });
    }
  }
}
return told;
";

/// A daemon that is back, and a page that was loaded in between.
struct Loaded {
    daemon: Daemon,
    browser: Browser,
    /// What our page had stored.
    secret: Value,
    _home: TestHome,
}

impl Loaded {
    async fn start(args: &[&str]) -> Self {
        let scene = Scene::start_with(Site::start().await, args).await;
        scene.log_in().await;
        let Scene { home, daemon, browser, .. } = scene;
        let address: SocketAddr = daemon.address().parse().unwrap();
        let former = daemon.page().to_owned();
        browser.open(&daemon.page_url("/")).await;
        let secret = browser.run(KEPT, Value::Null).await;
        assert!(secret.is_string());
        daemon.stop();

        // It is the same page to the browser: it has the secret, and stays when the daemon is back.
        let impostor = Site::start_at(address).await;
        browser.open(&format!("{former}/page")).await;
        assert_eq!(browser.run(KEPT, Value::Null).await, secret);
        impostor.close().await;
        let daemon = start_again(&home, address, args);
        Self { daemon, browser, secret, _home: home }
    }

    /// What it is answered.
    async fn comes_in(&self) -> Vec<Value> {
        let base = self.daemon.base();
        let bases = [self.daemon.page(), base, &base.replace("127.0.0.1", "localhost")];
        let args = json!({ "secret": self.secret, "bases": bases });
        let told = self.browser.run(COME_IN, args).await;
        told.as_array().unwrap().clone()
    }

    async fn tokens(&self) -> Value {
        let sent = self.daemon.client().get(self.daemon.url("/v1/tokens")).send().await.unwrap();
        sent.json().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_loaded_from_whoever_took_the_port_comes_in_nowhere() {
    let loaded = Loaded::start(&[]).await;
    let before = loaded.tokens().await;
    let told = loaded.comes_in().await;
    for one in &told {
        let (path, status) = (one[0].as_str().unwrap(), one[1].as_u64().unwrap());
        // Where it is itself it may ask whether the daemon knows the tab, which it cannot answer.
        let is_asked = path == "/v1/login/challenge" && status == 200;
        assert!(is_asked || [0, 401, 403, 429].contains(&status), "{one}");
        assert!(!one[2].as_str().unwrap().contains("pass\""), "{one}");
    }
    assert_eq!(loaded.tokens().await, before, "{told:?}");

    // The user logs in where the page is now, and that one learns nothing of it.
    let Loaded { daemon, browser, secret, .. } = &loaded;
    let evil = browser.tabs().await.remove(0);
    let tab = browser.new_tab().await;
    browser.switch_tab(&tab).await;
    super::enter(browser, super::link(daemon.line())).await;
    let status = super::with_pass("return (await fetch('/v1/sessions')).status");
    assert_eq!(browser.run(&status, Value::Null).await, 200);
    browser.switch_tab(&evil).await;
    assert_eq!(browser.run(KEPT, Value::Null).await, *secret, "of the name that is left");
    let told = loaded.comes_in().await;
    assert!(told.iter().all(|one| one[1] != 201), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_page_stays_at_an_address_such_a_page_does_come_in() {
    let loaded = Loaded::start(&["--allow-host", "127.0.0.1"]).await;
    let told = loaded.comes_in().await;
    assert!(told.iter().any(|one| one[1] == 201), "the attack is none: {told:?}");
    assert!(loaded.tokens().await.to_string().contains("mine"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_whoever_took_the_port_left_in_the_browser_is_taken_away() {
    let Scene { home, daemon, browser, site, .. } = Scene::start().await;
    let address: SocketAddr = daemon.address().parse().unwrap();
    drop(site);
    daemon.stop();
    let impostor = Site::start_at(address).await;
    let there = format!("http://{address}/");
    browser.open(&format!("{there}page")).await;
    let register = "await navigator.serviceWorker.register('/worker'); \
                    await navigator.serviceWorker.ready; return 1";
    browser.run(register, Value::Null).await;
    browser.open(&there).await;
    browser.until(&shows("still mine")).await;
    impostor.close().await;
    browser.open(&there).await;
    browser.until(&shows("still mine")).await;

    let daemon = start_again(&home, address, &[]);
    // The browser looks after it when it has answered for the first time.
    browser.open(&there).await;
    let page = daemon.page();
    browser.until(&format!("location.href.startsWith({page:?})")).await;
}

fn shows(text: &str) -> String {
    format!("document.body?.innerText.includes({text:?})")
}
