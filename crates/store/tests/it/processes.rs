//! Several processes, and several logs in one process, on the same directory.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use store::{ClaimOwner, EventLog, StoreError};
use wire::Seq;

use crate::fixture::{DIR, ROLE, Role, batch, id, new, open, read_all, temp};

#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let dir = std::env::var(DIR).unwrap();
    let say = |text: &str| writeln!(std::io::stdout(), "\n{text}").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let log = open(Path::new(&dir));
        match role.as_str() {
            "claim" => {
                let _claim = log.claim(id("a")).await.unwrap();
                say("claimed");
                // Until the parent closes the pipe or kills this process.
                let _ = std::io::stdin().read(&mut [0]);
            }
            "append once" => {
                log.append(batch("a", &["from the other process"])).await.unwrap();
                say("appended");
            }
            name => {
                log.create(new(name)).await.unwrap();
                for _ in 0..200 {
                    log.append(batch(name, &["x", "y"])).await.unwrap();
                }
                say("done");
            }
        }
    });
}

#[tokio::test]
async fn processes_append_to_their_own_sessions_at_the_same_time() {
    let dir = temp();
    let log = open(dir.path());
    let names = ["p1", "p2", "p3"];
    let mut roles = names.map(|name| Role::start("processes::child", name, dir.path()));
    log.create(new("own")).await.unwrap();
    for _ in 0..200 {
        log.append(batch("own", &["x", "y"])).await.unwrap();
    }
    for role in &mut roles {
        role.next("done").expect("a child finished");
    }

    for name in ["own", "p1", "p2", "p3"] {
        let (events, error) = read_all(&log, id(name)).await;
        assert_eq!((events.len(), error), (400, None), "{name}");
    }
}

#[tokio::test]
async fn a_reader_is_woken_by_another_process() {
    let dir = temp();
    let log = Arc::new(open(dir.path()));
    log.create(new("a")).await.unwrap();
    let waiting = {
        let log = Arc::clone(&log);
        tokio::spawn(async move { log.wait(id("a"), Seq(0)).await })
    };

    let mut role = Role::start("processes::child", "append once", dir.path());
    role.next("appended").unwrap();

    assert_eq!(waiting.await.unwrap(), Ok(()));
    assert_eq!(log.read(id("a"), Seq(0), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_claim_names_its_owner_and_ends_with_it() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    let mut role = Role::start("processes::child", "claim", dir.path());
    role.next("claimed").unwrap();
    let pid = Some(role.child.id());
    let taken = StoreError::InUse { session: id("a"), pid };

    assert_eq!(log.owner(id("a")).await, Ok(ClaimOwner::Other { pid }));
    assert_eq!(log.claim(id("a")).await.map(drop), Err(taken.clone()));
    assert_eq!(log.delete(id("a")).await, Err(taken));
    role.kill();

    assert_eq!(log.owner(id("a")).await, Ok(ClaimOwner::Nobody));
    let claim = log.claim(id("a")).await.unwrap();
    assert_eq!(log.owner(id("a")).await, Ok(ClaimOwner::ThisLog));
    drop(claim);
    assert_eq!(log.owner(id("a")).await, Ok(ClaimOwner::Nobody));
}

#[tokio::test]
async fn two_logs_in_one_process_respect_each_others_claims() {
    let dir = temp();
    let (one, two) = (open(dir.path()), open(dir.path()));
    one.create(new("a")).await.unwrap();
    let claim = one.claim(id("a")).await.unwrap();
    let pid = Some(std::process::id());
    let in_use = Err(StoreError::InUse { session: id("a"), pid });

    assert_eq!(two.claim(id("a")).await.map(drop), in_use);
    assert_eq!(one.claim(id("a")).await.map(drop), in_use);
    drop(claim);

    let _claim = two.claim(id("a")).await.unwrap();
}

#[tokio::test]
async fn closing_one_log_leaves_the_locks_of_the_other_alone() {
    let dir = temp();
    let (one, two) = (open(dir.path()), open(dir.path()));
    one.create(new("a")).await.unwrap();

    drop(two);
    one.append(batch("a", &["one"])).await.unwrap();
    let three = open(dir.path());
    one.append(batch("a", &["two"])).await.unwrap();
    drop(one);

    assert_eq!(read_all(&three, id("a")).await.0.len(), 2);
}
