//! A model server for tests: Chat Completions on loopback, by script, and as hostile as wanted.
//!
//! ```ignore
//! let server = ModelServer::start().await;
//! server.answer(calls([("read", json!({ "path": "a.txt" }))]));
//! server.answer(text("It says hello.").usage(120, 8));
//! server.answer(status(429).retry_after("1"));
//! server.answer(text("half of it").cut_after(2));
//! // … drive an agent with `server.base_url()` …
//! assert_eq!(server.chats()[1].tool_results(), ["hello"]);
//! ```
//!
//! Each chat request takes the next answer of the script; when there is none left the *fallback*
//! decides, a closure from the request to the answer; and without one the request is refused
//! with 400, which nobody repeats. What was asked is kept, headers and body, in order.
//!
//! | part | owns |
//! |---|---|
//! | [`answer`] | what is answered, and every way to spoil it |
//! | [`received_request`] | a request as it came |
//! | `wire` | answers as bytes |
//! | `http` | connections |

mod answer;
mod http;
mod received_request;
mod wire;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::answer::{ScriptedAnswer, calls, raw, status, text, thought};
pub use self::received_request::ReceivedRequest;
use crate::test_home::PATIENCE;

/// The model that is listed when a test does not care.
pub const MODEL: &str = "test-model";

type AnswerFn = Box<dyn FnMut(&ReceivedRequest) -> ScriptedAnswer + Send>;

/// Ends with its owner, and its connections with it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    /// A counter of changes, for waiting.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    script: VecDeque<ScriptedAnswer>,
    fallback: Option<AnswerFn>,
    /// Answers by path, given as often as they are asked for.
    fixed: HashMap<String, ScriptedAnswer>,
    asked: Vec<ReceivedRequest>,
    n_connections: usize,
    n_hung_up: usize,
}

impl ModelServer {
    /// Starts a server on a port of its own.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (changes, _) = watch::channel(0);
        let shared = Arc::new(Shared { state: Mutex::default(), changes });
        let task = tokio::spawn(http::serve(listener, Arc::clone(&shared)));
        let server = Self { address, shared, task };
        server.models([MODEL]);
        server
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The server's address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address for `OPENAI_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds an answer to the script.
    pub fn answer(&self, answer: impl Into<ScriptedAnswer>) -> &Self {
        self.shared.change(|state| state.script.push_back(answer.into()));
        self
    }

    /// Sets the closure that answers when the script is over.
    pub fn answer_with(
        &self,
        fallback: impl FnMut(&ReceivedRequest) -> ScriptedAnswer + Send + 'static,
    ) -> &Self {
        self.shared.change(|state| state.fallback = Some(Box::new(fallback)));
        self
    }

    /// Sets the models that `GET /v1/models` lists.
    pub fn models<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> &Self {
        let data: Vec<_> =
            ids.into_iter().map(|id| json!({ "id": id, "object": "model" })).collect();
        self.on("/v1/models", status(200).json(&json!({ "object": "list", "data": data })))
    }

    /// Sets the answer of a path, for every request of any method.
    pub fn on(&self, path: &str, answer: ScriptedAnswer) -> &Self {
        self.shared.change(|state| state.fixed.insert(path.to_owned(), answer));
        self
    }

    /// All requests that came.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.state().asked.clone()
    }

    /// The requests for chat completions.
    pub fn chats(&self) -> Vec<ReceivedRequest> {
        self.requests().into_iter().filter(ReceivedRequest::is_chat).collect()
    }

    #[track_caller]
    pub fn last_chat(&self) -> ReceivedRequest {
        self.chats().pop().expect("a chat request")
    }

    /// Answers of the script that nobody asked for yet.
    pub fn n_left(&self) -> usize {
        self.shared.state().script.len()
    }

    pub fn n_connections(&self) -> usize {
        self.shared.state().n_connections
    }

    /// How many answers were given up by their readers before the end.
    pub fn n_hung_up(&self) -> usize {
        self.shared.state().n_hung_up
    }

    /// Waits until so many chats were asked for.
    pub async fn wait_for_chats(&self, n: usize) {
        let enough =
            |state: &State| state.asked.iter().filter(|asked| asked.is_chat()).count() >= n;
        self.wait(&format!("{n} chat requests"), enough).await;
    }

    /// Waits until so many readers hung up.
    pub async fn wait_for_hang_ups(&self, n: usize) {
        self.wait(&format!("{n} readers that hang up"), |state| state.n_hung_up >= n).await;
    }

    async fn wait(&self, what: &str, is_so: impl Fn(&State) -> bool) {
        let mut changes = self.shared.changes.subscribe();
        let waiting = async {
            while !is_so(&self.shared.state()) {
                changes.changed().await.expect("the server lives");
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "still no {what}; asked was {:#?}", self.requests());
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changes.send_modify(|n| *n += 1);
        changed
    }

    /// Records a request, and finds its answer.
    fn decide(&self, asked: ReceivedRequest) -> ScriptedAnswer {
        self.change(|state| {
            state.asked.push(asked.clone());
            if asked.is_chat() && !state.fixed.contains_key(asked.path()) {
                if let Some(answer) = state.script.pop_front() {
                    return answer;
                }
                // Taken out, because it may be the one that panics.
                if let Some(mut fallback) = state.fallback.take() {
                    let answer = fallback(&asked);
                    state.fallback = Some(fallback);
                    return answer;
                }
                return status(400).json(&error("the script of the model server is over"));
            }
            match state.fixed.get(asked.path()) {
                Some(answer) => answer.clone(),
                None => status(404).json(&error("there is nothing here")),
            }
        })
    }
}

fn error(message: &str) -> Value {
    json!({ "error": { "message": message, "type": "invalid_request_error" } })
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
