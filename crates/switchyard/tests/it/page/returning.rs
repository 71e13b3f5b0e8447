//! Leaving and coming back: nothing is lost, nothing is there twice.

use testkit::daemon::Daemon;

use super::talking::assert_clean;
use super::{COMPOSER, Visit};

/// Slow enough to be in the middle of, short enough to be on one screen.
const STORY: &str = "slow 40 100";

async fn assert_whole(visit: &Visit, session: &str) {
    visit.until_text(".row-end", "Done").await;
    let logged = visit.logged_answer(session).await;
    assert!(logged.contains("chunk40"), "{logged}");
    assert_eq!(visit.answer().await, logged);
    assert_eq!(visit.count(".row-prompt").await, 1);
    assert_eq!(visit.count(".row-end").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_in_the_middle_of_an_answer_changes_nothing() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say(STORY).await;
    for n in [3, 8, 15] {
        visit.until_text(".row-answer", &format!("chunk {n}")).await;
        visit.open_session(&session).await;
    }
    assert_whole(&visit, &session).await;
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tabs_show_the_same() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    let first = visit.browser.tabs().await[0].clone();
    visit.say(STORY).await;
    visit.until_text(".row-answer", "chunk 5").await;
    let second = visit.browser.new_tab().await;
    visit.browser.switch_tab(&second).await;
    visit.open_session(&session).await;
    visit.until_text(".row-prompt", STORY).await;
    assert_whole(&visit, &session).await;
    visit.browser.switch_tab(&first).await;
    assert_whole(&visit, &session).await;

    // What is asked in one is answered in the other.
    visit.say("permission execute ls ; echo allowed").await;
    visit.until_there(".question-card .answers button:not([aria-disabled])").await;
    visit.browser.switch_tab(&second).await;
    visit.until_there(".question-card .answers button:not([aria-disabled])").await;
    visit.browser.click(".question-card .answers .button.primary").await;
    visit.until_text(".row-answer", "allowed").await;
    visit.browser.switch_tab(&first).await;
    visit.until_text(".row-answer", "allowed").await;
    visit.until_gone(".question-card").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_ends_and_comes_back_is_waited_for() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("slow 1000000 20").await;
    visit.until_text(".row-answer", "chunk 9").await;

    let Visit { home, daemon, browser } = visit;
    let address = daemon.address().to_owned();
    daemon.kill9();
    let lost =
        "/reconnecting|offline|lost|not answer|cannot be reached/i.test(document.body.innerText)";
    browser.until(lost).await;
    let notices =
        "document.querySelectorAll('[data-testid=connection-banner], .notice, .toast').length";
    browser.until(&format!("{notices} > 0")).await;
    let n_notices = browser.run(&format!("return {notices}"), serde_json::Value::Null).await;
    assert_eq!(n_notices, 1, "one interruption is one notice: {}", browser.text().await);
    let daemon = Daemon::start_command(&home, home.command(["serve", "--host", address.as_str()]));
    let visit = Visit { home, daemon, browser };

    // The page finds it by itself, and what has become of the turn.
    visit.until_there(".row-end").await;
    visit.browser.until(&format!("!({lost})")).await;
    visit.say("echo after the crash").await;
    visit.until_text(".row-answer", "after the crash").await;
    visit.until_idle(&session).await;
    let logged = visit.logged_answer(&session).await;
    assert_eq!(visit.answer().await, logged);
    assert_eq!(visit.count(".row-prompt").await, 2);
    assert_eq!(visit.count(".row-end").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_tabs_come_over_to_each_daemon_with_what_was_written() {
    let visit = Visit::start().await;
    let mut tabs = Vec::new();
    for draft in ["first half", "second half"] {
        if !tabs.is_empty() {
            let tab = visit.browser.new_tab().await;
            visit.browser.switch_tab(&tab).await;
        }
        let session = visit.session().await;
        visit.browser.type_into(COMPOSER, draft).await;
        let open = visit.browser.tabs().await;
        tabs.push((open.last().unwrap().clone(), session, draft));
    }
    let Visit { home, mut daemon, browser } = visit;
    let address = daemon.address().to_owned();
    for _ in 0..2 {
        daemon.kill9();
        daemon = Daemon::start_command(&home, home.command(["serve", "--host", &address]));
        for (tab, session, draft) in &tabs {
            browser.switch_tab(tab).await;
            let there = daemon.page_url(&format!("/sessions/{session}"));
            browser.until(&format!("location.href === {there:?}")).await;
            let field = format!("document.querySelector({COMPOSER:?})?.value === {draft:?}");
            browser.until(&field).await;
        }
    }
    // All of it is one login.
    let sent = daemon.client().get(daemon.url("/v1/tokens")).send().await.unwrap();
    let tokens: serde_json::Value = sent.json().await.unwrap();
    let logins = tokens.as_array().unwrap().iter().filter(|one| one["isBrowser"] == true);
    assert_eq!(logins.count(), 1, "{tokens}");
}
