//! The agents of this machine, for the daemon's desk.

use std::sync::Arc;

use async_trait::async_trait;
use sessions::desk::{Agents, WantedAgent};
use sessions::host::AgentCommand;
use tokio::sync::mpsc;
use wire::Fault;
use wire::Json;

use crate::agents;
use crate::bootstrap;
use crate::config::Config;
use crate::launching::{Wanted, agent_command};
use crate::native::{BY_DAEMON, NATIVE};

/// Agents that are told before somebody listens.
const MAX_WAITING: usize = 16;

#[derive(Debug)]
pub(crate) struct Catalogued {
    config: Arc<Config>,
}

impl Catalogued {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self { config }
    }
}

#[async_trait]
impl Agents for Catalogued {
    async fn command(&self, wanted: &WantedAgent) -> Result<AgentCommand, Fault> {
        let asked = Wanted {
            name: wanted.name.as_deref(),
            command: &wanted.command,
            cwd: &wanted.cwd,
            permissions: bootstrap::runtime_mode(wanted.permissions),
            add_dirs: &wanted.additional_directories,
            model: wanted.model.as_deref(),
        };
        let command = agent_command(&self.config, &asked).await;
        let mut command = command.map_err(|failure| failure.fault())?;
        let is_native = wanted.command.is_empty() && wanted.name.as_deref() == Some(NATIVE);
        if is_native && wanted.env.is_none() {
            command.args.push(BY_DAEMON.into());
        }
        if let Some(env) = &wanted.env {
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
            let native = crate::native::about(&config, true).await;
            for built_in in [native, crate::agents_verbs::demo_json()] {
                if sender.send(Json::of(&built_in)).await.is_err() {
                    return;
                }
            }
            let options = runtimes::detect::Options { refresh, ..agents::options(&config) };
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
