//! Stopping and ending many processes that may not want to.
//!
//! In: a way to look for them. Out: those that were found and signalled. A process that forks
//! while it is being killed is frozen first: stopped processes do not fork, so looking again until
//! nothing new turns up finds every one of them.

use std::collections::HashMap;

use rustix::process::Signal;

use crate::procs::Proc;

// Every round freezes all processes of the round before, so a fork bomb's growth ends after very
// few; the bound only keeps us from looking for ever at processes that we may not stop.
const MAX_FREEZE_ROUNDS: usize = 16;

/// Asks all to end.
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
