//! A session to try tools in, with a client that is not real.
//!
//! The client holds unsaved files of its own, serves `fs/*` when it says that it does, and
//! remembers what it was asked.

pub(super) mod play;
pub(super) mod rehearsal;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bus::connection::{Connection, ConnectionLimits, Inbox, IncomingMessage};
use serde_json::{Value, json};
use wire::{Json, RpcError};

use super::client::{AcpClient, ClientAbilities};
use super::settings::ToolSettings;
use super::tool::{
    CallProgress, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, Workspace,
};

/// What the client of a test does and has seen.
#[derive(Debug, Clone, Default)]
pub(super) struct FakeClient {
    inner: Arc<Mutex<FakeClientState>>,
}

#[derive(Debug, Default)]
struct FakeClientState {
    /// By path; `None` is a file that it refuses.
    buffers: HashMap<String, Option<String>>,
    /// Paths that a rule denies.
    denied: Vec<String>,
    calls: Vec<(String, Value)>,
}

impl FakeClient {
    /// Opens a buffer with unsaved text.
    pub(super) fn hold(&self, path: &Path, text: &str) {
        let path = path.display().to_string();
        self.inner.lock().unwrap().buffers.insert(path, Some(text.to_owned()));
    }

    pub(super) fn refuse(&self, path: &Path) {
        self.inner.lock().unwrap().buffers.insert(path.display().to_string(), None);
    }

    pub(super) fn deny(&self, path: &Path) {
        self.inner.lock().unwrap().denied.push(path.display().to_string());
    }

    pub(super) fn held(&self, path: &Path) -> Option<String> {
        let path = path.display().to_string();
        self.inner.lock().unwrap().buffers.get(&path).cloned().flatten()
    }

    /// The methods that were called so far.
    pub(super) fn calls(&self) -> Vec<String> {
        self.inner.lock().unwrap().calls.iter().map(|(method, _)| method.clone()).collect()
    }

    fn answer(&self, method: &str, params: &Value) -> Result<Json, RpcError> {
        let mut inner = self.inner.lock().unwrap();
        inner.calls.push((method.to_owned(), params.clone()));
        let path = params["path"].as_str().unwrap_or_default().to_owned();
        let told = params["paths"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let is_denied = told.into_iter().any(|path| inner.denied.iter().any(|it| it == path));
        match method {
            "_switchyard/check" if is_denied => Err(RpcError::denied("denied by rule secrets")),
            "_switchyard/check" => Ok(Json::trusted("{}")),
            "fs/read_text_file" if inner.denied.contains(&path) => {
                Err(RpcError::denied("denied by rule secrets"))
            }
            "fs/read_text_file" => match inner.buffers.get(&path) {
                Some(Some(text)) => Ok(Json::of(&json!({ "content": text }))),
                Some(None) => Err(RpcError::internal("not as text")),
                None => match std::fs::read_to_string(&path) {
                    Ok(text) => Ok(Json::of(&json!({ "content": text }))),
                    Err(_) => Err(RpcError::not_found(path)),
                },
            },
            "fs/write_text_file" => {
                if inner.buffers.get(&path) == Some(&None) {
                    return Err(RpcError::internal("may not be written"));
                }
                let content = params["content"].as_str().unwrap_or_default().to_owned();
                inner.buffers.insert(path, Some(content));
                Ok(Json::trusted("{}"))
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }
}

/// A directory with a session in it.
#[derive(Debug)]
pub(super) struct TestSession {
    /// Removed with the stage.
    _dir: tempfile::TempDir,
    /// What is beside it is outside the roots.
    pub root: PathBuf,
    pub client: FakeClient,
    pub context: ToolContext,
}

impl TestSession {
    /// A client that can do nothing.
    pub(super) fn new() -> Self {
        Self::with(ClientAbilities::default())
    }

    /// A client that reads and writes files.
    pub(super) fn of_editor() -> Self {
        Self::with(ClientAbilities {
            reads_files: true,
            writes_files: true,
            ..ClientAbilities::default()
        })
    }

    pub(super) fn with(can: ClientAbilities) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("ws");
        std::fs::create_dir(&root).unwrap();
        let fake = FakeClient::default();
        let client = connect(&fake, can);
        let settings = ToolSettings::new(PathBuf::from("/nonexistent"), Vec::new());
        let workspace = Workspace::new(root.clone(), &[], client, settings).unwrap();
        let context = ToolContext {
            workspace: Arc::new(workspace),
            call: "call-1".into(),
            progress: CallProgress::default(),
        };
        Self { _dir: dir, root, client: fake, context }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(super) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(super) async fn prepare(
        &self,
        tool: &Tool,
        arguments: Value,
    ) -> Result<PreparedCall, ToolError> {
        tool.prepare(arguments, &self.context).await
    }

    /// Prepares and runs a call that everybody allows.
    pub(super) async fn run(&self, tool: &Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.prepare(tool, arguments).await?.work.await
    }

    /// The text for the model.
    pub(super) async fn say(&self, tool: &Tool, arguments: Value) -> String {
        match self.run(tool, arguments).await {
            Ok(output) => text_of(&output),
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) async fn fail(&self, tool: &Tool, arguments: Value) -> String {
        match self.run(tool, arguments).await {
            Ok(output) => panic!("it worked: {}", text_of(&output)),
            Err(error) => error.0,
        }
    }
}

pub(super) fn text_of(output: &ToolOutput) -> String {
    let texts = output.parts.iter().filter_map(|part| match part {
        super::chat::MessagePart::Text { text } => Some(text.as_str()),
        super::chat::MessagePart::Image { .. } => None,
    });
    texts.collect()
}

/// Our end of a connection, and the client's with what it hears.
pub(super) fn connected(limits: &ConnectionLimits) -> (Connection, Connection, Inbox) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(ours);
    let (connection, mut inbox) = Connection::open(reader, writer, limits);
    // Whoever reads the connection settles what was asked over it.
    tokio::spawn(async move {
        while let Some(batch) = inbox.next().await {
            for incoming in batch {
                if let IncomingMessage::Reply(reply) = incoming {
                    reply.settle();
                }
            }
        }
    });
    let (reader, writer) = tokio::io::split(theirs);
    let (theirs, inbox) = Connection::open(reader, writer, limits);
    (connection, theirs, inbox)
}

fn connect(fake: &FakeClient, can: ClientAbilities) -> AcpClient {
    let limits = ConnectionLimits {
        max_line_bytes: 64 << 20,
        max_values: wire::limits::WORKER_VALUES,
        outbox_bytes: bus::connection::OUTBOX_BYTES,
        write_stall: std::time::Duration::from_secs(60),
    };
    let (connection, their_connection, mut their_inbox) = connected(&limits);
    let fake = fake.clone();
    tokio::spawn(async move {
        while let Some(batch) = their_inbox.next().await {
            for incoming in batch {
                if let IncomingMessage::Request(message) = incoming {
                    let params = serde_json::from_str(message.body()).unwrap_or_default();
                    let outcome = fake.answer(message.method(), &params);
                    let _ = their_connection.respond(&message.id(), outcome).await;
                }
            }
        }
    });
    AcpClient::new(connection, "s-1".into(), can)
}
