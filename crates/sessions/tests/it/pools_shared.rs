//! One worker for several sessions.

use std::fs;
use std::time::Duration;

use serde_json::json;
use sessions::host::AgentCommand;
use sessions::mint;
use sessions::pools::WarmSettings;
use wire::{Event, Json};

use crate::stage::{Stage, busy, is_alive, plain, quiet, replace, until, until_async};

fn shared(stage: &Stage, dir: &str) -> AgentCommand {
    let mut command = stage.agent(dir);
    command.quirks.shares_worker = true;
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_in_different_directories_share_a_worker_that_outlives_each() {
    let stage = Stage::new(quiet());
    let first = stage.open(&shared(&stage, "a")).await;
    let second = stage.open(&shared(&stage, "b")).await;
    assert!(first.slot.is_shared());
    assert_eq!(first.pid().await, second.pid().await);
    assert_eq!(stage.starts().len(), 1);
    assert_eq!(stage.pools.snapshot().keys[0].in_use, 2);

    // A session that ends lets go of the worker without ending it.
    first.opened.handle.finish().await.unwrap();
    first.slot.shut_down().await;
    assert_eq!(stage.pools.snapshot().keys[0].in_use, 1);
    assert_eq!(second.prompt("say hello").await, "end_turn");
    let third = stage.open(&shared(&stage, "c")).await;
    assert_eq!(third.pid().await, second.pid().await);
    stage.pools.shut_down().await;
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_arguments_or_environments_do_not_share() {
    let stage = Stage::new(quiet());
    let base = shared(&stage, "a");
    let mut with_variable = base.clone();
    with_variable.env.set.insert("COLOUR".into(), "red".into());
    let mut with_flag = base.clone();
    with_flag.args.push("--early-updates".into());
    let mut pids = Vec::new();
    let mut sessions = Vec::new();
    for command in [&base, &with_variable, &with_flag] {
        let session = stage.open(command).await;
        pids.push(session.pid().await);
        sessions.push(session);
    }
    pids.dedup();
    assert_eq!((pids.len(), stage.starts().len()), (3, 3));
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_worker_ends_when_nobody_has_used_it_for_a_while() {
    let stage = Stage::new(WarmSettings { idle: Duration::from_millis(100), ..busy() });
    let session = stage.open(&shared(&stage, "a")).await;
    let pid = session.pid().await;
    // Another one comes later and goes before: a session that does nothing has its worker.
    let mut other = shared(&stage, "a");
    other.env.set.insert("COLOUR".into(), "red".into());
    let other = stage.open(&other).await;
    let other_pid = other.pid().await;
    other.end().await;
    until("the other one is ended", || !is_alive(other_pid)).await;
    assert!(is_alive(pid));
    assert_eq!(session.prompt("say hello").await, "end_turn");
    session.end().await;
    stage.until_none_left().await;
    until("it is forgotten", || stage.pools.snapshot().keys.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_dropped_frees_its_place_in_the_worker() {
    let stage = Stage::new(quiet());
    let [a, b] = ["a", "b"].map(|dir| shared(&stage, dir));
    let slot = stage.slot(&a, &plain(&a)).await;
    let host = slot.host().await.unwrap();
    let (first, second) = (stage.open_in(slot, &plain(&a)).await, stage.open(&b).await);
    let (turn, id) = (mint::turn_id(), first.opened.handle.id());
    let params = json!({ "prompt": [{ "type": "text", "text": "slow 100000 50" }] });
    first.opened.handle.prompt(turn, Json::of(&params), "test").await.unwrap();
    let is_chunk = |event: &Event| event.kind.update_name() == Some("agent_message_chunk");
    first.until_event("it talks", is_chunk).await;
    let record = stage.context.log.session(id).await.unwrap().unwrap();
    drop(first);

    // The agent is told: its turn ends, and the session is closed.
    let params = json!({
        "sessionId": record.agent_session,
        "prompt": [{ "type": "text", "text": "say hello" }],
    });
    let is_closed = async || {
        let asking = host.connection.call("session/prompt", &Json::of(&params)).await;
        asking.is_err_and(|error| error.to_string().contains("no such session"))
    };
    until_async("it is closed", is_closed).await;
    assert_eq!(second.prompt("say hello").await, "end_turn");
    assert_eq!((stage.starts().len(), stage.pools.snapshot().keys[0].in_use), (1, 1));
    stage.pools.shut_down().await;
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_change_of_the_program_new_sessions_get_a_new_worker() {
    let stage = Stage::new(quiet());
    let old = stage.open(&shared(&stage, "a")).await;
    let script = fs::read_to_string(stage.path("agent.sh")).unwrap();
    replace(&stage.path("agent.sh"), &format!("# new\n{script}"));
    let new = stage.open(&shared(&stage, "a")).await;
    let (old_pid, new_pid) = (old.pid().await, new.pid().await);
    assert_ne!(old_pid, new_pid);
    assert_eq!(old.prompt("say hello").await, "end_turn");
    old.end().await;
    until("the old one is ended", || !is_alive(old_pid)).await;
    assert_eq!(new.prompt("say hello").await, "end_turn");
    stage.pools.shut_down().await;
}
