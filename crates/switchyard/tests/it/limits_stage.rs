//! A session in this process with the real keeper and the demo agent, for tests of its limits.
//!
//! In: settings and limits. Out: a session whose log can be waited on. What is left of it ends
//! with the value.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sessions::budget::BudgetLimits;
use sessions::context::SessionContext;
use sessions::host::{AgentCommand, AgentQuirks, HostSlot};
use sessions::mint;
use sessions::open::{self, OpenOptions, OpenedSession};
use sessions::order::SessionOrder;
use sessions::permission::{DecidedBy, Decider, PermissionMode, PermissionPolicy};
use sessions::session::{SessionError, SessionHandle, SessionPhase, SubmittedAnswer};
use sessions::settings::{SessionSettings, WorkerSetup};
use store::EventLog;
use testkit::MemoryLog;
use testkit::test_home::PATIENCE;
use wire::{CallId, Event, Json, Seq, TurnId};

use crate::faults::EXE;

/// Sessions of one home, each of which may have an agent of its own.
pub(crate) struct Stage {
    pub(crate) home: SessionContext,
    pub(crate) mode: PermissionMode,
    dir: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new(cgroups: bool, settings: SessionSettings) -> Self {
        let setup = WorkerSetup {
            keeper_exe: EXE.into(),
            keeper_args: vec!["__keeper".into()],
            records_dir: None,
            cgroups,
            limits: bus::WorkerLimits::default(),
            hurry: tokio_util::sync::CancellationToken::new(),
        };
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let home = SessionContext::new(log, settings, setup);
        Self { home, mode: PermissionMode::Auto, dir: tempfile::tempdir().unwrap() }
    }

    /// A place for one more process of the demo agent.
    pub(crate) fn slot(&self) -> Arc<HostSlot> {
        let state = self.dir.path().join("demo").into_os_string();
        let args: Vec<OsString> =
            vec!["demo-agent".into(), "--all-sessions".into(), "--state".into(), state];
        let agent = AgentCommand {
            name: "demo".into(),
            program: EXE.into(),
            args,
            cwd: self.dir.path().into(),
            env: bus::Environment::default(),
            is_named: false,
            quirks: AgentQuirks::default(),
        };
        let settings = SessionSettings { questions_wait: true, ..self.home.settings.clone() };
        Arc::new(HostSlot::new(agent, self.home.setup.clone(), settings))
    }

    fn terms(&self, slot: &Arc<HostSlot>, limits: BudgetLimits) -> OpenOptions {
        let policy = PermissionPolicy { mode: self.mode, ..PermissionPolicy::default() };
        let order = SessionOrder { limits, ..SessionOrder::default() };
        OpenOptions { slot: slot.clone(), policy, order }
    }

    pub(crate) async fn session_on(&self, slot: &Arc<HostSlot>, limits: BudgetLimits) -> Session {
        let params = Json::of(&json!({ "cwd": self.dir.path(), "mcpServers": [] }));
        let opened = open::new(&self.home, &self.terms(slot, limits), &params).await.unwrap();
        Session::new(self, slot, opened)
    }

    pub(crate) async fn session(&self, limits: BudgetLimits) -> Session {
        self.session_on(&self.slot(), limits).await
    }

    /// Ends the session's agent and takes the session up again with another.
    pub(crate) async fn reopen(&self, session: Session) -> Session {
        session.slot.shut_down().await;
        session.handle.finish().await.unwrap();
        let id = session.handle.id();
        let slot = self.slot();
        let taken = open::claim(&self.home, id).await.unwrap();
        let terms = self.terms(&slot, BudgetLimits::default());
        let cursor = taken.record.head;
        let handle = open::wake(&self.home, &terms, taken).unwrap();
        let answer = handle.link().await.unwrap().unwrap();
        Session::new(self, &slot, OpenedSession { handle, answer, cursor })
    }
}

pub(crate) struct Session {
    pub(crate) handle: SessionHandle,
    slot: Arc<HostSlot>,
    log: Arc<dyn EventLog>,
    cursor: Seq,
}

/// A limit that is reached, with its question.
pub(crate) struct Asked {
    pub(crate) reached: Value,
    pub(crate) question: Value,
}

impl Session {
    fn new(stage: &Stage, slot: &Arc<HostSlot>, opened: OpenedSession) -> Self {
        let log = stage.home.log.clone();
        Self { handle: opened.handle, slot: slot.clone(), log, cursor: opened.cursor }
    }

    pub(crate) async fn prompt(&self, text: &str) -> TurnId {
        self.try_prompt(text).await.unwrap()
    }

    pub(crate) async fn try_prompt(&self, text: &str) -> Result<TurnId, SessionError> {
        let turn = mint::turn_id();
        let params = json!({ "prompt": [{ "type": "text", "text": text }] });
        self.handle.prompt(turn, Json::of(&params), "test").await.map(|()| turn)
    }

