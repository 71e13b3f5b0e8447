//! `[serve]`, `[warm]` and `[open_design]` of `switchyard.toml`: the daemon's listen addresses,
//! clients and waits, the workers that it keeps ready, and the defaults of runs under `/api`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sessions::permission::PermissionMode;
use sessions::pools::WarmSettings;

use crate::cli::serve::ServeArgs;
use crate::config::ConfigWait;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeConfig {
    pub(crate) host: SocketAddr,
    pub(crate) tcp: Vec<SocketAddr>,
    pub(crate) unix: Vec<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    allow_origins: Vec<String>,
    allow_hosts: Vec<String>,
    /// Users whose processes may forward browsers' requests, beside our own user.
    proxy_users: Vec<User>,
    pub(crate) insecure: bool,
    pub(crate) agent: Option<String>,
    /// The directories in which sessions of network clients may work.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) projects: Option<PathBuf>,
    /// How long turns may go on after the daemon was asked to end.
    pub(crate) drain: ConfigWait,
    /// How long an idle session keeps its worker, which costs memory; starting one costs a wait.
    pub(crate) worker_idle: ConfigWait,
    pub(crate) put_aside: ConfigWait,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            host: SocketAddr::from(([127, 0, 0, 1], 7433)),
            tcp: Vec::new(),
            unix: Vec::new(),
            tls_cert: None,
            tls_key: None,
            allow_origins: Vec::new(),
            allow_hosts: Vec::new(),
            proxy_users: Vec::new(),
            insecure: false,
            agent: None,
            roots: Vec::new(),
            projects: None,
            drain: ConfigWait(Duration::from_secs(30)),
            worker_idle: ConfigWait(Duration::from_secs(15 * 60)),
            put_aside: ConfigWait(Duration::from_secs(60)),
        }
    }
}

/// Workers that are kept ready.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WarmConfig {
    enabled: bool,
    /// Agents for which `enabled` is different.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    agents: BTreeMap<String, bool>,
    workers: usize,
    per_key: usize,
    memory_bytes: u64,
    idle: ConfigWait,
    open_sessions: bool,
}

impl Default for WarmConfig {
    fn default() -> Self {
        let usual = WarmSettings::default();
        Self {
            enabled: usual.is_on,
            agents: usual.agents,
            workers: usual.max_workers,
            per_key: usual.max_per_key,
            memory_bytes: usual.max_memory_bytes,
            idle: ConfigWait(usual.idle),
            open_sessions: usual.opens_sessions,
        }
    }
}

impl WarmConfig {
    /// No workers ahead of need: for a process that runs only what it was started for.
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

/// The defaults of runs under `/api`, whose clients do not name them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OpenDesignConfig {
    permissions: Option<PermissionMode>,
    /// How long an agent may be silent; zero for no limit.
    inactivity: Option<ConfigWait>,
    /// The directory of `NAME/SKILL.md`, which the agents may read.
    skills: Option<PathBuf>,
    /// The directory of `NAME/DESIGN.md`, likewise.
    design_systems: Option<PathBuf>,
}

impl OpenDesignConfig {
    /// The settings in effect. A mode that was chosen for all sessions holds here, too.
    pub(crate) fn with(
        &self,
        args: &ServeArgs,
        chosen_mode: Option<PermissionMode>,
    ) -> server::open_design::OpenDesignSettings {
        let default = server::open_design::OpenDesignSettings::default();
        let given = args.open_design_permissions;
        let inactivity = self.inactivity.map(|wait| Some(wait.0).filter(|time| !time.is_zero()));
        server::open_design::OpenDesignSettings {
            permissions: given.or(self.permissions).or(chosen_mode).unwrap_or(default.permissions),
            inactivity: inactivity.unwrap_or(default.inactivity),
            skills: self.skills.clone(),
            design_systems: self.design_systems.clone(),
        }
    }
}

impl ServeConfig {
    /// The table with the options of the command line, which take precedence.
    pub(crate) fn with(&self, args: &ServeArgs) -> Self {
        Self {
            host: args.host.unwrap_or(self.host),
            tcp: [&args.tcp[..], &self.tcp].concat(),
            unix: [&args.unix[..], &self.unix].concat(),
            tls_cert: args.tls_cert.clone().or_else(|| self.tls_cert.clone()),
            tls_key: args.tls_key.clone().or_else(|| self.tls_key.clone()),
            allow_origins: [&args.allow_origin[..], &self.allow_origins].concat(),
            allow_hosts: [&args.allow_host[..], &self.allow_hosts].concat(),
            insecure: args.insecure || self.insecure,
            agent: args.agent.clone().or_else(|| self.agent.clone()),
            ..self.clone()
        }
    }

    /// Certificate and key.
    pub(crate) fn tls(&self) -> Option<(&Path, &Path)> {
        self.tls_cert.as_deref().zip(self.tls_key.as_deref())
    }

    pub(crate) fn guard(&self) -> server::guard::GuardSettings {
        server::guard::GuardSettings {
            allow_hosts: self.allow_hosts.clone(),
            allow_origins: self.allow_origins.clone(),
            proxy_users: self.proxy_users.iter().map(|user| user.0).collect(),
        }
    }

    /// The configured loopback name at which the page is to stay, with a port or not.
    pub(crate) fn loopback_name(&self) -> Option<&str> {
        self.allow_hosts.iter().map(String::as_str).find(|name| is_loopback(name))
    }

    /// The configured names by which other machines reach the daemon, with a port or not.
    pub(crate) fn names_elsewhere(&self) -> impl Iterator<Item = &str> {
        self.allow_hosts.iter().map(String::as_str).filter(|name| !is_loopback(name))
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

const USERS: &str = "/etc/passwd";

/// A user of this machine: by number, or by a name that `/etc/passwd` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "UserEntry")]
struct User(u32);

#[derive(Deserialize)]
#[serde(untagged)]
enum UserEntry {
    Number(u32),
    Name(String),
}

impl TryFrom<UserEntry> for User {
    type Error = String;

    fn try_from(entry: UserEntry) -> Result<Self, String> {
        let name = match entry {
            UserEntry::Number(number) => return Ok(Self(number)),
            UserEntry::Name(name) => name,
        };
        let users = std::fs::read_to_string(USERS).map_err(|error| format!("{USERS}: {error}"))?;
        number_of(&name, &users).map(Self).ok_or_else(|| {
            let known = format!("a number, or a name in {USERS} (others only by number)");
            format!("invalid value: string {name:?}, expected {known}")
        })
    }
}

/// `name:password:number:…`
fn number_of(name: &str, users: &str) -> Option<u32> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let number = (fields.next()? == name).then(|| fields.nth(1))??;
        number.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    //! Names become numbers, and what is neither is refused.

    use super::*;

    #[derive(Debug, Deserialize)]
    struct UsersFile {
        users: Vec<User>,
    }

    #[test]
    fn users_are_named_or_numbered() {
        let file: UsersFile = toml::from_str("users = ['root', 33]").unwrap();
        assert_eq!(file.users, [User(0), User(33)]);
        for wrong in ["users = ['nobody of that name']", "users = [-1]", "users = [true]"] {
            toml::from_str::<UsersFile>(wrong).unwrap_err();
        }
        let users = "root:x:0:0::/root:/bin/sh\nodd\nwww:x:33:33\nbad:x:many:1\n";
        assert_eq!(number_of("www", users), Some(33));
        assert_eq!(number_of("bad", users), None);
        assert_eq!(number_of("odd", users), None);
    }
}
