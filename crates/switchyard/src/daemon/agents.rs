//! The agents of this machine, for the daemon's session registry.

use std::sync::Arc;

use async_trait::async_trait;
use runtimes::catalogue::BuiltInAgent;
use sessions::host::AgentCommand;
use sessions::order::SessionOrder;
use sessions::permission::PermissionMode;
use sessions::registry::AgentSource;
use tokio::sync::mpsc;
use wire::{Fault, Json};

use crate::agents;
use crate::agents::command::agent_command;
use crate::agents::native::BY_DAEMON;
use crate::config::Config;

/// Detection results that may wait for their receiver.
const MAX_WAITING: usize = 16;

#[derive(Debug)]
pub(super) struct CatalogueAgents {
    pub(super) config: Arc<Config>,
}

#[async_trait]
impl AgentSource for CatalogueAgents {
    async fn command(
        &self,
        order: &SessionOrder,
        mode: PermissionMode,
    ) -> Result<AgentCommand, Fault> {
        let command = agent_command(&self.config, order, mode).await;
        let mut command = command.map_err(|failure| failure.fault())?;
        let inside = order.agent.as_deref().filter(|_| order.command.is_empty());
        if inside.and_then(BuiltInAgent::named) == Some(BuiltInAgent::Native) && order.env.is_none()
        {
            command.args.push(BY_DAEMON.into());
        }
        if let Some(env) = &order.env {
            // What the definition sets and strips holds for this environment too.
            let bus::Environment { set, strip, .. } = std::mem::take(&mut command.env);
            let mut all = env.clone();
            all.retain(|name, _| !strip.contains(name));
            all.extend(set);
            command.env = bus::Environment { set: all, ..bus::Environment::empty() };
        }
        Ok(command)
    }

    fn found(&self, refresh: bool) -> mpsc::Receiver<Json> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let config = self.config.clone();
        task::spawn(async move {
            let Ok(catalogue) = agents::catalogue(&config) else { return };
            for inside in BuiltInAgent::ALL {
                let found = agents::detect_inside(inside, &config, true).await;
                if sender.send(Json::of(&found)).await.is_err() {
                    return;
                }
            }
            let options = runtimes::detect::DetectOptions { refresh, ..agents::options(&config) };
            let mut found = runtimes::detect::detect(&catalogue, options);
            while let Some(one) = found.recv().await {
                if sender.send(Json::of(&one)).await.is_err() {
                    return;
                }
            }
        });
        receiver
    }
}
