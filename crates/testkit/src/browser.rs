//! A real browser without a window: Chromium, driven over `WebDriver`.
//!
//! In: addresses to open and JavaScript to run in the page that is open. Out: what the script
//! returned, cookies, what the console said, pictures. Every browser has a profile of its own,
//! so it knows nobody and is logged in nowhere. Its processes may serve another test with another
//! profile afterwards; they are gone with the tests, also when those are killed.
//!
//! `WebDriver` is a dozen calls of JSON over HTTP, and the tree has a client for that; crates
//! that wrap it bring another HTTP stack along.

mod process;
mod profile;
mod session;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use base64::Engine as _;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::test_home::PATIENCE;
use process::BrowserProcess;
use profile::BrowserProfile;
use session::WebDriverSession;

/// The browsers that may run at once; other tests wait. A browser is a handful of processes that
/// all want to compute at once.
static RUNNING_BROWSERS: Semaphore = Semaphore::const_new(2);

/// Idle browsers for the next test. Starting one takes longer than most tests with it.
static IDLE: Mutex<Vec<RunningBrowser>> = Mutex::new(Vec::new());

/// The pause before a condition that did not hold is tried again.
const POLL_EVERY: std::time::Duration = std::time::Duration::from_millis(80);

/// The script that polls a condition in the page, for a second at most, since a page that is frozen
/// or left never answers. It polls in the page, because a call through the driver takes longer.
const WAIT: &str = "
const give_up_at = performance.now() + 1000;
while (!is_so() && performance.now() < give_up_at) await new Promise((done) => setTimeout(done, 40));
return is_so();";

#[derive(Debug)]
pub struct Browser {
    session: WebDriverSession,
    /// `None` only once it is handed on.
    driven: Option<RunningBrowser>,
    _seat: SemaphorePermit<'static>,
}

/// The processes of a browser, and the profile that was used last.
#[derive(Debug)]
struct RunningBrowser {
    process: BrowserProcess,
    /// The `WebDriver` session's address, and where Chromium itself listens.
    address: String,
    debugger: String,
    profile: BrowserProfile,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser of a failed test is not handed on.
        if let (false, Some(driven)) = (std::thread::panicking(), self.driven.take())
            && let Ok(mut idle) = IDLE.lock()
        {
            idle.push(driven);
        }
    }
}

/// A cookie of the page that is open, as the browser keeps it; scripts see fewer.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cookie {
    pub name: String,
    pub value: String,
    pub domain: String,
    pub path: String,
    pub http_only: bool,
    pub secure: bool,
    pub same_site: Option<String>,
}

/// What a script threw, or why it could not be run.
#[derive(Debug, Clone)]
pub struct ScriptError(pub String);

impl Browser {
    /// A browser for which all names that end in `.test` lead to this machine, whatever the
    /// network says.
    pub async fn start() -> Self {
        let permit = RUNNING_BROWSERS.acquire().await.expect("seats are never closed");
        let idle = IDLE.lock().expect("nobody panics while holding it").pop();
        let (session, driven) = match idle {
            Some(driven) => Self::reuse(driven).await,
            None => Self::launch().await,
        };
        Self { session, driven: Some(driven), _seat: permit }
    }

    async fn launch() -> (WebDriverSession, RunningBrowser) {
        let process = BrowserProcess::start();
        let (session, debugger) = WebDriverSession::start(&process).await;
        let profile = BrowserProfile::create(&debugger, None).await;
        // The tab that the browser came with belongs to no profile of ours.
        session.delete("window").await.expect("the first tab");
        session.post("window", &json!({ "handle": profile.tab })).await.expect("the new tab");
        let address = session.address().to_owned();
        (session, RunningBrowser { process, address, debugger, profile })
    }

    async fn reuse(driven: RunningBrowser) -> (WebDriverSession, RunningBrowser) {
        let RunningBrowser { process, address, debugger, profile } = driven;
        let profile = BrowserProfile::create(&debugger, Some(profile)).await;
        let session = WebDriverSession::at(address.clone());
        session.post("window", &json!({ "handle": profile.tab })).await.expect("the new tab");
        // Drops the console messages of another test's pages.
        let _ = session.post("se/log", &json!({ "type": "browser" })).await;
        (session, RunningBrowser { process, address, debugger, profile })
    }

    /// Opens an address as if a person had typed it, and waits until the page is there. An
    /// address that turns out to be a download leaves the page that was open.
    pub async fn open(&self, url: &str) {
        let opened = self.session.post("url", &json!({ "url": url })).await;
        match opened {
            Err(ScriptError(why)) if !why.contains("net::ERR_ABORTED") => panic!("{url}: {why}"),
            _ => {}
        }
    }

    /// Goes to the page before, as the browser's button does.
    pub async fn back(&self) {
        self.session.post("back", &json!({})).await.expect("a page before");
    }

    /// Runs the body of an async function in the page that is open, where `args` is what was
    /// passed, and returns what it returned.
    pub async fn run(&self, body: &str, args: impl Into<Value>) -> Value {
        match self.try_run(body, args).await {
            Ok(value) => value,
            Err(ScriptError(why)) => panic!("{why}\nwhile running:\n{body}"),
        }
    }

    /// As [`run`](Self::run), for scripts that may fail.
    pub async fn try_run(&self, body: &str, args: impl Into<Value>) -> Result<Value, ScriptError> {
        let script = format!("return (async (args) => {{\n{body}\n}})(arguments[0])");
        let order = json!({ "script": script, "args": [args.into()] });
        self.session.post("execute/sync", &order).await
    }

