//! The page's lines to the daemon: many tabs at once, slow ones, no network, and the Back button.

use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome};

use super::talking::assert_clean;
use super::{COMPOSER, STOP, Visit};
use crate::browser_attack::with_pass;
use crate::faults_disk::small_disk;
use crate::serve_events::{home, prompt};

/// Says across the page that what it shows may be old.
const BANNER: &str = "[data-testid=connection-banner]";
/// All that speaks of an interruption to a person.
const NOTICES: &str = "[data-testid=connection-banner], .notice, .toast";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_tabs_show_the_answer_as_it_comes() {
    // A browser opens six plain connections to a host, for all tabs together.
    const N_TABS: usize = 8;
    let visit = Visit::start().await;
    let session = visit.session().await;
    let mut tabs = visit.browser.tabs().await;
    while tabs.len() < N_TABS {
        let tab = visit.browser.new_tab().await;
        visit.browser.switch_tab(&tab).await;
        visit.open_session(&session).await;
        visit.browser.until("/Live/.test(document.querySelector('.connection').innerText)").await;
        tabs.push(tab);
    }
    visit.say("slow 1000000 50").await;
    let n_shown = "return Math.max(0, ...[...document.querySelectorAll('.row-answer')].flatMap( \
        (one) => [...one.innerText.matchAll(/chunk (\\d+)/g)].map((found) => Number(found[1]))))";
    for tab in &tabs {
        visit.browser.switch_tab(tab).await;
        visit.until_text(".row-answer", "chunk 3").await;
        let n = visit.browser.run(n_shown, Value::Null).await.as_u64().unwrap();
        visit.until_text(".row-answer", &format!("chunk {}", n + 3)).await;
    }
    assert_eq!(visit.get(&format!("/v1/sessions/{session}")).await["status"], "running");
    visit.browser.click(STOP).await;
    visit.until_idle(&session).await;
    let logged = visit.logged_answer(&session).await;
    for tab in &tabs {
        visit.browser.switch_tab(tab).await;
        visit.until_text(".row-end", "Stopped").await;
        assert_eq!(visit.answer().await, logged);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_back_leads_to_a_page_that_goes_on() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.browser.run("window.wasHere = true", Value::Null).await;
    visit.say("slow 60 100").await;
    visit.until_text(".row-answer", "chunk 3").await;
    visit.browser.open(&visit.daemon.url("/agents")).await;
    visit.until_text("main", "demo").await;
    visit.browser.back().await;
    visit.until_there(COMPOSER).await;
    let is_kept = visit.browser.run("return window.wasHere === true", Value::Null).await;
    eprintln!("kept for the way back: {is_kept}");
    visit.until_text(".row-end", "Done").await;
    assert_eq!(visit.answer().await, visit.logged_answer(&session).await);

    // As a browser that keeps pages tells it, whether this one does or not.
    let leave = "dispatchEvent(new PageTransitionEvent(args, { persisted: true }))";
    visit.browser.run(leave, "pagehide").await;
    prompt(&visit.daemon, &session, "echo while it was away").await;
    visit.until_idle(&session).await;
    assert!(!visit.answer().await.contains("whileitwasaway"), "its stream is still open");
    visit.browser.run(leave, "pageshow").await;
    visit.until_text(".row-answer", "while it was away").await;
    assert_eq!(visit.answer().await, visit.logged_answer(&session).await);
    assert_eq!(visit.count(NOTICES).await, 0, "nothing was interrupted");
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_network_the_page_says_so_once_and_then_has_everything() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("slow 1000000 50").await;
    visit.until_text(".row-answer", "chunk 3").await;
    network(&visit, false).await;
    visit.until_text(BANNER, "Offline: this device has no network").await;
    assert_eq!(visit.count(NOTICES).await, 1, "{:?}", visit.texts(NOTICES).await);
    visit.picture("offline").await;
    // The agent goes on meanwhile, and somebody else stops it.
    let n_said = visit.logged_answer(&session).await.len();
    let deadline = std::time::Instant::now() + PATIENCE;
    while visit.logged_answer(&session).await.len() < n_said + 100 {
        assert!(std::time::Instant::now() < deadline, "the agent waits for the page");
        testkit::test_home::pause_between_polls().await;
    }
    let cancel = visit.daemon.url(&format!("/v1/sessions/{session}/cancel"));
    assert!(visit.daemon.client().post(cancel).send().await.unwrap().status().is_success());
    visit.until_idle(&session).await;
    let logged = visit.logged_answer(&session).await;
    assert!(visit.answer().await.len() < logged.len());

    network(&visit, true).await;
    visit.until_text(".row-end", "Stopped").await;
    // Each of its streams comes back by itself, and one may just have failed.
    visit.until_gone(NOTICES).await;
    assert_eq!(visit.answer().await, logged);
    assert_eq!(visit.count(".row-prompt").await, 1);
}

async fn network(visit: &Visit, is_there: bool) {
    visit.browser.devtools("Network.enable", json!({})).await;
    let state = json!({
        "offline": !is_there, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1
    });
    visit.browser.devtools("Network.emulateNetworkConditions", state).await;
}

/// Waits until the session's title is `now`, makes it `busy`, and then keeps the page from doing
/// anything until it is another.
const BUSY: &str = r"
const url = '/v1/sessions/' + args;
const headers = { 'X-Switchyard-Page': pass, 'Content-Type': 'application/json' };
(async () => {
  while ((await (await fetch(url, { headers })).json()).title !== 'now') await new Promise((done) => setTimeout(done, 20));
  await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ title: 'busy' }) });
  for (let title = 'busy'; title === 'busy'; ) {
    const ask = new XMLHttpRequest();
    ask.open('GET', url, false);
    for (const [name, value] of Object.entries(headers)) ask.setRequestHeader(name, value);
    ask.send();
    title = JSON.parse(ask.responseText).title;
  }
})();";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_too_slow_loses_its_connection_and_misses_nothing() {
    let home = home();
    give_little_time(&home);
    let visit = Visit::start_in(home).await;
    let session = visit.session().await;
    visit.browser.run(&with_pass(BUSY), json!(session)).await;
    call(&visit, &session, "now").await;
    let deadline = std::time::Instant::now() + PATIENCE;
    while visit.get(&format!("/v1/sessions/{session}")).await["title"] != "busy" {
        assert!(std::time::Instant::now() < deadline, "the page never got busy");
        testkit::test_home::pause_between_polls().await;
    }
    // More than any buffer on the way holds.
    prompt(&visit.daemon, &session, "flood 8000 3000").await;
    until_evicted(&visit.daemon).await;
    call(&visit, &session, "go on").await;

    visit.until_text(".row-end", "Done").await;
    visit.until_gone(BANNER).await;
    visit.picture("evicted").await;
    // The daemon's last word waits ten times as long as the daemon did; a page that stood still
    // longer than that has only lost its connection. Whatever is said is said once.
    let said = visit.texts(NOTICES).await;
    assert!(said.len() <= 1 && said.iter().all(|one| one.contains("too slow")), "{said:?}");
    visit.until_idle(&session).await;
    // What is on the screen is the end of what was said, without a hole and without a repetition.
    let (shown, logged) = (visit.answer().await, visit.logged_answer(&session).await);
    assert!(shown.contains("chunk8000") && shown.len() > 3000, "{}", shown.len());
    assert!(logged.ends_with(&shown));

    visit.say("slow 20 10").await;
    visit.until_text(".row-answer", "chunk 20").await;
    visit.until_text(".row-end", "Done").await;
}

