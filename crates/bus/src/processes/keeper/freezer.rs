//! Stopping a tree without ending it.
//!
//! In: the worker's cgroup, if it has one, and a way to look for the keeper's descendants. Out:
//! a tree in which nothing runs, until it is resumed. The cgroup stops all that is inside with
//! one write; who is outside, or where there is none, is stopped by signal. Stopping is asked
//! for once and takes a moment, so the keeper looks again until everybody has stopped.
//!
//! Always true: only those that we stopped by signal are continued by signal. A process that
//! was stopped by somebody else stays so.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::processes::cgroup::Cgroup;
use crate::processes::procs::{Proc, freeze};

/// The first wait before looking again; most processes stop within a millisecond.
const FIRST_WAIT: Duration = Duration::from_millis(5);
/// It doubles up to this: who does not stop sits in the kernel, and stops when it leaves.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Freezer {
    /// Those that we stopped by signal.
    stopped: HashMap<i32, Proc>,
    is_wanted: bool,
    /// When to look again, and how long to wait after that.
    again: Option<(Instant, Duration)>,
}

impl Freezer {
    /// Stops the tree; called again at [`again_at`](Self::again_at) until it has stopped.
    pub(super) fn stop(&mut self, cgroup: Option<&Cgroup>, mut look: impl FnMut() -> Vec<Proc>) {
        self.is_wanted = true;
        let cgroup = cgroup.filter(|cgroup| cgroup.freeze(true));
        let mut running = || {
            let inside: HashSet<i32> =
                cgroup.map(Cgroup::pids).unwrap_or_default().into_iter().collect();
            let mut all = look();
            all.retain(|process| !process.is_stopped && !inside.contains(&process.pid));
            all
        };
        self.stopped.extend(freeze(&mut running));
        let has_stopped = running().is_empty() && cgroup.is_none_or(Cgroup::is_frozen);
        let wait = self.again.map_or(FIRST_WAIT, |(_, wait)| wait);
        self.again = (!has_stopped).then(|| (Instant::now() + wait, LONGEST_WAIT.min(wait * 2)));
    }

    /// Lets the tree go on; nothing happens if it was not stopped.
    pub(super) fn resume(&mut self, cgroup: Option<&Cgroup>) {
        if !std::mem::take(&mut self.is_wanted) {
            return;
        }
        self.again = None;
        if let Some(cgroup) = cgroup {
            cgroup.freeze(false);
        }
        for (_, process) in self.stopped.drain() {
            let _gone_or_not_ours = process.signal(Signal::CONT);
        }
    }

    pub(super) fn again_at(&self) -> Option<Instant> {
        self.again.map(|(at, _)| at)
    }
}
