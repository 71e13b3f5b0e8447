//! Kills a writing process at random points and looks at what it left.

use std::path::Path;

use store::{Batch, Durability, EventLog, SqliteLog, StoreError};
use wire::Seq;

use crate::fixture::{DIR, ROLE, Role, draft, id, new, open, read_all, temp};

const SESSIONS: [&str; 3] = ["a", "b", "c"];

/// Appends without end and tells each place as soon as it is acknowledged.
#[test]
fn child() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    let dir = std::env::var(DIR).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let log = std::sync::Arc::new(open(Path::new(&dir)));
        let mut tasks = Vec::new();
        for name in SESSIONS {
            let log = std::sync::Arc::clone(&log);
            tasks.push(tokio::spawn(async move { append_without_end(&log, name).await }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

async fn append_without_end(log: &SqliteLog, name: &str) {
    match log.create(new(name)).await {
        Ok(_) | Err(StoreError::SessionExists(_)) => {}
        Err(error) => panic!("{error}"),
    }
    let mut head = log.session(id(name)).await.unwrap().unwrap().head.0;
    loop {
        // Some batches are large, so that kills land inside commits and checkpoints too.
        let n = if head % 7 == 0 { 400 } else { head % 5 + 1 };
        let drafts = (1..=n).map(|step| draft(&contents(name, head + step))).collect();
        let durability = if head % 3 == 0 { Durability::Power } else { Durability::Process };
        let appended = log.append(Batch::new(id(name), drafts).durable(durability)).await.unwrap();
        assert_eq!(appended.first.0, head + 1);
        head = appended.last.0;
        println!("\nacknowledged {name} {head}");
    }
}

fn contents(name: &str, seq: u64) -> String {
    format!("{name} {seq} {}", "x".repeat(usize::try_from(seq % 500).unwrap()))
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let dir = temp();
    let mut heads = [0_u64; SESSIONS.len()];
    for round in 0..soak::size(6, 24) {
        let mut role = Role::start("kill::child", "append", dir.path());
        let mut note = |told: String| {
            let (name, head) = told.split_once(' ').unwrap();
            let index = SESSIONS.iter().position(|session| *session == name).unwrap();
            heads[index] = head.parse().unwrap();
        };
        for _ in 0..=(round * 13 % 97) {
            note(role.next("acknowledged ").expect("the child goes on until it is killed"));
        }
        role.kill();
        while let Some(told) = role.next("acknowledged ").filter(|told| is_whole(told)) {
            note(told);
        }

        let log = open(dir.path());
        assert_eq!(log.lost_sessions(), []);
        for (name, acknowledged) in SESSIONS.iter().zip(heads) {
            check(&log, name, acknowledged).await;
        }
    }
}

/// The kill may cut the last line short; a cut number is a smaller number, and a line cut
/// before it is no number at all.
fn is_whole(told: &str) -> bool {
    told.split_once(' ').is_some_and(|(_, head)| head.parse::<u64>().is_ok())
}

async fn check(log: &SqliteLog, name: &str, acknowledged: u64) {
    let Some(record) = log.session(id(name)).await.unwrap() else {
        return assert_eq!(acknowledged, 0, "session {name} is gone");
    };
    assert_eq!(record.damage, None);
    assert!(record.head.0 >= acknowledged, "{name}: {} < {acknowledged}", record.head.0);
    let (events, error) = read_all(log, id(name)).await;
    assert_eq!(error, None);
    assert_eq!(events.len() as u64, record.head.0);
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event.seq, Seq(seq));
        assert_eq!(event.payload, wire::Json::of(&contents(name, seq)));
    }
}
