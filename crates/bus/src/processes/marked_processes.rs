//! Finding the processes of workers without their keepers.
//!
//! In: workers whose keepers are dead, each with its marker, a random id that every process of the
//! worker carries in its environment. Out: all of them ended. This is the way for when the keeper is
//! dead; while it lives, it knows its descendants better than any marker, which a process can shed by
//! clearing its environment. A child of a marked process counts too, and so does a member of the
//! worker's cgroup or of the dead keeper's session.
//!
//! One look reads all of `/proc`, and finds the processes of every worker that is to be ended: a
//! sweep of a thousand records is one look, and so are three hundred keepers that die together.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::cgroup::Cgroup;
use super::marker::{MARKER_VARIABLE, Marker};
use super::process_tree::by_parent;
use super::procs::{Proc, freeze_and_kill, snapshot};

// SIGKILL is carried out within milliseconds; what still lives after this is stuck in the kernel
// or belongs to another user, and waiting longer does not help.
const GIVE_UP_AFTER: Duration = Duration::from_secs(5);
// On a machine that is so busy that one look at `/proc` takes seconds, time alone says nothing: the
// killed had no turn to die in. They had one between looks.
const MIN_LOOKS: u32 = 100;
// Long enough for killed processes to be gone at the next look, short enough not to be felt.
pub(crate) const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// A worker whose keeper is dead.
#[derive(Debug)]
pub(crate) struct LostWorker {
    pub(crate) marker: Marker,
    /// The keeper's pid, only while it is still our zombie: then its pid, and with it the number of
    /// its session, cannot have been given to somebody else.
    pub(crate) keeper: Option<i32>,
    pub(crate) cgroup: Option<Cgroup>,
}

/// The processes of a worker that were killed, and how many of them are left.
#[derive(Debug, Default)]
pub(crate) struct MarkedCleanup {
    pub(crate) pids: Vec<i32>,
    pub(crate) n_left: usize,
}

/// A worker whose processes are being ended.
#[derive(Debug)]
pub(crate) struct WorkerEnding {
    worker: LostWorker,
    /// Whom we saw, dead or alive.
    seen: HashMap<i32, Proc>,
    killed: HashSet<i32>,
    n_looks: u32,
    give_up_at: Instant,
}

impl WorkerEnding {
    pub(crate) fn new(mut worker: LostWorker) -> Self {
        // Session 0 is the kernel's own: a pid we do not know must never mean that one.
        worker.keeper = worker.keeper.filter(|pid| *pid > 0);
        let give_up_at = Instant::now() + GIVE_UP_AFTER;
        Self { worker, seen: HashMap::new(), killed: HashSet::new(), n_looks: 0, give_up_at }
    }

    /// How it ended, once nothing is left or waiting longer does not help.
    fn cleanup(&mut self, has_killed: bool) -> Option<MarkedCleanup> {
        let n_left = self.seen.values().filter(|process| is_alive(process)).count();
        self.n_looks += 1;
        let is_late = self.n_looks >= MIN_LOOKS && Instant::now() >= self.give_up_at;
        let is_over = (!has_killed && n_left == 0) || is_late;
        is_over.then(|| MarkedCleanup { pids: self.killed.drain().collect(), n_left })
    }
}

/// Kills every process of the workers and waits until they are gone; the results are in the same
/// order. Blocks, at most for [`GIVE_UP_AFTER`] and [`MIN_LOOKS`].
pub(crate) fn end_marked(workers: impl IntoIterator<Item = LostWorker>) -> Vec<MarkedCleanup> {
    let numbered = workers.into_iter().map(WorkerEnding::new).enumerate();
    let mut endings: Vec<(usize, WorkerEnding)> = numbered.collect();
    let mut ended = Vec::new();
    loop {
        ended.extend(kill_once(&mut endings));
        if endings.is_empty() {
            ended.sort_unstable_by_key(|(number, _)| *number);
            return ended.into_iter().map(|(_, cleanup)| cleanup).collect();
        }
        thread::sleep(LOOK_AGAIN_AFTER);
    }
}

