//! `switchyard.toml`: limits, waits, permissions and agents of one's own.
//!
//! Read once, checked as a whole; an unknown member is an error, because a setting that is
//! silently ignored is worse than none. Nothing is read from the directory that an agent
//! works in: a repository must not be able to change what runs.

pub(crate) mod serve;
pub(crate) mod user;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use runtimes::catalogue::Own;
use serde::Deserialize;
use sessions::observer::Observers;
use sessions::permission::{Mode, RulesFile};
use sessions::settings::Settings;
use store::Durability;

use crate::home::Home;
use crate::logging::LogTable;
use crate::time::parse_duration;
use crate::traces::TracesTable;

/// No conversation fits into less.
const MIN_LINE_BYTES: usize = 4096;

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) home: Home,
    pub(crate) file: File,
    /// Who is told what happens in sessions.
    pub(crate) observers: Observers,
    /// The file as it was written; none if there is none.
    pub(crate) written: Option<toml::Table>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct File {
    pub(crate) store: Store,
    pub(crate) limits: Limits,
    pub(crate) waits: Waits,
    pub(crate) permissions: Permissions,
    pub(crate) workers: Workers,
    pub(crate) log: LogTable,
    pub(crate) traces: TracesTable,
    pub(crate) serve: serve::Serve,
    pub(crate) warm: serve::Warm,
    pub(crate) open_design: serve::OpenDesign,
    pub(crate) webhook: Option<server::webhook::Table>,
    pub(crate) native: agent::native::config::Config,
    pub(crate) agents: BTreeMap<String, Own>,
    /// The shape that editors share.
    pub(crate) agent_servers: BTreeMap<String, Own>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Store {
    durability: DurabilityName,
    max_session_bytes: Option<u64>,
    pub(crate) keep_days: Option<u32>,
    pub(crate) max_total_bytes: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DurabilityName {
    #[default]
    Process,
    Power,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    worker_line_bytes: Option<usize>,
    client_line_bytes: Option<usize>,
    queued_prompts: Option<usize>,
    sessions_per_token: Option<NonZeroUsize>,
    terminals: Option<usize>,
    terminal_output_bytes: Option<usize>,
    restarts: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Waits {
    initialize: Option<Wait>,
    open: Option<Wait>,
    write_stall: Option<Wait>,
    cancel_grace: Option<Wait>,
    after_eof: Option<Wait>,
    after_term: Option<Wait>,
    permission: Option<Wait>,
    quiet: Option<Wait>,
    client_warning: Option<Wait>,
    client_eviction: Option<Wait>,
    heartbeat: Option<Wait>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Wait(pub(crate) Duration);

impl TryFrom<String> for Wait {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_duration(&text).map(Self)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Permissions {
    mode: Option<Mode>,
    /// A rules file, relative to the configuration.
    pub(crate) rules: Option<PathBuf>,
}

impl Permissions {
    pub(crate) fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }

    /// The mode, if the file names one.
    pub(crate) fn chosen_mode(&self) -> Option<Mode> {
        self.mode
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Workers {
    pub(crate) cgroups: bool,
}

impl Default for Workers {
    fn default() -> Self {
        Self { cgroups: true }
    }
}

/// Reads the configuration once more. A pipe was read already: nothing in it is not what it
/// said, and nobody may come to write to it.
pub(crate) fn load_again(config: &Config) -> Result<Config> {
    use std::os::unix::fs::FileTypeExt as _;
    let path = &config.home.config;
    if std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        bail!("cannot read {} again: it is a pipe", path.display());
    }
    load_at(Some(path), config.written.is_none())
}

/// Reads the configuration. A file that is named must be there.
pub(crate) fn load(path: Option<&Path>) -> Result<Config> {
    load_at(path, path.is_none())
}

/// What holds where no file says anything.
pub(crate) fn defaults(path: Option<&Path>) -> Result<Config> {
    let (home, file) = (home_with(path)?, File::default());
    Ok(Config { home, file, observers: Observers::default(), written: None })
}

fn home_with(path: Option<&Path>) -> Result<Home> {
    let mut home = Home::find()?;
    if let Some(path) = path {
        // Agents read it again, where they work: a file of that name there is another one.
        home.config = std::path::absolute(path)?;
    }
    Ok(home)
}

fn load_at(path: Option<&Path>, may_be_missing: bool) -> Result<Config> {
    let home = home_with(path)?;
    // One that is still to be made is noted by whoever makes it.
    home.note();
    let mut written = None;
    let file = match std::fs::read_to_string(&home.config) {
        Ok(text) => {
            let cannot = || format!("cannot use {}", home.config.display());
            let file = toml::from_str(&text).with_context(cannot)?;
            written = Some(toml::from_str(&text).with_context(cannot)?);
            file
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && may_be_missing => {
            File::default()
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", home.config.display()));
        }
    };
    let lines = [file.limits.worker_line_bytes, file.limits.client_line_bytes];
    if lines.into_iter().flatten().any(|bytes| bytes < MIN_LINE_BYTES) {
        bail!("{}: a line needs at least {MIN_LINE_BYTES} bytes", home.config.display());
    }
    Ok(Config { home, file, observers: Observers::default(), written })
}

impl Config {
    /// How agents of ours are told of the file. It has to be there for them if it is here: what
    /// holds them in may stand in it.
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        match &self.written {
            Some(_) => vec!["--config".into(), self.home.config.clone().into()],
            None => Vec::new(),
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings {
            observers: self.observers.clone(),
            forbidden: self.home.forbidden(),
            ..Settings::default()
        };
        let Limits {
            worker_line_bytes,
            client_line_bytes,
            queued_prompts,
            sessions_per_token,
            terminals,
            terminal_output_bytes,
            restarts,
        } = &self.file.limits;
        set(&mut settings.worker_line_bytes, *worker_line_bytes);
        set(&mut settings.client_line_bytes, *client_line_bytes);
        set(&mut settings.max_queued_prompts, *queued_prompts);
        set(&mut settings.max_sessions_per_token, sessions_per_token.map(NonZeroUsize::get));
        set(&mut settings.max_terminals, *terminals);
        set(&mut settings.terminal_output_bytes, *terminal_output_bytes);
        set(&mut settings.max_restarts, *restarts);
        let waits = &self.file.waits;
        let of = |wait: Option<Wait>| wait.map(|wait| wait.0);
        set(&mut settings.initialize_within, of(waits.initialize));
        set(&mut settings.open_within, of(waits.open));
        set(&mut settings.write_stall, of(waits.write_stall));
        set(&mut settings.cancel_grace, of(waits.cancel_grace));
        set(&mut settings.stop.after_eof, of(waits.after_eof));
        set(&mut settings.stop.after_term, of(waits.after_term));
        set(&mut settings.permission_within, of(waits.permission));
        set(&mut settings.quiet_after, of(waits.quiet));
        settings
    }

    /// How readers of the daemon's events are waited for.
    pub(crate) fn pace(&self) -> server::daemon::Pace {
        let mut pace = server::daemon::Pace::default();
        let waits = &self.file.waits;
        let of = |wait: Option<Wait>| wait.map(|wait| wait.0);
        set(&mut pace.warn_after, of(waits.client_warning));
        set(&mut pace.evict_after, of(waits.client_eviction));
        set(&mut pace.heartbeat, of(waits.heartbeat));
        pace
    }

    pub(crate) fn store_options(&self) -> store::Options {
        let durability = match self.file.store.durability {
            DurabilityName::Process => Durability::Process,
            DurabilityName::Power => Durability::Power,
        };
        let mut options = store::Options { durability, ..store::Options::default() };
        set(&mut options.max_session_bytes, self.file.store.max_session_bytes);
        options
    }

    /// The variables that agents of one's own are given; some of them are keys.
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

fn set<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}
