//! What the tests share: the test program, waiting for a condition, and knowing whether a process
//! is really gone.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bus::{Launch, Worker};
use soak::PATIENCE;
use tokio::io::AsyncReadExt as _;

pub(crate) fn testbin() -> PathBuf {
    std::env::var_os("BUS_TESTBIN")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_bus-testbin")), PathBuf::from)
}

pub(crate) fn launch_testbin<const N: usize>(args: [&str; N]) -> Launch {
    let mut launch = launch(testbin().to_str().unwrap(), args);
    launch.cgroups = false;
    launch
}

pub(crate) fn launch<const N: usize>(program: &str, args: [&str; N]) -> Launch {
    let mut launch = Launch::new(program, "/");
    launch.args = args.map(Into::into).to_vec();
    launch.keeper_exe = testbin();
    launch
}

pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up_at = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up_at, "not reached: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn read_line(stdout: &mut bus::WorkerStdout) -> String {
    let mut line = Vec::new();
    loop {
        match stdout.read_u8().await {
            Ok(b'\n') | Err(_) => return String::from_utf8(line).unwrap(),
            Ok(byte) => line.push(byte),
        }
    }
}

pub(crate) async fn read_all(worker: &mut Worker) -> String {
    let mut text = String::new();
    worker.stdout.read_to_string(&mut text).await.unwrap();
    text
}

/// Processes by pid and start time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Witnesses(HashMap<i32, String>);

impl Witnesses {
    /// Everything at and below `root`, zombies too, and every process that left its mark in `dir`.
    pub(crate) fn of(root: u32, dir: &Path) -> Self {
        let mut found = Self::at_and_below(root);
        found.0.extend(Self::marked_in(dir).0);
        found
    }

    /// Everything at and below `root`, zombies too.
    pub(crate) fn at_and_below(root: u32) -> Self {
        let mut stats: HashMap<i32, (i32, String)> = HashMap::new();
        for pid in pids() {
            if let Some(stat) = stat(pid) {
                stats.insert(pid, stat);
            }
        }
        let mut found = Self::default();
        let mut to_visit = vec![root.cast_signed()];
        while let Some(pid) = to_visit.pop() {
            if let Some((_, start)) = stats.get(&pid) {
                found.0.insert(pid, start.clone());
            }
            to_visit.extend(
                stats.iter().filter(|(_, (parent, _))| *parent == pid).map(|(child, _)| *child),
            );
        }
        found
    }

    /// Every process that left its mark in `dir`.
    pub(crate) fn marked_in(dir: &Path) -> Self {
        let marks = fs::read_dir(dir).unwrap().flatten().map(|entry| {
            let pid = entry.file_name().to_str().unwrap().parse().unwrap();
            (pid, fs::read_to_string(entry.path()).unwrap())
        });
        Self(marks.collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn has(&self, pid: u32) -> bool {
        self.0.contains_key(&pid.cast_signed())
    }

    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.0.keys().map(|pid| pid.cast_unsigned())
    }

    pub(crate) fn without(mut self, pid: u32) -> Self {
        self.0.remove(&pid.cast_signed());
        self
    }

    /// A zombie is not gone.
    pub(crate) fn are_gone(&self) -> bool {
        self.0.iter().all(|(pid, start)| stat(*pid).is_none_or(|(_, now)| now != *start))
    }

    /// Nothing of them runs. A zombie does not.
    pub(crate) fn are_stopped(&self) -> bool {
        self.0.keys().all(|pid| is_stopped(*pid))
    }

    /// Gone, or waiting to be reaped.
    pub(crate) fn are_dead(&self) -> bool {
        self.0.keys().all(|pid| matches!(state(*pid), None | Some('Z')))
    }

    /// Each of them could run.
    pub(crate) fn are_running(&self) -> bool {
        self.0.keys().all(|pid| !is_stopped(*pid) || matches!(state(*pid), Some('Z')))
    }

    pub(crate) fn n_living(&self) -> usize {
        self.0
            .iter()
            .filter(|(pid, start)| stat(**pid).is_some_and(|(_, now)| now == **start))
            .count()
    }
}

/// Kills with SIGKILL, whoever it is.
pub(crate) fn kill_9(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// A keeper whose parent was killed becomes a child of this test process, which adopts orphans.
pub(crate) fn is_gone_once_reaped(pid: u32) -> bool {
    let child = rustix::process::Pid::from_raw(pid.cast_signed());
    let _not_ours = rustix::process::waitpid(child, rustix::process::WaitOptions::NOHANG);
    !Path::new(&format!("/proc/{pid}")).exists()
}

/// Whether any process carries the worker's marker.
pub(crate) fn is_marked_anywhere(id: &str) -> bool {
    let entry = format!("SWITCHYARD_WORKER={id}");
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        fs::read(process.path().join("environ")).is_ok_and(|environ| {
            environ.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
        })
    })
}

pub(crate) fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

pub(crate) fn has_cgroup(id: &str) -> bool {
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .iter()
        .any(|root| Path::new(root).join(format!("switchyard-{id}")).exists())
}

/// By a signal, or by its cgroup.
pub(crate) fn is_stopped(pid: i32) -> bool {
    match state(pid) {
        None | Some('T' | 'Z') => true,
        // It waits in the kernel until the child that it makes has left its memory, and sees
        // the signal after that: while the child stands still, so does it.
        Some('D') if has_stopped_child(pid) => true,
        Some(_) => is_in_frozen_cgroup(pid),
    }
}

fn has_stopped_child(pid: i32) -> bool {
    let is_child = |child: &i32| stat(*child).is_some_and(|(parent, _)| parent == pid);
    pids().filter(is_child).any(|child| state(child) == Some('T'))
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn is_in_frozen_cgroup(pid: i32) -> bool {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return false;
    };
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].iter().any(|root| {
        let events = Path::new(root).join(path).join("cgroup.events");
        fs::read_to_string(events).is_ok_and(|events| events.contains("frozen 1"))
    })
}

fn state(pid: i32) -> Option<char> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    String::from_utf8_lossy(&bytes).rsplit_once(')')?.1.trim_start().chars().next()
}

pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    stat(pid.cast_signed()).map(|(parent, _)| parent.cast_unsigned())
}

/// Parent and start time.
fn stat(pid: i32) -> Option<(i32, String)> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(1)?.parse().ok()?, (*fields.get(19)?).to_owned()))
}
