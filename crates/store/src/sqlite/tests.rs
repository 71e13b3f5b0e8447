use wire::{Draft, Json, Kind, Millis};

use super::*;

fn id(name: &str) -> SessionId {
    SessionId::derived(&[name.as_bytes()])
}

fn new(name: &str) -> NewSession {
    NewSession {
        id: id(name),
        agent: "claude".into(),
        cwd: "/".into(),
        created: Millis(1),
        details: Json::trusted("{}"),
        origin: None,
    }
}

fn batch(name: &str, n: usize) -> Batch {
    let payload = Json::of(&"x".repeat(1000));
    let draft = Draft { at: Millis(2), turn: None, kind: Kind::TurnStarted, payload };
    Batch::new(id(name), vec![draft; n])
}

fn open(dir: &tempfile::TempDir) -> SqliteLog {
    SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap()
}

#[test]
fn the_bundled_sqlite_has_the_wal_reset_fix() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[tokio::test]
async fn a_full_database_refuses_whole_batches_and_goes_on_when_it_may_grow() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    log.create(new("a")).await.unwrap();
    log.append(batch("a", 3)).await.unwrap();
    let limit = |pages: u32| {
        log.write(Durability::Process, 0, move |step| {
            Ok(step.connection.pragma_update(None, "max_page_count", pages)?)
        })
    };

    limit(40).await.unwrap();
    let full = log.append(batch("a", 500)).await;
    let small = log.append(batch("a", 1)).await.unwrap();
    limit(100_000).await.unwrap();
    let large = log.append(batch("a", 500)).await.unwrap();

    assert!(matches!(full, Err(StoreError::DiskFull { .. })), "{full:?}");
    assert_eq!((small.first, small.last), (Seq(4), Seq(4)));
    assert_eq!((large.first, large.last), (Seq(5), Seq(504)));
    assert_eq!(log.read(id("a"), Seq(0), 1000).await.unwrap().len(), 504);
}

#[tokio::test]
async fn listings_follow_an_index_and_never_sort() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    for n in 0..1000 {
        log.create(new(&n.to_string())).await.unwrap();
    }
    let page = Some(crate::PageStart { updated: Millis(5), id: id("x") });
    let filters = [
        SessionFilter::default(),
        SessionFilter { agent: Some("claude".into()), ..SessionFilter::default() },
        SessionFilter {
            made_by: Some(("me".into(), Millis(1))),
            before: page,
            ..SessionFilter::default()
        },
        SessionFilter { agent_session: Some("s".into()), before: page, ..SessionFilter::default() },
        SessionFilter { has_active_turn: Some(true), ..SessionFilter::default() },
        SessionFilter { cwd: Some("/".into()), before: page, ..SessionFilter::default() },
    ];

    for filter in filters {
        let told = filter.clone();
        let plan = log.ask(move |connection| {
            let (sql, values) = reader::listing(&filter);
            let values: Vec<&dyn rusqlite::ToSql> = values.iter().map(AsRef::as_ref).collect();
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            let lines = explain.query_map(&*values, |row| row.get::<_, String>(3))?;
            Ok(lines.collect::<Result<Vec<_>, _>>()?.join("; "))
        });
        let plan = plan.await.unwrap();
        assert!(plan.contains("USING INDEX sessions_"), "{told:?}: {plan}");
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("events"), "{told:?}: {plan}");
    }
    let listed =
        log.sessions(SessionFilter { limit: 1000, ..SessionFilter::default() }).await.unwrap();
    assert_eq!(listed.len(), 1000);
}

fn decided(name: &str, at: i64, n: usize) -> Batch {
    let payload = Json::of(&format!("{name} {at}"));
    let draft = Draft { at: Millis(at), turn: None, kind: Kind::PermissionResolved, payload };
    Batch::new(id(name), vec![draft; n])
}

async fn explained(log: &SqliteLog, filter: DecisionFilter) -> String {
    let plan = log.ask(move |connection| {
        let (sql, values) = reader::decision_listing(&filter);
        let values: Vec<&dyn rusqlite::ToSql> = values.iter().map(AsRef::as_ref).collect();
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        let lines = explain.query_map(&*values, |row| row.get::<_, String>(3))?;
        Ok(lines.collect::<Result<Vec<_>, _>>()?.join("; "))
    });
    plan.await.unwrap()
}

