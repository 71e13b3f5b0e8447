//! What pools may use, and what they give up.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use sessions::host::HostError;
use sessions::pools::WarmSettings;

use crate::stage::{Stage, busy, is_alive, plain, quiet, replace, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_a_replaced_program_is_replaced_too() {
    let stage = Stage::new(busy());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    let script = fs::read_to_string(stage.path("agent.sh")).unwrap();
    replace(&stage.path("agent.sh"), &format!("# new\n{script}"));
    until("a new one is started", || stage.starts().len() == 2).await;
    stage.until_warm(1).await;
    let starts = stage.starts();
    until("the old one is ended", || !is_alive(starts[0])).await;
    assert!(is_alive(starts[1]));
    assert_eq!(stage.pools.snapshot().total.failures, 0);
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_used_is_ended_and_forgotten() {
    let stage = Stage::new(WarmSettings { idle: Duration::from_secs(1), ..busy() });
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    until("it was started", || !stage.starts().is_empty()).await;
    until("its key is forgotten", || stage.pools.snapshot().keys.is_empty()).await;
    stage.until_none_left().await;
    assert_eq!(stage.n_agent_sessions(), 0, "its session was deleted");
    assert_eq!(stage.starts().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_too_much_memory_is_ended_and_not_started_again_and_again() {
    let stage = Stage::new(WarmSettings { max_memory_bytes: 1, ..busy() });
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    until("it was ended", || {
        let picture = stage.pools.snapshot();
        picture.total.starts == 1 && picture.warm == 0 && !picture.keys[0].is_starting
    })
    .await;
    stage.until_none_left().await;
    let session = stage.open(&agent).await;
    assert_eq!(session.prompt("say hello").await, "end_turn");
    let picture = stage.pools.snapshot();
    assert_eq!((picture.total.starts, picture.warm, picture.memory_bytes), (1, 0, 0));
    assert_eq!(stage.starts().len(), 2, "the second one is the session's own");
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_least_recently_used_gives_its_place_to_the_next() {
    let stage = Stage::new(WarmSettings { max_workers: 2, ..quiet() });
    let [a, b, c] = ["a", "b", "c"].map(|dir| stage.agent(dir));
    for agent in [&a, &b] {
        stage.prewarm(agent);
    }
    stage.until_warm(2).await;
    // `a` is used again, and its place is filled again.
    let session = stage.open(&a).await;
    until("it is filled", || stage.starts().len() == 3).await;
    stage.until_warm(2).await;
    stage.prewarm(&c);
    until("the next one is started", || stage.starts().len() == 4).await;
    until("the oldest one is ended", || !is_alive(stage.starts()[1])).await;
    stage.until_warm(2).await;
    let picture = stage.pools.snapshot();
    let warm: Vec<usize> = picture.keys.iter().map(|key| key.warm).collect();
    assert_eq!(warm, [1, 0, 1]);
    assert!(picture.keys[0].memory_bytes > 0 && picture.memory_bytes > 0);
    drop(session);
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_start_is_left_alone_after_three_tries() {
    let stage = Stage::new(busy());
    fs::write(stage.path("fails.sh"), "echo $$ >> \"$STAGE/starts\"\nexit 1\n").unwrap();
    let agent = stage.script("work", "fails.sh", &[]);
    stage.prewarm(&agent);
    until("it has failed", || stage.pools.snapshot().total.failures == 3).await;
    // Neither by itself nor for the next one who wants it.
    stage.prewarm(&agent);
    let slot = stage.slot(&agent, &plain(&agent)).await;
    assert!(slot.host().await.is_err());
    assert_eq!(stage.pools.snapshot().total.starts, 3);
    assert_eq!(stage.starts().len(), 4, "three, and the session's own");
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_says_too_much_is_given_up() {
    let stage = Stage::new(busy());
    let script = r#"
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
i=0
while [ $i -lt 400 ]; do
  echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"noise"}}}'
  i=$((i+1))
done
cat > /dev/null
"#;
    fs::write(stage.path("floods.sh"), script).unwrap();
    let agent = stage.script("work", "floods.sh", &[]);
    stage.prewarm(&agent);
    until("it is given up", || stage.pools.snapshot().total.failures == 3).await;
    stage.until_none_left().await;
    assert_eq!((stage.pools.snapshot().total.starts, stage.pools.snapshot().warm), (3, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_warming_is_off_nothing_is_started() {
    let off = [("staged".to_owned(), false)].into();
    let stage = Stage::new(WarmSettings { agents: off, ..busy() });
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    let session = stage.open(&agent).await;
    assert_eq!(session.prompt("say hello").await, "end_turn");
    assert_eq!((stage.starts().len(), stage.pools.snapshot().total.starts), (1, 0));
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_settings_end_what_they_do_not_allow() {
    let stage = Stage::new(quiet());
    for agent in [stage.agent("a"), stage.agent("b")] {
        stage.prewarm(&agent);
    }
    stage.until_warm(2).await;
    stage.pools.configure(WarmSettings { max_workers: 1, ..quiet() });
    until("the older one is ended", || !is_alive(stage.starts()[0])).await;
    assert!(is_alive(stage.starts()[1]));
    stage.pools.configure(WarmSettings { is_on: false, ..quiet() });
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shut_down_leaves_no_process() {
    let stage = Stage::new(quiet());
    let (a, b) = (stage.agent("a"), stage.agent("b"));
    let session = stage.open(&a).await;
    stage.until_warm(1).await;
    // One is used, one is ready, one is just being started.
    stage.close_gate();
    stage.prewarm(&b);
    until("it is being started", || stage.starts().len() == 3).await;
    stage.pools.shut_down().await;
    stage.until_none_left().await;
    let late = stage.slot(&a, &plain(&a)).await;
    assert!(matches!(late.host().await, Err(HostError::ShuttingDown)));
    assert_eq!(stage.starts().len(), 3);
    drop(session);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_pools_leave_no_process() {
    let mut stage = Stage::new(quiet());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    let other = Stage::new(quiet());
    stage.pools = other.pools.clone();
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_sessions_at_once_never_share_a_worker() {
    const N: usize = 50;
    let stage = Stage::new(WarmSettings { max_workers: 4, max_per_key: 4, ..quiet() });
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(4).await;
    let stage = Arc::new(stage);
    let opening: Vec<_> = (0..N)
        .map(|_| {
            let (stage, agent) = (stage.clone(), agent.clone());
            tokio::spawn(async move {
                let session = stage.open(&agent).await;
                assert!(stage.pools.snapshot().warm <= 4);
                session
            })
        })
        .collect();
    let (mut pids, mut ids) = (HashSet::new(), HashSet::new());
    let mut sessions = Vec::new();
    for opening in opening {
        let session = opening.await.unwrap();
        pids.insert(session.pid().await);
        ids.insert(session.opened.handle.id());
        sessions.push(session);
    }
    assert_eq!((pids.len(), ids.len()), (N, N));
    let picture = stage.pools.snapshot();
    assert_eq!(picture.total.hits + picture.total.misses, N as u64);
    assert!(picture.total.hits >= 4);
    assert_eq!(picture.keys[0].in_use, N);
    for session in &sessions {
        assert_eq!(session.prompt("say hello").await, "end_turn");
    }
    stage.until_warm(4).await;
    drop(sessions);
    stage.pools.shut_down().await;
    stage.until_none_left().await;
}
