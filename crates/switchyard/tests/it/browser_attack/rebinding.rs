//! A page whose own name comes to lead to the daemon: for the browser, both are one origin.

use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::daemon::Daemon;

use super::site::{SECRET, Site};
use crate::serve_events::{home, new_session, prompt};

const ASK: &str = r"
const told = [];
for (const path of args.paths) for (const token of [null, args.token]) {
  const headers = token ? { authorization: 'Bearer ' + token } : {};
  const answer = await fetch(path, { headers });
  told.push([answer.status, await answer.text()]);
}
const make = { method: 'POST', headers: {
  'content-type': 'application/json', authorization: 'Bearer ' + args.token }, body: args.new };
const made = await fetch('/v1/sessions', make);
told.push([made.status, await made.text()]);
const code = JSON.stringify({ code: args.code });
const json = { 'content-type': 'application/json' };
const entered = await fetch('/v1/login', { method: 'POST', headers: json, body: code });
told.push([entered.status, await entered.text()]);
for (const path of ['/acp?agent=demo', '/v1/events']) {
  const protocols = ['switchyard.v1', 'acp.v1', 'switchyard-token.' + args.token];
  const socket = new WebSocket('ws://' + location.host + path, protocols);
  told.push(await new Promise((done) => {
    socket.onopen = () => done([101, 'open']);
    socket.onclose = () => done([403, 'closed']);
  }));
}
return told;
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_whose_name_comes_to_mean_the_daemon_is_not_served() {
    // The attacker's server has the port first, and leaves it to the daemon under the page.
    let site = Site::start().await;
    let port = site.address.port();
    let browser = Browser::start().await;
    browser.open(&format!("{}/page", site.at("evil.test"))).await;
    let own = browser.run("return (await fetch('/v1/sessions')).text()", Value::Null).await;
    assert!(own.as_str().unwrap().contains(SECRET), "the page cannot ask where it came from");
    site.close().await;
    let home = home();
    let host = format!("127.0.0.1:{port}");
    let daemon = Daemon::start_command(&home, home.command(["serve", "--host", &host]));
    let session = new_session(&daemon, &home).await;
    prompt(&daemon, &session, &format!("say {SECRET}")).await;
    let code = super::link(daemon.line()).split_once("#code=").unwrap().1.to_owned();
    let args = json!({
        "paths": ["/", "/login", "/healthz", "/v1/sessions", format!("/v1/sessions/{session}")],
        // Even with a token: a page of this name is nobody's.
        "token": daemon.token(),
        "new": json!({ "agent": "demo", "cwd": home.work() }).to_string(),
        "code": code,
    });

    let told = browser.run(ASK, args.clone()).await;
    assert_refused(&told, "evil.test");
    // Names that only look like ours. The document is the refusal, its origin the attacker's.
    for name in [
        "127.0.0.1.evil.test",
        "localhost.evil.test",
        "localhost.",
        "127.0.0.1.",
        "other.localhost",
        "[::ffff:127.0.0.1]",
    ] {
        browser.open(&format!("http://{name}:{port}/")).await;
        // Some of them are spelt as ours by the browser itself.
        let host = browser.run("return location.hostname", Value::Null).await;
        if daemon.page_host().starts_with(host.as_str().unwrap()) {
            continue;
        }
        assert_refused(&browser.run(ASK, args.clone()).await, name);
    }
    let sessions = daemon.client().get(daemon.url("/v1/sessions")).send().await.unwrap();
    let sessions: Value = sessions.json().await.unwrap();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");

    for name in ["localhost", "127.0.0.1"] {
        browser.open(&format!("http://{name}:{port}/")).await;
        let told = browser.run(ASK, args.clone()).await;
        let statuses: Vec<_> = told.as_array().unwrap().iter().map(|one| &one[0]).collect();
        // The code opens once: for the first of them.
        let entered = if name == "localhost" { 200 } else { 401 };
        let expected = [200, 200, 200, 200, 200, 200, 401, 200, 401, 200, 201, entered, 101, 101];
        assert_eq!(json!(statuses), json!(expected), "{name}: {told}");
    }
}

#[track_caller]
fn assert_refused(told: &Value, name: &str) {
    for one in told.as_array().unwrap() {
        assert_eq!(one[0], 403, "{name} was told {one}");
        assert!(!one.to_string().contains(SECRET), "{name} was told {one}");
    }
}
