//! What was deleted is in no file any more, whatever happens in between; and a full disk is cured
//! by deleting.

use std::fs;
use std::path::Path;

use store::{Batch, EventLog, NewSession, PruneRule, StoreError};
use wire::{Json, Millis, SessionId};

use crate::disk_full::small_disk;
use crate::fixture::{DIR, ROLE, Role, batch, draft, id, new, open, origin, read_all, temp};

const SECRET: &str = "the-text-that-was-deleted";

/// Whether any file of the log has the text.
fn holds(dir: &Path, text: &str) -> bool {
    let files = dir.read_dir().unwrap().flatten().filter_map(|file| fs::read(file.path()).ok());
    files.into_iter().any(|bytes| bytes.windows(text.len()).any(|one| one == text.as_bytes()))
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + soak::PATIENCE;
    while !is_so() {
        assert!(std::time::Instant::now() < end, "{what}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

fn secret_session(name: &str) -> NewSession {
    let made_of = Json::of(&format!("{SECRET} {}", "x".repeat(9000)));
    let origin = Some(store::SessionOrigin { made_of, ..origin(name) });
    NewSession { details: Json::of(&SECRET), origin, ..new(name) }
}

fn secrets(session: SessionId, n: usize) -> Batch {
    let text = format!("{SECRET} {}", "x".repeat(3000));
    Batch::new(session, (0..n).map(|_| draft(&text)).collect())
}

#[tokio::test]
async fn deleted_text_leaves_the_files_while_others_read_and_write() {
    let dir = temp();
    let log = std::sync::Arc::new(open(dir.path()));
    log.create(new("other")).await.unwrap();
    let reading = {
        let log = std::sync::Arc::clone(&log);
        tokio::spawn(async move {
            loop {
                log.append(batch("other", &["more"])).await.unwrap();
                read_all(&log, id("other")).await;
            }
        })
    };
    for round in 0..soak::size(5, 50) {
        let name = format!("secret {round}");
        log.create(secret_session(&name)).await.unwrap();
        for _ in 0..20 {
            log.append(secrets(id(&name), 20)).await.unwrap();
        }
        assert!(holds(dir.path(), SECRET));

        log.delete(id(&name)).await.unwrap();

        until("the text is gone", || !holds(dir.path(), SECRET)).await;
    }
    reading.abort();
}

#[tokio::test]
async fn a_reader_that_is_slow_keeps_deleted_text_no_longer_than_it_reads() {
    let dir = temp();
    let log = open(dir.path());
    log.create(secret_session("secret")).await.unwrap();
    log.append(secrets(id("secret"), 50)).await.unwrap();
    // As another process has it, in the middle of a long statement.
    let reader = rusqlite::Connection::open(dir.path().join("switchyard.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
    log.delete(id("secret")).await.unwrap();
    log.sync().await.unwrap();
    // The sweep is done, and could not empty the log.
    let doomed = || {
        let other = rusqlite::Connection::open(dir.path().join("switchyard.db")).unwrap();
        other.query_row("SELECT count(*) FROM doomed", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    until("the sweep is done", || doomed() == 0).await;
    log.create(new("other")).await.unwrap();
    for _ in 0..20 {
        // Time for attempts in vain; with none the test would only be easier.
        log.append(batch("other", &["more"])).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(holds(dir.path(), SECRET));

    reader.execute_batch("COMMIT").unwrap();

    until("the text is gone", || !holds(dir.path(), SECRET)).await;
}

#[test]
fn child() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    let dir = std::env::var(DIR).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let log = open(Path::new(&dir));
        for n in 0.. {
            let name = format!("secret {n}");
            if log.session(id(&name)).await.unwrap().is_some() {
                log.delete(id(&name)).await.unwrap();
                continue;
            }
            log.create(secret_session(&name)).await.unwrap();
            log.append(secrets(id(&name), 100)).await.unwrap();
            log.delete(id(&name)).await.unwrap();
            println!("\ndeleted {n}");
        }
    });
}

#[tokio::test]
async fn deleted_text_is_gone_after_the_next_start_when_the_process_is_killed() {
    let dir = temp();
    for round in 0..soak::size(5, 40) {
        let mut role = Role::start("deleting::child", "delete", dir.path());
        for _ in 0..=(round * 7 % 5) {
            role.next("deleted ").expect("the child goes on until it is killed");
        }
        role.kill();

        let log = open(dir.path());
        // It may have been killed before it deleted the last one.
        for left in log.sessions(store::SessionFilter::default()).await.unwrap() {
            log.delete(left.id).await.unwrap();
        }
        until("the text is gone", || !holds(dir.path(), SECRET)).await;
        drop(log);
        assert!(!holds(dir.path(), SECRET));
    }
}

#[tokio::test]
async fn what_was_in_the_log_of_a_killed_process_goes_with_the_next_start_alone() {
    let dir = temp();
    let left = temp();
    let log = open(dir.path());
    log.create(secret_session("secret")).await.unwrap();
    log.append(secrets(id("secret"), 100)).await.unwrap();
    let reader = rusqlite::Connection::open(dir.path().join("switchyard.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
    log.delete(id("secret")).await.unwrap();
    let doomed = "SELECT count(*) FROM doomed";
    let other = rusqlite::Connection::open(dir.path().join("switchyard.db")).unwrap();
    until("the sweep is done", || {
        other.query_row(doomed, [], |row| row.get::<_, i64>(0)).unwrap() == 0
    })
    .await;
    // As the files are when the process is killed now.
    for file in ["switchyard.db", "switchyard.db-wal", "heads"] {
        fs::copy(dir.path().join(file), left.path().join(file)).unwrap();
    }
    assert!(holds(left.path(), SECRET));

    let _log = open(left.path());

    until("the text is gone", || !holds(left.path(), SECRET)).await;
}

#[tokio::test]
async fn deleting_cures_a_full_disk() {
    let dir = temp();
    let Some(disk) = small_disk(&dir, "96m") else { return };
    let log = open(disk.path());
    for name in ["old", "new"] {
        log.create(new(name)).await.unwrap();
    }
    let text = "x".repeat(20_000);
    for _ in 0..500 {
        log.append(batch("old", &[&text])).await.unwrap();
    }
    let refusal = fill(&log, &text).await;
    assert!(matches!(refusal, StoreError::DiskFull { .. }), "{refusal:?}");
    disk.fill();
    fill(&log, "there is no room for this").await;
    assert!(disk.path().join("spare-room").exists());

    assert!(log.delete(id("old")).await.unwrap());

    let end = std::time::Instant::now() + soak::PATIENCE;
    while log.append(batch("new", &[&text])).await.is_err() {
        assert!(std::time::Instant::now() < end, "deleting gave no room");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let free = || rustix::fs::statvfs(disk.path()).unwrap();
    until("the space is given back", || free().f_bavail * free().f_frsize > 5 << 20).await;
    drop(log);
    let log = open(disk.path());
    let (events, error) = read_all(&log, id("new")).await;
    assert_eq!(error, None);
    assert!(events.len() > 1000);
}

#[tokio::test]
async fn a_log_on_a_full_disk_can_be_opened_and_pruned() {
    let dir = temp();
    let Some(disk) = small_disk(&dir, "96m") else { return };
    let log = open(disk.path());
    for name in ["old", "new"] {
        log.create(new(name)).await.unwrap();
    }
    let text = "x".repeat(20_000);
    for _ in 0..500 {
        log.append(batch("old", &[&text])).await.unwrap();
    }
    fill(&log, &text).await;
    assert!(disk.path().join("spare-room").exists());
    let changes = store::RecordChanges { updated: Some(Millis(9)), ..Default::default() };
    let _ = log.update(id("new"), changes).await;
    drop(log);
    disk.fill();

    let log = open(disk.path());
    let rule = PruneRule { before: Some(Millis(100)), keep: 1, ..PruneRule::default() };
    let removed = log.prune(rule).await.unwrap();

    assert_eq!(removed.len(), 1);
}

async fn fill(log: &store::SqliteLog, text: &str) -> StoreError {
    loop {
        if let Err(error) = log.append(batch("new", &[text, text])).await {
            return error;
        }
    }
}
