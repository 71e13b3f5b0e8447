//! What the tests of tools share: a context with a client that is played, and the stage program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bus::connection::{Connection, ConnectionLimits, Inbox, IncomingMessage};
use serde_json::{Value, json};
use soak::PATIENCE;
use wire::{Json, RpcError};

use super::connected;
use crate::native::chat::MessagePart;
use crate::native::client::{AcpClient, ClientAbilities};
use crate::native::settings::ToolSettings;
use crate::native::tool::{CallProgress, PreparedCall, ToolContext, ToolOutput, Workspace};

/// A session in a directory of its own, and the client's end of its connection.
pub(crate) struct Rehearsal {
    pub(crate) context: ToolContext,
    pub(crate) client: Arc<Played>,
    pub(crate) dir: tempfile::TempDir,
}

/// What a client heard, and how it answers.
#[derive(Debug, Default)]
pub(crate) struct Played {
    heard: Mutex<Vec<(String, Value)>>,
    answers: Mutex<Vec<(&'static str, Option<Value>)>>,
}

impl Played {
    /// Everything that came with this method.
    pub(crate) fn heard(&self, method: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|(name, _)| name == method).map(|(_, params)| params.clone()).collect()
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.heard.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn updates(&self) -> Vec<Value> {
        self.heard("session/update").into_iter().map(|params| params["update"].clone()).collect()
    }

    /// From now on `method` is answered with this; with `None`, not at all.
    pub(crate) fn answers(&self, method: &'static str, answer: impl Into<Option<Value>>) {
        self.answers.lock().unwrap().insert(0, (method, answer.into()));
    }
}

impl Rehearsal {
    pub(crate) fn new(can: ClientAbilities, change: impl FnOnce(&mut ToolSettings)) -> Self {
        Self::in_directory(tempfile::tempdir().unwrap(), can, change)
    }

    pub(crate) fn in_directory(
        dir: tempfile::TempDir,
        can: ClientAbilities,
        change: impl FnOnce(&mut ToolSettings),
    ) -> Self {
        let cwd = dir.path().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let cwd = cwd.canonicalize().unwrap();
        let mut settings = ToolSettings::new(stage_program(), vec!["__keeper".into()]);
        settings.keeper.cgroups = false;
        change(&mut settings);
        let limits = ConnectionLimits {
            max_line_bytes: 1 << 20,
            max_values: wire::limits::WORKER_VALUES,
            outbox_bytes: bus::connection::OUTBOX_BYTES,
            write_stall: PATIENCE,
        };
        let (connection, peer, inbox) = connected(&limits);
        let client = Arc::new(Played::default());
        task::spawn(play(peer, inbox, Arc::clone(&client)));
        let client_of = AcpClient::new(connection, "session".into(), can);
        let workspace = Workspace::new(cwd, &[], client_of, settings).unwrap();
        let context = ToolContext {
            workspace: Arc::new(workspace),
            call: "call".into(),
            progress: CallProgress::default(),
        };
        Self { context, client, dir }
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.context.workspace.cwd
    }
}

async fn play(peer: Connection, mut inbox: Inbox, client: Arc<Played>) {
    while let Some(batch) = inbox.next().await {
        for incoming in batch {
            let (message, is_request) = match incoming {
                IncomingMessage::Request(message) => (message, true),
                IncomingMessage::Notification(message) => (message, false),
                _ => continue,
            };
            let method = message.method().to_owned();
            let params = message.body_json().read().unwrap();
            client.heard.lock().unwrap().push((method.clone(), params));
            if !is_request {
                continue;
            }
            let answers = client.answers.lock().unwrap().clone();
            match answers.into_iter().find(|(name, _)| *name == method) {
                Some((_, Some(answer))) if answer["error"].is_string() => {
                    let refused = Err(RpcError::internal(&answer["error"]));
                    peer.respond(&message.id(), refused).await.unwrap();
                }
                Some((_, Some(answer))) => {
                    peer.respond(&message.id(), Ok(Json::of(&answer))).await.unwrap();
                }
                Some((_, None)) => {}
                None => peer.respond(&message.id(), Ok(Json::of(&json!({})))).await.unwrap(),
            }
        }
    }
}

/// What a model is told.
pub(crate) fn text_of(output: &ToolOutput) -> String {
    output
        .parts
        .iter()
        .map(|part| match part {
            MessagePart::Text { text } => text.as_str(),
            MessagePart::Image { .. } => "",
        })
        .collect()
}

pub(crate) async fn work(prepared: PreparedCall) -> String {
    text_of(&prepared.work.await.unwrap())
}

pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up_at = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up_at, "not reached: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The example of this crate, which stands beside the directory of its tests.
pub(crate) fn stage_program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples/agent-stage");
    assert!(path.exists(), "build it first: cargo build -p agent --examples");
    path
}
