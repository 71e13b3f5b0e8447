//! Forks are whole or not there: when the first session goes away in the middle, and when the
//! process does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use sessions::context::SessionContext;
use sessions::host::AgentCommand;
use sessions::mint;
use sessions::open::OpenError;
use sessions::order::{Maker, OrderError, SessionOrder};
use sessions::permission::{PermissionMode, PermissionPolicy};
use sessions::pools::WarmSettings;
use sessions::registry::{AgentSource, RegistryError, SessionRegistry, SessionStatus};
use sessions::settings::{SessionSettings, WorkerSetup};
use store::{
    AppendedRange, Batch, Claim, ClaimOwner, Damage, DecisionFilter, EventLog, LogUsage,
    LoggedDecision, NewSession, RecordChanges, SessionFilter, SessionOrigin, SessionRecord,
    StoreError,
};
use testkit::MemoryLog;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use wire::{Category, Draft, Event, Fault, Json, Kind, Millis, Seq, SessionId, TurnId};

/// Longer than what is copied at once.
const N_EVENTS: u64 = 700;

/// What a log does when it is read for the `at`th time.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    IsGone,
    Hangs,
    IsRevoked,
}

/// A log in which something happens while it is read.
struct Eventful {
    inner: MemoryLog,
    n_reads: AtomicUsize,
    at: usize,
    then: Then,
    has_come: Notify,
    revoked: CancellationToken,
}

#[async_trait]
impl EventLog for Eventful {
    async fn read(&self, id: SessionId, after: Seq, n: usize) -> Result<Vec<Event>, StoreError> {
        if self.n_reads.fetch_add(1, Ordering::SeqCst) == self.at {
            match self.then {
                Then::Nothing => {}
                Then::IsGone => drop(self.inner.delete(id).await?),
                Then::IsRevoked => self.revoked.cancel(),
                Then::Hangs => {
                    self.has_come.notify_one();
                    std::future::pending::<()>().await;
                }
            }
        }
        self.inner.read(id, after, n).await
    }

    async fn create(&self, new: NewSession) -> Result<SessionRecord, StoreError> {
        self.inner.create(new).await
    }
    async fn append(&self, batch: Batch) -> Result<AppendedRange, StoreError> {
        self.inner.append(batch).await
    }
    async fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync().await
    }
    async fn wait(&self, id: SessionId, after: Seq) -> Result<(), StoreError> {
        self.inner.wait(id, after).await
    }
    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.inner.session(id).await
    }
    async fn origin(&self, id: SessionId) -> Result<Option<SessionOrigin>, StoreError> {
        self.inner.origin(id).await
    }
    async fn n_made_by(
        &self,
        made_by: &str,
        since: Millis,
        max: usize,
    ) -> Result<usize, StoreError> {
        self.inner.n_made_by(made_by, since, max).await
    }
    async fn find(&self, prefix: &str) -> Result<Vec<SessionRecord>, StoreError> {
        self.inner.find(prefix).await
    }
    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        self.inner.sessions(filter).await
    }
    async fn decisions(&self, filter: DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError> {
        self.inner.decisions(filter).await
    }
    async fn update(&self, id: SessionId, changes: RecordChanges) -> Result<(), StoreError> {
        self.inner.update(id, changes).await
    }
    async fn delete(&self, id: SessionId) -> Result<bool, StoreError> {
        self.inner.delete(id).await
    }
    async fn claim(&self, id: SessionId) -> Result<Claim, StoreError> {
        self.inner.claim(id).await
    }
    async fn owner(&self, id: SessionId) -> Result<ClaimOwner, StoreError> {
        self.inner.owner(id).await
    }
    async fn recover(&self, id: SessionId) -> Result<Option<Damage>, StoreError> {
        self.inner.recover(id).await
    }
    async fn usage(&self) -> Result<LogUsage, StoreError> {
        self.inner.usage().await
    }
}

/// Nobody is started here.
struct Nobody;

#[async_trait]
impl AgentSource for Nobody {
    async fn command(
        &self,
        _wanted: &SessionOrder,
        _: PermissionMode,
    ) -> Result<AgentCommand, Fault> {
        Err(Fault::new(Category::BadInput, "there is no agent"))
    }

    fn found(&self, _refresh: bool) -> mpsc::Receiver<Json> {
        mpsc::channel(1).1
    }
}

struct Scene {
    log: Arc<Eventful>,
    registry: Arc<SessionRegistry>,
    parent: SessionId,
}