/// Kills what a look finds of the workers, and takes out those of which nothing is left. The caller
/// repeats it until none is.
pub(crate) fn kill_once<T>(endings: &mut Vec<(T, WorkerEnding)>) -> Vec<(T, MarkedCleanup)> {
    let mut owners: HashMap<i32, usize> = HashMap::new();
    // Looked at before the groups are killed: whoever dies becomes our child, and we can await only
    // whom we know.
    let killed = freeze_and_kill(|| {
        let mut found = Vec::new();
        for (owner, process) in look(endings) {
            // The dead ones too: they become our children when their parent dies.
            if let Some((_, ending)) = endings.get_mut(owner) {
                ending.seen.insert(process.pid, process);
            }
            owners.insert(process.pid, owner);
            found.push(process);
        }
        found
    });
    let mut have_killed = HashSet::new();
    for process in killed {
        let Some(owner) = owners.get(&process.pid) else { continue };
        have_killed.insert(*owner);
        if let Some((_, ending)) = endings.get_mut(*owner) {
            ending.killed.insert(process.pid);
        }
    }
    let mut ended = Vec::new();
    for (number, (of, mut ending)) in std::mem::take(endings).into_iter().enumerate() {
        if let Some(cgroup) = &ending.worker.cgroup {
            cgroup.kill();
        }
        match ending.cleanup(have_killed.contains(&number)) {
            Some(cleanup) => ended.push((of, cleanup)),
            None => endings.push((of, ending)),
        }
    }
    ended
}

/// The processes of the workers, each with the number of its own.
fn look<T>(endings: &[(T, WorkerEnding)]) -> Vec<(usize, Proc)> {
    let all = snapshot();
    let roots = Roots::of(endings);
    let is_candidate = |process: &Proc| {
        process.pid != roots.own_pid && !roots.by_session.contains_key(&process.pid)
    };
    let children = by_parent(&all);
    let mut owners: HashMap<i32, usize> = HashMap::new();
    let mut found: Vec<(usize, Proc)> = Vec::new();
    for process in all.iter().filter(|process| is_candidate(process)) {
        if let Some(owner) = roots.owner(process) {
            owners.insert(process.pid, owner);
            found.push((owner, *process));
        }
    }
    let mut n_visited = 0;
    while let Some((owner, parent)) = found.get(n_visited).copied() {
        n_visited += 1;
        for child in children.get(&parent.pid).into_iter().flatten() {
            if is_candidate(child) && !owners.contains_key(&child.pid) {
                owners.insert(child.pid, owner);
                found.push((owner, **child));
            }
        }
    }
    found
}

/// The ways in which a process is known to be of a worker, other than by its parent.
struct Roots<'a> {
    own_pid: i32,
    by_marker: HashMap<&'a [u8], usize>,
    /// By the pids of the keepers, too: each began its session.
    by_session: HashMap<i32, usize>,
    by_cgroup: HashMap<i32, usize>,
}

impl<'a> Roots<'a> {
    fn of<T>(endings: &'a [(T, WorkerEnding)]) -> Self {
        let own_pid = std::process::id().cast_signed();
        let (mut by_marker, mut by_session) = (HashMap::new(), HashMap::new());
        let mut by_cgroup = HashMap::new();
        for (number, (_, WorkerEnding { worker, .. })) in endings.iter().enumerate() {
            by_marker.insert(worker.marker.as_str().as_bytes(), number);
            by_session.extend(worker.keeper.map(|keeper| (keeper, number)));
            let inside = worker.cgroup.as_ref().map(Cgroup::pids).unwrap_or_default();
            by_cgroup.extend(inside.into_iter().map(|pid| (pid, number)));
        }
        Self { own_pid, by_marker, by_session, by_cgroup }
    }

    fn owner(&self, process: &Proc) -> Option<usize> {
        let known = self.by_session.get(&process.session);
        let known = known.or_else(|| self.by_cgroup.get(&process.pid)).copied();
        known.or_else(|| find_mark(process.pid, |mark| self.by_marker.get(mark).copied()))
    }
}

/// The first result of `find` for a marker in the environment that the process was started with.
pub(crate) fn find_mark<T>(pid: i32, find: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let entries = environment.split(|byte| *byte == 0);
    let mut marks = entries
        .filter_map(|entry| entry.strip_prefix(MARKER_VARIABLE.as_bytes())?.strip_prefix(b"="));
    marks.find_map(find)
}

/// Whether a process we saw is still alive. Reaps it if it became our child by its parent's death;
/// somebody else's zombie is left to its parent.
fn is_alive(process: &Proc) -> bool {
    let now = Proc::read(process.pid).filter(|now| now.start == process.start);
    now.is_some_and(|now| {
        if now.is_zombie {
            now.reap();
        }
        !now.is_zombie
    })
}
