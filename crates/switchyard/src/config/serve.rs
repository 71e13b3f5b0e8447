//! `[serve]`, `[warm]` and `[open_design]` of `switchyard.toml`: where the daemon listens, for
//! whom, how long it waits, what it keeps ready, and what runs under `/api` get.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sessions::permission::Mode;
use sessions::pools::WarmSettings;

use crate::cli::serve::ServeArgs;
use crate::config::Wait;
use crate::config::user::User;

const DEFAULT_HOST: &str = "127.0.0.1:7433";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Serve {
    host: Option<SocketAddr>,
    tcp: Vec<SocketAddr>,
    unix: Vec<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    allow_origins: Vec<String>,
    allow_hosts: Vec<String>,
    /// Whose processes may hand on what browsers say, beside our own.
    proxy_users: Vec<User>,
    insecure: bool,
    agent: Option<String>,
    /// Where sessions of network clients may work.
    roots: Vec<PathBuf>,
    projects: Option<PathBuf>,
    drain: Option<Wait>,
    worker_idle: Option<Wait>,
    put_aside: Option<Wait>,
}

/// Workers that are kept ready.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Warm {
    enabled: bool,
    /// Agents for which it is different.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    agents: BTreeMap<String, bool>,
    workers: usize,
    per_key: usize,
    memory_bytes: u64,
    idle: Wait,
    open_sessions: bool,
}

impl Default for Warm {
    fn default() -> Self {
        let usual = WarmSettings::default();
        Self {
            enabled: usual.is_on,
            agents: usual.agents,
            workers: usual.max_workers,
            per_key: usual.max_per_key,
            memory_bytes: usual.max_memory_bytes,
            idle: Wait(usual.idle),
            open_sessions: usual.opens_sessions,
        }
    }
}

impl Warm {
    /// For a process that runs what it was started for, and nothing that it may not need.
    pub(crate) fn none() -> Self {
        Self { workers: 0, ..Self::default() }
    }

    pub(crate) fn settings(&self, shared_cwd: PathBuf) -> WarmSettings {
        WarmSettings {
            is_on: self.enabled,
            agents: self.agents.clone(),
            max_workers: self.workers,
            max_per_key: self.per_key,
            max_memory_bytes: self.memory_bytes,
            idle: self.idle.0,
            opens_sessions: self.open_sessions,
            shared_cwd: Some(shared_cwd),
            ..WarmSettings::default()
        }
    }
}

/// What runs under `/api` get, whose clients name none of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OpenDesign {
    permissions: Option<Mode>,
    /// How long an agent may say nothing; zero for as long as it wants.
    inactivity: Option<Wait>,
    /// Directories with one of each name, which the agents may read.
    skills: Option<PathBuf>,
    design_systems: Option<PathBuf>,
}

impl OpenDesign {
    /// A mode that somebody chose for everything holds here, too.
    pub(crate) fn with(
        &self,
        args: &ServeArgs,
        chosen_mode: Option<Mode>,
    ) -> server::open_design::Settings {
        let default = server::open_design::Settings::default();
        let given = args.open_design_permissions.map(Mode::from);
        let inactivity = self.inactivity.map(|wait| Some(wait.0).filter(|time| !time.is_zero()));
        server::open_design::Settings {
            permissions: given.or(self.permissions).or(chosen_mode).unwrap_or(default.permissions),
            inactivity: inactivity.unwrap_or(default.inactivity),
            skills: self.skills.clone(),
            design_systems: self.design_systems.clone(),
        }
    }
}

/// The daemon as file and command line want it.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) host: SocketAddr,
    pub(crate) tcp: Vec<SocketAddr>,
    pub(crate) unix: Vec<PathBuf>,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) guard: server::guard::Settings,
    pub(crate) is_insecure: bool,
    pub(crate) agent: Option<String>,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) projects: Option<PathBuf>,
    /// How long turns may go on after the daemon was asked to end.
    pub(crate) drain: Duration,
    /// An idle session's worker costs memory; starting it again costs a wait.
    pub(crate) worker_idle: Duration,
    pub(crate) put_aside: Duration,
}

impl Wanted {
    /// The name of this machine at which somebody wants the page to stay, with a port or not.
    pub(crate) fn loopback_name(&self) -> Option<&str> {
        self.guard.allow_hosts.iter().map(String::as_str).find(|name| is_loopback(name))
    }

    /// The names by which other machines reach it, with a port or not.
    pub(crate) fn names_elsewhere(&self) -> impl Iterator<Item = &str> {
        self.guard.allow_hosts.iter().map(String::as_str).filter(|name| !is_loopback(name))
    }
}

/// Whether a name, with a port or not, is this machine's alone.
fn is_loopback(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let host = match name.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => name.as_str(),
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = address.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    is_address || host == "localhost" || host.ends_with(".localhost")
}

impl Serve {
    pub(crate) fn with(&self, args: &ServeArgs) -> Wanted {
        let either = |given: &[String], own: &[String]| [given, own].concat();
        let default_host = SocketAddr::from(([127, 0, 0, 1], 7433));
        debug_assert_eq!(default_host.to_string(), DEFAULT_HOST);
        let wait = |wait: Option<Wait>, default: u64| {
            wait.map_or(Duration::from_secs(default), |wait| wait.0)
        };
        Wanted {
            host: args.host.or(self.host).unwrap_or(default_host),
            tcp: [&args.tcp[..], &self.tcp[..]].concat(),
            unix: [&args.unix[..], &self.unix[..]].concat(),
            tls: args
                .tls_cert
                .clone()
                .zip(args.tls_key.clone())
                .or_else(|| self.tls_cert.clone().zip(self.tls_key.clone())),
            guard: server::guard::Settings {
                allow_hosts: either(&args.allow_host, &self.allow_hosts),
                allow_origins: either(&args.allow_origin, &self.allow_origins),
                proxy_users: self.proxy_users.iter().map(|user| user.0).collect(),
            },
            is_insecure: args.insecure || self.insecure,
            agent: args.agent.clone().or_else(|| self.agent.clone()),
            roots: self.roots.clone(),
            projects: self.projects.clone(),
            drain: wait(self.drain, 30),
            worker_idle: wait(self.worker_idle, 15 * 60),
            put_aside: wait(self.put_aside, 60),
        }
    }
}
