//! A session on a warm worker: what it does not wait for, and what it hears.

use std::fs;

use serde_json::{Value, json};
use sessions::pools::WarmSettings;
use wire::{Event, Json, Kind};

use crate::stage::{Stage, is_alive, kill9, plain, quiet, replace, until, until_async};

fn commands_updates(events: &[Event]) -> Vec<Value> {
    let is_it = |event: &&Event| event.kind.update_name() == Some("available_commands_update");
    events.iter().filter(is_it).map(|event| event.payload.read().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_session_uses_a_worker_that_was_ready_before() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    let first = stage.open(&agent).await;
    assert_eq!(first.prompt("say hello").await, "end_turn");
    stage.until_warm(1).await;
    assert_eq!((stage.starts().len(), stage.n_agent_sessions()), (2, 2));

    // Nothing that is started now gets ready: what works, works without waiting for a start.
    stage.close_gate();
    let second = stage.open(&agent).await;
    assert_eq!(second.prompt("say hello").await, "end_turn");
    assert_eq!(second.pid().await, stage.starts()[1]);
    assert_eq!(stage.n_agent_sessions(), 2, "no other session was opened for it");

    // Its successor is on the way, and is the next one's.
    until("the successor is started", || stage.starts().len() == 3).await;
    stage.open_gate();
    stage.until_warm(1).await;
    let third = stage.open(&agent).await;
    assert_eq!(third.pid().await, stage.starts()[2]);
    let picture = stage.pools.snapshot();
    assert_eq!((picture.total.hits, picture.total.misses), (2, 1));
    assert_eq!((picture.keys.len(), picture.keys[0].in_use), (1, 3));
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_said_before_is_heard_once_and_under_our_id() {
    let stage = Stage::new(quiet());
    let agent = stage.script("work", "agent.sh", &["--early-updates"]);
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    let session = stage.open(&agent).await;
    assert_eq!(stage.pools.snapshot().total.hits, 1);
    // The second one may still be on its way.
    until_async("both are told", async || commands_updates(&session.events().await).len() >= 2)
        .await;
    assert_eq!(session.prompt("say hello").await, "end_turn");

    let events = session.events().await;
    let updates = commands_updates(&events);
    // One before the answer to session/new, one behind it.
    assert_eq!(updates.len(), 2);
    for update in updates {
        assert_eq!(update["sessionId"], session.opened.handle.id().as_str());
    }
    let kinds: Vec<&str> = events.iter().take(4).map(|event| event.kind.as_str()).collect();
    let update = "available_commands_update";
    assert_eq!(kinds, ["session_created", "worker_started", update, update]);
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_was_asked_too_early_is_put_to_the_session() {
    let stage = Stage::new(quiet());
    let script = r#"
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
echo '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"no","name":"No","kind":"reject_once"}]}}'
read -r line; echo "$line" > "$STAGE/answer.new"; mv "$STAGE/answer.new" "$STAGE/answer"
cat > /dev/null
"#;
    fs::write(stage.path("asks.sh"), script).unwrap();
    let agent = stage.script("work", "asks.sh", &[]);
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    assert!(!stage.path("answer").exists(), "nobody can have answered yet");

    let session = stage.open(&agent).await;
    let is_question = |event: &Event| event.kind == Kind::PermissionRequested;
    let asked = session.until_event("it is asked", is_question).await;
    assert!(asked.payload.as_str().contains(session.opened.handle.id().as_str()));
    until("the agent has its answer", || stage.path("answer").exists()).await;
    let answer: Value =
        serde_json::from_str(&fs::read_to_string(stage.path("answer")).unwrap()).unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]["outcome"]["optionId"]),
        (&json!(7), &json!("no"))
    );
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_params_take_the_worker_and_leave_its_session() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    assert_eq!(stage.n_agent_sessions(), 1);

    stage.close_gate();
    let params = json!({ "cwd": agent.cwd, "mcpServers": [], "_meta": { "client": "special" } });
    let params = Json::of(&params);
    let slot = stage.slot(&agent, &params).await;
    until("the unused session is deleted", || stage.n_agent_sessions() == 0).await;
    let session = stage.open_in(slot, &params).await;
    assert_eq!(session.pid().await, stage.starts()[0]);
    assert_eq!(session.prompt("say hello").await, "end_turn");
    assert_eq!(commands_updates(&session.events().await).len(), 1);
    assert_eq!(stage.n_agent_sessions(), 1);
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_directory_or_environment_has_its_own_workers() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    let mut with_variable = agent.clone();
    with_variable.env.set.insert("COLOUR".into(), "red".into());
    for other in [stage.agent("elsewhere"), with_variable] {
        let session = stage.open(&other).await;
        assert_ne!(session.pid().await, stage.starts()[0]);
    }
    assert_eq!(stage.open(&agent).await.pid().await, stage.starts()[0]);
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_is_replaced_and_never_handed_out() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    kill9(stage.starts()[0]).await;
    until("another one is started", || stage.starts().len() == 2).await;
    stage.until_warm(1).await;

    // Asked for in the very moment of its death, before anybody can have told.
    stage.close_gate();
    kill9(stage.starts()[1]).await;
    let slot = stage.slot(&agent, &plain(&agent)).await;
    assert_eq!(stage.pools.snapshot().total.hits, 0);
    stage.open_gate();
    let session = stage.open_in(slot, &plain(&agent)).await;
    assert!(!stage.starts()[..2].contains(&session.pid().await));
    assert_eq!(session.prompt("say hello").await, "end_turn");
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_on_the_way_to_its_session_is_started_anew() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    let slot = stage.slot(&agent, &plain(&agent)).await;
    assert_eq!(stage.pools.snapshot().total.hits, 1);
    kill9(stage.starts()[0]).await;
    let session = stage.open_in(slot, &plain(&agent)).await;
    assert_ne!(session.pid().await, stage.starts()[0]);
    assert_eq!(session.prompt("say hello").await, "end_turn");
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_a_replaced_program_is_not_handed_out() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    let old = stage.starts()[0];
    let script = fs::read_to_string(stage.path("agent.sh")).unwrap();
    replace(&stage.path("agent.sh"), &format!("# new\n{script}"));

    let session = stage.open(&agent).await;
    assert_ne!(session.pid().await, old);
    until("the old one is ended", || !is_alive(old)).await;
    assert_eq!(stage.pools.snapshot().total.misses, 1);
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_is_shut_down_or_dropped_ends_its_worker() {
    let stage = Stage::new(WarmSettings { is_on: false, ..quiet() });
    let agent = stage.agent("work");
    let (first, second) = (stage.open(&agent).await, stage.open(&agent).await);
    let pids = [first.pid().await, second.pid().await];
    assert_eq!(stage.pools.snapshot().keys[0].in_use, 2);
    first.end().await;
    assert!(!is_alive(pids[0]) && is_alive(pids[1]));
    // Dropping it does the same, without anybody waiting for it.
    drop(second);
    stage.until_none_left().await;
    assert_eq!((stage.pools.snapshot().keys[0].in_use, stage.starts().len()), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_for_later_takes_a_worker_only_when_it_is_used() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    stage.prewarm(&agent);
    stage.until_warm(1).await;
    let slot = stage.pools.slot(agent.clone(), None, None).await;
    let picture = stage.pools.snapshot();
    assert_eq!((picture.warm, picture.total.hits), (1, 0));

    stage.close_gate();
    let host = slot.host().await.unwrap();
    assert_eq!(host.pid(), stage.starts()[0]);
    let picture = stage.pools.snapshot();
    assert_eq!((picture.warm, picture.total.hits, picture.total.misses), (0, 1, 0));
    until("the session in it is deleted", || stage.n_agent_sessions() == 0).await;
    stage.pools.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_worker_crashed_goes_on_in_one_that_is_ready() {
    let stage = Stage::new(quiet());
    let agent = stage.agent("work");
    let session = stage.open(&agent).await;
    assert_eq!(session.prompt("remember the milk").await, "end_turn");
    stage.until_warm(1).await;
    stage.close_gate();
    kill9(session.pid().await).await;
    session.until_event("it is told", |event| event.kind == Kind::WorkerExited).await;
    assert_eq!(session.prompt("recall").await, "end_turn");
    let events = session.events().await;
    let started = events.iter().rev().find(|event| event.kind == Kind::WorkerStarted).unwrap();
    let started: Value = started.payload.read().unwrap();
    assert_eq!(started["pid"], stage.starts()[1]);
    assert!(events.iter().any(|event| event.payload.as_str().contains("milk")));
    stage.pools.shut_down().await;
}
