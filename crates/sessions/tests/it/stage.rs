//! What the tests share: an agent whose starts are counted and can be held up, pools on it, and
//! knowing which processes are left.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sessions::context::SessionContext;
use sessions::host::{AgentCommand, AgentQuirks, HostSlot};
use sessions::mint;
use sessions::open::{self, OpenOptions, OpenedSession};
use sessions::order::SessionOrder;
use sessions::permission::PermissionPolicy;
use sessions::pools::{Pools, WarmSettings};
use sessions::settings::{SessionSettings, WorkerSetup};
use soak::PATIENCE;
use testkit::MemoryLog;
use wire::{Event, Json, Kind, Seq, TurnId};

const MARK: &str = "SESSIONS_TEST_MARK";

/// Every worker writes its pid to `starts`, waits while there is a `gate`, and becomes the agent.
const SCRIPT: &str = r#"echo $$ >> "$STAGE/starts"
while [ -e "$STAGE/gate" ]; do sleep 0.02; done
exec "$AGENT" --all-sessions --state "$STAGE/sessions" "$@"
"#;

pub(crate) struct Stage {
    home: tempfile::TempDir,
    mark: String,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) context: SessionContext,
    pub(crate) pools: Arc<Pools>,
}

/// Nothing is looked at by itself, so that a test decides when something happens.
pub(crate) fn quiet() -> WarmSettings {
    WarmSettings { check_every: PATIENCE * 10, ..WarmSettings::default() }
}

/// What is to be done is done soon.
pub(crate) fn busy() -> WarmSettings {
    WarmSettings { check_every: Duration::from_millis(10), ..WarmSettings::default() }
}

impl Stage {
    pub(crate) fn new(warm: WarmSettings) -> Self {
        Self::with(warm, SessionSettings::default())
    }

    pub(crate) fn with(warm: WarmSettings, settings: SessionSettings) -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("agent.sh"), SCRIPT).unwrap();
        let setup = WorkerSetup {
            keeper_exe: program(),
            keeper_args: vec!["__keeper".into()],
            records_dir: None,
            cgroups: false,
            limits: bus::WorkerLimits::default(),
            hurry: tokio_util::sync::CancellationToken::new(),
        };
        let log = Arc::new(MemoryLog::new());
        let context = SessionContext::new(log.clone(), settings.clone(), setup.clone());
        let pools = Arc::new(Pools::new(setup, settings, warm));
        let n = LAST.fetch_add(1, Ordering::Relaxed);
        Self { home, mark: format!("{}-{n}", std::process::id()), log, context, pools }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The demo agent behind the script, in a directory of its own below home.
    pub(crate) fn agent(&self, dir: &str) -> AgentCommand {
        self.script(dir, "agent.sh", &[])
    }

    pub(crate) fn script(&self, dir: &str, script: &str, flags: &[&str]) -> AgentCommand {
        let cwd = self.path(dir);
        fs::create_dir_all(&cwd).unwrap();
        let mut env = bus::Environment::default();
        env.set.insert("STAGE".into(), self.home.path().into());
        env.set.insert("AGENT".into(), program().into());
        env.set.insert(MARK.into(), self.mark.clone().into());
        let script = [OsString::from(self.path(script))];
        AgentCommand {
            name: "staged".into(),
            program: "/bin/sh".into(),
            args: script.into_iter().chain(flags.iter().map(OsString::from)).collect(),
            cwd,
            env,
            is_named: false,
            quirks: AgentQuirks::default(),
        }
    }

    pub(crate) async fn slot(&self, command: &AgentCommand, params: &Json) -> Arc<HostSlot> {
        self.pools.slot(command.clone(), Some(params), None).await
    }

    pub(crate) fn prewarm(&self, command: &AgentCommand) {
        self.pools.prewarm(command, Some(&plain(command)), None);
    }

    /// A session as the daemon makes it.
    pub(crate) async fn open(&self, command: &AgentCommand) -> Session {
        self.open_with(command, &plain(command)).await
    }

    pub(crate) async fn open_with(&self, command: &AgentCommand, params: &Json) -> Session {
        let slot = self.slot(command, params).await;
        self.open_in(slot, params).await
    }

    pub(crate) async fn open_in(&self, slot: Arc<HostSlot>, params: &Json) -> Session {
        self.open_under(PermissionPolicy::default(), slot, params).await
    }

    pub(crate) async fn open_under(
        &self,
        policy: PermissionPolicy,
        slot: Arc<HostSlot>,
        params: &Json,
    ) -> Session {
        let terms = OpenOptions { slot: slot.clone(), policy, order: SessionOrder::default() };
        let opened = open::new(&self.context, &terms, params).await.unwrap();
        Session { opened, slot, context: self.context.clone() }
    }

    /// Pids of the workers that were started, in order.
    pub(crate) fn starts(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.path("starts")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// How many sessions the agent keeps.
    pub(crate) fn n_agent_sessions(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.path("sessions")) else { return 0 };
        entries.flatten().filter(|entry| entry.path().extension() == Some("jsonl".as_ref())).count()
    }

    /// From now on no new worker gets ready.
    pub(crate) fn close_gate(&self) {
        fs::write(self.path("gate"), "").unwrap();
    }

    pub(crate) fn open_gate(&self) {
        fs::remove_file(self.path("gate")).unwrap();
    }

    /// Living processes of this stage.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let entry = format!("{MARK}={}", self.mark);
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &u32| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
            }) && is_alive(*pid)
        })
        .collect()
    }

    pub(crate) async fn until_warm(&self, n: usize) {
        until("so many warm workers", || self.pools.snapshot().warm == n).await;
    }

    pub(crate) async fn until_none_left(&self) {
        until("no process is left", || self.processes().is_empty()).await;
    }
}

