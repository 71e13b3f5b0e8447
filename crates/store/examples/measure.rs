//! Prints what the log on disk does on this machine:
//! `cargo run --release -p store --example measure [DIR]`.
//!
//! Nothing is asserted here; numbers depend on the machine.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use store::{Batch, Durability, EventLog, NewSession, SqliteLog, SqliteOptions};
use wire::{Draft, Json, Kind, Millis, Seq, SessionId};

const PAYLOAD: usize = 300;

#[tokio::main]
async fn main() {
    let under = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::tempdir_in(under).unwrap();
    let log = Arc::new(SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap());

    batches(&log, 256, 4000).await;
    many_writers(&log, 8, 256, 500).await;
    single(&log, Durability::Process, 20_000).await;
    single(&log, Durability::Power, 300).await;
    process_while_power(&log).await;
    read_back(&log).await;
    println!("usage: {:?}", log.usage().await.unwrap());
}

async fn batches(log: &SqliteLog, size: usize, n: usize) {
    let session = created(log, "batches").await;
    let started = Instant::now();
    for _ in 0..n {
        log.append(Batch::new(session, drafts(size))).await.unwrap();
    }
    rate(&format!("one writer, batches of {size}"), n * size, started.elapsed());
}

async fn many_writers(log: &Arc<SqliteLog>, writers: usize, size: usize, n: usize) {
    let started = Instant::now();
    let mut tasks = Vec::new();
    for writer in 0..writers {
        let log = Arc::clone(log);
        tasks.push(tokio::spawn(async move {
            let session = created(&log, &format!("writer {writer}")).await;
            for _ in 0..n {
                log.append(Batch::new(session, drafts(size))).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    rate(&format!("{writers} writers, batches of {size}"), writers * n * size, started.elapsed());
}

async fn single(log: &SqliteLog, durability: Durability, n: usize) {
    let session = created(log, &format!("single {durability:?}")).await;
    let mut times = Vec::with_capacity(n);
    for _ in 0..n {
        let batch = Batch::new(session, drafts(1)).durable(durability);
        let started = Instant::now();
        log.append(batch).await.unwrap();
        times.push(started.elapsed());
    }
    percentiles(&format!("one event, {durability:?}"), times);
}

/// How long a streamed chunk takes while somebody else waits for the disk.
async fn process_while_power(log: &Arc<SqliteLog>) {
    let (prompt, chunk) = (created(log, "prompt").await, created(log, "chunk").await);
    let background = Arc::clone(log);
    let syncing = tokio::spawn(async move {
        loop {
            let batch = Batch::new(prompt, drafts(1)).durable(Durability::Power);
            background.append(batch).await.unwrap();
        }
    });
    let mut times = Vec::new();
    for _ in 0..5000 {
        let started = Instant::now();
        log.append(Batch::new(chunk, drafts(1))).await.unwrap();
        times.push(started.elapsed());
    }
    syncing.abort();
    percentiles("one event, Process, beside Power", times);
}

async fn read_back(log: &SqliteLog) {
    let session = id("batches");
    let started = Instant::now();
    let (mut after, mut n) = (Seq(0), 0);
    loop {
        let page = log.read(session, after, 1024).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        n += page.len();
    }
    rate("read and checked", n, started.elapsed());
    let mut times = Vec::new();
    for _ in 0..5000 {
        let started = Instant::now();
        log.read(session, Seq(after.0 - 1), 16).await.unwrap();
        times.push(started.elapsed());
    }
    percentiles("read of the last event", times);
}

fn id(name: &str) -> SessionId {
    SessionId::derived(&[name.as_bytes()])
}

async fn created(log: &SqliteLog, name: &str) -> SessionId {
    let new = NewSession {
        id: id(name),
        agent: "measure".into(),
        cwd: "/".into(),
        created: Millis(0),
        details: Json::trusted("{}"),
        origin: None,
    };
    log.create(new).await.unwrap().id
}

fn drafts(n: usize) -> Vec<Draft> {
    let payload = Json::of(&"x".repeat(PAYLOAD - 2));
    let draft =
        Draft { at: Millis(1), turn: None, kind: Kind::update("agent_message_chunk"), payload };
    vec![draft; n]
}

fn rate(what: &str, n: usize, took: Duration) {
    println!("{what}: {n} events, {:.0} events/s", n as f64 / took.as_secs_f64());
}

fn percentiles(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 1000];
    println!(
        "{what}: p50 {:?}, p99 {:?}, p99.9 {:?}, max {:?}",
        at(500),
        at(990),
        at(999),
        at(1000)
    );
}
