//! Random lives of a log, on disk and in memory, step by step the same.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use store::{
    Batch, Claim, DecisionFilter, Durability, EventLog, NewSession, PageStart, RecordChanges,
    SessionFilter, SessionOrigin, SessionRecord, SqliteLog, SqliteOptions, StoreError,
};
use tempfile::TempDir;
use testkit::MemoryLog;
use wire::{Draft, Json, Kind, Millis, Seq, SessionId, TurnId};

use crate::fixture::{id, temp};

/// Few enough that steps meet on the same session.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const MAX_SESSION_BYTES: u64 = 6_000;

#[derive(Debug, Clone)]
enum Action {
    Create(usize),
    Append {
        name: usize,
        sizes: Vec<usize>,
        at: i64,
        changes: RecordChanges,
        durability: Durability,
    },
    Read {
        name: usize,
        after: u64,
        limit: usize,
    },
    Update(usize, RecordChanges),
    Delete(usize),
    Claim(usize),
    Release,
    List(SessionFilter),
    Find {
        name: usize,
        len: usize,
    },
    Decide {
        name: Option<usize>,
        since: Option<i64>,
        until: Option<i64>,
        page: usize,
    },
    Reopen,
}

fn origin(made_by: &str, made_of: &str) -> SessionOrigin {
    SessionOrigin { made_by: Some(made_by.into()), made_of: Json::trusted(made_of) }
}

fn changes() -> impl Strategy<Value = RecordChanges> {
    let turn = || TurnId::derived(&[b"turn"]);
    (0..8_u8).prop_map(move |choice| match choice {
        0 => RecordChanges { title: Some(Some("title ü".into())), ..RecordChanges::default() },
        1 => RecordChanges { title: Some(None), is_closed: Some(true), ..RecordChanges::default() },
        2 => RecordChanges { active_turn: Some(Some(turn())), ..RecordChanges::default() },
        3 => RecordChanges { active_turn: Some(None), ..RecordChanges::default() },
        4 => RecordChanges {
            agent_session: Some(Some("native".into())),
            details: Some(Json::trusted("[1]")),
            ..RecordChanges::default()
        },
        5 => RecordChanges { updated: Some(Millis(5)), ..RecordChanges::default() },
        6 => RecordChanges { origin: Some(origin("b", "[2]")), ..RecordChanges::default() },
        _ => RecordChanges::default(),
    })
}

fn filter() -> impl Strategy<Value = SessionFilter> {
    (0..7_u8, 0..5_usize, 0..6_i64).prop_map(|(choice, limit, updated)| {
        let mut filter = SessionFilter { limit, ..SessionFilter::default() };
        match choice {
            0 => filter.agent = Some("agent 1".into()),
            1 => filter.cwd = Some("/cwd".into()),
            2 => filter.agent_session = Some("native".into()),
            3 => filter.has_active_turn = Some(true),
            4 => filter.has_active_turn = Some(false),
            5 => filter.made_by = Some(("a".into(), Millis(updated))),
            _ => filter.before = Some(PageStart { updated: Millis(updated), id: id("b") }),
        }
        filter
    })
}

fn action() -> impl Strategy<Value = Action> {
    let name = || 0..NAMES.len();
    let durability = || prop_oneof![Just(Durability::Process), Just(Durability::Power)];
    prop_oneof![
        2 => name().prop_map(Action::Create),
        6 => (name(), vec(0..600_usize, 0..5), 0..6_i64, changes(), durability()).prop_map(
            |(name, sizes, at, changes, durability)| {
                Action::Append { name, sizes, at, changes, durability }
            }
        ),
        4 => (name(), 0..12_u64, 0..8_usize)
            .prop_map(|(name, after, limit)| Action::Read { name, after, limit }),
        2 => (name(), changes()).prop_map(|(name, changes)| Action::Update(name, changes)),
        1 => name().prop_map(Action::Delete),
        1 => name().prop_map(Action::Claim),
        1 => Just(Action::Release),
        2 => filter().prop_map(Action::List),
        1 => (name(), 0..3_usize).prop_map(|(name, len)| Action::Find { name, len }),
        2 => (option::of(name()), option::of(0..6_i64), option::of(0..6_i64), 1..5_usize).prop_map(
            |(name, since, until, page)| Action::Decide { name, since, until, page }
        ),
        1 => Just(Action::Reopen),
    ]
}

/// Answers of a log, in a form in which those of two logs can be compared.
#[derive(Debug, PartialEq)]
enum Answer {
    Record(Result<SessionRecord, StoreError>),
    Records(Result<Vec<SessionRecord>, StoreError>),
    Other(String),
}

fn without_epoch(mut record: SessionRecord) -> SessionRecord {
    assert_ne!(record.epoch, 0);
    record.epoch = 0;
    record
}

