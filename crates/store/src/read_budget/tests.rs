use tempfile::TempDir;
use wire::{Draft, Json, Kind, Millis};

use super::*;
use crate::{Batch, NewSession, SqliteLog, SqliteOptions};

async fn log_of(sizes: &[usize]) -> (TempDir, SqliteLog, SessionId) {
    let dir = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap();
    let id = SessionId::from_entropy(&[7; 64]);
    let details = Json::trusted("{}");
    let (agent, cwd) = ("demo".to_owned(), "/".to_owned());
    log.create(NewSession { id, agent, cwd, created: Millis(0), details, origin: None })
        .await
        .unwrap();
    for size in sizes {
        let payload = Json::of(&"x".repeat(*size));
        let draft = Draft { at: Millis(1), turn: None, kind: Kind::AgentStderr, payload };
        log.append(Batch::new(id, vec![draft])).await.unwrap();
    }
    (dir, log, id)
}

#[tokio::test]
async fn small_reads_take_nothing() {
    let (_dir, log, id) = log_of(&[10, 20]).await;
    let budget = ReadBudget::default();
    let _all = budget.take(usize::MAX).await;
    let reading = budget.read(&log, id, Seq(0), 256).await.unwrap();
    assert_eq!(reading.events.len(), 2);
    assert!(reading.taken.is_none());
}

#[tokio::test]
async fn a_large_read_waits_until_there_is_room() {
    let (_dir, log, id) = log_of(&[1 << 20]).await;
    let budget = ReadBudget::default();
    let first = budget.read(&log, id, Seq(0), 256).await.unwrap();
    assert!(first.taken.is_some() && !budget.has_waiting_readers());
    let reading = budget.clone();
    let large = tokio::spawn(async move { reading.take(usize::MAX).await });
    while !budget.has_waiting_readers() {
        tokio::task::yield_now().await;
    }
    assert!(!large.is_finished());
    drop(first);
    drop(large.await.unwrap());
    assert!(!budget.has_waiting_readers());
    assert_eq!(budget.0.free.available_permits(), MAX_BYTES / KIB);
}

#[tokio::test]
async fn what_came_while_it_waited_is_left_for_the_next_read() {
    let (_dir, log, id) = log_of(&[100 << 10]).await;
    let log = Arc::new(log);
    let budget = ReadBudget::default();
    let all = budget.take(usize::MAX).await;
    let (reading, same) = (budget.clone(), log.clone());
    let read = tokio::spawn(async move { reading.read(&*same, id, Seq(0), 256).await.unwrap() });
    while !budget.has_waiting_readers() {
        tokio::task::yield_now().await;
    }
    let payload = Json::of(&"y".repeat(100 << 10));
    let draft = Draft { at: Millis(1), turn: None, kind: Kind::AgentStderr, payload };
    log.append(Batch::new(id, vec![draft])).await.unwrap();
    drop(all);
    assert_eq!(read.await.unwrap().events.len(), 1);
}

#[tokio::test]
async fn what_is_not_needed_any_more_is_given_back() {
    let budget = ReadBudget::default();
    let mut taken = budget.take(MAX_BYTES).await;
    assert_eq!(budget.0.free.available_permits(), 0);
    taken.shrink_to(1 << 20);
    assert_eq!(budget.0.free.available_permits(), (MAX_BYTES - COPIES * (1 << 20)) / KIB);
    taken.shrink_to(2 << 20);
    taken.shrink_to(0);
    assert_eq!(budget.0.free.available_permits(), MAX_BYTES / KIB);
}
