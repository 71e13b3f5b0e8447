//! Processes as `/proc` shows them, and signals: to one process that cannot be confused with
//! another, or to many that may not want to end.
//!
//! In: pids. Out: a [`Proc`] each, or nothing when it is gone. A pid alone names nobody, because
//! the kernel reuses it; a pid with its start time does. A process that forks while it is being
//! killed is frozen first: stopped processes do not fork, so looking again until nothing new turns
//! up finds every one of them.

use std::collections::HashMap;
use std::fs;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};

// Every round freezes all processes of the round before, so a fork bomb's growth ends after very
// few; the bound only keeps us from looking for ever at processes that we may not stop.
const MAX_FREEZE_ROUNDS: usize = 16;

/// One process as it was when we looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Proc {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// In clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub(crate) start: u64,
    /// Not so of the dead. Of others it says that they are just dying, but for the few that go on in
    /// their other threads.
    pub(crate) has_main_thread: bool,
    /// Dead, but not yet reaped by its parent.
    pub(crate) is_zombie: bool,
    /// Stopped by a signal, so that it does nothing until it is continued.
    pub(crate) is_stopped: bool,
}

impl Proc {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        parse_stat(&stat)
    }

    /// Sends `signal`, unless the pid has come to mean another process since.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Errno> {
        let pid = Pid::from_raw(self.pid).ok_or(Errno::SRCH)?;
        let handle = pidfd_open(pid, PidfdFlags::empty());
        if Self::read(self.pid).is_none_or(|now| now.start != self.start) {
            return Err(Errno::SRCH);
        }
        match handle {
            Ok(handle) => pidfd_send_signal(handle, signal),
            Err(Errno::SRCH) => Err(Errno::SRCH),
            // Some sandboxes refuse pidfds, and we may be out of descriptors: the check above
            // still leaves only microseconds for the pid to be reused.
            Err(_) => kill_process(pid, signal),
        }
    }

    /// Its resident memory; pages shared with others count for each of them.
    pub(crate) fn n_resident_bytes(&self) -> u64 {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.pid)).unwrap_or_default();
        let n_pages: u64 =
            statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
        n_pages.saturating_mul(rustix::param::page_size() as u64)
    }

    /// Takes the exit status if this is a dead child of ours.
    pub(crate) fn reap(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _not_ours_or_still_alive = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// All processes we can see. Not one moment in time: what forks meanwhile may be missed, so
/// callers repeat until nothing new turns up.
pub(crate) fn snapshot() -> Vec<Proc> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Proc::read)
        .collect()
}

/// Sends SIGTERM to all.
pub(crate) fn terminate(processes: &[Proc]) {
    for process in living(processes) {
        let _gone_or_not_ours = process.signal(Signal::TERM);
        // A stopped process sees no SIGTERM until it is continued.
        let _gone_or_not_ours = process.signal(Signal::CONT);
    }
}

/// Freezes, then kills all that `look` finds; what it found is returned. The caller repeats until
/// nothing is left, because a process can slip through between two looks.
pub(crate) fn freeze_and_kill(look: impl FnMut() -> Vec<Proc>) -> Vec<Proc> {
    let found = freeze(look);
    for process in found.values() {
        let _gone_or_not_ours = process.signal(Signal::KILL);
    }
    found.into_values().collect()
}

/// Freezes all that `look` finds, until it finds nobody new; those are returned by pid.
pub(crate) fn freeze(mut look: impl FnMut() -> Vec<Proc>) -> HashMap<i32, Proc> {
    let mut found: HashMap<i32, Proc> = HashMap::new();
    for _ in 0..MAX_FREEZE_ROUNDS {
        let mut is_new = false;
        for process in living(&look()) {
            let before = found.insert(process.pid, *process);
            if before.is_none_or(|before| before.start != process.start) {
                let _gone_or_not_ours = process.signal(Signal::STOP);
                is_new = true;
            }
        }
        if !is_new {
            break;
        }
    }
    found
}

pub(crate) fn living(processes: &[Proc]) -> impl Iterator<Item = &Proc> {
    processes.iter().filter(|process| !process.is_zombie)
}

fn parse_stat(stat: &[u8]) -> Option<Proc> {
    // The name in parentheses may itself hold spaces, parentheses and any other byte.
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(stat.split(|byte| *byte == b' ').next()?).ok()?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    // The state is that of the main thread, which stays until all others have ended.
    let has_main_thread = !matches!(field(3)?, "Z" | "X");
    let has_threads = field(20)?.parse::<u32>().ok()? > 1;
    Some(Proc {
        pid: pid.parse().ok()?,
        parent: field(4)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        start: field(22)?.parse().ok()?,
        has_main_thread,
        is_zombie: !has_main_thread && !has_threads,
        is_stopped: field(3)? == "T",
    })
}

#[cfg(test)]
mod tests;
