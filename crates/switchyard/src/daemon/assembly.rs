//! Assembles a daemon from settings, agents, warm workers and session registry, without listeners.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use runtimes::catalogue::BuiltInAgent;
use server::daemon::{Daemon, DaemonSettings};
use server::metrics::{LogState, Metrics, WarmPool};
use sessions::context::SessionContext;
use sessions::host::AgentCommand;
use sessions::order::SessionOrder;
use sessions::permission::{PermissionMode, PermissionPolicy};
use sessions::registry::{AgentSource, SessionRegistry};
use tokio::sync::mpsc;
use wire::{Fault, Json};

use crate::agents;
use crate::agents::command::agent_command;
use crate::agents::native::BY_DAEMON;
use crate::config::Config;
use crate::config::serve::{ServeConfig, WarmConfig};
use crate::home::{self, make_private_dir};
use crate::outcome::Failure;

/// After the last turn, connections and workers have this long to go.
pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(15);

/// Detection results that may wait for their receiver.
const MAX_WAITING: usize = 16;

/// The daemon without its listeners.
pub(super) fn assemble(
    config: &Arc<Config>,
    wanted: &ServeConfig,
    (base, elsewhere): (String, Vec<String>),
    mut context: SessionContext,
    policy: PermissionPolicy,
    is_warm: bool,
    metrics: &Metrics,
) -> Result<Arc<Daemon>, Failure> {
    context.settings.own_dirs = Some(config.home.state.join("sessions"));
    context.settings.observers = context.settings.observers.and(Arc::new(metrics.clone()));
    context.settings.worker_idle = Some(wanted.worker_idle.0);
    context.settings.put_aside_after = Some(wanted.put_aside.0);
    let state = &config.home.state;
    let shared_cwd = config.home.shared();
    make_private_dir(&shared_cwd)?;
    let warm = match is_warm {
        true => config.file.warm.settings(shared_cwd),
        false => WarmConfig::none().settings(shared_cwd),
    };
    let agents = Arc::new(CatalogueAgents { config: config.clone() });
    let registry = SessionRegistry::new(context, agents, policy, warm);
    let weak = Arc::downgrade(&registry);
    metrics.warm_pools_from(move || {
        weak.upgrade().map(|registry| warm_pools(&registry)).unwrap_or_default()
    });
    let (log, halted) = (registry.log().clone(), registry.context().halted.clone());
    metrics.log_state_from(move || LogState { health: log.health(), n_halted: halted.n_halted() });
    let projects_dir = wanted.projects.clone().unwrap_or_else(|| config.home.projects());
    let sessions_dir = state.join("sessions");
    for dir in [&projects_dir, &sessions_dir] {
        make_private_dir(dir)?;
    }
    let settings = DaemonSettings {
        page_base: base,
        other_bases: elsewhere,
        default_agent: wanted.agent.clone(),
        roots: wanted.roots.clone(),
        home: home::absolute("HOME").ok().flatten(),
        sessions_dir,
        projects_dir,
        pace: config.pace(),
    };
    Ok(Daemon::new(registry, settings, metrics.clone()))
}

/// The workers that stand ready, by agent.
fn warm_pools(registry: &SessionRegistry) -> Vec<WarmPool> {
    let mut pools = BTreeMap::<String, WarmPool>::new();
    for key in registry.pools().snapshot().keys {
        let pool = pools.entry(key.agent.clone()).or_default();
        pool.agent = key.agent;
        pool.n_ready += key.warm as u64;
        pool.n_starting += u64::from(key.is_starting);
        pool.n_hits += key.counts.hits;
        pool.n_misses += key.counts.misses;
    }
    pools.into_values().collect()
}

/// The agents of this machine, for the session registry.
#[derive(Debug)]
struct CatalogueAgents {
    config: Arc<Config>,
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
