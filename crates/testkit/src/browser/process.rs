//! The browser's processes and its profile.
//!
//! In: nothing but what is installed. Out: where `chromedriver` listens. The driver starts the
//! browser in its own process group, so all of them end with one signal to the group. A shell
//! leads the group and holds a lifeline: should the test be killed before it could send that
//! signal, the shell does.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::proc;
use crate::process::{PATIENCE, wait_until};

/// Distributions do not agree on a name.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// `$0` is the driver. Nothing is ever said on the lifeline; it ends.
const LEADER: &str = r#""$0" --port=0 & read -r _; kill -9 0"#;

#[derive(Debug)]
pub(super) struct Process {
    leader: Child,
    pub(super) base: String,
    pub(super) program: PathBuf,
    profile: tempfile::TempDir,
}

impl Process {
    /// A driver that finds its port taken ends at once; the next one finds another.
    pub(super) fn start() -> Self {
        const TRIES: usize = 3;
        let started = (0..TRIES).find_map(|_| Self::try_start());
        started.expect("chromedriver did not say where it listens")
    }

    fn try_start() -> Option<Self> {
        let program = BROWSERS.iter().find_map(|name| on_path(name));
        let (Some(program), Some(driver)) = (program, on_path("chromedriver")) else {
            panic!("chromium or chromedriver is missing; `make tools` installs them");
        };
        let profile = tempfile::Builder::new().prefix("browser-").tempdir().unwrap();
        let mut command = Command::new("sh");
        // The kernel chooses the port, so that tests do not fight about it. The home is for
        // what the browser keeps outside of its profile.
        command.args(["-c", LEADER]).arg(driver).env("HOME", profile.path()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(name);
        }
        let mut leader = command.spawn().unwrap();
        let port = port(&mut leader);
        let mut process = Self { leader, base: String::new(), program, profile };
        // Looked at only now, as from here on the value ends the processes.
        process.base = format!("http://127.0.0.1:{}", port?);
        Some(process)
    }

    pub(super) fn profile(&self) -> PathBuf {
        self.profile.path().join("profile")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let all = proc::descendants(self.leader.id());
        let _ = kill_process_group(Pid::from_child(&self.leader), Signal::KILL);
        let _ = self.leader.wait();
        // The profile can only be removed when nobody writes to it any more.
        let _ = wait_until(PATIENCE, || !all.iter().any(|pid| proc::is_alive(*pid)));
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|path| Path::is_file(path))
}

/// The port that the driver says it listens on.
fn port(leader: &mut Child) -> Option<u16> {
    let mut lines = BufReader::new(leader.stdout.take()?);
    let (sender, said) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|n_bytes| n_bytes > 0) {
            let words = line.trim_end().trim_end_matches('.');
            let port = words.rsplit_once("started successfully on port ");
            if let Some(port) = port.and_then(|(_, port)| port.parse().ok()) {
                let _ = sender.send(port);
            }
            line.clear();
        }
    });
    said.recv_timeout(PATIENCE).ok()
}