async fn answer(log: &dyn EventLog, action: &Action, claims: &mut Vec<Claim>) -> Answer {
    let session = |name: usize| id(NAMES[name]);
    let records = |found: Vec<SessionRecord>| found.into_iter().map(without_epoch).collect();
    match action.clone() {
        Action::Create(name) => {
            let new = NewSession {
                id: session(name),
                agent: format!("agent {name}"),
                cwd: "/cwd".into(),
                created: Millis(i64::try_from(name).unwrap()),
                details: Json::trusted("{}"),
                origin: (name < 3).then(|| origin("a", "{}")),
            };
            Answer::Record(log.create(new).await.map(without_epoch))
        }
        Action::Append { name, sizes, at, changes, durability } => {
            let drafts = sizes.iter().map(|size| Draft {
                at: Millis(at),
                turn: (size % 2 == 0).then(|| TurnId::derived(&[b"turn"])),
                kind: match size % 4 {
                    0 => Kind::PermissionResolved,
                    1 => Kind::ElicitationResolved,
                    2 => Kind::TurnEnded,
                    _ => Kind::update("plan"),
                },
                payload: Json::of(&"x".repeat(*size)),
            });
            let batch = Batch::new(session(name), drafts.collect());
            let appended = log.append(batch.durable(durability).with(changes)).await;
            Answer::Other(format!("{appended:?}"))
        }
        Action::Read { name, after, limit } => {
            Answer::Other(format!("{:?}", log.read(session(name), Seq(after), limit).await))
        }
        Action::Update(name, changes) => {
            Answer::Other(format!("{:?}", log.update(session(name), changes).await))
        }
        Action::Delete(name) => Answer::Other(format!("{:?}", log.delete(session(name)).await)),
        Action::Claim(name) => {
            let claim = log.claim(session(name)).await;
            let told = format!("{claim:?}");
            claims.extend(claim);
            Answer::Other(format!("{told}, {:?}", log.owner(session(name)).await))
        }
        Action::Release => {
            claims.clear();
            Answer::Other(String::new())
        }
        Action::List(filter) => Answer::Records(log.sessions(filter).await.map(records)),
        Action::Find { name, len } => {
            let prefix = session(name).as_str()[..len].to_owned();
            Answer::Records(log.find(&prefix).await.map(records))
        }
        Action::Decide { name, since, until, page } => {
            let filter = DecisionFilter {
                since: since.map(Millis),
                until: until.map(Millis),
                session: name.map(session),
                limit: page,
                ..DecisionFilter::default()
            };
            Answer::Other(decided(log, filter).await)
        }
        Action::Reopen => Answer::Other(String::new()),
    }
}

/// All pages; places are each log's own business.
async fn decided(log: &dyn EventLog, mut filter: DecisionFilter) -> String {
    let mut told = String::new();
    loop {
        let page = log.decisions(filter.clone()).await.unwrap();
        assert!(page.len() <= filter.limit);
        assert!(page.iter().all(|one| Some(one.place) > filter.after));
        let Some(last) = page.last() else { return told };
        filter.after = Some(last.place);
        for one in &page {
            told.extend([format!("{} {:?} {:?}\n", one.session, one.seq, one.event)]);
        }
        told.push('\n');
    }
}

async fn everything(log: &dyn EventLog) -> String {
    let mut all = String::new();
    for name in NAMES {
        let session: SessionId = id(name);
        let record = log.session(session).await.map(|record| record.map(without_epoch));
        let events = log.read(session, Seq(0), 1000).await;
        let origin = log.origin(session).await;
        all.extend([format!("{record:?} {origin:?} {events:?}\n")]);
    }
    for (made_by, since, max) in [("a", 0, 9), ("a", 1, 9), ("b", 0, 9), ("b", 0, 1), ("c", 0, 9)] {
        let n = log.n_made_by(made_by, Millis(since), max).await;
        all.extend([format!("{made_by} {since} {max} {n:?}\n")]);
    }
    all.push_str(&decided(log, DecisionFilter::default()).await);
    all
}

fn open(dir: &TempDir) -> SqliteLog {
    let options =
        SqliteOptions { max_session_bytes: MAX_SESSION_BYTES, ..SqliteOptions::default() };
    SqliteLog::open(dir.path(), options).unwrap()
}

async fn live(actions: Vec<Action>) {
    let dir = temp();
    let model = MemoryLog::new().with_max_session_bytes(MAX_SESSION_BYTES);
    let mut log = open(&dir);
    let (mut claims, mut model_claims) = (Vec::new(), Vec::new());
    for action in actions {
        if let Action::Reopen = action {
            claims.clear();
            model_claims.clear();
            drop(log);
            log = open(&dir);
            assert_eq!(log.lost_sessions(), []);
        }
        let expected = answer(&model, &action, &mut model_claims).await;
        assert_eq!(answer(&log, &action, &mut claims).await, expected, "{action:?}");
    }
    assert_eq!(everything(&log).await, everything(&model).await);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: soak::size(50, 400), ..ProptestConfig::default() })]

    #[test]
    fn the_log_on_disk_does_what_the_log_in_memory_does(actions in vec(action(), 1..60)) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(live(actions));
    }
}
