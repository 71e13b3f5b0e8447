//! A registry whose sessions get their workers from the pools.

use std::sync::Arc;

use async_trait::async_trait;
use bus::StopLadder;
use sessions::host::AgentCommand;
use sessions::mint;
use sessions::order::SessionOrder;
use sessions::permission::{PermissionMode, PermissionPolicy};
use sessions::registry::{AgentSource, SessionRegistry};
use sessions::session::{SessionError, SessionHandle};
use sessions::settings::SessionSettings;
use tokio::sync::mpsc;
use wire::Fault;
use wire::{Json, Kind, Seq};

use crate::stage::{Stage, quiet, until, until_async};

/// One agent, whatever is wanted.
struct One(AgentCommand);

#[async_trait]
impl AgentSource for One {
    async fn command(
        &self,
        _wanted: &SessionOrder,
        _: PermissionMode,
    ) -> Result<AgentCommand, Fault> {
        Ok(self.0.clone())
    }

    fn found(&self, _refresh: bool) -> mpsc::Receiver<Json> {
        mpsc::channel(1).1
    }
}

pub(crate) fn registry(stage: &Stage, command: &AgentCommand) -> Arc<SessionRegistry> {
    let agents = Arc::new(One(command.clone()));
    SessionRegistry::new(stage.context.clone(), agents, PermissionPolicy::default(), quiet())
}

pub(crate) fn order(command: &AgentCommand) -> SessionOrder {
    SessionOrder {
        agent: Some(command.name.clone()),
        cwd: command.cwd.clone(),
        ..SessionOrder::default()
    }
}

fn n_warm(registry: &SessionRegistry) -> usize {
    registry.pools().snapshot().warm
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_session_of_a_registry_is_warm_and_closing_it_ends_its_worker() {
    let stage = Stage::new(quiet());
    let command = stage.agent("work");
    let registry = registry(&stage, &command);
    let first = registry.create(order(&command)).await.unwrap();
    until("one is ready", || n_warm(&registry) == 1).await;
    stage.close_gate();
    let second = registry.create(order(&command)).await.unwrap();
    assert_eq!((n_warm(&registry), stage.n_agent_sessions()), (0, 2));
    until("its successor is started", || stage.starts().len() == 3).await;
    for id in [first.handle.id(), second.handle.id()] {
        registry.close(id).await.unwrap();
    }
    until("their workers are gone", || stage.processes().len() == 1).await;
    registry.shut_down().await;
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_starts_later_leaves_the_warm_worker_where_it_is() {
    let stage = Stage::new(quiet());
    let command = stage.agent("work");
    let registry = registry(&stage, &command);
    registry.create(order(&command)).await.unwrap();
    until("one is ready", || n_warm(&registry) == 1).await;
    let later = SessionOrder { starts_later: true, ..order(&command) };
    let later = registry.create(later).await.unwrap();
    assert_eq!((n_warm(&registry), stage.starts().len()), (1, 2));
    registry.close(later.handle.id()).await.unwrap();
    assert_eq!(n_warm(&registry), 1);
    registry.shut_down().await;
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_a_registry_share_a_worker_and_close_alone() {
    let stage = Stage::new(quiet());
    let mut command = stage.agent("work");
    command.quirks.shares_worker = true;
    let registry = registry(&stage, &command);
    let first = registry.create(order(&command)).await.unwrap();
    let second = registry.create(order(&command)).await.unwrap();
    assert_eq!(stage.starts().len(), 1);
    registry.close(first.handle.id()).await.unwrap();
    let passed = second.handle.forward("session/list", &Json::trusted("{}")).await.unwrap();
    assert!(passed.is_ok());
    assert_eq!(registry.pools().snapshot().keys[0].in_use, 1);
    registry.shut_down().await;
    stage.until_none_left().await;
    assert_eq!(stage.starts().len(), 1);
}

/// Ends neither with its input nor at SIGTERM, and neither does what it leaves behind.
const DEAF: &str = r#"trap "" TERM
echo $$ >> "$STAGE/starts"
"$AGENT" --all-sessions --state "$STAGE/sessions" "$@"
exec sleep 1000
"#;

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_of_a_drain_no_agent_has_its_usual_patience() {
    // Whoever waited for any of these would wait longer than the test does.
    let for_ever = soak::PATIENCE * 10;
    let settings = SessionSettings {
        cancel_grace: for_ever,
        stop: StopLadder { after_eof: for_ever, after_term: for_ever },
        ..SessionSettings::default()
    };
    let stage = Stage::with(quiet(), settings);
    std::fs::write(stage.path("deaf.sh"), DEAF).unwrap();
    let command = stage.script("work", "deaf.sh", &[]);
    let registry = registry(&stage, &command);
    let [busy, _idle] = [
        registry.create(order(&command)).await.unwrap(),
        registry.create(order(&command)).await.unwrap(),
    ];
    until("one stands ready", || n_warm(&registry) == 1).await;
    busy.handle.prompt(mint::turn_id(), prompt("hang-hard"), "test").await.unwrap();

    let limit = std::time::Duration::from_millis(100);
    tokio::time::timeout(soak::PATIENCE, registry.drain(limit)).await.unwrap();

    stage.until_none_left().await;
    let events = stage.context.log.read(busy.handle.id(), Seq(0), 10_000).await.unwrap();
    let ends: Vec<_> = events.iter().filter(|event| event.kind == Kind::TurnEnded).collect();
    assert_eq!(ends.len(), 1);
    assert!(ends[0].payload.as_str().contains("cancelled"), "{:?}", ends[0].payload);
}

pub(crate) fn prompt(text: &str) -> Json {
    Json::of(&serde_json::json!({ "prompt": [{ "type": "text", "text": text }] }))
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_that_meet_a_close_end_with_it_or_wake_the_session() {
    let stage = Stage::new(quiet());
    let command = stage.agent("work");
    let registry = registry(&stage, &command);
    let handle = registry.create(order(&command)).await.unwrap().handle;
    let (id, log) = (handle.id(), registry.log().clone());
    // As if they had come after the cancel that goes before a close.
    let turns = [mint::turn_id(), mint::turn_id()];
    for turn in turns {
        handle.prompt(turn, prompt("hang"), "test").await.unwrap();
    }
    handle.close().await.unwrap();
    let late = handle.prompt(mint::turn_id(), prompt("echo late"), "test").await;
    assert!(matches!(late, Err(SessionError::PutAside)), "{late:?}");
    assert_eq!(registry.record(id).await.unwrap().active_turn, None);
    let events = log.read(id, Seq(0), 1000).await.unwrap();
    let ended = |turn, kind| events.iter().any(|e| e.turn == Some(turn) && e.kind == kind);
    assert!(ended(turns[0], Kind::TurnEnded) && ended(turns[1], Kind::PromptDropped), "{events:?}");

    registry.close(id).await.unwrap();
    let turn = mint::turn_id();
    let again = move |handle: SessionHandle| async move {
        handle.prompt(turn, prompt("echo hi"), "test").await
    };
    registry.with(id, again).await.unwrap();
    until_async("it is answered", async || {
        let events = log.read(id, Seq(0), 1000).await.unwrap();
        events.iter().any(|e| e.turn == Some(turn) && e.kind == Kind::TurnEnded)
    })
    .await;
    registry.shut_down().await;
    stage.until_none_left().await;
}
