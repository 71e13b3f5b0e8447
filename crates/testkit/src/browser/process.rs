//! The browser's processes and its profile.
//!
//! In: nothing but what is installed. Out: where `chromedriver` listens. The driver starts the
//! browser in its own process group, so all of them end with one signal to the group. A shell
//! holds a lifeline: when the tests end, or are killed, it ends the group and removes the profile.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use crate::test_home::PATIENCE;

/// Names of the browser's program; distributions differ.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The shell script around the driver: `$0` is the driver, `$1` the directory of the profile;
/// `set -m` makes the driver the leader of a group. Nothing is ever written to the lifeline; its
/// end is the signal.
const KEEPER: &str = r#"set -m
"$0" --port=0 &
read -r _
kill -9 -- -$!
wait
for _ in $(seq 100); do rm -rf "$1" && break; sleep 0.1; done"#;

#[derive(Debug)]
pub(super) struct BrowserProcess {
    shell: Child,
    pub(super) base: String,
    pub(super) program: PathBuf,
    profile: tempfile::TempDir,
}

impl BrowserProcess {
    /// Starts a driver. One that finds its port taken ends at once; the next one finds another.
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
        let mut command = Command::new("bash");
        // The kernel chooses the port, so that tests do not fight about it. The home is for
        // what the browser keeps outside of its profile.
        command.args(["-c", KEEPER]).arg(driver).arg(profile.path());
        command.env("HOME", profile.path()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(name);
        }
        let mut shell = command.spawn().unwrap();
        let port = port(&mut shell);
        let mut process = Self { shell, base: String::new(), program, profile };
        // Looked at only now, as from here on the value ends the processes.
        process.base = format!("http://127.0.0.1:{}", port?);
        Some(process)
    }

    pub(super) fn profile(&self) -> PathBuf {
        self.profile.path().join("profile")
    }
}

impl Drop for BrowserProcess {
    fn drop(&mut self) {
        // The end of the lifeline; the shell does the rest.
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|path| Path::is_file(path))
}

/// The port that the driver says it listens on.
fn port(shell: &mut Child) -> Option<u16> {
    let mut lines = BufReader::new(shell.stdout.take()?);
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
