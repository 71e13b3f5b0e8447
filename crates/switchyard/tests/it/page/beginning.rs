//! What a person does first: make a session without knowing where anything is.

use serde_json::json;

use super::talking::assert_clean;
use super::{ENTER, Visit};

const DIRECTORY: &str = "dialog input[name=cwd]";
const OPTIONS: &str = "dialog [role=listbox] [role=option]";
const DOWN: &str = "\u{e015}";
const ESCAPE: &str = "\u{e00c}";

/// Clicks an option of the list of directories.
async fn choose(visit: &Visit, name: &str) {
    visit.until_text(OPTIONS, name).await;
    let mark = "for (const one of document.querySelectorAll(args[0])) \
        one.toggleAttribute('data-here', one.innerText.trim() === args[1])";
    visit.browser.run(mark, json!([OPTIONS, name])).await;
    visit.browser.click("[data-here]").await;
}

async fn until_directory(visit: &Visit, path: &str) {
    let is_so = format!("document.querySelector({}).value === {}", json!(DIRECTORY), json!(path));
    visit.browser.until(&is_so).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_session_is_made_by_choosing_a_directory() {
    let visit = Visit::start().await;
    let home = visit.home.user().canonicalize().unwrap();
    for dir in ["garden/lawn", "garage", ".cache"] {
        std::fs::create_dir_all(home.join(dir)).unwrap();
    }
    std::fs::write(home.join("garlic.txt"), "").unwrap();
    visit.browser.open(&visit.daemon.url("/")).await;
    visit.until_text("main button", "New session").await;
    visit.browser.press("n").await;

    // The directory is what is missing, so one begins there, and sees what there is.
    visit.until_there(DIRECTORY).await;
    let is_focused = format!("document.activeElement?.matches({})", json!(DIRECTORY));
    visit.browser.until(&is_focused).await;
    visit.until_text(OPTIONS, "garden").await;
    assert_eq!(visit.texts(OPTIONS).await, ["..", "garage", "garden"]);
    visit.picture("directories").await;
    choose(&visit, "garden").await;
    until_directory(&visit, &format!("{}/", home.join("garden").display())).await;
    choose(&visit, "lawn").await;
    until_directory(&visit, &format!("{}/", home.join("garden/lawn").display())).await;
    visit.until_text("dialog .directories", "No directories").await;
    visit.browser.type_into("dialog textarea[name=prompt]", "echo hello").await;
    visit.browser.click("dialog button[type=submit]").await;
    visit.until_text(".row-answer", "hello").await;
    let sessions = visit.get("/v1/sessions").await;
    assert_eq!(sessions["sessions"][0]["cwd"], json!(home.join("garden/lawn")));

    // The next begins where the last was, with the prompt.
    visit.browser.open(&visit.daemon.url("/")).await;
    visit.until_there("[data-session]").await;
    visit.browser.press("n").await;
    visit.until_there(DIRECTORY).await;
    until_directory(&visit, home.join("garden/lawn").to_str().unwrap()).await;
    visit.browser.until("document.activeElement?.matches('dialog textarea[name=prompt]')").await;
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_is_typed_with_a_tilde_and_completed_by_keys() {
    let visit = Visit::start().await;
    let home = visit.home.user().canonicalize().unwrap();
    std::fs::create_dir_all(home.join("garden")).unwrap();
    visit.browser.open(&visit.daemon.url("/")).await;
    visit.until_text("main button", "New session").await;
    visit.browser.press("n").await;
    visit.until_there(DIRECTORY).await;

    visit.browser.type_into(DIRECTORY, "~/gar").await;
    visit.browser.until(&format!(
        "[...document.querySelectorAll({})].map((one) => one.innerText.trim()).join() === 'garden'",
        json!(OPTIONS)
    )).await;
    visit.browser.type_into(DIRECTORY, &format!("{DOWN}{ENTER}")).await;
    until_directory(&visit, &format!("{}/", home.join("garden").display())).await;
    visit.until_there(OPTIONS).await;

    // The first Escape closes the list, not the dialog.
    visit.browser.type_into(DIRECTORY, ESCAPE).await;
    visit.until_gone(OPTIONS).await;
    assert_eq!(visit.count(DIRECTORY).await, 1);

    let clear = "const one = document.querySelector(args); one.focus(); one.select()";
    visit.browser.run(clear, json!(DIRECTORY)).await;
    visit.browser.type_into(DIRECTORY, "~/garden").await;
    visit.browser.type_into(DIRECTORY, ENTER).await;
    visit.browser.until("location.pathname.startsWith('/sessions/')").await;
    let sessions = visit.get("/v1/sessions").await;
    assert_eq!(sessions["sessions"][0]["cwd"], json!(home.join("garden")));
    assert_clean(&visit).await;
}