#[tokio::test]
async fn decisions_follow_their_index_and_never_sort() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    log.create(new("a")).await.unwrap();
    log.append(batch("a", 100)).await.unwrap();
    log.append(decided("a", 5, 3)).await.unwrap();
    let last = log.decisions(DecisionFilter::default()).await.unwrap().pop().unwrap();
    let filters = [
        DecisionFilter::default(),
        DecisionFilter { since: Some(Millis(3)), ..DecisionFilter::default() },
        DecisionFilter { until: Some(Millis(3)), ..DecisionFilter::default() },
        DecisionFilter { after: Some(last.place), ..DecisionFilter::default() },
        DecisionFilter { session: Some(id("a")), ..DecisionFilter::default() },
    ];

    for filter in filters {
        let plan = explained(&log, filter.clone()).await;

        assert!(plan.contains("e USING INDEX events_decided"), "{filter:?}: {plan}");
        assert!(plan.contains("s USING INTEGER PRIMARY KEY"), "{filter:?}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
        let is_bounded = filter.since.or(filter.until).is_some() || filter.after.is_some();
        assert!(!is_bounded || plan.contains("SEARCH e"), "{filter:?}: {plan}");
    }
}

#[test]
fn the_index_has_the_kinds_that_the_log_in_memory_looks_for() {
    let kinds = crate::decisions::DECISION_KINDS.map(|kind| format!("kind = '{kind}'"));
    assert_eq!(schema::DECISION_CONDITION, kinds.join(" OR "));
    assert!(schema::DECISION_INDEX.ends_with(&format!("WHERE {}", schema::DECISION_CONDITION)));
}

/// Makes a log of the first version of one of today.
const TO_FIRST: &str = "DROP INDEX events_decided; DROP TABLE origins; \
     ALTER TABLE sessions DROP COLUMN origin_crc; PRAGMA user_version = 1";

#[tokio::test]
async fn a_log_of_the_second_version_gets_room_for_origins_and_keeps_everything() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    log.create(new("a")).await.unwrap();
    log.append(batch("a", 50)).await.unwrap();
    let before = log.session(id("a")).await.unwrap();
    drop(log);
    let raw = Connection::open(dir.path().join("switchyard.db")).unwrap();
    let to_second = "DROP TABLE origins; ALTER TABLE sessions DROP COLUMN origin_crc; \
                     PRAGMA user_version = 2";
    raw.execute_batch(to_second).unwrap();
    drop(raw);

    let log = open(&dir);

    assert_eq!(log.lost_sessions(), []);
    assert_eq!(log.session(id("a")).await.unwrap(), before);
    assert_eq!(log.origin(id("a")).await.unwrap(), None);
    let changes = RecordChanges { origin: Some(origin()), ..RecordChanges::default() };
    log.update(id("a"), changes).await.unwrap();
    drop(log);
    assert_eq!(open(&dir).origin(id("a")).await.unwrap(), Some(origin()));
}

