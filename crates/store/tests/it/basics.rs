//! What every caller relies on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use store::{
    Batch, Durability, EventLog, PruneRule, RecordChanges, SessionFilter, SqliteLog, SqliteOptions,
    StoreError,
};
use testkit::MemoryLog;
use wire::{Draft, Json, Kind, Millis, Seq, TurnId};

use crate::fixture::{batch, draft, id, new, open, read_all, temp};

#[tokio::test]
async fn events_come_back_in_order_and_byte_for_byte() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    let turn = Some(TurnId::derived(&[b"turn"]));
    let payload = Json::parse(r#"{ "big": 12345678901234567890123, "x":"\u00e9é" }"#).unwrap();
    let drafts = vec![
        Draft { at: Millis(-5), turn, kind: Kind::TurnStarted, payload: payload.clone() },
        draft("two"),
    ];

    let appended = log.append(Batch::new(id("a"), drafts.clone())).await.unwrap();

    assert_eq!((appended.first, appended.last), (Seq(1), Seq(2)));
    let events = log.read(id("a"), Seq(0), 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(events[0].payload.as_str(), payload.as_str());
    assert_eq!(
        (events[0].turn, &events[0].kind, events[0].at),
        (turn, &Kind::TurnStarted, Millis(-5))
    );
    assert_eq!(log.read(id("a"), Seq(1), 10).await.unwrap(), events[1..]);
    assert_eq!(log.read(id("a"), Seq(2), 10).await.unwrap(), []);
    assert_eq!(log.read(id("a"), Seq(u64::MAX), 10).await.unwrap(), []);
}

#[tokio::test]
async fn a_read_is_bounded_in_bytes_but_returns_at_least_one_event() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    let large = "x".repeat(1_500_000);
    log.append(batch("a", &[&large, &large, "small"])).await.unwrap();

    assert_eq!(log.read(id("a"), Seq(0), 10).await.unwrap().len(), 1);
    assert_eq!(log.read(id("a"), Seq(2), 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn changes_are_committed_with_the_events_they_belong_to() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    let turn = TurnId::derived(&[b"turn"]);
    let changes = RecordChanges { active_turn: Some(Some(turn)), ..RecordChanges::default() };

    let power = batch("a", &["one"]).durable(Durability::Power).with(changes);
    log.append(power).await.unwrap();
    drop(log);

    let record = open(dir.path()).session(id("a")).await.unwrap().unwrap();
    assert_eq!((record.active_turn, record.head), (Some(turn), Seq(1)));
}

#[tokio::test]
async fn a_full_session_refuses_the_whole_batch() {
    let dir = temp();
    let options = SqliteOptions { max_session_bytes: 1000, ..SqliteOptions::default() };
    let log = SqliteLog::open(dir.path(), options).unwrap();
    log.create(new("a")).await.unwrap();
    log.append(batch("a", &["one"])).await.unwrap();

    let refused = log.append(batch("a", &["two", &"x".repeat(1000)])).await;

    assert_eq!(refused, Err(StoreError::SessionFull { session: id("a"), max_bytes: 1000 }));
    assert_eq!(read_all(&log, id("a")).await.0.len(), 1);
    log.append(batch("a", &["two"])).await.unwrap();
}

#[tokio::test]
async fn one_refused_batch_does_not_hurt_those_committed_with_it() {
    let dir = temp();
    let log = Arc::new(open(dir.path()));
    log.create(new("a")).await.unwrap();

    let appends = (0..64).map(|n| {
        let log = Arc::clone(&log);
        let name = if n % 2 == 0 { "a" } else { "nobody" };
        tokio::spawn(async move { log.append(batch(name, &["x"])).await.is_ok() })
    });
    let mut n_committed = 0;
    for append in appends.collect::<Vec<_>>() {
        n_committed += usize::from(append.await.unwrap());
    }

    assert_eq!(n_committed, 32);
    assert_eq!(read_all(&log, id("a")).await.0.len(), 32);
}

#[tokio::test]
async fn a_waiting_reader_is_woken_by_an_append_and_by_a_deletion() {
    let dir = temp();
    let logs: [Arc<dyn EventLog>; 2] = [Arc::new(open(dir.path())), Arc::new(MemoryLog::new())];
    for log in logs {
        log.create(new("a")).await.unwrap();
        let waits = |after| {
            let log = Arc::clone(&log);
            tokio::spawn(async move { log.wait(id("a"), Seq(after)).await })
        };
        let (first, never) = (waits(0), waits(1));

        log.append(batch("a", &["one"])).await.unwrap();
        assert_eq!(first.await.unwrap(), Ok(()));
        assert!(log.delete(id("a")).await.unwrap());
        assert_eq!(never.await.unwrap(), Err(StoreError::NoSuchSession(id("a"))));
    }
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing_to_the_next_one() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    log.append(batch("a", &["one", "two"])).await.unwrap();

    assert!(log.delete(id("a")).await.unwrap());
    assert!(!log.delete(id("a")).await.unwrap());
    log.create(new("a")).await.unwrap();
    drop(log);

    let log = open(dir.path());
    assert_eq!(log.lost_sessions(), []);
    assert_eq!(read_all(&log, id("a")).await, (vec![], None));
}

#[tokio::test]
async fn pruning_spares_the_claimed_the_busy_and_the_newest() {
    let dir = temp();
    let log = open(dir.path());
    for (name, at) in [("old", 10), ("busy", 11), ("claimed", 12), ("new", 20), ("newest", 30)] {
        log.create(new(name)).await.unwrap();
        let draft = Draft { at: Millis(at), ..draft("x") };
        log.append(Batch::new(id(name), vec![draft])).await.unwrap();
    }
    let turn = Some(Some(TurnId::derived(&[b"turn"])));
    log.update(id("busy"), RecordChanges { active_turn: turn, ..RecordChanges::default() })
        .await
        .unwrap();
    let claim = log.claim(id("claimed")).await.unwrap();

    let rule = PruneRule { before: Some(Millis(15)), ..PruneRule::default() };
    assert_eq!(log.prune(rule).await.unwrap(), [id("old")]);
    drop(claim);
    let rule = PruneRule { max_total_bytes: Some(0), keep: 1, ..PruneRule::default() };
    assert_eq!(log.prune(rule).await.unwrap(), [id("claimed"), id("new")]);

    let left = log.sessions(SessionFilter::default()).await.unwrap();
    assert_eq!(left.iter().map(|r| r.id).collect::<Vec<_>>(), [id("newest"), id("busy")]);
    assert_eq!(log.usage().await.unwrap().n_sessions, 2);
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    let dir = temp();
    let place = dir.path().join("data/log");
    let log = open(&place);
    log.create(new("a")).await.unwrap();
    let _claim = log.claim(id("a")).await.unwrap();

    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place), 0o700);
    for file in ["switchyard.db", "switchyard.db-wal", "switchyard.db-shm", "heads"] {
        assert_eq!(mode(&place.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&place.join("claims").join(id("a").as_str())), 0o600);
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    for contents in [&b"this is my diary, and not a database at all"[..], &[0xff; 8192]] {
        let dir = temp();
        let path = dir.path().join("switchyard.db");
        fs::write(&path, contents).unwrap();

        let error = SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap_err();

        assert!(matches!(error, StoreError::NotALog { .. }), "{error:?}");
        assert!(error.to_string().contains("switchyard.db"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), contents);
    }
}

#[tokio::test]
async fn an_emptied_database_is_not_taken_for_a_new_one() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    drop(log);

    fs::write(dir.path().join("switchyard.db"), "").unwrap();

    let error = SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::NotALog { .. }), "{error:?}");
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let dir = temp();
    drop(open(dir.path()));
    let path = dir.path().join("switchyard.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);

    let error = SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap_err();

    assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error:?}");
}

#[tokio::test]
async fn a_prefix_finds_sessions_and_nothing_else_is_a_prefix() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();

    let id = id("a");
    assert_eq!(log.find(&id.as_str()[..4]).await.unwrap()[0].id, id);
    for bad in ["", "%", "A", "a_", "ä", "a'"] {
        assert_eq!(log.find(bad).await, Err(StoreError::InvalidPrefix(bad.into())));
    }
}
