//! `[[pool]]`: interchangeable workers, as a bus file describes them.
//!
//! In: a table, from TOML or made from a stdio Bus file. Out: a [`PoolEntry`], which says what
//! runs and how it is supervised.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use bus::StopLadder;
use bus::switch::{
    Backoff, PingPolicy, PoolPlan, RestartIntensity, RestartPolicy, Sharing, StartPolicy,
};
use serde::Deserialize;
use sessions::permission::PermissionMode;

use super::units::{BusWait, ByteSize};

/// Variables with this beginning are Switchyard's own.
const OWN_PREFIX: &str = "SWITCHYARD_";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolEntry {
    pub(crate) work: PoolProgram,
    /// The working directory of its workers; where the bus was started if it is left out.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: BTreeMap<String, String>,
    /// The only variables of the bus that its workers get; all if it is left out.
    pub(crate) inherit_env: Option<Vec<String>>,
    /// All but `launch`, which is known when the program has been found.
    pub(crate) plan: PoolPlan,
    pub(crate) ladder: StopLadder,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PoolProgram {
    Command {
        program: PathBuf,
        args: Vec<String>,
    },
    /// An agent that Switchyard knows, as an ACP worker.
    Agent {
        name: String,
        permissions: Option<PermissionMode>,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolTable {
    pub(super) name: String,
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    pub(super) agent: Option<String>,
    pub(super) permissions: Option<PermissionMode>,
    pub(super) cwd: Option<PathBuf>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) inherit_env: Option<Vec<String>>,
    pub(super) workers: Option<u32>,
    pub(super) min: Option<u32>,
    pub(super) max: Option<u32>,
    pub(super) start: Option<StartPolicy>,
    pub(super) restart: Option<RestartPolicy>,
    #[serde(default)]
    pub(super) backoff: BackoffTable,
    #[serde(default)]
    pub(super) intensity: IntensityTable,
    pub(super) drain_timeout: Option<BusWait>,
    #[serde(default)]
    pub(super) stop: StopTable,
    pub(super) ping: Option<PingTable>,
    pub(super) max_memory: Option<ByteSize>,
    pub(super) request_timeout: Option<BusWait>,
    pub(super) prompt_timeout: Option<BusWait>,
    pub(super) max_sessions_per_worker: Option<u32>,
    pub(super) sharing: Option<Sharing>,
    pub(super) idle_stop: Option<BusWait>,
    pub(super) fan_out: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BackoffTable {
    initial: Option<BusWait>,
    max: Option<BusWait>,
    jitter_percent: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct IntensityTable {
    pub(super) deaths: Option<u32>,
    pub(super) window: Option<BusWait>,
    pub(super) cool_down: Option<BusWait>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StopTable {
    after_eof: Option<BusWait>,
    after_term: Option<BusWait>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PingTable {
    method: String,
    interval: Option<BusWait>,
    timeout: Option<BusWait>,
}

impl PoolEntry {
    pub(crate) fn name(&self) -> &str {
        &self.plan.name
    }

    /// Relative paths are below `base`; a program without a slash is looked up in `PATH`.
    pub(super) fn below(mut self, base: &Path) -> Self {
        if let Some(cwd) = &mut self.cwd {
            *cwd = base.join(&*cwd);
        }
        if let PoolProgram::Command { program, .. } = &mut self.work
            && program.as_os_str().as_bytes().contains(&b'/')
        {
            *program = base.join(&*program);
        }
        self
    }
}

impl TryFrom<PoolTable> for PoolEntry {
    type Error = String;

    fn try_from(table: PoolTable) -> Result<Self, String> {
        let of_pool = |why: String| match table.name.as_str() {
            "" => why,
            name => format!("pool `{name}`: {why}"),
        };
        let work = work_of(&table).map_err(of_pool)?;
        check_env(&table).map_err(of_pool)?;
        let plan = plan_of(&table).map_err(of_pool)?;
        let PoolTable { cwd, env, inherit_env, stop, .. } = table;
        let usual = StopLadder::default();
        let ladder = StopLadder {
            after_eof: stop.after_eof.map_or(usual.after_eof, |wait| wait.0),
            after_term: stop.after_term.map_or(usual.after_term, |wait| wait.0),
        };
        Ok(Self { work, cwd, env, inherit_env, plan, ladder })
    }
}

fn work_of(table: &PoolTable) -> Result<PoolProgram, String> {
    match (&table.command, &table.agent) {
        (Some(_), Some(_)) => Err("it has both `command` and `agent`; leave one out".into()),
        (None, None) => Err("it has neither `command` nor `agent`, so nothing can run".into()),
        (Some(program), None) if table.permissions.is_some() => Err(format!(
            "`permissions` is for agents that Switchyard knows; `{program}` takes arguments \
             of its own"
        )),
        (Some(program), None) if program.is_empty() => Err("`command` is empty".into()),
        (Some(program), None) => {
            if [program].into_iter().chain(&table.args).any(|word| word.contains('\0')) {
                return Err("a command line cannot have a NUL in it".into());
            }
            Ok(PoolProgram::Command { program: program.into(), args: table.args.clone() })
        }
        (None, Some(_)) if !table.args.is_empty() => {
            Err("`args` go with `command`; an agent by name has its own".into())
        }
        (None, Some(name)) => {
            Ok(PoolProgram::Agent { name: name.clone(), permissions: table.permissions })
        }
    }
}

fn check_env(table: &PoolTable) -> Result<(), String> {
    let names = table.env.keys().chain(table.inherit_env.iter().flatten());
    for name in names {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("{name:?} cannot be the name of a variable"));
        }
        if name.starts_with(OWN_PREFIX) {
            return Err(format!("`{name}` is Switchyard's own and never reaches a worker"));
        }
    }
    match table.env.iter().find(|(_, value)| value.contains('\0')) {
        Some((name, _)) => Err(format!("the value of `{name}` has a NUL in it")),
        None => Ok(()),
    }
}

fn plan_of(table: &PoolTable) -> Result<PoolPlan, String> {
    let (min, max) = match (table.workers, table.min, table.max) {
        (None, None, None) => (1, 1),
        (Some(n), None, None) => (n, n),
        (None, min, Some(max)) => (min.unwrap_or(1), max),
        (None, Some(_), None) => return Err("`min` without `max`; give both".into()),
        (Some(_), ..) => {
            return Err("give either `workers`, or `min` and `max`".into());
        }
    };
    let usual = PoolPlan::fixed(&table.name, "", 1);
    Ok(PoolPlan {
        min,
        max,
        start: table.start.unwrap_or(usual.start),
        restart: table.restart.unwrap_or(usual.restart),
        backoff: Backoff {
            initial: BusWait::millis_or(table.backoff.initial, usual.backoff.initial),
            max: BusWait::millis_or(table.backoff.max, usual.backoff.max),
            jitter_percent: table.backoff.jitter_percent.unwrap_or(usual.backoff.jitter_percent),
        },
        intensity: RestartIntensity {
            n_deaths: table.intensity.deaths.unwrap_or(usual.intensity.n_deaths),
            window: BusWait::millis_or(table.intensity.window, usual.intensity.window),
            cool_down: BusWait::millis_or(table.intensity.cool_down, usual.intensity.cool_down),
        },
        drain_timeout: BusWait::millis_or(table.drain_timeout, usual.drain_timeout),
        ping: table.ping.as_ref().map(ping_of),
        max_memory_bytes: table.max_memory.map(|size| size.0),
        sharing: table.sharing.unwrap_or(usual.sharing),
        request_timeout: table.request_timeout.map(BusWait::millis),
        prompt_timeout: table.prompt_timeout.map(BusWait::millis),
        max_sessions_per_worker: table.max_sessions_per_worker,
        idle_stop: table.idle_stop.map(BusWait::millis),
        fan_out: match &table.fan_out {
            Some(methods) => methods.iter().map(|method| method.as_str().into()).collect(),
            None => usual.fan_out.clone(),
        },
        ..usual
    })
}

fn ping_of(table: &PingTable) -> PingPolicy {
    // A worker that computes for long may be silent for long; what is asked too often only
    // wakes it.
    const INTERVAL_MS: u64 = 30_000;
    const TIMEOUT_MS: u64 = 10_000;
    PingPolicy {
        method: table.method.as_str().into(),
        interval: BusWait::millis_or(table.interval, INTERVAL_MS),
        timeout: BusWait::millis_or(table.timeout, TIMEOUT_MS),
    }
}

#[cfg(test)]
mod tests;
