//! The setup of every measurement of a daemon: the programs, the agent behind launchers that all
//! peers can start, and temporary homes.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::Options;

/// The environment variable that everything started here has, with its home as value, so that
/// processes that detach themselves are found again.
pub(super) const MARK: &str = "BENCH_STAGE";

/// The slow agent takes as long in parts as CLIs on Node do: more to start than to open a
/// session, and about a second in all.
pub(super) const SLOW_INITIALIZE: Duration = Duration::from_millis(700);
pub(super) const SLOW_SESSION: Duration = Duration::from_millis(400);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    Quick,
    Slow,
}

impl Agent {
    fn launcher(self) -> &'static str {
        match self {
            Self::Quick => "quick-agent",
            Self::Slow => "slow-agent",
        }
    }
}

#[derive(Debug)]
pub(super) struct DaemonBenchSetup {
    directory: TempDir,
    pub(super) switchyard: PathBuf,
    /// Where the peers are installed, if they are.
    pub(super) peers: Option<PathBuf>,
    /// The agent's own program, by which its processes are known.
    pub(super) agent: PathBuf,
}

impl DaemonBenchSetup {
    pub(super) fn new(options: &Options) -> anyhow::Result<Self> {
        let agent = std::env::current_exe()?.with_file_name("scripted-agent");
        ensure!(agent.exists(), "{} is not there; build the whole of bench", agent.display());
        let stage = Self {
            directory: tempfile::tempdir()?,
            switchyard: options.switchyard.clone(),
            peers: options.peers.clone(),
            agent,
        };
        let slow = format!(
            " --initialize-ms {} --session-ms {}",
            SLOW_INITIALIZE.as_millis(),
            SLOW_SESSION.as_millis()
        );
        for (agent, arguments) in [(Agent::Quick, ""), (Agent::Slow, slow.as_str())] {
            let program = stage.agent.to_str().context("the path of the agent is not UTF-8")?;
            let script = format!("#!/bin/sh\nexec '{program}'{arguments}\n");
            let path = stage.launcher(agent);
            fs::write(&path, script)?;
            fs::set_permissions(&path, PermissionsExt::from_mode(0o700))?;
        }
        fs::create_dir(stage.cwd())?;
        Ok(stage)
    }

    /// Starts the agent, without arguments: some peers cannot give any.
    pub(super) fn launcher(&self, agent: Agent) -> PathBuf {
        self.directory.path().join(agent.launcher())
    }

    /// The directory of all sessions.
    pub(super) fn cwd(&self) -> PathBuf {
        self.directory.path().join("cwd")
    }

    /// A new directory for one run of a program.
    pub(super) fn home(&self) -> anyhow::Result<TempDir> {
        Ok(tempfile::tempdir_in(self.directory.path())?)
    }

    /// A program that lives in `home` and can be found by the mark.
    pub(super) fn command(&self, program: &Path, home: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("HOME", home).env(MARK, home).current_dir(self.cwd());
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(name);
        }
        command
    }

    /// A file of a peer's installation.
    pub(super) fn peer(&self, path: &str) -> anyhow::Result<PathBuf> {
        let path = self.peers.as_ref().map(|peers| peers.join(path));
        path.filter(|path| path.exists()).context("not installed here")
    }
}

pub(super) fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