/// Gives the session a title.
async fn call(visit: &Visit, session: &str, title: &str) {
    let url = visit.daemon.url(&format!("/v1/sessions/{session}"));
    let sent = visit.daemon.client().patch(url).json(&json!({ "title": title })).send().await;
    assert_eq!(sent.unwrap().status(), 200);
}

/// A daemon that waits for nobody.
fn give_little_time(home: &TestHome) {
    let path = home.command(["config", "path"]).output().unwrap();
    let path = String::from_utf8(path.stdout).unwrap();
    let path = path.lines().next().unwrap().split_whitespace().last().unwrap().to_owned();
    let waits = "[waits]\nclient_warning = \"300ms\"\nclient_eviction = \"1500ms\"\n";
    std::fs::write(path, waits).unwrap();
}

async fn until_evicted(daemon: &Daemon) {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let sent = daemon.client().get(daemon.url("/metrics")).send().await.unwrap();
        let text = sent.text().await.unwrap();
        let evicted = r#"switchyard_slow_clients_total{what="evicted"} "#;
        if text.lines().any(|line| line.strip_prefix(evicted).is_some_and(|n| n != "0")) {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "never evicted:\n{text}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_in_the_middle_of_a_turn_is_seen_and_so_is_its_end() {
    let home = home();
    let Some(disk) = small_disk(&home, "16m") else { return };
    let visit = Visit::start_in(home).await;
    let session = visit.session().await;
    visit.say("slow 1000000 5").await;
    visit.until_text(".row-answer", "chunk 3").await;

    disk.fill();

    visit.until_text(".notice", "The session cannot go on: no space left").await;
    visit.until_text(".status-badge", "Failed").await;
    visit.until_gone(STOP).await;
    visit.picture("full-disk").await;
    disk.free();
    visit.until_text("main", "the log could not keep what it said").await;
    visit.until_idle(&session).await;
    visit.say("echo and on it goes").await;
    visit.until_text(".row-answer", "and on it goes").await;
    visit.until_text(".status-badge", "Idle").await;
    let notices = visit.texts(".notice").await;
    assert!(!notices.iter().any(|notice| notice.contains("cannot go on")), "{notices:?}");
}
