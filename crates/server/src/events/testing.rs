//! A daemon in memory with one session in its log, for tests; and a recorded log, of several turns
//! with all that the demo agent can do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sessions::context::SessionContext;
use sessions::host::AgentCommand;
use sessions::order::SessionOrder;
use sessions::permission::{PermissionMode, PermissionPolicy};
use sessions::pools::WarmSettings;
use sessions::registry::{AgentSource, SessionRegistry};
use sessions::settings::WorkerSetup;
use store::{Batch, EventLog, NewSession, RecordChanges, SessionRecord};
use testkit::MemoryLog;
use tokio::sync::mpsc;
use wire::{Category, Draft, Event, Fault, Json, Kind, Millis, Seq, SessionId, TurnId};

use super::query::{Cursor, EventsRequest, StreamFormat, StreamUntil};
use super::reader::EventReader;
use super::stream::{FrameSource, FrameStream};
use crate::daemon::{Daemon, DaemonSettings, StreamPace};
use crate::metrics::Metrics;
use crate::principal::Principal;

pub(super) const PACE: StreamPace = StreamPace {
    warn_after: Duration::from_secs(10),
    evict_after: Duration::from_secs(30),
    heartbeat: Duration::from_secs(15),
};

pub(crate) struct One {
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) principal: Principal,
    pub(crate) id: SessionId,
}

struct NoAgents;

#[async_trait]
impl AgentSource for NoAgents {
    async fn command(&self, _: &SessionOrder, _: PermissionMode) -> Result<AgentCommand, Fault> {
        Err(Fault::new(Category::BadInput, "there are no agents"))
    }

    fn found(&self, _: bool) -> mpsc::Receiver<Json> {
        mpsc::channel(1).1
    }
}

impl One {
    /// The log is the recorded one. Sessions have no directories of their own.
    pub(crate) async fn new() -> Self {
        Self::with_sessions_dir(PathBuf::new()).await
    }

    pub(crate) async fn with_sessions_dir(sessions_dir: PathBuf) -> Self {
        let log = Arc::new(MemoryLog::new());
        let setup = WorkerSetup {
            keeper_exe: "/nonexistent".into(),
            keeper_args: Vec::new(),
            records_dir: None,
            cgroups: false,
            limits: bus::WorkerLimits::default(),
            hurry: tokio_util::sync::CancellationToken::new(),
        };
        let settings = sessions::settings::SessionSettings::default();
        let context = SessionContext::new(log.clone(), settings, setup);
        let warm = WarmSettings { is_on: false, ..WarmSettings::default() };
        let policy = PermissionPolicy::default();
        let registry = SessionRegistry::new(context, Arc::new(NoAgents), policy, warm);
        let daemon = Daemon::new(
            registry,
            DaemonSettings { pace: PACE, sessions_dir, ..DaemonSettings::default() },
            Metrics::new(["demo"]),
        );
        let id = SessionId::from_entropy(&[3; 64]);
        log.create(new_session(id, Millis(0))).await.unwrap();
        let one = Self { daemon, log, principal: Principal::local(), id };
        one.append(drafts()).await;
        one
    }

    /// Another session beside it, which is newer.
    pub(crate) async fn add_session(&self, n: usize, title: &str) -> SessionId {
        let id = SessionId::derived(&[&n.to_be_bytes()]);
        self.log.create(new_session(id, Millis(1 << 50))).await.unwrap();
        let title = Some(Some(title.to_owned()));
        self.log.update(id, RecordChanges { title, ..RecordChanges::default() }).await.unwrap();
        id
    }

    pub(crate) async fn append(&self, drafts: Vec<Draft>) {
        self.log.append(Batch::new(self.id, drafts)).await.unwrap();
    }

    pub(crate) async fn record(&self) -> SessionRecord {
        self.log.session(self.id).await.unwrap().unwrap()
    }

    pub(super) async fn reader(
        &self,
        cursor: Cursor,
        format: StreamFormat,
        until: StreamUntil,
    ) -> EventReader {
        let record = self.record().await;
        let wanted = EventsRequest { cursor, format, until };
        let budget = self.daemon.load.budget(&self.principal.name);
        EventReader::new(&self.daemon, &record, &wanted, budget).await
    }

    pub(super) async fn stream(&self) -> FrameStream {
        let reader = self.reader(Cursor::START, StreamFormat::Acp, StreamUntil::Cut).await;
        FrameStream::new(FrameSource::Log(Box::new(reader)), &self.daemon, &self.principal).unwrap()
    }
}

pub(crate) fn new_session(id: SessionId, created: Millis) -> NewSession {
    NewSession {
        id,
        agent: "demo".into(),
        cwd: "/".into(),
        created,
        details: Json::trusted("{}"),
        origin: None,
    }
}

#[derive(serde::Deserialize)]
struct RecordedLine {
    seq: u64,
    time: i64,
    turn: Option<TurnId>,
    kind: String,
    payload: Json,
}

pub(crate) fn events() -> Vec<Event> {
    let lines = include_str!("../../recordings/turns.jsonl").lines();
    lines.map(|line| event(serde_json::from_str(line).unwrap())).collect()
}

pub(crate) fn drafts() -> Vec<Draft> {
    let draft = |Event { at, turn, kind, payload, .. }| Draft { at, turn, kind, payload };
    events().into_iter().map(draft).collect()
}

fn event(RecordedLine { seq, time, turn, kind, payload }: RecordedLine) -> Event {
    Event { seq: Seq(seq), at: Millis(time), turn, kind: Kind::from_log(&kind), payload }
}
