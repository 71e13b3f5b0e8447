//! Open Design's API with the real daemon and a real HTTP client.

mod conversations;
mod front_end;
mod many;
mod projects;
mod questions;
mod runs;
mod streams;
mod uploads;

use std::path::PathBuf;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::daemon::{Daemon, client};
use testkit::test_home::{PATIENCE, TestHome, switchyard};

const EXE: &str = env!("CARGO_BIN_EXE_switchyard");

/// A daemon, and the front end that talks to it.
struct Studio {
    home: TestHome,
    daemon: Daemon,
    client: reqwest::Client,
}

/// One frame of a stream.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    id: Option<String>,
    name: String,
    data: Value,
}

impl Studio {
    fn start() -> Self {
        Self::start_in(switchyard(EXE))
    }

    fn start_in(home: TestHome) -> Self {
        Self::start_with(home, &[])
    }

    fn start_with(home: TestHome, args: &[&str]) -> Self {
        let daemon = Daemon::start_with(&home, &[&["--agent", "demo"], args].concat());
        let client = daemon.client();
        Self { home, daemon, client }
    }

    /// With an agent `heard`, the demo agent, of which the file says what it was told.
    fn tapped(home: TestHome, more_config: &str) -> (Self, PathBuf) {
        let (tap, record) = (home.tool("acp-tap"), home.path().join("record"));
        let args = [record.to_str().unwrap(), "--", home.exe().to_str().unwrap(), "demo-agent"];
        let config = format!(
            "{more_config}\n[agents.heard]\ncommand = {:?}\nargs = {args:?}\n",
            tap.to_str().unwrap()
        );
        std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
        (Self::start_in(home), record)
    }

    /// Kills the daemon without a word and starts it again.
    fn restart(self) -> Self {
        self.daemon.kill9();
        Self::start_in(self.home)
    }

    /// The same for somebody else.
    fn client_of(&self, args: &[&str]) -> reqwest::Client {
        let added = self.home.command(["token", "add"].iter().chain(args)).output().unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        client(Some(String::from_utf8(added.stdout).unwrap().trim()))
    }

    fn projects(&self) -> PathBuf {
        self.home.path().join("projects")
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        ask(&self.client, method, &self.daemon.url(path), body).await
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// Begins a run and gives its id.
    async fn run(&self, body: &Value) -> String {
        let (status, answer) = self.post("/api/runs", body).await;
        assert_eq!(status, 202, "{answer}");
        answer["runId"].as_str().unwrap().to_owned()
    }

    /// What a request is refused with.
    async fn refused(&self, body: &Value) -> (u16, String, Value) {
        let (status, answer) = self.post("/api/runs", body).await;
        assert!(status >= 400, "{body} was taken: {answer}");
        let code = answer["error"]["code"].as_str().unwrap_or_default().to_owned();
        (status, code, answer["error"].clone())
    }

    async fn events(&self, run: &str) -> Stream {
        self.events_after(run, "").await
    }

    async fn events_after(&self, run: &str, after: &str) -> Stream {
        let url = self.daemon.url(&format!("/api/runs/{run}/events?after={after}"));
        Stream::of(self.client.get(url).send().await.unwrap())
    }

    /// A run from its beginning to its end.
    async fn finished(&self, body: &Value) -> Vec<Frame> {
        let run = self.run(body).await;
        self.events(&run).await.rest().await
    }

    async fn status(&self, run: &str) -> String {
        let run = self.get(&format!("/api/runs/{run}")).await;
        run["status"].as_str().unwrap().to_owned()
    }

    async fn cancel(&self, run: &str) -> Value {
        let (status, body) = self.ask(Method::POST, &format!("/api/runs/{run}/cancel"), None).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["ok"], true);
        body["run"].clone()
    }
}

async fn ask(
    client: &reqwest::Client,
    method: Method,
    url: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let request = client.request(method, url);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let body = response.bytes().await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// A stream of events, read frame by frame.
struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    #[track_caller]
    fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, n_read) = (read(frame), self.text.len() - rest.len());
                self.text.drain(..n_read);
                match frame {
                    Some(frame) => return Some(frame),
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let chunk = chunk.expect("the stream says nothing").unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Everything up to the end of the stream.
    async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }

    /// Reads up to the first frame that fits.
    async fn until(&mut self, fits: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await.expect("the stream ended too early");
            frames.push(frame);
            if fits(&frames[frames.len() - 1]) {
                return frames;
            }
        }
    }
}

/// A frame; comments and the like are none.
fn read(text: &str) -> Option<Frame> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    Some(Frame {
        id: field("id: ").map(str::to_owned),
        name: field("event: ")?.to_owned(),
        data: serde_json::from_str(field("data: ")?).unwrap(),
    })
}

impl Frame {
    fn is(&self, label: &str) -> bool {
        self.data["type"] == "status" && self.data["label"] == label
    }
}

fn text(frames: &[Frame]) -> String {
    let deltas = frames.iter().filter(|frame| frame.data["type"] == "text_delta");
    deltas.map(|frame| frame.data["delta"].as_str().unwrap()).collect()
}

fn names(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| &*frame.name).collect()
}

#[track_caller]
fn status_of(frames: &[Frame]) -> &str {
    let last = frames.last().expect("nothing was told");
    assert_eq!(last.name, "end", "{frames:#?}");
    last.data["status"].as_str().unwrap()
}

fn say(message: &str) -> Value {
    json!({ "agentId": "demo", "message": message })
}

/// The members of both.
fn with(mut one: Value, other: Value) -> Value {
    let Value::Object(other) = other else { return one };
    one.as_object_mut().unwrap().extend(other);
    one
}
