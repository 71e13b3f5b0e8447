//! A private place for one agent, and everything that runs there.
//!
//! In: an agent that is installed, the address of the model server. Out: commands with an
//! environment of their own, and what is left of them.
//! The environment is made from nothing, so that neither the user's keys nor settings reach an
//! agent. Its HOME marks every process that was started here, however far down.

use crate::agents::{Agent, AgentRecipe, AgentSurroundings, Launch};
use crate::install::InstalledPackage;
use crate::model::Server;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::proc;

// Agents that end by themselves take a moment; beyond this something was forgotten.
const UNTIL_ALL_ENDED: Duration = Duration::from_secs(30);
/// The verb by which processes of the built-in agent are told from others of the binary.
const OWN_VERB: &str = "native-agent";
const POLL_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct AgentHome {
    pub agent: &'static Agent,
    switchyard: PathBuf,
    installed: InstalledPackage,
    /// Deleted with the place.
    root: tempfile::TempDir,
    variables: Vec<(OsString, OsString)>,
    /// The beginning of the path of this agent's requests to the model server.
    prefix: String,
    /// The directory of records; `None` if none are kept.
    records: Option<PathBuf>,
}

impl AgentHome {
    pub fn make(
        agent: &'static Agent,
        switchyard: &Path,
        installed: InstalledPackage,
        model: &Server,
        model_url: Option<String>,
        records: Option<&Path>,
    ) -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("live-").tempdir()?;
        for dir in ["home", "tmp", "switchyard", "work"] {
            fs::create_dir(root.path().join(dir))?;
        }
        let prefix = format!("/{}", agent.id);
        let at = AgentSurroundings {
            home: root.path().join("home"),
            // Another server may be in front of the model.
            model_url: model_url.unwrap_or_else(|| format!("{}{prefix}", model.url())),
        };
        let recipe = (agent.recipe)(&at);
        for (path, text) in &recipe.files {
            let path = at.home.join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        let variables = variables(&recipe, agent, &installed, root.path(), model);
        let switchyard = switchyard.to_owned();
        let records = records.map(|dir| dir.join(agent.id));
        records.as_deref().map_or(Ok(()), fs::create_dir_all)?;
        let agent_home = Self { agent, switchyard, installed, root, variables, prefix, records };
        for arguments in &recipe.first {
            agent_home.run_once(arguments)?;
        }
        Ok(agent_home)
    }

    /// A new directory to work in; a repository, because some agents insist.
    pub fn work(&self, name: &str) -> io::Result<PathBuf> {
        let dir = self.root.path().join("work").join(name);
        fs::create_dir_all(&dir)?;
        let mut git = Command::new("git");
        // Agents that insist say so themselves where there is no git.
        let _ = git.args(["init", "--quiet"]).arg(&dir).stdout(Stdio::null()).status();
        Ok(dir)
    }

    /// A file beside the directories to work in.
    pub fn file(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.root.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// `switchyard ARGUMENTS` with the agent at hand.
    pub fn switchyard(&self, arguments: &[&str], cwd: &Path) -> Command {
        let mut command = Command::new(&self.switchyard);
        command.args(arguments).current_dir(cwd);
        command.env_clear().envs(self.variables.iter().cloned());
        command
    }

    /// Switchyard's home.
    pub fn switchyard_home(&self) -> PathBuf {
        self.root.path().join("switchyard")
    }

    /// The package's own program.
    pub fn program<'a>(&self, arguments: impl IntoIterator<Item = &'a str>, cwd: &Path) -> Command {
        let mut command = Command::new(&self.installed.program);
        command.args(arguments).current_dir(cwd);
        command.env_clear().envs(self.variables.iter().cloned());
        command
    }

    /// The arguments that name the agent: before and after the rest of the command line.
    pub fn agent_arguments(&self) -> (Vec<String>, Vec<String>) {
        match self.agent.launch {
            Launch::Name { name, .. } | Launch::Own(name) => (vec![name.to_owned()], vec![]),
            Launch::Command(arguments) => {
                let program = self.installed.program.to_string_lossy().into_owned();
                let arguments = arguments.iter().map(|word| (*word).to_owned());
                (vec![], ["--".to_owned(), program].into_iter().chain(arguments).collect())
            }
        }
    }