pub(crate) struct Session {
    pub(crate) opened: OpenedSession,
    pub(crate) slot: Arc<HostSlot>,
    context: SessionContext,
}

impl Session {
    pub(crate) async fn events(&self) -> Vec<Event> {
        self.context.log.read(self.opened.handle.id(), Seq(0), 10_000).await.unwrap()
    }

    /// Prompts, and does not wait for the end of the turn.
    pub(crate) async fn start_prompt(&self, text: &str) -> TurnId {
        let turn = mint::turn_id();
        let params = json!({ "prompt": [{ "type": "text", "text": text }] });
        self.opened.handle.prompt(turn, Json::of(&params), "test").await.unwrap();
        turn
    }

    /// Prompts, and gives the reason why the turn ended.
    pub(crate) async fn prompt(&self, text: &str) -> String {
        let turn = self.start_prompt(text).await;
        let is_end = |event: &Event| event.kind == Kind::TurnEnded && event.turn == Some(turn);
        let end = self.until_event("the turn ends", is_end).await;
        let payload: serde_json::Value = end.payload.read().unwrap();
        payload["stopReason"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn until_event(&self, what: &str, is_it: impl Fn(&Event) -> bool) -> Event {
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            if let Some(event) = self.events().await.into_iter().find(&is_it) {
                return event;
            }
            assert!(Instant::now() < give_up_at, "not reached: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The worker that the session was opened in.
    pub(crate) async fn pid(&self) -> u32 {
        let started =
            self.until_event("it is linked", |event| event.kind == Kind::WorkerStarted).await;
        let payload: serde_json::Value = started.payload.read().unwrap();
        payload["pid"].as_u64().unwrap().try_into().unwrap()
    }

    pub(crate) async fn end(self) {
        self.slot.shut_down().await;
        self.opened.handle.finish().await.unwrap();
    }
}

pub(crate) fn plain(command: &AgentCommand) -> Json {
    Json::of(&json!({ "cwd": command.cwd, "mcpServers": [] }))
}

/// The example of this crate, which stands beside the directory of its tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples/sessions-stage");
    assert!(path.exists(), "build it first: cargo build -p sessions --examples");
    path
}

pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    until_async(what, async || is_so()).await;
}

pub(crate) async fn until_async(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let give_up_at = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < give_up_at, "not reached: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A zombie does not live.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    name_end.is_some_and(|end| {
        let state = stat.get(end + 2).copied().unwrap_or(b'X');
        state != b'Z' && state != b'X'
    })
}

pub(crate) async fn kill9(pid: u32) {
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
    until("it is dead", || !is_alive(pid)).await;
}

/// Puts a new file in the place of an old one, as an upgrade does.
pub(crate) fn replace(path: &Path, text: &str) {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    fs::write(&draft, text.as_bytes()).unwrap();
    fs::rename(&draft, path).unwrap();
}
