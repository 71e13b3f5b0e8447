//! Facts about processes from `/proc`.
//!
//! In: a pid, or a mark in the environment. Out: which processes live, and how big they are.
//! A zombie does not live: nothing of it runs, and its parent has yet to look.

use std::collections::HashMap;
use std::fs;

/// Memory in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessMemory {
    /// `VmRSS`: what is in memory now.
    pub resident_kib: u64,
    /// `VmHWM`: the most that ever was.
    pub peak_kib: u64,
}

/// The living descendants of a process, in no particular order.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<(u32, bool)>> = HashMap::new();
    for pid in all() {
        if let Some(stat) = Stat::of(pid) {
            children.entry(stat.parent).or_default().push((pid, stat.is_alive()));
        }
    }
    // Zombies are left out of the answer, but not of the way: another thread of theirs may have
    // living children.
    let mut found = Vec::new();
    let mut to_visit = vec![pid];
    while let Some(parent) = to_visit.pop() {
        for (child, is_alive) in children.remove(&parent).unwrap_or_default() {
            to_visit.push(child);
            if is_alive {
                found.push(child);
            }
        }
    }
    found
}

/// Living processes that were started with `name=value` in their environment, wherever they hang.
pub fn marked(name: &str, value: &str) -> Vec<u32> {
    let mark = format!("{name}={value}");
    let has_mark = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        })
    };
    all().filter(has_mark).filter(|pid| is_alive(*pid)).collect()
}

pub fn is_alive(pid: u32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.is_alive())
}

/// The memory of a process; nothing if it is gone.
pub fn memory(pid: u32) -> Option<ProcessMemory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = |name: &str| -> Option<u64> {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse().ok()
    };
    Some(ProcessMemory { resident_kib: kib("VmRSS:")?, peak_kib: kib("VmHWM:")? })
}

/// The command line, to say in a failure what was left behind.
pub fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
}

/// SIGKILL. A process that is already gone is as dead as it should be.
pub fn kill9(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    match rustix::process::kill_process(pid, rustix::process::Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(problem) => panic!("cannot kill {pid:?}: {problem}"),
    }
}

/// A process by pid and start time: pids are reused within one run of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessIdentity {
    pub pid: u32,
    started_at: u64,
}

impl ProcessIdentity {
    /// Nothing if the process is gone.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started_at: Stat::of(pid)?.started_at })
    }

    /// The parent that has not reaped it, if the process is a zombie.
    pub fn zombie_of(&self) -> Option<u32> {
        let stat = Stat::of(self.pid)?;
        (stat.started_at == self.started_at && !stat.is_alive()).then_some(stat.parent)
    }
}

struct Stat {
    state: char,
    parent: u32,
    /// Ticks since the machine was started.
    started_at: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold parentheses and blanks itself.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
            started_at: fields.nth(17)?.parse().ok()?,
        })
    }

    fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

fn all() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
