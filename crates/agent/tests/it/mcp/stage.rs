//! What the tests share: servers by part, sessions of them, calls as a model makes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::native::chat::MessagePart;
use agent::native::client::{AcpClient, ClientAbilities};
use agent::native::mcp::{self, McpServers, ServerSpec};
use agent::native::settings::{KeeperSettings, ToolSettings};
use agent::native::tool::{
    CallNeed, CallProgress, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, Workspace,
};
use bus::connection::{Connection, ConnectionLimits};
use serde_json::{Value, json};
use soak::PATIENCE;

pub(crate) struct Stage {
    pub(crate) home: tempfile::TempDir,
    pub(crate) servers: McpServers,
    context: ToolContext,
}

/// The example of this crate, which stands beside the directory of its tests.
pub(crate) fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples/mcp-stage");
    assert!(path.exists(), "build it first: cargo build -p agent --examples");
    path
}

fn keeper() -> KeeperSettings {
    KeeperSettings { exe: program(), args: vec!["__keeper".into()], cgroups: false }
}

impl Stage {
    /// A session with one server per part, named after it.
    pub(crate) async fn with(parts: &[&str]) -> Self {
        Self::new(|notes| parts.iter().map(|part| played(part, notes)).collect(), |_| {}).await
    }

    pub(crate) async fn new(
        specs: impl FnOnce(&Path) -> Vec<ServerSpec>,
        adjust: impl Fn(&mut ServerSpec),
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut specs = specs(&home.path().join("notes"));
        for spec in &mut specs {
            (spec.start_within, spec.call_within) = (PATIENCE, PATIENCE);
            adjust(spec);
        }
        let settings = mcp::McpSettings { cwd: home.path().to_owned(), keeper: keeper() };
        let servers = McpServers::start(specs, settings);
        let context = context(home.path());
        let stage = Self { home, servers, context };
        assert!(stage.servers.ready(PATIENCE * 2).await, "servers are not ready");
        stage
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.servers.tools().iter().map(|tool| tool.spec.name.clone()).collect()
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<Tool> {
        let is_it = |tool: &Arc<Tool>| tool.spec.name == name;
        let found = self.servers.tools().into_iter().find(is_it);
        found.unwrap_or_else(|| panic!("no {name} among {:?}", self.names()))
    }

    pub(crate) async fn prepare(&self, name: &str, arguments: Value) -> PreparedCall {
        self.tool(name).prepare(arguments, &self.context).await.unwrap()
    }

    pub(crate) async fn run(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.prepare(name, arguments).await.work.await
    }

    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        text_of(&self.run(name, arguments).await.unwrap())
    }

    pub(crate) async fn error(&self, name: &str, arguments: Value) -> String {
        self.run(name, arguments).await.unwrap_err().0
    }

    pub(crate) async fn need(&self, name: &str) -> CallNeed {
        self.prepare(name, json!({})).await.need
    }

    /// What servers noted beside the protocol.
    pub(crate) fn notes(&self) -> String {
        std::fs::read_to_string(self.home.path().join("notes")).unwrap_or_default()
    }

    pub(crate) fn troubles(&self) -> Vec<(String, String)> {
        let troubles = self.servers.faults().into_iter();
        troubles.map(|trouble| (trouble.server, trouble.message)).collect()
    }
}

pub(crate) fn played(part: &str, notes: &Path) -> ServerSpec {
    ServerSpec::from_acp(&json!({
        "name": part, "command": program(), "args": [part],
        "env": [{ "name": "STAGE_NOTES", "value": notes }],
    }))
    .unwrap()
}

pub(crate) fn context(cwd: &Path) -> ToolContext {
    let (ours, theirs) = tokio::io::duplex(1024);
    // Nobody is told anything in these tests.
    drop(theirs);
    let (reader, writer) = tokio::io::split(ours);
    let limits = ConnectionLimits {
        max_line_bytes: 1024,
        max_values: 1024,
        outbox_bytes: bus::connection::OUTBOX_BYTES,
        write_stall: PATIENCE,
    };
    let (connection, _inbox) = Connection::open(reader, writer, &limits);
    let client = AcpClient::new(connection, "s".into(), ClientAbilities::default());
    let settings = ToolSettings::new(program(), vec!["__keeper".into()]);
    let workspace = Workspace::new(cwd.to_owned(), &[], client, settings).unwrap();
    ToolContext {
        workspace: Arc::new(workspace),
        call: "c".into(),
        progress: CallProgress::default(),
    }
}

pub(crate) fn text_of(output: &ToolOutput) -> String {
    match output.parts.as_slice() {
        [MessagePart::Text { text }] => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Gone, or dead and not yet reaped.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up_at = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up_at, "not reached: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
