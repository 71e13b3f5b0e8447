//! Makes of a bus file the setup with which a bus is started.
//!
//! In: its file, at the start and at each reload, and this user's configuration. Out: plans,
//! launches, limits and listeners that fit together, or what is wrong and what to do. Whether
//! programs are there is not looked at: a bus starts without them, and its pools say what is
//! missing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use bus::switch::PlanError;
use bus::{Bus, Environment, IoLimits, KernelSetup, Launch, PoolSetup};
use sessions::order::SessionOrder;

use super::file::{BusFile, read_text};
use super::listener::{BusAddress, BusListener};
use super::pool_table::{PoolEntry, PoolProgram};
use super::say;
use super::units::show_bytes;
use crate::agents::command::agent_command;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};

/// The least limit of a line: no conversation fits into less.
const MIN_LINE_BYTES: usize = 4096;
/// The longest path of a socket that the kernel takes, without the NUL at its end.
const MAX_SOCKET_PATH_BYTES: usize = 107;

#[derive(Debug)]
pub(crate) struct BusSetup {
    pub(crate) setup: KernelSetup,
    pub(crate) listeners: Vec<BusListener>,
    pub(crate) token_file: Option<PathBuf>,
}

/// The file of a bus, and all that is needed to read it again.
pub(super) struct BusSource {
    pub(super) path: PathBuf,
    here: PathBuf,
    record: Option<PathBuf>,
    pub(super) config: Config,
    /// The file's listeners at the start.
    listeners: Vec<BusListener>,
}

impl BusSource {
    /// Opens the source, and reads the first setup from it.
    pub(super) async fn open(
        path: &Path,
        record: Option<PathBuf>,
        config: Config,
    ) -> Result<(Self, BusSetup), Failure> {
        let here = std::env::current_dir().context("cannot find the working directory")?;
        let path = here.join(path);
        let mut source = Self { path, here, record, config, listeners: Vec::new() };
        let first = source.read().await?;
        source.listeners.clone_from(&first.listeners);
        Ok((source, first))
    }

    async fn read(&self) -> Result<BusSetup, Failure> {
        let file = BusFile::parse(&read_text(&self.path)?, &self.path, &self.here);
        let file = file.map_err(|wrong| wrong.failure(&self.path))?;
        for warning in warnings(&file) {
            say(&warning);
        }
        let mut read = prepare(file, &self.config, &self.here).await?;
        read.setup.record.clone_from(&self.record);
        Ok(read)
    }

    /// Reloads pools and limits; listeners stay as they are. Returns a note for the user.
    pub(super) async fn reload(&self, bus: &Bus) -> Result<Option<&'static str>, Failure> {
        let BusSetup { setup, listeners, .. } = self.read().await?;
        bus.reload(setup).await?;
        let note = "other listeners take effect when the bus is started again";
        Ok((listeners != self.listeners).then_some(note))
    }
}

/// Everything that a bus needs. `here` is where it is started.
pub(crate) async fn prepare(
    file: BusFile,
    config: &Config,
    here: &Path,
) -> Result<BusSetup, Failure> {
    let mut problems = problems(&file);
    let mut pools = Vec::new();
    let limits = config.file.workers.prepare_limits();
    for pool in file.pools {
        match launch(&pool, config, here).await {
            Ok(mut launch) => {
                launch.limits = limits.clone();
                pools.push(PoolSetup { plan: pool.plan, launch, ladder: pool.ladder });
            }
            Err(problem) => problems.push(problem),
        }
    }
    let BusFile { limits, edges, listeners, token_file, .. } = file;
    let setup = KernelSetup { pools, limits, edges, record: None };
    let mut problems = problems.into_iter();
    let Some(first) = problems.next() else {
        return Ok(BusSetup { setup, listeners, token_file });
    };
    let more = format!("{} more: `switchyard bus check` tells all", problems.len());
    Err(match (problems.len(), first.hint.clone()) {
        (0, _) => first,
        (_, None) => first.hint(more),
        (_, Some(hint)) => first.hint(format!("{hint}; and {more}")),
    })
}

/// The settings of a file that cannot work as they are written.
pub(super) fn problems(file: &BusFile) -> Vec<Failure> {
    let mut found = Vec::new();
    if file.pools.is_empty() {
        found.push(plan_failure(&PlanError::NoPools));
    }
    let mut names = BTreeSet::new();
    for pool in &file.pools {
        if !names.insert(&pool.plan.name) {
            found.push(plan_failure(&PlanError::PoolTwice(pool.plan.name.clone())));
        }
        found.extend(pool.plan.check().err().map(|error| plan_failure(&error)));
    }
    found.extend(file.limits.check().err().map(|error| plan_failure(&error)));
    found.extend(edge_problems(&file.edges).into_iter().map(|why| Failure::new(ERROR, why)));
    let mut addresses = BTreeSet::new();
    for listener in &file.listeners {
        let at = &listener.at;
        if !addresses.insert(at) {
            found.push(Failure::new(ERROR, format!("{at} is listened on twice")));
        }
        if let Some(pool) = &listener.pool
            && !names.contains(&Arc::from(pool.as_str()))
        {
            let known: Vec<&str> = names.iter().map(|name| &***name).collect();
            found.push(
                Failure::new(ERROR, format!("{at} is for pool `{pool}`, which is not there"))
                    .hint(format!("known: {}", known.join(", "))),
            );
        }
        if let BusAddress::Unix(path, _) = at
            && path.as_os_str().as_bytes().len() > MAX_SOCKET_PATH_BYTES
        {
            found.push(
                Failure::new(ERROR, format!("{at} is too long for a socket"))
                    .hint(format!("use a path of at most {MAX_SOCKET_PATH_BYTES} bytes")),
            );
        }
    }
    found
}