    /// The next event that fits, after the one that was waited for before.
    #[track_caller]
    pub(crate) fn wait_for(
        &mut self,
        kind: &'static str,
        fits: impl Fn(&Event) -> bool,
    ) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let found = tokio::time::timeout(PATIENCE, async {
                loop {
                    let events = self.log.read(self.handle.id(), self.cursor, 64).await.unwrap();
                    for event in &events {
                        self.cursor = event.seq;
                        if event.kind.as_str() == kind && fits(event) {
                            return event.payload.read().unwrap();
                        }
                    }
                    if events.is_empty() {
                        self.log.wait(self.handle.id(), self.cursor).await.unwrap();
                    }
                }
            });
            let found = found.await.ok();
            let kinds = self.kinds().await;
            found.unwrap_or_else(|| panic!("no {kind} for {caller}: {kinds:#?}"))
        }
    }

    pub(crate) async fn wait_for_kind(&mut self, kind: &'static str) -> Value {
        self.wait_for(kind, |_| true).await
    }

    pub(crate) async fn asked(&mut self) -> Asked {
        let reached = self.wait_for_kind("limit_reached").await;
        let question = self.wait_for_kind("permission_requested").await;
        assert_eq!(reached["requestId"], question["requestId"]);
        let mut phase = self.handle.phase();
        let paused = phase.wait_for(|phase| *phase == SessionPhase::RequiresAction);
        tokio::time::timeout(PATIENCE, paused).await.unwrap().unwrap();
        Asked { reached, question }
    }

    pub(crate) async fn answer(&self, asked: &Asked, option: &str) -> bool {
        let id = CallId::parse(asked.question["requestId"].as_str().unwrap()).unwrap();
        let answer = SubmittedAnswer::Permission(Some(option.to_owned()));
        self.handle.answer(id, answer, Decider::new(DecidedBy::Client)).await.unwrap()
    }

    /// Rejects what the agent itself asks for, once it does.
    pub(crate) async fn answer_agent(&self) {
        let asked = async {
            loop {
                let mut asked = self.payloads("permission_requested").await;
                asked.retain(|question| question["limit"].is_null());
                match asked.pop() {
                    Some(question) => return question,
                    None => testkit::test_home::pause_between_polls().await,
                }
            }
        };
        let question = tokio::time::timeout(PATIENCE, asked).await.expect("it asks for nothing");
        let id = CallId::parse(question["requestId"].as_str().unwrap()).unwrap();
        assert!(
            self.handle
                .answer(id, SubmittedAnswer::Reject, Decider::new(DecidedBy::Client))
                .await
                .unwrap()
        );
    }

    pub(crate) async fn ended(&mut self, turn: TurnId) -> Value {
        self.wait_for("turn_ended", move |event| event.turn == Some(turn)).await
    }

    pub(crate) async fn events(&self) -> Vec<Event> {
        self.log.read(self.handle.id(), Seq(0), 10_000).await.unwrap()
    }

    pub(crate) async fn kinds(&self) -> Vec<String> {
        self.events().await.iter().map(|event| event.kind.to_string()).collect()
    }

    pub(crate) async fn payloads(&self, kind: &str) -> Vec<Value> {
        let events = self.events().await;
        let fitting = events.iter().filter(|event| event.kind.as_str() == kind);
        fitting.map(|event| event.payload.read().unwrap()).collect()
    }

    pub(crate) async fn text(&self) -> String {
        let chunks = self.payloads("agent_message_chunk").await;
        let texts = chunks.iter().filter_map(|c| c["update"]["content"]["text"].as_str());
        texts.collect()
    }

    pub(crate) async fn budget(&self) -> sessions::budget::Budget {
        let record = self.log.session(self.handle.id()).await.unwrap().unwrap();
        sessions::details::SessionDetails::read(&record).budget
    }

    /// The agent's own process, and the descendants that `children` told.
    pub(crate) async fn pids(&self) -> Vec<u32> {
        let started = self.payloads("worker_started").await.pop().unwrap();
        let agent = u32::try_from(started["pid"].as_u64().unwrap()).unwrap();
        let text = self.text().await;
        let told = text.lines().find_map(|line| line.strip_prefix("pids ")).unwrap_or_default();
        std::iter::once(agent).chain(told.split(' ').filter_map(|pid| pid.parse().ok())).collect()
    }

    /// Ends the agent.
    pub(crate) async fn end(self) {
        self.slot.shut_down().await;
        self.handle.finish().await.unwrap();
    }
}

/// Stopped by a signal (`T`), or by its cgroup, which shows no state of its own.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state == Some('T') || is_in_frozen_cgroup(pid)
}

fn is_in_frozen_cgroup(pid: u32) -> bool {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return false;
    };
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].iter().any(|root| {
        let events = Path::new(root).join(path).join("cgroup.events");
        fs::read_to_string(events).is_ok_and(|events| events.contains("frozen 1"))
    })
}
