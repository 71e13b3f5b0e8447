//! A `WebDriver` session: calls of JSON over HTTP.

use reqwest::Method;
use serde_json::{Value, json};

use super::ScriptError;
use super::process::BrowserProcess;
use crate::test_home::PATIENCE;

#[derive(Debug)]
pub(super) struct WebDriverSession {
    client: reqwest::Client,
    base: String,
}

impl WebDriverSession {
    /// Has the driver start the browser. Also gives where the browser itself listens.
    pub(super) async fn start(process: &BrowserProcess) -> (Self, String) {
        let mut session = Self::at(format!("{}/session", process.base));
        let made = session.post("", &capabilities(process)).await.expect("a browser");
        let id = made["sessionId"].as_str().expect("a session has an id");
        session.base = format!("{}/{id}", session.base);
        let debugger = &made["capabilities"]["goog:chromeOptions"]["debuggerAddress"];
        (session, debugger.as_str().expect("the browser listens").to_owned())
    }

    /// A session that was started already. A client lives no longer than the test it was made in.
    pub(super) fn at(base: String) -> Self {
        Self { client: crate::daemon::client(None), base }
    }

    pub(super) fn address(&self) -> &str {
        &self.base
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, ScriptError> {
        self.call(Method::GET, path, None).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, ScriptError> {
        self.call(Method::DELETE, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, ScriptError> {
        self.call(Method::POST, path, Some(body)).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ScriptError> {
        let slash = if path.is_empty() { "" } else { "/" };
        let mut request = self.client.request(method, format!("{}{slash}{path}", self.base));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.expect("chromedriver answers");
        let is_success = response.status().is_success();
        let mut answer: Value = response.json().await.expect("chromedriver answers with JSON");
        let value = answer["value"].take();
        if is_success {
            return Ok(value);
        }
        // The driver's own stack helps nobody.
        let message = value["message"].as_str().unwrap_or_default();
        let message = message.split("\n  (Session info").next().unwrap_or_default();
        Err(ScriptError(format!("{}: {message}", value["error"].as_str().unwrap_or_default())))
    }
}

fn capabilities(process: &BrowserProcess) -> Value {
    let args = [
        "--headless=new".to_owned(),
        // Its sandbox refuses to work for root, and in most containers.
        "--no-sandbox".to_owned(),
        // Containers have a small /dev/shm.
        "--disable-dev-shm-usage".to_owned(),
        // Else it asks its vendor for updates and sends reports.
        "--disable-background-networking".to_owned(),
        "--disable-breakpad".to_owned(),
        // A proxy of the machine has no business with loopback.
        "--no-proxy-server".to_owned(),
        // Drawing without a graphics card takes a process more, and much computing.
        "--disable-gpu".to_owned(),
        "--disable-extensions".to_owned(),
        "--host-resolver-rules=MAP *.test 127.0.0.1".to_owned(),
        format!("--user-data-dir={}", process.profile().display()),
    ];
    let patience = u64::try_from(PATIENCE.as_millis()).expect("a few minutes");
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "timeouts": { "script": patience, "pageLoad": patience },
        "goog:loggingPrefs": { "browser": "ALL" },
        "goog:chromeOptions": { "binary": process.program, "args": args },
    } } })
}
