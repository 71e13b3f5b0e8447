//! REST under `/v1` with the real daemon and a real HTTP client.
//!
//! Every answer is checked against the daemon's own document: a member that the document
//! does not know, or lacks, fails the test that met it.

mod attachments;
mod document;
mod elsewhere;
mod files;
mod once;
mod questions;
mod refusals;
mod sessions;
mod start;
mod turns;

use std::sync::Arc;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome, switchyard};

use document::Document;

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_switchyard");

/// A daemon, a client, and the document that both keep to.
pub(crate) struct Api {
    pub(crate) home: TestHome,
    pub(crate) daemon: Daemon,
    client: reqwest::Client,
    document: Arc<Document>,
}

/// An answer that keeps to the document.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl Api {
    pub(crate) async fn start() -> Self {
        Self::start_in(switchyard(EXE)).await
    }

    pub(crate) async fn start_in(home: TestHome) -> Self {
        let daemon = Daemon::start(&home);
        Self::of(home, daemon).await
    }

    pub(crate) async fn of(home: TestHome, daemon: Daemon) -> Self {
        let client = daemon.client();
        let document = client.get(daemon.url("/v1/openapi.json")).send().await.unwrap();
        let document = Arc::new(Document::new(document.json().await.unwrap()));
        Self { home, daemon, client, document }
    }

    /// Kills the daemon without a word and starts it again.
    pub(crate) async fn restart(self) -> Self {
        Self::start_in(self.kill()).await
    }

    pub(crate) fn kill(self) -> TestHome {
        self.daemon.kill9();
        self.home
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.daemon.url(path))
    }

    /// A request of the daemon's own user, who comes by the private socket.
    pub(crate) fn local(&self, method: Method, path: &str) -> RequestBuilder {
        let client = self.daemon.local_client();
        client.request(method, format!("http://localhost{path}"))
    }

    /// Sends a request and checks the answer against the document.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let (client, request) = request.build_split();
        let request = request.unwrap();
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = match client.execute(request).await {
            Ok(response) => response,
            Err(error) => panic!("{method} {path}: {error:?}; {}", self.daemon.condition()),
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        self.document.check(&method, &path, status, &headers, &body);
        Answer { status, headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// As [`post`](Self::post), by the daemon's own user.
    pub(crate) async fn post_locally(&self, path: &str, body: &Value) -> Answer {
        self.send(self.local(Method::POST, path).json(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// A session with the demo agent.
    pub(crate) async fn session(&self) -> String {
        let new = json!({ "agent": "demo", "cwd": self.home.work() });
        let made = self.post("/v1/sessions", &new).await;
        made.is(201).body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn prompt(&self, session: &str, text: &str) -> String {
        let path = format!("/v1/sessions/{session}/prompt");
        let accepted = self.post(&path, &json!({ "prompt": text })).await;
        accepted.is(202).body["turnId"].as_str().unwrap().to_owned()
    }

    /// Waits until a session is as `is_so` wants it.
    pub(crate) async fn until(&self, session: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let now = self.get(&format!("/v1/sessions/{session}")).await.is(200).body;
            if is_so(&now) {
                return now;
            }
            assert!(std::time::Instant::now() < deadline, "never came true: {now:#}");
            testkit::test_home::pause_between_polls().await;
        }
    }

    /// Waits until nothing runs.
    pub(crate) async fn until_idle(&self, session: &str) -> Value {
        self.until(session, |now| now["status"] == "idle").await
    }

    /// Waits until the agent has said these words.
    pub(crate) async fn until_said(&self, session: &str, words: &str) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !text(&self.events(session).await).contains(words) {
            assert!(std::time::Instant::now() < deadline, "never said: {words}");
            testkit::test_home::pause_between_polls().await;
        }
    }

    /// The session's events, read a small page at a time.
    pub(crate) async fn events(&self, session: &str) -> Vec<Value> {
        let mut events = Vec::new();
        let mut after = 0;
        loop {
            let path = format!("/v1/sessions/{session}/transcript?limit=7&after={after}");
            let page = self.get(&path).await.is(200).body;
            let items = page["items"].as_array().unwrap().iter();
            events.extend(items.map(|item| item["data"].clone()));
            match page["next"].as_u64() {
                Some(next) => after = next,
                None => return events,
            }
        }
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:#}", self.body);
        self
    }

    /// A problem with this slug.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, slug: &str) -> Self {
        let answer = self.is(status);
        assert_eq!(answer.body["type"], format!("urn:switchyard:problem:{slug}"));
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        answer
    }

    /// Where a problem says what was wrong.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        let detail = self.body["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(words), "{detail:?} does not contain {words:?}");
        self
    }
}

pub(crate) fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

/// What the agent said.
pub(crate) fn text(events: &[Value]) -> String {
    let chunks = of_kind(events, "agent_message_chunk").into_iter();
    chunks.filter_map(|event| event["payload"]["update"]["content"]["text"].as_str()).collect()
}
