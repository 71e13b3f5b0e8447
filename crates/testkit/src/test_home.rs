//! The binary under test in a home of its own, and waiting for conditions.
//!
//! In: the path of the binary (`env!("CARGO_BIN_EXE_switchyard")`, which only its own tests know).
//! Out: commands that share one temporary home and carry one mark, and what is left of them.
//! Nothing outside the home is read or written, and the home is gone with the value.

use crate::{helper_programs, proc};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub use soak::PATIENCE;

/// The environment variable that marks every process that a test started, however far down.
pub const MARK_VARIABLE: &str = "TESTKIT_MARK";

const POLL_EVERY: Duration = Duration::from_millis(5);

/// The name of Switchyard's home in the directory of a test.
const HOME: &str = "switchyard";
const USER: &str = "home";
const WORK: &str = "work";

// Variables that would bring in the user's own configuration.
const USER_VARIABLES: [&str; 5] =
    ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"];

#[derive(Debug)]
pub struct TestHome {
    exe: PathBuf,
    dir: tempfile::TempDir,
    home: PathBuf,
    mark: String,
}

/// The binary at `exe` with a fresh home.
pub fn switchyard(exe: impl Into<PathBuf>) -> TestHome {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let dir = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
    for name in [HOME, USER, WORK] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let home = dir.path().join(HOME);
    TestHome { exe: exe.into(), dir, home, mark: format!("{}-{n}", std::process::id()) }
}

impl TestHome {
    /// `SWITCHYARD_HOME`, which no session may touch.
    pub fn path(&self) -> &Path {
        &self.home
    }

    /// `HOME`, the user's.
    pub fn user(&self) -> PathBuf {
        self.dir.path().join(USER)
    }

    /// An empty directory for sessions to work in.
    pub fn work(&self) -> PathBuf {
        self.dir.path().join(WORK)
    }

    pub fn exe(&self) -> &Path {
        &self.exe
    }

    pub fn command<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> std::process::Command {
        self.other(&self.exe, args)
    }

    pub fn tokio_command<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> tokio::process::Command {
        self.command(args).into()
    }

    /// Another program in the same environment, such as `acp-tap` around the binary.
    pub fn other<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = S>,
    ) -> std::process::Command {
        let mut command = std::process::Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SWITCHYARD_") {
                command.env_remove(name);
            }
        }
        for name in USER_VARIABLES {
            command.env_remove(name);
        }
        command
            .args(args)
            .current_dir(self.work())
            .env("SWITCHYARD_HOME", self.path())
            .env("HOME", self.user())
            .env(MARK_VARIABLE, &self.mark);
        command
    }

    /// A program of this crate, `acp-tap` or `sdk-agent`.
    pub fn tool(&self, name: &str) -> PathBuf {
        helper_programs::find(&self.exe, name)
    }

    /// The same command with a tap before it that writes to `record`.
    pub fn tapped(
        &self,
        record: impl AsRef<OsStr>,
        command: &std::process::Command,
    ) -> std::process::Command {
        let mut tapped = self.other(self.tool("acp-tap"), [record.as_ref(), OsStr::new("--")]);
        tapped.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => tapped.env(name, value),
                None => tapped.env_remove(name),
            };
        }
        tapped.current_dir(command.get_current_dir().unwrap_or(&self.work()));
        tapped
    }

    /// Living processes that carry this home's mark.
    pub fn left_over(&self) -> Vec<u32> {
        proc::marked(MARK_VARIABLE, &self.mark)
    }

    /// Panics if a process of this home still lives after a while.
    #[track_caller]
    pub fn assert_empty_within(&self, deadline: Duration) {
        let is_empty = wait_until(deadline, || self.left_over().is_empty());
        let left: Vec<String> = self.left_over().into_iter().map(proc::command_line).collect();
        assert!(is_empty, "still alive: {left:#?}");
    }
}

impl Drop for TestHome {
    /// A failed test must not leave processes behind that disturb the next.
    fn drop(&mut self) {
        for pid in self.left_over() {
            proc::kill9(pid);
        }
    }
}

/// Whether the condition came true in time. Blocks the thread; see [`until`] for async tests.
#[must_use]
pub fn wait_until(deadline: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let give_up_at = Instant::now() + deadline;
    while !is_so() {
        if Instant::now() > give_up_at {
            return false;
        }
        std::thread::sleep(POLL_EVERY);
    }
    true
}

/// Waits between two polls of a daemon: polled without a break, it has time for little else.
pub async fn pause_between_polls() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Like [`wait_until`] without blocking the thread.
#[must_use = "false means that it never came true"]
pub async fn until(deadline: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let give_up_at = Instant::now() + deadline;
    while !is_so() {
        if Instant::now() > give_up_at {
            return false;
        }
        tokio::time::sleep(POLL_EVERY).await;
    }
    true
}