    /// The version of the agent that really runs, as Switchyard finds it; `None` for one that is
    /// given as a command, and for our own.
    pub fn version_that_runs(&self) -> Option<String> {
        let Launch::Name { name, .. } = self.agent.launch else { return None };
        let arguments = ["agents", "show", name, "--json"];
        let mut command = self.switchyard(&arguments, &self.root.path().join("work"));
        let output = command.stdin(Stdio::null()).output().ok()?;
        let found: Value = serde_json::from_slice(&output.stdout).ok()?;
        found["version"].as_str().map(str::to_owned)
    }

    /// Adds to a record, if records are kept.
    pub fn record(&self, name: &str, lines: &[Value]) -> io::Result<()> {
        let Some(dir) = &self.records else { return Ok(()) };
        let mut file = fs::OpenOptions::new().create(true).append(true).open(dir.join(name))?;
        lines.iter().try_for_each(|line| writeln!(file, "{line}"))
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The agent's own processes below this one of Switchyard's.
    ///
    /// Some agents overwrite their environment, so the marks alone do not find them all.
    pub fn agent_processes(&self, switchyard: u32) -> Vec<u32> {
        let is_own = |pid: u32| proc::command_line(pid).contains(OWN_VERB);
        let is_agent = |pid: &u32| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe != self.switchyard)
                || is_own(*pid)
        };
        let mut all = self.processes();
        all.extend(proc::descendants(switchyard));
        all.sort_unstable();
        all.dedup();
        all.retain(is_agent);
        all
    }

    /// What still lives after a while: everything that carries the mark, and those of `seen`.
    pub async fn left_behind(&self, seen: &[u32]) -> Vec<String> {
        let give_up_at = Instant::now() + UNTIL_ALL_ENDED;
        loop {
            let mut left = self.processes();
            left.extend(seen.iter().copied().filter(|pid| proc::is_alive(*pid)));
            if left.is_empty() || Instant::now() > give_up_at {
                return left.into_iter().map(proc::command_line).collect();
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
    }

    fn processes(&self) -> Vec<u32> {
        proc::marked("HOME", &self.root.path().join("home").to_string_lossy())
    }

    fn run_once(&self, arguments: &[String]) -> io::Result<()> {
        let arguments_of = arguments.iter().map(String::as_str);
        let mut command = self.program(arguments_of, &self.root.path().join("work"));
        let ran = command.stdin(Stdio::null()).output()?;
        match ran.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&ran.stderr).into_owned();
                Err(io::Error::other(format!(
                    "{} ended with {}: {said}",
                    arguments.join(" "),
                    ran.status
                )))
            }
        }
    }
}

impl Drop for AgentHome {
    /// Processes that a failed check left must not disturb the next.
    fn drop(&mut self) {
        for pid in self.processes() {
            proc::kill9(pid);
        }
    }
}

fn variables(
    recipe: &AgentRecipe,
    agent: &Agent,
    installed: &InstalledPackage,
    root: &Path,
    model: &Server,
) -> Vec<(OsString, OsString)> {
    let system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let path = installed.path.iter().cloned().chain(system.map(PathBuf::from));
    let mut all: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), root.join("home").into()),
        ("TMPDIR".into(), root.join("tmp").into()),
        ("SWITCHYARD_HOME".into(), root.join("switchyard").into()),
        ("PATH".into(), std::env::join_paths(path).unwrap_or_default()),
        ("LANG".into(), "C.UTF-8".into()),
        ("TERM".into(), "dumb".into()),
        ("SHELL".into(), "/bin/bash".into()),
        // Requests to other machines fail at once: our server refuses to be a proxy.
        ("HTTPS_PROXY".into(), model.url().into()),
        ("NO_PROXY".into(), "127.0.0.1,localhost".into()),
    ];
    if let Launch::Name { variable, .. } = agent.launch {
        all.push((variable.into(), installed.program.clone().into()));
    }
    all.extend(recipe.variables.iter().map(|(name, value)| (name.into(), value.into())));
    all
}
