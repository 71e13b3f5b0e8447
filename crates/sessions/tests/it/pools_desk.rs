//! A desk whose sessions get their workers from the pools.

use std::sync::Arc;

use async_trait::async_trait;
use sessions::desk::{Agents, Desk, Order, WantedAgent};
use sessions::host::AgentCommand;
use sessions::permission::Policy;
use sessions::pools::Pools;
use sessions::trouble::Trouble;
use tokio::sync::mpsc;
use wire::Json;

use crate::stage::{Stage, quiet, until};

/// One agent, whatever is wanted.
struct One(AgentCommand);

#[async_trait]
impl Agents for One {
    async fn command(&self, _wanted: &WantedAgent) -> Result<AgentCommand, Trouble> {
        Ok(self.0.clone())
    }

    fn found(&self, _refresh: bool) -> mpsc::Receiver<Json> {
        mpsc::channel(1).1
    }
}

fn desk(stage: &Stage, command: &AgentCommand) -> Arc<Desk> {
    let pools = Pools::new(stage.yard.setup.clone(), stage.yard.settings.clone(), quiet());
    let agents = Arc::new(One(command.clone()));
    Desk::with_pools(stage.yard.clone(), agents, Policy::default(), Some(pools))
}

fn order(command: &AgentCommand) -> Order {
    Order { agent: Some(command.name.clone()), cwd: command.cwd.clone(), ..Order::default() }
}

fn n_warm(desk: &Desk) -> usize {
    desk.pools().unwrap().picture().warm
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_session_of_a_desk_is_warm_and_closing_it_ends_its_worker() {
    let stage = Stage::new(quiet());
    let command = stage.agent("work");
    let desk = desk(&stage, &command);
    let first = desk.create(order(&command)).await.unwrap();
    until("one is ready", || n_warm(&desk) == 1).await;
    stage.close_gate();
    let second = desk.create(order(&command)).await.unwrap();
    assert_eq!((n_warm(&desk), stage.n_agent_sessions()), (0, 2));
    until("its successor is started", || stage.starts().len() == 3).await;
    for id in [first.handle.id(), second.handle.id()] {
        desk.close(id).await.unwrap();
    }
    until("their workers are gone", || stage.processes().len() == 1).await;
    desk.shut_down(std::time::Duration::ZERO).await;
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_starts_later_leaves_the_warm_worker_where_it_is() {
    let stage = Stage::new(quiet());
    let command = stage.agent("work");
    let desk = desk(&stage, &command);
    desk.create(order(&command)).await.unwrap();
    until("one is ready", || n_warm(&desk) == 1).await;
    let later = Order { starts_later: true, ..order(&command) };
    let later = desk.create(later).await.unwrap();
    assert_eq!((n_warm(&desk), stage.starts().len()), (1, 2));
    desk.close(later.handle.id()).await.unwrap();
    assert_eq!(n_warm(&desk), 1);
    desk.shut_down(std::time::Duration::ZERO).await;
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_a_desk_share_a_worker_and_close_alone() {
    let stage = Stage::new(quiet());
    let mut command = stage.agent("work");
    command.manners.shares_worker = true;
    let desk = desk(&stage, &command);
    let first = desk.create(order(&command)).await.unwrap();
    let second = desk.create(order(&command)).await.unwrap();
    assert_eq!(stage.starts().len(), 1);
    desk.close(first.handle.id()).await.unwrap();
    let passed = second.handle.pass("session/list", &Json::trusted("{}")).await.unwrap();
    assert!(passed.is_ok());
    assert_eq!(desk.pools().unwrap().picture().keys[0].in_use, 1);
    desk.shut_down(std::time::Duration::ZERO).await;
    stage.until_none_left().await;
    assert_eq!(stage.starts().len(), 1);
}
