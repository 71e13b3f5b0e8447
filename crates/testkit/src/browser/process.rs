//! The browser's processes and its profile.
//!
//! In: nothing but what is installed. Out: where `chromedriver` listens. The driver starts the
//! browser in its own process group, so all of them end with one signal to the group.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::process::{PATIENCE, wait_until};

/// Distributions do not agree on a name.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

#[derive(Debug)]
pub(super) struct Process {
    driver: Child,
    pub(super) base: String,
    pub(super) program: PathBuf,
    profile: tempfile::TempDir,
}

impl Process {
    pub(super) fn start() -> Self {
        let program = BROWSERS.iter().find_map(|name| on_path(name));
        let (Some(program), Some(driver)) = (program, on_path("chromedriver")) else {
            panic!("chromium or chromedriver is missing; `make tools` installs them");
        };
        let profile = tempfile::Builder::new().prefix("browser-").tempdir().unwrap();
        let mut command = Command::new(driver);
        // The kernel chooses the port, so that tests do not fight about it. The home is for
        // what the browser keeps outside of its profile.
        command.arg("--port=0").env("HOME", profile.path()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(name);
        }
        let mut driver = command.spawn().unwrap();
        let port = port(&mut driver);
        let mut process = Self { driver, base: String::new(), program, profile };
        // Looked at only now, as from here on the value ends the process.
        let port = port.expect("chromedriver did not say where it listens");
        process.base = format!("http://127.0.0.1:{port}");
        process
    }

    pub(super) fn profile(&self) -> PathBuf {
        self.profile.path().join("profile")
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.driver)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(self.group(), Signal::KILL);
        let _ = self.driver.wait();
        // The profile can only be removed when nobody writes to it any more.
        let _ = wait_until(PATIENCE, || test_kill_process_group(self.group()).is_err());
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|path| Path::is_file(path))
}

/// The port that the driver says it listens on.
fn port(driver: &mut Child) -> Option<u16> {
    let mut lines = BufReader::new(driver.stdout.take()?);
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