#[tokio::test]
async fn an_origin_that_was_tampered_with_is_told_and_dropped_when_the_loss_is_accepted() {
    for damage in [
        "UPDATE origins SET made_of = '{\"cwd\":\"/etc\"}'",
        "UPDATE origins SET made_by = NULL",
        "DELETE FROM origins",
        "UPDATE sessions SET origin_crc = NULL",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let log = open(&dir);
        log.create(NewSession { origin: Some(origin()), ..new("a") }).await.unwrap();
        assert_eq!(log.recover(id("a")).await.unwrap(), None);
        let tamper = move |transaction: &mut LogTransaction<'_>| {
            Ok(transaction.connection.execute(damage, [])?)
        };
        log.write(Durability::Process, 0, tamper).await.unwrap();

        let refused = log.origin(id("a")).await.unwrap_err();

        assert!(matches!(refused, StoreError::CorruptRecord { .. }), "{damage}: {refused:?}");
        let lost = log.recover(id("a")).await.unwrap().unwrap();
        assert!(lost.lost_to < lost.lost_from, "{lost:?}");
        assert_eq!(log.origin(id("a")).await.unwrap(), None);
        assert_eq!(log.recover(id("a")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_list_reads_no_origin_and_a_deleted_session_leaves_none() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    log.create(NewSession { origin: Some(origin()), ..new("a") }).await.unwrap();
    let (sql, _) = reader::listing(&SessionFilter::default());
    assert!(!sql.contains("origins"), "{sql}");
    assert_eq!(log.n_made_by("me", Millis(0), 5).await.unwrap(), 1);

    log.delete(id("a")).await.unwrap();

    let left = "SELECT count(*) FROM origins";
    let left: i64 = log.ask(|c| Ok(c.query_row(left, [], |row| row.get(0))?)).await.unwrap();
    assert_eq!(left, 0);
}

fn origin() -> SessionOrigin {
    SessionOrigin { made_by: Some("me".into()), made_of: Json::trusted(r#"{"cwd":"/"}"#) }
}

#[tokio::test]
async fn a_log_of_the_first_version_gets_the_index_and_keeps_everything() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    for name in ["a", "b"] {
        log.create(new(name)).await.unwrap();
        log.append(batch(name, 50)).await.unwrap();
        log.append(decided(name, 5, 2)).await.unwrap();
    }
    let before = log.read(id("a"), Seq(0), 100).await.unwrap();
    drop(log);
    let raw = Connection::open(dir.path().join("switchyard.db")).unwrap();
    raw.execute_batch(TO_FIRST).unwrap();
    drop(raw);

    let log = open(&dir);

    assert_eq!(log.lost_sessions(), []);
    assert_eq!(log.read(id("a"), Seq(0), 100).await.unwrap(), before);
    let decisions = log.decisions(DecisionFilter::default()).await.unwrap();
    let places: Vec<_> = decisions.iter().map(|one| (one.session, one.seq.0)).collect();
    assert_eq!(places, [(id("a"), 51), (id("a"), 52), (id("b"), 51), (id("b"), 52)]);
    assert!(decisions.iter().all(|one| one.event.is_some()));
    log.append(decided("a", 6, 1)).await.unwrap();
    drop(log);
    assert_eq!(open(&dir).decisions(DecisionFilter::default()).await.unwrap().len(), 5);
}

#[tokio::test]
async fn tables_of_the_first_version_that_are_not_quite_its_own_are_refused() {
    for change in ["DROP INDEX sessions_by_time", "CREATE TABLE more (a)"] {
        let dir = tempfile::tempdir().unwrap();
        drop(open(&dir));
        let raw = Connection::open(dir.path().join("switchyard.db")).unwrap();
        let sql = format!("{TO_FIRST}; {change}");
        raw.execute_batch(&sql).unwrap();
        drop(raw);

        let refused = SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap_err();

        assert!(matches!(refused, StoreError::NotALog { .. }), "{change}: {refused:?}");
    }
}

#[tokio::test]
async fn a_decision_that_was_tampered_with_is_told_from_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    log.create(new("a")).await.unwrap();
    for at in [5, 6, 7] {
        log.append(decided("a", at, 1)).await.unwrap();
    }
    let forge = "UPDATE events SET payload = '\"allowed by nobody\"' WHERE at = 6";
    log.write(Durability::Process, 0, move |step| {
        step.connection.execute(forge, [])?;
        Ok(())
    })
    .await
    .unwrap();

    let decisions = log.decisions(DecisionFilter::default()).await.unwrap();

    let intact: Vec<bool> = decisions.iter().map(|one| one.event.is_some()).collect();
    assert_eq!(intact, [true, false, true]);
}

#[tokio::test]
async fn decisions_of_a_deleted_session_are_gone_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    for name in ["a", "b"] {
        log.create(new(name)).await.unwrap();
        log.append(decided(name, 5, 1)).await.unwrap();
    }

    log.delete(id("a")).await.unwrap();

    let left = log.decisions(DecisionFilter::default()).await.unwrap();
    assert_eq!(left.iter().map(|one| one.session).collect::<Vec<_>>(), [id("b")]);
}

#[tokio::test]
async fn deleted_events_are_swept_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    log.create(new("a")).await.unwrap();
    log.append(batch("a", 2500)).await.unwrap();
    log.delete(id("a")).await.unwrap();
    drop(log);

    let log = open(&dir);
    loop {
        let left: i64 = log
            .ask(|connection| {
                let sql = "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM doomed)";
                Ok(connection.query_row(sql, [], |row| row.get(0))?)
            })
            .await
            .unwrap();
        if left == 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_was_deleted_is_not_in_the_files_either() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    let holds = |text: &str| {
        let files = dir.path().read_dir().unwrap().flatten();
        let mut texts = files.filter_map(|file| std::fs::read(file.path()).ok());
        texts.any(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    };
    for name in ["a", "b"] {
        log.create(new(name)).await.unwrap();
        let payload = Json::of(&format!("secret of {name}"));
        let draft = Draft { at: Millis(2), turn: None, kind: Kind::TurnStarted, payload };
        log.append(Batch::new(id(name), vec![draft])).await.unwrap();
    }
    assert!(holds("secret of a") && holds("secret of b"));
    log.delete(id("a")).await.unwrap();
    while holds("secret of a") {
        tokio::task::yield_now().await;
    }
    assert!(holds("secret of b"));
}

#[tokio::test]
async fn after_a_refused_sync_the_log_is_written_anew_before_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    log.create(new("a")).await.unwrap();
    log.is_sync_broken.store(true, std::sync::atomic::Ordering::Release);

    log.append(batch("a", 1).durable(Durability::Power)).await.unwrap();

    assert!(!log.is_sync_broken.load(std::sync::atomic::Ordering::Acquire));
    assert_eq!(log.sync().await, Ok(()));
}

#[test]
fn a_refused_sync_is_told_and_not_believed_the_second_time() {
    let dir = tempfile::tempdir().unwrap();
    // A pipe cannot be synced.
    let (_reader, pipe) = std::io::pipe().unwrap();
    let syncer = Syncer {
        wal: File::from(std::os::fd::OwnedFd::from(pipe)),
        wal_path: dir.path().join("wal"),
        heads: Arc::new(Heads::open(&dir.path().join("heads")).unwrap()),
        is_broken: Arc::default(),
        health: Arc::default(),
    };
    let (requests, queue) = mpsc::channel(2);
    let (told, answers) = std::sync::mpsc::channel();
    for _ in 0..2 {
        let told = told.clone();
        let request: syncer::SyncRequest = Box::new(move |synced| told.send(synced).unwrap());
        requests.blocking_send(request).unwrap();
    }
    drop((requests, told));

    syncer.run(queue);

    let answers: Vec<_> = answers.iter().collect();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|a| matches!(a, Err(StoreError::SyncFailed { .. }))), "{answers:?}");
}

#[tokio::test]
async fn large_events_between_small_ones_are_stored_whole_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(&dir);
    for name in ["a", "b"] {
        log.create(new(name)).await.unwrap();
    }
    let large = |letter: &str| Json::of(&letter.repeat(5 << 20));
    let draft = |payload| Draft { at: Millis(2), turn: None, kind: Kind::TurnStarted, payload };
    let mixed =
        vec![draft(Json::of(&1)), draft(large("x")), draft(Json::of(&2)), draft(large("y"))];

    let (first, small, second) = tokio::join!(
        log.append(Batch::new(id("a"), mixed.clone())),
        log.append(batch("b", 3)),
        log.append(Batch::new(id("b"), mixed.clone())),
    );

    let starts = [first.unwrap().first, second.unwrap().first];
    assert_eq!(small.unwrap().last, Seq(3));
    for (name, start) in ["a", "b"].into_iter().zip(starts) {
        for (seq, wanted) in (start.0..).zip(&mixed) {
            let events = log.read(id(name), Seq(seq - 1), 1).await.unwrap();
            assert!(events[0].payload == wanted.payload, "{name} {seq}");
        }
    }
}