impl Scene {
    /// A session with one long turn that ended long ago, and a log where something happens in
    /// the second page of copying it.
    async fn with(then: Then, events: Vec<Draft>) -> Self {
        let log = Arc::new(Eventful {
            inner: MemoryLog::new(),
            n_reads: AtomicUsize::new(0),
            // One read finds the last whole turn.
            at: 2,
            then,
            has_come: Notify::new(),
            revoked: CancellationToken::new(),
        });
        let parent = mint::session_id();
        let new = NewSession {
            id: parent,
            agent: "any".into(),
            cwd: "/".into(),
            created: Millis(1),
            details: Json::trusted("{}"),
            origin: None,
        };
        log.create(new).await.unwrap();
        log.append(Batch::new(parent, events)).await.unwrap();
        let setup = WorkerSetup {
            keeper_exe: "/nowhere".into(),
            keeper_args: Vec::new(),
            records_dir: None,
            cgroups: false,
            limits: bus::WorkerLimits::default(),
            hurry: CancellationToken::new(),
        };
        let context = SessionContext::new(log.clone(), SessionSettings::default(), setup);
        let warm = WarmSettings { is_on: false, ..WarmSettings::default() };
        let policy = PermissionPolicy::default();
        let registry = SessionRegistry::new(context, Arc::new(Nobody), policy, warm);
        Self { log, registry, parent }
    }

    async fn ids(&self) -> Vec<SessionId> {
        let all = self
            .log
            .sessions(SessionFilter { limit: 10, ..SessionFilter::default() })
            .await
            .unwrap();
        all.into_iter().map(|record| record.id).collect()
    }
}

fn event(turn: TurnId, kind: Kind, payload: &str) -> Draft {
    Draft { at: Millis(1), turn: Some(turn), kind, payload: Json::parse(payload).unwrap() }
}

