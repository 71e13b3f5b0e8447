//! Coming in: what a stranger sees, where the link leads, and how one leaves.

use serde_json::{Value, json};

use super::Visit;
use crate::browser_attack::link;
use crate::serve_events::new_session;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_told_how_to_come_in_and_the_link_leads_where_they_wanted() {
    let visit = Visit::start_logged_out().await;
    let session = new_session(&visit.daemon, &visit.home).await;
    for path in ["/", "/agents", "/approvals", "/login"] {
        visit.browser.open(&visit.daemon.url(path)).await;
        visit.until_text("[data-testid=login]", "switchyard token login").await;
    }
    visit.browser.open(&visit.daemon.url(&format!("/sessions/{session}"))).await;
    visit.until_there("[data-testid=login]").await;
    visit.picture("login").await;

    visit.browser.open(link(visit.daemon.line())).await;
    visit.browser.until(&format!("location.pathname === '/sessions/{session}'")).await;
    visit.until_there(".composer textarea").await;
    assert!(!visit.browser.url().await.contains("code"), "the code is out of the address");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_link_works_on_every_path_and_one_that_was_used_leads_in_too() {
    let visit = Visit::start_logged_out().await;
    let session = new_session(&visit.daemon, &visit.home).await;
    let session = format!("/sessions/{session}");
    for (path, sign) in [("/", "nav"), ("/agents", "nav"), (&session, ".composer textarea")] {
        visit.browser.open("about:blank").await;
        let code = new_code(&visit.daemon).await;
        visit.browser.open(&visit.daemon.url(&format!("{path}#code={code}"))).await;
        visit.until_there(sign).await;
        assert_eq!(visit.browser.url().await, visit.daemon.page_url(path));

        // Once more: it is used up, and whoever is in stays in.
        visit.browser.open("about:blank").await;
        visit.browser.open(&visit.daemon.url(&format!("{path}#code={code}"))).await;
        visit.until_there(sign).await;
        assert_eq!(visit.browser.url().await, visit.daemon.page_url(path));

        // In the page that is open, where only the fragment changes.
        let code = new_code(&visit.daemon).await;
        visit.browser.run("location.hash = args", json!(format!("code={code}"))).await;
        visit.browser.until("!location.hash && document.querySelector('nav')").await;
        let used = "const headers = { 'Content-Type': 'application/json' };
            const body = JSON.stringify({ code: args });
            return (await fetch('/v1/login', { method: 'POST', headers, body })).status";
        assert_eq!(visit.browser.run(used, json!(code)).await, 401, "the code was not taken");
        visit.browser.forget_cookies().await;
    }
    let code = new_code(&visit.daemon).await;
    visit.browser.open(&visit.daemon.url(&format!("/agents#code=x{code}"))).await;
    visit.until_text("[data-testid=login]", "wrong").await;
}

async fn new_code(daemon: &testkit::daemon::Daemon) -> String {
    let sent = daemon.client().post(daemon.url("/v1/login-link")).send().await.unwrap();
    let made: Value = sent.json().await.unwrap();
    let (_, code) = made["link"].as_str().unwrap().split_once("#code=").unwrap();
    code.to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_without_the_secret_of_its_page_is_a_stranger() {
    let visit = Visit::start().await;
    visit.until_there("nav").await;
    let kept =
        visit.browser.run("return localStorage.getItem('switchyard.page')", Value::Null).await;
    visit.browser.run("localStorage.removeItem('switchyard.page')", Value::Null).await;
    visit.browser.open(&visit.daemon.url("/agents")).await;
    visit.until_there("[data-testid=login]").await;
    assert_eq!(visit.browser.cookies().await.len(), 1, "the cookie is still there");

    let keep = "localStorage.setItem('switchyard.page', args)";
    visit.browser.run(keep, kept).await;
    visit.browser.open(&visit.daemon.url("/agents")).await;
    visit.until_text("main", "demo").await;
    visit.browser.forget_cookies().await;
    visit.browser.open(&visit.daemon.url("/agents")).await;
    visit.until_there("[data-testid=login]").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_are_shown_and_sessions_that_others_make_appear() {
    let visit = Visit::start().await;
    visit.browser.open(&visit.daemon.url("/agents")).await;
    visit.until_text("main", "demo").await;
    visit.picture("agents").await;
    let made = json!({ "agent": "demo", "cwd": visit.home.work(), "title": "Mow the lawn" });
    let url = visit.daemon.url("/v1/sessions");
    visit.browser.open(&visit.daemon.url("/")).await;
    visit.until_there("main").await;
    let sent = visit.daemon.client().post(url).json(&made).send().await.unwrap();
    assert_eq!(sent.status(), 201);
    // Made by somebody else, and there without a reload.
    visit.until_text("main", "Mow the lawn").await;
    visit.picture("sessions").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_made_in_the_dialog_and_begins_with_its_prompt() {
    let visit = Visit::start().await;
    visit.browser.open(&visit.daemon.url("/")).await;
    visit.until_there("main").await;
    visit.browser.until("!document.querySelector('[data-testid=new-session]')").await;
    visit.until_there("main .button.primary").await;
    visit.browser.click("main .button.primary").await;
    let form = "[data-testid=new-session]";
    visit.until_there(&format!("{form} select[name=agent] option[value=demo]")).await;
    visit.browser.type_into(&format!("{form} select[name=agent]"), "Demo").await;
    let chosen = format!("document.querySelector('{form} select[name=agent]').value === 'demo'");
    visit.browser.until(&chosen).await;
    let cwd = visit.home.work();
    visit.browser.type_into(&format!("{form} input[name=cwd]"), cwd.to_str().unwrap()).await;
    let words = "say made in the dialog";
    visit.browser.type_into(&format!("{form} textarea[name=prompt]"), words).await;
    visit.picture("new-session").await;
    visit.browser.click(&format!("{form} button[type=submit]")).await;
    visit.browser.until("location.pathname.startsWith('/sessions/')").await;
    visit.until_text(".row-answer", "made in the dialog").await;
    visit.browser.until("document.activeElement?.matches('.composer textarea')").await;
    visit.until_text(".row-prompt .by", "you").await;
    visit.until_text(".row-end", "Done").await;
    let made = visit.get("/v1/sessions").await;
    let made = made["sessions"].as_array().unwrap();
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!((&made[0]["agent"], &made[0]["cwd"]), (&json!("demo"), &json!(cwd)));
}

/// As a phone would: at an address that is not this machine's alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_for_other_devices_opens_the_page() {
    let home = crate::serve_events::home();
    let everywhere = home.command(["serve", "--host", "0.0.0.0:0", "--insecure"]);
    let daemon = testkit::daemon::Daemon::start_command(&home, everywhere);
    let sent = daemon.client().post(daemon.url("/v1/login-link")).json(&json!({})).send().await;
    let links: Value = sent.unwrap().json().await.unwrap();
    let Some(link) = links["elsewhere"][0].as_str() else {
        // Only a machine without any network is so.
        return;
    };
    let host = link.strip_prefix("http://").unwrap().split(':').next().unwrap();
    let address: std::net::IpAddr = host.parse().unwrap();
    assert!(!address.is_loopback() && !address.is_unspecified(), "{link}");
    let browser = testkit::browser::Browser::start().await;
    browser.open(link).await;
    browser.until("location.pathname === '/' && document.querySelector('nav')").await;
    assert!(browser.url().await.contains(host));
    browser.until("document.querySelector('[data-testid=sessions]')").await;
}
