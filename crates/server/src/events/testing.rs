//! A daemon in memory with one session in its log, for tests; and a recorded log, of several turns
//! with all that the demo agent can do.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sessions::desk::{Agents, Desk};
use sessions::host::AgentCommand;
use sessions::order::Order;
use sessions::permission::{Mode, Policy};
use sessions::settings::WorkerSetup;
use sessions::yard::Yard;
use store::{Batch, Changes, EventLog, MemoryLog, NewSession, SessionRecord};
use tokio::sync::mpsc;
use wire::{Category, Draft, Event, Fault, Json, Kind, Millis, Seq, SessionId, TurnId};

use super::reader::Reader;
use super::stream::{Source, Stream};
use super::wanted::{Cursor, Until, Wanted};
use crate::daemon::snapshots::Format;
use crate::daemon::{Daemon, Pace, Settings};
use crate::metrics::Metrics;
use crate::principal::Principal;

pub(super) const PACE: Pace = Pace {
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
impl Agents for NoAgents {
    async fn command(&self, _: &Order, _: Mode) -> Result<AgentCommand, Fault> {
        Err(Fault::new(Category::BadInput, "there are no agents"))
    }

    fn found(&self, _: bool) -> mpsc::Receiver<Json> {
        mpsc::channel(1).1
    }
}

impl One {
    /// The log is the recorded one.
    pub(crate) async fn new() -> Self {
        let log = Arc::new(MemoryLog::new());
        let setup = WorkerSetup {
            keeper_exe: "/nonexistent".into(),
            keeper_args: Vec::new(),
            records_dir: None,
            cgroups: false,
        };
        let settings = sessions::settings::Settings::default();
        let yard = Yard::new(log.clone(), settings, setup);
        let desk = Desk::new(yard, Arc::new(NoAgents), Policy::default());
        let daemon = Daemon::new(
            desk,
            Settings { pace: PACE, ..Settings::default() },
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
        self.log.update(id, Changes { title, ..Changes::default() }).await.unwrap();
        id
    }

    pub(crate) async fn append(&self, drafts: Vec<Draft>) {
        self.log.append(Batch::new(self.id, drafts)).await.unwrap();
    }

    pub(super) async fn record(&self) -> SessionRecord {
        self.log.session(self.id).await.unwrap().unwrap()
    }

    pub(super) async fn reader(&self, cursor: Cursor, format: Format, until: Until) -> Reader {
        let record = self.record().await;
        let wanted = Wanted { cursor, format, until };
        let start = cursor.judge(record.epoch, record.head);
        let budget = self.daemon.load.budget(&self.principal.name);
        Reader::new(&self.daemon, &record, &wanted, start, budget)
    }

    pub(super) async fn stream(&self) -> Stream {
        let reader = self.reader(Cursor::START, Format::Acp, Until::Cut).await;
        Stream::new(Source::Log(Box::new(reader)), &self.daemon, &self.principal).unwrap()
    }
}

fn new_session(id: SessionId, created: Millis) -> NewSession {
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
struct Line {
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

pub(super) fn drafts() -> Vec<Draft> {
    let draft = |Event { at, turn, kind, payload, .. }| Draft { at, turn, kind, payload };
    events().into_iter().map(draft).collect()
}

fn event(Line { seq, time, turn, kind, payload }: Line) -> Event {
    Event { seq: Seq(seq), at: Millis(time), turn, kind: Kind::from_log(&kind), payload }
}
