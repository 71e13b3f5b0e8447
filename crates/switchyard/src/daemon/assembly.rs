//! Assembles a daemon from settings, agents, warm workers and session registry, without listeners.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use server::daemon::{Daemon, DaemonSettings};
use server::metrics::{Metrics, WarmPool};
use sessions::context::SessionContext;
use sessions::permission::PermissionPolicy;
use sessions::pools::Pools;
use sessions::registry::SessionRegistry;

use super::agents::CatalogueAgents;
use crate::config::Config;
use crate::config::serve::{ServeConfig, WarmConfig};
use crate::home::{self, make_private_dir};
use crate::outcome::Failure;

/// After the last turn, connections and workers have this long to go.
pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(15);

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
    context.settings.observers = context.settings.observers.and(metrics.as_observer());
    context.settings.worker_idle = Some(wanted.worker_idle.0);
    context.settings.put_aside_after = Some(wanted.put_aside.0);
    let state = &config.home.state;
    let shared_cwd = config.home.shared();
    make_private_dir(&shared_cwd)?;
    let warm = match is_warm {
        true => config.file.warm.settings(shared_cwd),
        false => WarmConfig::none().settings(shared_cwd),
    };
    let pools = Pools::new(context.setup.clone(), context.settings.clone(), warm);
    let agents = Arc::new(CatalogueAgents { config: config.clone() });
    let registry = SessionRegistry::with_pools(context, agents, policy, Some(pools));
    let weak = Arc::downgrade(&registry);
    metrics.warm_pools_from(move || {
        weak.upgrade().map(|registry| warm_pools(&registry)).unwrap_or_default()
    });
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
        home: home::user_home(),
        sessions_dir,
        projects_dir,
        pace: config.pace(),
    };
    Ok(Daemon::new(registry, settings, metrics.clone()))
}

/// The workers that stand ready, by agent.
fn warm_pools(registry: &SessionRegistry) -> Vec<WarmPool> {
    let mut pools = BTreeMap::<String, WarmPool>::new();
    for key in registry.pools().map(|pools| pools.snapshot().keys).unwrap_or_default() {
        let pool = pools.entry(key.agent.clone()).or_default();
        pool.agent = key.agent;
        pool.n_ready += key.warm as u64;
        pool.n_starting += u64::from(key.is_starting);
        pool.n_hits += key.counts.hits;
        pool.n_misses += key.counts.misses;
    }
    pools.into_values().collect()
}