    /// Waits until an expression is true in the page that is open then.
    pub async fn until(&self, condition: &str) {
        let script = format!("const is_so = () => !!({condition});\n{WAIT}");
        let give_up_at = Instant::now() + PATIENCE;
        let mut last = Ok(Value::Null);
        while Instant::now() < give_up_at {
            // A page that is just being left throws; the next one may not.
            last = self.try_run(&script, Value::Null).await;
            if matches!(last, Ok(Value::Bool(true))) {
                return;
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
        let (url, text, console) = (self.url().await, self.text().await, self.console().await);
        panic!("`{condition}` never came true ({last:?})\nat {url}:\n{text}\n{console:#?}");
    }

    /// Clicks the first element that a CSS selector finds, as a person would.
    pub async fn click(&self, css: &str) {
        let element = self.element(css).await;
        self.session.post(&format!("{element}/click"), &json!({})).await.expect(css);
    }

    /// Types into the first element that a CSS selector finds; `\u{e007}` is the Enter key.
    pub async fn type_into(&self, css: &str, text: &str) {
        let element = self.element(css).await;
        let keys = json!({ "text": text });
        self.session.post(&format!("{element}/value"), &keys).await.expect(css);
    }

    async fn element(&self, css: &str) -> String {
        let by = json!({ "using": "css selector", "value": css });
        let found = self.session.post("element", &by).await.expect(css);
        let id = found.as_object().and_then(|found| found.values().next()?.as_str());
        format!("element/{}", id.expect("an element has an id"))
    }

    /// The address of the page that is open.
    pub async fn url(&self) -> String {
        let url = self.session.get("url").await.expect("an address");
        url.as_str().unwrap_or_default().to_owned()
    }

    /// All text of the page.
    pub async fn text(&self) -> String {
        let script = "return document.documentElement?.innerText ?? ''";
        let text = self.try_run(script, Value::Null).await.unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Where the frame with this place among the page's frames is, and all of its text: what
    /// somebody would see who looks at the page, and its scripts perhaps not.
    pub async fn frame(&self, index: usize) -> (String, String) {
        self.session.post("frame", &json!({ "id": index })).await.expect("a frame");
        let place = self.run("return location.href", Value::Null).await;
        let text = self.text().await;
        self.session.post("frame/parent", &json!({})).await.expect("the page");
        (place.as_str().unwrap_or_default().to_owned(), text)
    }

    /// The open tabs, the oldest first as far as the browser keeps to that.
    pub async fn tabs(&self) -> Vec<String> {
        let handles = self.session.get("window/handles").await.expect("tabs");
        serde_json::from_value(handles).expect("names of tabs")
    }

    /// Turns to another tab.
    pub async fn switch_tab(&self, tab: &str) {
        self.session.post("window", &json!({ "handle": tab })).await.expect("a tab");
    }

    /// Opens an empty tab; turn to it then.
    pub async fn new_tab(&self) -> String {
        let driven = self.driven.as_ref().expect("it is there until it is handed on");
        driven.profile.new_tab(&driven.debugger).await
    }

    /// Closes the tab; turn to another one then.
    pub async fn close_tab(&self) {
        // The driver has little patience with a browser that is busy, and it may then be closed.
        if self.session.delete("window").await.is_err() {
            let _ = self.session.delete("window").await;
        }
    }

    /// The cookies that would be sent to the page that is open.
    pub async fn cookies(&self) -> Vec<Cookie> {
        let cookies = self.session.get("cookie").await.expect("cookies");
        serde_json::from_value(cookies).expect("cookies as WebDriver describes them")
    }

    /// Forgets the cookies of the page that is open.
    pub async fn forget_cookies(&self) {
        self.session.delete("cookie").await.expect("no cookies");
    }

    /// Sends a header with every request from now on, whoever asks; none takes it back.
    pub async fn send_always(&self, name: &str, value: Option<&str>) {
        let headers = value.map_or_else(|| json!({}), |value| json!({ name: value }));
        self.devtools("Network.enable", json!({})).await;
        self.devtools("Network.setExtraHTTPHeaders", json!({ "headers": headers })).await;
    }

    /// Sends a command of Chromium's developer tools, for functions that `WebDriver` lacks.
    pub async fn devtools(&self, command: &str, params: Value) -> Value {
        let order = json!({ "cmd": command, "params": params });
        self.session.post("goog/cdp/execute", &order).await.expect(command)
    }

    /// The console messages since the last call.
    pub async fn console(&self) -> Vec<String> {
        let log = self.session.post("se/log", &json!({ "type": "browser" })).await;
        let entries = log.unwrap_or_default();
        let entries = entries.as_array().into_iter().flatten();
        entries.filter_map(|entry| Some(entry["message"].as_str()?.to_owned())).collect()
    }

    /// Makes the window as large as a device's, and lets pages know how its user likes colours:
    /// `light` or `dark`.
    pub async fn emulate_device(&self, width: u32, height: u32, scheme: &str) {
        let is_phone = width < 600;
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone
        });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", scheme).await;
    }

    /// Presses keys on the page itself; `\u{e007}` is Enter, `\u{e00c}` Escape.
    pub async fn press(&self, keys: &str) {
        let strokes = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        });
        let strokes: Vec<Value> = strokes.collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] });
        self.session.post("actions", &actions).await.expect("keys");
    }

    /// Writes a picture of what can be seen of the page, as PNG.
    pub async fn screenshot(&self, path: &Path) {
        let picture = self.session.get("screenshot").await.expect("a picture");
        let standard = base64::engine::general_purpose::STANDARD;
        let bytes = standard.decode(picture.as_str().unwrap_or_default()).expect("base64");
        std::fs::write(path, bytes).unwrap();
    }
}