fn edge_problems(edges: &IoLimits) -> Vec<String> {
    let mut found = Vec::new();
    let lines = [
        ("max_client_line", edges.max_client_line_bytes),
        ("max_worker_line", edges.max_worker_line_bytes),
    ];
    for (name, n_bytes) in lines {
        if n_bytes < MIN_LINE_BYTES {
            found.push(format!("limits: `{name}` is less than {MIN_LINE_BYTES} bytes"));
        }
    }
    if edges.max_unfinished_bytes < edges.max_client_line_bytes {
        found.push("limits: `max_unfinished` is less than `max_client_line`".to_owned());
    }
    let waits = [
        ("line_timeout", edges.line_timeout),
        ("hello_timeout", edges.hello_timeout),
        ("worker_stuck_after", edges.worker_stuck_after),
        ("memory_interval", edges.memory_interval),
    ];
    let zero = waits.into_iter().filter(|(_, n_millis)| *n_millis == 0);
    found.extend(zero.map(|(name, _)| format!("limits: `{name}` is zero")));
    found
}

/// The settings of a file that work, but perhaps not as they were meant.
pub(crate) fn warnings(file: &BusFile) -> Vec<String> {
    let mut found = file.warnings.clone();
    let (line, queue) = (file.edges.max_client_line_bytes, file.limits.worker_queue.full);
    if line > queue {
        found.push(format!(
            "limits: a line may be as long as {}, but only {} may wait for a worker: longer ones \
             are refused while it starts; make `worker_queue` larger",
            show_bytes(line as u64),
            show_bytes(queue as u64),
        ));
    }
    for listener in &file.listeners {
        let at = &listener.at;
        if !at.is_local() {
            found.push(format!(
                "{at} can be reached from other machines, and nothing is encrypted: put a tunnel \
                 or a proxy with TLS before it"
            ));
        }
        if let BusAddress::Unix(_, mode) = at
            && mode & 0o007 != 0
        {
            found.push(format!("{at} has mode {mode:04o}: anybody on this machine may connect"));
        }
    }
    found
}

/// The launch of a pool's workers.
pub(super) async fn launch(
    pool: &PoolEntry,
    config: &Config,
    here: &Path,
) -> Result<Launch, Failure> {
    let cwd = pool.cwd.clone().unwrap_or_else(|| here.to_owned());
    let mut launch = match &pool.work {
        PoolProgram::Command { program, args } => {
            let mut launch = Launch::new(program, cwd);
            launch.args = args.iter().map(OsString::from).collect();
            launch
        }
        PoolProgram::Agent { name, permissions } => {
            let mode = permissions.unwrap_or(config.file.permissions.mode());
            let agent = Some(name.clone());
            let order = SessionOrder { agent, cwd, ..SessionOrder::default() };
            let found = agent_command(config, &order, mode).await;
            let command = found.map_err(|failure| pool_failure(pool.name(), failure))?;
            let mut launch = Launch::new(command.program, command.cwd);
            (launch.args, launch.env) = (command.args, command.env);
            launch
        }
    };
    set_env(&mut launch.env, pool);
    launch.records_dir = Some(config.home.workers());
    launch.cgroups = config.file.workers.cgroups;
    Ok(launch)
}

fn set_env(env: &mut Environment, pool: &PoolEntry) {
    if let Some(names) = &pool.inherit_env {
        env.inherit = false;
        for name in names.iter().map(OsString::from) {
            if !env.strip.contains(&name)
                && let Some(value) = std::env::var_os(&name)
            {
                env.set.entry(name).or_insert(value);
            }
        }
    }
    env.set.extend(pool.env.iter().map(|(name, value)| (name.into(), value.into())));
}

/// The failure for an invalid plan, with a hint.
fn plan_failure(error: &PlanError) -> Failure {
    let failure = Failure::new(ERROR, error.to_string());
    match error {
        PlanError::NoPools => failure.hint("add a [[pool]] with `name` and `command`"),
        PlanError::PoolTwice(_) => failure.hint("give each pool a name of its own"),
        PlanError::Pool { .. } | PlanError::Limits(_) => failure,
    }
}

/// The failure to start a pool's agent, with hints in the words of a bus file.
fn pool_failure(pool: &str, failure: Failure) -> Failure {
    let hint = failure.hint.map(|hint| match () {
        // The other commands take the mode as a flag, and an agent's command after the other words.
        () if hint.contains("--permissions") => {
            "choose one with `permissions` in the pool".to_owned()
        }
        () if hint.contains("after `--`") => "`switchyard agents list --all` shows those there \
                                             are; anything else is run by `command`"
            .to_owned(),
        () => hint,
    });
    Failure::new(ERROR, format!("pool `{pool}`: {}", failure.message)).hinting(hint)
}

#[cfg(test)]
mod tests;
