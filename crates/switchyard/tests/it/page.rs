//! The page in a real browser, with the real daemon and the demo agent.
//!
//! In: what a person does. Out: what that person sees. The page is the one inside the binary, so
//! it has to be built before the binary is: `make web`. With `PICTURES=1` pictures of it are kept
//! below `target/tmp/page`.

mod access;
mod beginning;
mod connection;
mod hostile;
mod large;
mod looks;
mod returning;
mod steering;
mod talking;

use std::path::Path;

use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::daemon::Daemon;
use testkit::test_home::TestHome;

use crate::browser_attack::link;
use crate::serve_events::{home, new_session};

/// A person at the page, logged in.
pub(crate) struct Visit {
    pub(crate) home: TestHome,
    pub(crate) daemon: Daemon,
    pub(crate) browser: Browser,
}

impl Visit {
    pub(crate) async fn start() -> Self {
        Self::start_in(home()).await
    }

    /// With a daemon that has settings already.
    pub(crate) async fn start_in(home: TestHome) -> Self {
        let visit = Self::start_logged_out_in(home).await;
        visit.browser.open(link(visit.daemon.line())).await;
        visit.browser.until("location.pathname === '/'").await;
        visit
    }

    pub(crate) async fn start_logged_out() -> Self {
        Self::start_logged_out_in(home()).await
    }

    async fn start_logged_out_in(home: TestHome) -> Self {
        let daemon = Daemon::start(&home);
        let page = daemon.client().get(daemon.url("/")).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("id=\"page\""), "the binary has no page; run `make web` first");
        let browser = Browser::start().await;
        browser.emulate_device(1280, 900, "light").await;
        Self { home, daemon, browser }
    }

    /// A new session, open in the browser.
    pub(crate) async fn session(&self) -> String {
        let id = new_session(&self.daemon, &self.home).await;
        self.open_session(&id).await;
        id
    }

    pub(crate) async fn open_session(&self, id: &str) {
        self.browser.open(&self.daemon.url(&format!("/sessions/{id}"))).await;
        self.until_there(COMPOSER).await;
    }

    /// Types a prompt into the page and sends it.
    pub(crate) async fn say(&self, prompt: &str) {
        self.browser.type_into(COMPOSER, prompt).await;
        self.browser.type_into(COMPOSER, ENTER).await;
    }

    /// Waits until the page shows something that a CSS selector finds.
    pub(crate) async fn until_there(&self, css: &str) {
        self.browser.until(&format!("document.querySelector({})", json!(css))).await;
    }

    pub(crate) async fn until_gone(&self, css: &str) {
        self.browser.until(&format!("!document.querySelector({})", json!(css))).await;
    }

    /// Waits until what a CSS selector finds has these words.
    pub(crate) async fn until_text(&self, css: &str, words: &str) {
        let (css, words) = (json!(css), json!(words));
        let is_so = format!(
            "[...document.querySelectorAll({css})].some((one) => one.innerText.includes({words}))"
        );
        self.browser.until(&is_so).await;
    }

    /// How often the page shows something.
    pub(crate) async fn count(&self, css: &str) -> usize {
        self.texts(css).await.len()
    }

    /// The text of everything that a CSS selector finds, in order.
    pub(crate) async fn texts(&self, css: &str) -> Vec<String> {
        let all = "return [...document.querySelectorAll(args)].map((one) => one.innerText)";
        serde_json::from_value(self.browser.run(all, json!(css)).await).unwrap()
    }

    /// The answers that are shown, as one text without its spaces: how a text is set in
    /// paragraphs and pieces is the page's affair.
    pub(crate) async fn answer(&self) -> String {
        let whole = self.texts(".row-answer").await.concat();
        whole.split_whitespace().collect()
    }

    /// The same as the log has it.
    pub(crate) async fn logged_answer(&self, session: &str) -> String {
        let mut whole = String::new();
        let mut after = json!(0);
        while !after.is_null() {
            let path = format!("/v1/sessions/{session}/transcript?limit=1000&after={after}");
            let page = self.get(&path).await;
            let events = page["items"].as_array().unwrap().iter().map(|item| &item["data"]);
            let chunks = events.filter(|event| event["kind"] == "agent_message_chunk");
            let texts = chunks.map(|event| event["payload"]["update"]["content"]["text"].as_str());
            whole.extend(texts.flatten().flat_map(str::split_whitespace));
            after = page["next"].clone();
        }
        whole
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let sent = self.daemon.client().get(self.daemon.url(path)).send().await.unwrap();
        assert_eq!(sent.status(), 200, "{path}");
        sent.json().await.unwrap()
    }

    /// Waits until the daemon says that nothing runs in the session.
    pub(crate) async fn until_idle(&self, session: &str) {
        let deadline = std::time::Instant::now() + testkit::test_home::PATIENCE;
        while self.get(&format!("/v1/sessions/{session}")).await["status"] != "idle" {
            assert!(std::time::Instant::now() < deadline, "the turn never ended");
            testkit::test_home::pause_between_polls().await;
        }
    }

    /// Keeps a picture of what can be seen, for whoever asked for pictures.
    pub(crate) async fn picture(&self, name: &str) {
        if std::env::var_os("PICTURES").is_none() {
            return;
        }
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
        std::fs::create_dir_all(&dir).unwrap();
        self.browser.screenshot(&dir.join(format!("{name}.png"))).await;
    }
}

pub(crate) const ENTER: &str = "\u{e007}";
/// Where prompts are written, once one may.
const COMPOSER: &str = ".composer textarea:not(:disabled)";
/// Only there while a turn runs.
const STOP: &str = ".composer .button.danger";