fn prompt(turn: TurnId, text: &str) -> Draft {
    let payload = format!(r#"{{"prompt":[{{"type":"text","text":"{text}"}}]}}"#);
    event(turn, Kind::PromptReceived, &payload)
}

fn a_long_turn() -> Vec<Draft> {
    let turn = mint::turn_id();
    let mut events = vec![prompt(turn, "long"), event(turn, Kind::TurnStarted, "{}")];
    events.extend((0..N_EVENTS).map(|_| event(turn, Kind::from_log("agent_message_chunk"), "{}")));
    events.push(event(turn, Kind::TurnEnded, r#"{"stopReason":"end_turn"}"#));
    events
}

#[tokio::test]
async fn a_fork_of_a_session_that_is_deleted_meanwhile_is_not_there() {
    let scene = Scene::with(Then::IsGone, a_long_turn()).await;
    let forked = scene.registry.fork(scene.parent, None, None).await;
    assert!(matches!(forked, Err(RegistryError::NoSuchSession(_))), "{forked:?}");
    assert_eq!(scene.ids().await, []);
}

#[tokio::test]
async fn a_fork_of_somebody_who_may_do_nothing_any_more_is_not_made() {
    let scene = Scene::with(Then::IsRevoked, a_long_turn()).await;
    let revoked = scene.log.revoked.clone();
    let maker = Maker { name: "x".into(), since: Millis(0), is_limited: true, revoked };
    for _ in 0..2 {
        let forked = scene.registry.fork(scene.parent, None, Some(maker.clone())).await;
        assert!(matches!(forked, Err(RegistryError::Order(OrderError::Refused(_)))), "{forked:?}");
        assert_eq!(scene.ids().await, [scene.parent]);
    }
}

#[tokio::test]
async fn forks_of_forks_are_not_called_so_again_and_again() {
    let scene = Scene::with(Then::Nothing, a_long_turn()).await;
    let named = RecordChanges { title: Some(Some("a".into())), ..RecordChanges::default() };
    scene.log.update(scene.parent, named).await.unwrap();
    let mut last = scene.parent;
    for _ in 0..3 {
        last = scene.registry.fork(last, None, None).await.unwrap();
        assert_eq!(scene.registry.record(last).await.unwrap().title.as_deref(), Some("a (fork)"));
    }
}

#[tokio::test]
async fn a_fork_that_a_crash_cut_off_is_removed_by_the_next_process() {
    let scene = Scene::with(Then::Hangs, a_long_turn()).await;
    {
        let mut forking = std::pin::pin!(scene.registry.fork(scene.parent, None, None));
        tokio::select! {
            forked = &mut forking => panic!("{forked:?}"),
            () = scene.log.has_come.notified() => {}
        }
        let fork = scene.ids().await.into_iter().find(|id| *id != scene.parent).unwrap();
        let record = scene.log.session(fork).await.unwrap().unwrap();
        assert_eq!(scene.registry.status(&record).await, SessionStatus::Copying);
        let refused = sessions::open::claim(scene.registry.context(), fork).await.map(drop);
        assert!(matches!(refused, Err(OpenError::Copying(id)) if id == fork), "{refused:?}");
        // Of what is there so far, somebody else would take it for the whole conversation.
        let revoked = CancellationToken::new();
        let maker = Maker { name: "x".into(), since: Millis(0), is_limited: false, revoked };
        let refused = scene.registry.fork(fork, None, Some(maker)).await;
        assert!(
            matches!(refused, Err(RegistryError::Open(OpenError::Copying(id))) if id == fork),
            "{refused:?}"
        );
    }
    scene.registry.context().recover().await.unwrap();
    assert_eq!(scene.ids().await, [scene.parent]);
}

#[tokio::test]
async fn a_fork_that_nobody_waits_for_any_more_is_no_session() {
    let scene = Scene::with(Then::Hangs, a_long_turn()).await;
    tokio::select! {
        forked = scene.registry.fork(scene.parent, None, None) => panic!("{forked:?}"),
        () = scene.log.has_come.notified() => {}
    }
    let fork = scene.ids().await.into_iter().find(|id| *id != scene.parent).unwrap();
    let taken = sessions::open::claim(scene.registry.context(), fork).await;
    assert!(taken.is_err(), "it would be used, and removed after the next crash");
    assert_eq!(scene.ids().await, [scene.parent]);
}

#[tokio::test]
async fn a_fork_is_as_new_as_it_is() {
    let scene = Scene::with(Then::Nothing, a_long_turn()).await;
    let fork = scene.registry.fork(scene.parent, None, None).await.unwrap();
    let record = scene.registry.record(fork).await.unwrap();
    assert_eq!((record.head.0, record.active_turn), (N_EVENTS + 4, None));
    assert!(record.updated >= record.created, "{record:?}");
    scene.registry.context().recover().await.unwrap();
    assert!(scene.ids().await.contains(&fork));
}

#[tokio::test]
async fn a_fork_has_no_prompt_that_only_waited() {
    let (first, waits) = (mint::turn_id(), mint::turn_id());
    let events = vec![
        prompt(first, "one"),
        event(first, Kind::TurnStarted, "{}"),
        prompt(waits, "two"),
        event(first, Kind::TurnEnded, r#"{"stopReason":"end_turn"}"#),
        event(waits, Kind::TurnStarted, "{}"),
        event(waits, Kind::TurnEnded, r#"{"stopReason":"end_turn"}"#),
    ];
    let scene = Scene::with(Then::Nothing, events).await;
    let fork = scene.registry.fork(scene.parent, Some(Seq(4)), None).await.unwrap();
    let events = scene.log.read(fork, Seq(0), 100).await.unwrap();
    assert!(events.iter().all(|event| event.turn != Some(waits)), "{events:?}");
    assert_eq!(events.len(), 4, "{events:?}");
    let details = scene.registry.record(fork).await.unwrap().details;
    assert!(details.as_str().contains(r#""lastPrompt":"one""#), "{details:?}");
}

#[tokio::test]
async fn commands_that_still_run_in_the_parent_are_lost_to_the_fork() {
    let turn = mint::turn_id();
    let printed = |id: &str| json!({ "terminalId": id, "data": "a" }).to_string();
    let shown =
        json!({ "update": { "content": [{ "type": "terminal", "terminalId": "silent" }] } });
    let events = vec![
        prompt(turn, "one"),
        event(turn, Kind::TurnStarted, "{}"),
        event(turn, Kind::from_log("tool_call"), &shown.to_string()),
        event(turn, Kind::TerminalOutput, &printed("ended")),
        event(turn, Kind::TerminalOutput, &printed("runs")),
        event(turn, Kind::TerminalExited, r#"{"terminalId":"ended","exitCode":0}"#),
        event(turn, Kind::TurnEnded, r#"{"stopReason":"end_turn"}"#),
    ];
    let scene = Scene::with(Then::Nothing, events).await;
    let noted = json!({ "commands": ["later", "runs", "silent"] }).to_string();
    let details = Some(Json::parse(noted).unwrap());
    let changes = RecordChanges { details, ..RecordChanges::default() };
    scene.log.update(scene.parent, changes).await.unwrap();

    let fork = scene.registry.fork(scene.parent, None, None).await.unwrap();

    let events = scene.log.read(fork, Seq(0), 100).await.unwrap();
    let ends = events.iter().filter(|event| event.kind == Kind::TerminalExited);
    let ends: Vec<Value> = ends.map(|event| event.payload.read().unwrap()).collect();
    let of = |is_lost: bool| {
        let of = ends.iter().filter(|end| end["lost"].as_bool().unwrap_or_default() == is_lost);
        of.map(|end| end["terminalId"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((of(false), of(true)), (vec!["ended"], vec!["runs", "silent"]));
}
