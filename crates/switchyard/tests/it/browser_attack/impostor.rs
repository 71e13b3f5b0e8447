//! Somebody who listens at the daemon's address while the daemon is away, as every user of the
//! machine can: an open page comes back to it by itself.

use std::net::SocketAddr;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::process::PATIENCE;

use super::{Browser, Scene, Site};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_the_port_hears_nothing_that_opens_the_next_daemon() {
    let Scene { yard, daemon, browser, site, .. } = Scene::start().await;
    let is_page = server::page::is_built();
    let address: SocketAddr = daemon.address().parse().unwrap();
    browser.open(&daemon.url("/")).await;
    let kept = "return localStorage.getItem('switchyard.page')";
    let secret = browser.run(kept, Value::Null).await.as_str().unwrap().to_owned();
    if is_page {
        until_listed(&browser).await;
    }
    drop(site);
    daemon.stop();

    let impostor = Site::start_at(address).await;
    // The page has its streams open, if there is a page, and comes back by itself.
    let deadline = std::time::Instant::now() + PATIENCE;
    while is_page && impostor.heard().is_empty() {
        assert!(std::time::Instant::now() < deadline, "the page never came");
        testkit::process::pause_between_polls().await;
    }
    // Whatever else a user may do there.
    browser.run("location.reload()", Value::Null).await;
    browser.open(&format!("http://{address}/sessions")).await;
    let heard = impostor.heard();
    let cookie = heard.iter().map(|one| one.header("cookie")).find(|text| !text.is_empty());
    let cookie = cookie.expect("browsers send cookies to anybody").to_owned();
    for one in &heard {
        let all = format!("{} {:?} {}", one.target, one.headers, one.body);
        assert!(!all.contains(&secret), "{all}");
    }

    impostor.close().await;
    let again = yard.command(["serve", "--host", &address.to_string()]);
    let daemon = Daemon::start_command(&yard, again);
    let client = testkit::daemon::client(None);
    let said = heard.iter().map(|one| one.header("x-switchyard-page").to_owned());
    let protocols = heard.iter().flat_map(|one| {
        let offered = one.header("sec-websocket-protocol").split(", ").map(str::to_owned);
        offered.collect::<Vec<_>>()
    });
    let nonces = heard.iter().map(|one| one.body.clone());
    for guess in said.chain(protocols).chain(nonces).chain([String::new()]) {
        let guess = guess.trim_start_matches("switchyard-page.");
        let order = client.request(Method::POST, daemon.url("/v1/tokens"));
        let order = order.header("Origin", daemon.base()).header("Sec-Fetch-Site", "same-origin");
        let order = order.header("Cookie", &cookie).header("X-Switchyard-Page", guess);
        let sent = order.json(&json!({ "name": "mine", "role": "admin" })).send().await.unwrap();
        assert!([401, 429].contains(&sent.status().as_u16()), "{guess}: {}", sent.status());
    }
    // The user's own page proves itself to the daemon that is there now.
    if is_page {
        browser.open(&daemon.url("/")).await;
        until_listed(&browser).await;
    }
}

/// The page shows sessions: it is let in.
async fn until_listed(browser: &Browser) {
    let rows = "return document.querySelectorAll('a[href^=\"/sessions/\"]').length";
    let deadline = std::time::Instant::now() + PATIENCE;
    while browser.run(rows, Value::Null).await == 0 {
        assert!(std::time::Instant::now() < deadline, "the page is not let in");
        testkit::process::pause_between_polls().await;
    }
}
