//! `switchyard.toml`: limits, waits, permissions and custom agents.
//!
//! Read once, checked as a whole; an unknown member is an error, because a setting that is
//! silently ignored is worse than none. Nothing is read from the directory that an agent
//! works in: a repository must not be able to change what runs.

pub(crate) mod serve;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bus::{GroupLimits, MOST_CPU_WEIGHT, MissingLimit, StopLadder, WorkerLimits};
use runtimes::catalogue::CustomAgent;
use serde::{Deserialize, Serialize};
use server::daemon::StreamPace;
use sessions::observer::Observers;
use sessions::permission::{PermissionMode, PermissionPolicy, RulesFile};
use sessions::settings::{SessionLimits, SessionSettings};
use store::Durability;

use crate::home::Home;
use crate::logging::LogTable;
use crate::time::parse_duration;
use crate::traces::TracesTable;

/// The least limit of a line: no conversation fits into less.
const MIN_LINE_BYTES: usize = 4096;

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) home: Home,
    pub(crate) file: ConfigFile,
    /// The observers of what happens in sessions: metrics and traces.
    pub(crate) observers: Observers,
    /// The file's tables as they were written; none if there is no file.
    pub(crate) raw_tables: Option<toml::Table>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConfigFile {
    pub(crate) store: StoreConfig,
    pub(crate) limits: SessionLimits,
    pub(crate) waits: WaitsConfig,
    pub(crate) permissions: PermissionsConfig,
    pub(crate) workers: WorkersConfig,
    pub(crate) log: LogTable,
    pub(crate) traces: TracesTable,
    pub(crate) serve: serve::ServeConfig,
    pub(crate) warm: serve::WarmConfig,
    pub(crate) open_design: serve::OpenDesignConfig,
    pub(crate) webhook: Option<server::webhook::WebhookTable>,
    pub(crate) native: agent::native::config::Config,
    pub(crate) agents: BTreeMap<String, CustomAgent>,
    /// Custom agents in the form that editors share.
    pub(crate) agent_servers: BTreeMap<String, CustomAgent>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreConfig {
    #[serde(with = "DurabilityName")]
    durability: Durability,
    max_session_bytes: u64,
    pub(crate) keep_days: Option<u32>,
    pub(crate) max_total_bytes: Option<u64>,
    pub(crate) backup_every: Option<ConfigWait>,
    /// Relative to the configuration.
    backup_dir: Option<PathBuf>,
    pub(crate) backup_keep: usize,
}

impl Default for StoreConfig {
    fn default() -> Self {
        let store::SqliteOptions { durability, max_session_bytes } =
            store::SqliteOptions::default();
        Self {
            durability,
            max_session_bytes,
            keep_days: None,
            max_total_bytes: None,
            backup_every: None,
            backup_dir: None,
            // A week of daily ones.
            backup_keep: 7,
        }
    }
}

/// How a [`Durability`] is written in the file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Durability", rename_all = "lowercase")]
enum DurabilityName {
    Process,
    Power,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WaitsConfig {
    initialize: ConfigWait,
    open: ConfigWait,
    write_stall: ConfigWait,
    cancel_grace: ConfigWait,
    after_eof: ConfigWait,
    after_term: ConfigWait,
    permission: ConfigWait,
    quiet: ConfigWait,
    client_warning: ConfigWait,
    client_eviction: ConfigWait,
    heartbeat: ConfigWait,
}

impl Default for WaitsConfig {
    fn default() -> Self {
        let (usual, pace) = (SessionSettings::default(), StreamPace::default());
        Self {
            initialize: ConfigWait(usual.initialize_within),
            open: ConfigWait(usual.open_within),
            write_stall: ConfigWait(usual.write_stall),
            cancel_grace: ConfigWait(usual.cancel_grace),
            after_eof: ConfigWait(usual.stop.after_eof),
            after_term: ConfigWait(usual.stop.after_term),
            permission: ConfigWait(usual.permission_within),
            quiet: ConfigWait(usual.quiet_after),
            client_warning: ConfigWait(pace.warn_after),
            client_eviction: ConfigWait(pace.evict_after),
            heartbeat: ConfigWait(pace.heartbeat),
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ConfigWait(pub(crate) Duration);

impl TryFrom<String> for ConfigWait {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_duration(&text).map(Self)
    }
}

impl From<ConfigWait> for String {
    fn from(ConfigWait(time): ConfigWait) -> Self {
        format!("{}ms", time.as_millis())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PermissionsConfig {
    /// The mode that the file names.
    pub(crate) mode: Option<PermissionMode>,
    /// A rules file, relative to the configuration.
    pub(crate) rules: Option<PathBuf>,
}

impl PermissionsConfig {
    /// The mode in effect.
    pub(crate) fn mode(&self) -> PermissionMode {
        self.mode.unwrap_or_default()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkersConfig {
    pub(crate) cgroups: bool,
    /// Limits of one worker with all that it starts; zero for none.
    pids: u64,
    memory_bytes: u64,
    cpu_weight: u64,
    /// Limits of the workers of one session together.
    session: GroupLimits,
}

impl Default for WorkersConfig {
    fn default() -> Self {
        Self {
            cgroups: true,
            // A fork bomb stops here, and the machine, which has room for 32768 by default, goes
            // on. A build with a compiler and its threads on each of a hundred cores has half as
            // many.
            pids: 4096,
            memory_bytes: 0,
            cpu_weight: 0,
            session: GroupLimits::default(),
        }
    }
}

impl WorkersConfig {
    fn worker(&self) -> GroupLimits {
        let Self { pids, memory_bytes, cpu_weight, .. } = *self;
        GroupLimits { pids, memory_bytes, cpu_weight }
    }

    /// The limits as far as this machine allows them, from now on. To be called before this process
    /// starts anything, in one that runs sessions or a bus.
    pub(crate) fn prepare_limits(&self) -> WorkerLimits {
        let limits = match self.cgroups {
            true => WorkerLimits::prepare(self.worker(), self.session),
            false => WorkerLimits::without_cgroups(self.worker(), self.session),
        };
        for MissingLimit { limit, why } in limits.missing() {
            tracing::info!(limit, why, "a limit of workers is not in force");
        }
        limits
    }
}

/// Reads the configuration once more. A pipe is refused: its content has been read already, and
/// opening it again could wait for a writer for ever.
pub(crate) fn reload(config: &Config) -> Result<Config> {
    use std::os::unix::fs::FileTypeExt as _;
    let path = &config.home.config;
    if std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        bail!("cannot read {} again: it is a pipe", path.display());
    }
    load_at(Some(path), config.raw_tables.is_none())
}

/// Reads the configuration. A file that is named must be there.
pub(crate) fn load(path: Option<&Path>) -> Result<Config> {
    load_at(path, path.is_none())
}

/// The configuration without a file.
pub(crate) fn defaults(path: Option<&Path>) -> Result<Config> {
    let (home, file) = (home_with(path)?, ConfigFile::default());
    Ok(Config { home, file, observers: Observers::default(), raw_tables: None })
}

fn home_with(path: Option<&Path>) -> Result<Home> {
    let mut home = Home::find()?;
    if let Some(path) = path {
        // Absolute, because agents read it again from the directories where they work.
        home.config = std::path::absolute(path)?;
    }
    Ok(home)
}

fn load_at(path: Option<&Path>, may_be_missing: bool) -> Result<Config> {
    let home = home_with(path)?;
    // A home that does not exist yet is noted by the code that makes it.
    home.register();
    let (file, written): (ConfigFile, _) = match std::fs::read_to_string(&home.config) {
        Ok(text) => {
            let cannot = || format!("cannot use {}", home.config.display());
            let file = toml::from_str(&text).with_context(cannot)?;
            (file, Some(toml::from_str(&text).with_context(cannot)?))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && may_be_missing => {
            (ConfigFile::default(), None)
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", home.config.display()));
        }
    };
    let lines = [file.limits.worker_line_bytes, file.limits.client_line_bytes];
    if lines.into_iter().any(|bytes| bytes < MIN_LINE_BYTES) {
        bail!(
            "{}: limits.worker_line_bytes and limits.client_line_bytes need {MIN_LINE_BYTES} or more",
            home.config.display()
        );
    }
    let weights = [file.workers.cpu_weight, file.workers.session.cpu_weight];
    if weights.into_iter().any(|weight| weight > MOST_CPU_WEIGHT) {
        bail!(
            "{}: cpu_weight in [workers] is at most {MOST_CPU_WEIGHT}; 100 is usual, 0 leaves it so",
            home.config.display()
        );
    }
    if file.store.backup_every.is_some_and(|every| every.0.is_zero()) {
        bail!("{}: store.backup_every needs a time, such as \"1d\"", home.config.display());
    }
    Ok(Config { home, file, observers: Observers::default(), raw_tables: written })
}

impl Config {
    /// The arguments that name the file to agents of ours. They fail without it if it is there now:
    /// the settings of their sandbox may be in it.
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        match &self.raw_tables {
            Some(_) => vec!["--config".into(), self.home.config.clone().into()],
            None => Vec::new(),
        }
    }

    pub(crate) fn settings(&self) -> SessionSettings {
        let ConfigFile { limits, waits, .. } = &self.file;
        SessionSettings {
            observers: self.observers.clone(),
            forbidden: self.home.forbidden(),
            limits: *limits,
            initialize_within: waits.initialize.0,
            open_within: waits.open.0,
            write_stall: waits.write_stall.0,
            cancel_grace: waits.cancel_grace.0,
            stop: StopLadder { after_eof: waits.after_eof.0, after_term: waits.after_term.0 },
            permission_within: waits.permission.0,
            quiet_after: waits.quiet.0,
            ..SessionSettings::default()
        }
    }

    /// The policy of sessions that name no other. Its rules are those of the session context, which
    /// follows their file.
    pub(crate) fn policy(&self) -> PermissionPolicy {
        PermissionPolicy { mode: self.file.permissions.mode(), ..PermissionPolicy::default() }
    }

    /// How long the daemon waits for slow readers of its events.
    pub(crate) fn pace(&self) -> StreamPace {
        let waits = &self.file.waits;
        StreamPace {
            warn_after: waits.client_warning.0,
            evict_after: waits.client_eviction.0,
            heartbeat: waits.heartbeat.0,
        }
    }

    pub(crate) fn store_options(&self) -> store::SqliteOptions {
        let StoreConfig { durability, max_session_bytes, .. } = self.file.store;
        store::SqliteOptions { durability, max_session_bytes }
    }

    /// The directory of scheduled backups.
    pub(crate) fn backup_dir(&self) -> PathBuf {
        let base = self.home.config.parent().unwrap_or(Path::new("/"));
        let named = self.file.store.backup_dir.as_ref();
        named.map_or_else(|| self.home.state.join("backups"), |dir| base.join(dir))
    }

    /// The environment variables of custom agents; some of them are keys.
    pub(crate) fn secret_variables(&self) -> Vec<(String, String)> {
        let all = self.file.agents.values().chain(self.file.agent_servers.values());
        all.flat_map(|own| own.env.clone()).collect()
    }

    /// The file with the rules of the configuration.
    pub(crate) fn rules_file(&self) -> Option<RulesFile> {
        let path = self.file.permissions.rules.as_ref()?;
        let base = self.home.config.parent().unwrap_or(Path::new("/"));
        Some(RulesFile::new(base.join(path)))
    }
}
