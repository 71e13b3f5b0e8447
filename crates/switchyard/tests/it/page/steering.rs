//! What a person does with sessions: find one, rename, fork and delete it, change its model and
//! its mode while it goes on, let commands and files be completed, look at the events.

use serde_json::{Value, json};

use super::talking::assert_clean;
use super::{COMPOSER, Visit};
use crate::serve_events::new_session;

/// Clicks what a CSS selector finds and a word begins.
async fn click(visit: &Visit, css: &str, word: &str) {
    let (css, word) = (json!(css), json!(word));
    let named = format!(
        "[...document.querySelectorAll({css})].find((one) => \
         one.checkVisibility() && one.innerText.trim().startsWith({word}))"
    );
    visit.browser.until(&named).await;
    let mark = format!(
        "document.querySelector('[data-here]')?.removeAttribute('data-here'); \
         {named}.setAttribute('data-here', '')"
    );
    visit.browser.run(&mark, Value::Null).await;
    visit.browser.click("[data-here]").await;
}

async fn named_session(visit: &Visit, title: &str) -> String {
    let id = new_session(&visit.daemon, &visit.home).await;
    let url = visit.daemon.url(&format!("/v1/sessions/{id}"));
    let sent = visit.daemon.client().patch(url).json(&json!({ "title": title })).send().await;
    assert_eq!(sent.unwrap().status(), 200);
    id
}

fn row(id: &str) -> String {
    format!("[data-session='{id}']")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_found_renamed_forked_and_deleted_in_their_list() {
    let visit = Visit::start().await;
    let lawn = named_session(&visit, "Mow the lawn").await;
    let roof = named_session(&visit, "Mend the roof").await;
    visit.until_text(&row(&lawn), "Mow the lawn").await;
    visit.until_text(&row(&roof), "Mend the roof").await;

    visit.browser.type_into("[role=search] input[type=search]", "lawn").await;
    visit.until_gone(&row(&roof)).await;
    visit.until_there(&row(&lawn)).await;

    visit.browser.click(&format!("{} button[aria-haspopup=menu]", row(&lawn))).await;
    click(&visit, "[role=menuitem]", "Rename").await;
    visit.until_there("dialog input[name=title]").await;
    visit.browser.until("document.activeElement?.matches('dialog input[name=title]')").await;
    visit.browser.press("Mow all lawns\u{e007}").await;
    visit.until_text(&row(&lawn), "Mow all lawns").await;
    assert_eq!(visit.get(&format!("/v1/sessions/{lawn}")).await["title"], "Mow all lawns");

    visit.browser.click(&format!("{} button[aria-haspopup=menu]", row(&lawn))).await;
    click(&visit, "[role=menuitem]", "Fork").await;
    let forked = format!(
        "location.pathname.startsWith('/sessions/') && !location.pathname.endsWith('{lawn}')"
    );
    visit.browser.until(&forked).await;
    visit.until_there(COMPOSER).await;

    visit.browser.open(&visit.daemon.url("/")).await;
    visit.until_there(&row(&roof)).await;
    visit.browser.click(&format!("{} button[aria-haspopup=menu]", row(&roof))).await;
    click(&visit, "[role=menuitem]", "Delete").await;
    click(&visit, "dialog button", "Delete").await;
    visit.until_gone(&row(&roof)).await;
    let left = visit.get("/v1/sessions").await;
    let left: Vec<_> = left["sessions"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(left.len(), 2, "the first and its fork");
    assert!(!left.contains(&&json!(roof)), "{left:?}");
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_and_mode_are_changed_while_the_session_goes_on() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("say the first").await;
    visit.until_text(".row-answer", "the first").await;
    visit.until_idle(&session).await;
    for (what, member) in [("Model", "model"), ("Mode", "mode"), ("Effort", "effort")] {
        let path = format!("/v1/sessions/{session}");
        let before = visit.get(&path).await["options"][member].clone();
        let values = before["values"].as_array().unwrap();
        let other = values.iter().find(|value| value["id"] != before["current"]).unwrap();

        visit.browser.click(&format!("button[aria-label^='{what}:']")).await;
        let items = format!("[role=menu][aria-label='{what}'] [role=menuitemradio]");
        click(&visit, &items, other["name"].as_str().unwrap()).await;

        let name = other["name"].as_str().unwrap();
        visit.until_text(&format!("button[aria-label^='{what}:']"), name).await;
        let deadline = std::time::Instant::now() + testkit::test_home::PATIENCE;
        while visit.get(&path).await["options"][member]["current"] != other["id"] {
            assert!(std::time::Instant::now() < deadline, "{what} never changed");
            testkit::test_home::pause_between_polls().await;
        }
    }
    visit.say("say the second").await;
    visit.until_text(".row-answer", "the second").await;
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_and_files_are_completed_and_events_can_be_looked_at() {
    let visit = Visit::start().await;
    std::fs::write(visit.home.work().join("groceries.md"), "bread").unwrap();
    let session = visit.session().await;
    // The agent tells its commands when it has started.
    visit.say("say ready").await;
    visit.until_text(".row-answer", "ready").await;
    visit.until_idle(&session).await;

    visit.browser.type_into(COMPOSER, "/").await;
    visit.until_there("[role=listbox] [role=option]").await;
    let offered = visit.texts("[role=listbox] [role=option]").await;
    assert!(offered.iter().all(|one| one.starts_with('/')), "{offered:?}");
    visit.browser.type_into(COMPOSER, "\u{e00c}").await;
    visit.until_gone("[role=listbox] [role=option]").await;
    visit.browser.type_into(COMPOSER, "\u{e003}").await;

    visit.browser.type_into(COMPOSER, "echo-prompt @grocer").await;
    visit.until_text("[role=listbox] [role=option]", "groceries.md").await;
    visit.picture("completion").await;
    visit.browser.type_into(COMPOSER, "\u{e004}").await;
    let written =
        format!("document.querySelector({}).value.includes('groceries.md')", json!(COMPOSER));
    visit.browser.until(&written).await;
    visit.browser.type_into(COMPOSER, "\u{e007}").await;
    visit.until_text(".row-answer", "groceries.md").await;
    visit.until_idle(&session).await;

    visit.browser.click("button[aria-label^='Raw events']").await;
    visit.until_text("main", "turn_ended").await;
    visit.picture("raw-events").await;
    assert_clean(&visit).await;
}
