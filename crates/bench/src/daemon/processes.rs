//! Programs that are started to be measured: their start, their memory, and their end.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bench::usage::{family_of, memory_of};
use rustix::process::{Pid, Signal, kill_process};

use super::setup::{DaemonBenchSetup, MARK};

/// How long a program may take to be ready, and to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(15);
const POLL_EVERY: Duration = Duration::from_micros(500);

#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    started: Instant,
}

impl Program {
    /// Starts it, and the clock.
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self { child, started })
    }

    /// Sends its output to `/dev/null`, so that it costs nothing.
    pub(super) fn silent(command: &mut Command) -> &mut Command {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How long it took until it `is_ready`.
    pub(super) fn wait_until(
        &mut self,
        mut is_ready: impl FnMut() -> bool,
    ) -> anyhow::Result<Duration> {
        loop {
            if is_ready() {
                return Ok(self.started.elapsed());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended at once: {status}");
            }
            ensure!(self.started.elapsed() < PATIENCE, "it is not ready after {PATIENCE:?}");
            sleep(POLL_EVERY);
        }
    }

    pub(super) fn resident_mb(&self) -> f64 {
        mb(memory_of(self.child.id()).resident_kib)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let is_told = kill_process(Pid::from_child(&self.child), Signal::TERM).is_ok();
        let told = Instant::now();
        while is_told && told.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes of what is measured, without the agents behind it: the tree below `root`, and
/// what was given this home and has left that tree.
pub(super) fn own(stage: &DaemonBenchSetup, root: Option<u32>, home: &Path) -> BTreeSet<u32> {
    let mut all: BTreeSet<u32> = root.into_iter().flat_map(family_of).collect();
    all.extend(marked(home));
    all.retain(|pid| program_of(*pid).is_some_and(|program| program != stage.agent));
    all
}

/// Memory of processes together; what they share is counted once.
pub(super) fn memory_mb(pids: &BTreeSet<u32>) -> f64 {
    mb(pids.iter().filter_map(|pid| proportional_kib(*pid)).sum())
}

/// Ends what was given this home: some peers leave processes behind that end by themselves
/// only much later.
pub(super) fn end_all_of(home: &Path) {
    for signal in [Signal::TERM, Signal::KILL] {
        for pid in marked(home) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, signal);
            }
        }
        let told = Instant::now();
        while !marked(home).is_empty() && told.elapsed() < Duration::from_secs(2) {
            sleep(Duration::from_millis(20));
        }
    }
}

fn marked(home: &Path) -> Vec<u32> {
    let mark = format!("{MARK}={}", home.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id()).filter(|pid| has_mark(*pid, &mark)).collect()
}

fn has_mark(pid: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

fn program_of(pid: u32) -> Option<std::path::PathBuf> {
    fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe")).ok()
}

fn proportional_kib(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn mb(kib: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let kib = kib as f64;
    kib / 1024.0
}
