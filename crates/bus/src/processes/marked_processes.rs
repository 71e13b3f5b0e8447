//! Finding a worker's processes without its keeper.
//!
//! In: the worker's marker, a random id that every process of the worker carries in its
//! environment. Out: all of them ended. This is the way for when the keeper is dead; while it
//! lives, it knows its descendants better than any marker, which a process can shed by clearing
//! its environment. A child of a marked process counts too, and so does a member of the worker's
//! cgroup or of the dead keeper's session.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use super::cgroup::Cgroup;
use super::marker::Marker;
use super::procs::{Proc, descendants, freeze_and_kill, snapshot};

// SIGKILL is carried out within milliseconds; what still lives after this is stuck in the kernel
// or belongs to another user, and waiting longer does not help.
const GIVE_UP_AFTER: Duration = Duration::from_secs(5);
// On a machine that is so busy that one look at `/proc` takes seconds, time alone says nothing: the
// killed had no turn to die in. They had one between looks.
const MIN_LOOKS: u32 = 100;
// Long enough for killed processes to be gone at the next look, short enough not to be felt.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// The processes that [`end_marked`] killed, and how many of them are left.
#[derive(Debug, Default)]
pub(crate) struct MarkedCleanup {
    pub(crate) pids: Vec<i32>,
    pub(crate) n_left: usize,
}

/// Kills every process of a worker whose keeper is dead and waits until they are gone. Blocks,
/// at most for [`GIVE_UP_AFTER`] and [`MIN_LOOKS`].
///
/// `keeper` names the dead keeper only while it is still our zombie: then its pid, and with it
/// the number of its session, cannot have been given to somebody else.
pub(crate) fn end_marked(
    marker: &Marker,
    keeper: Option<i32>,
    cgroup: Option<&Cgroup>,
) -> MarkedCleanup {
    // Session 0 is the kernel's own: a pid we do not know must never mean that one.
    let keeper = keeper.filter(|pid| *pid > 0);
    let give_up_at = Instant::now() + GIVE_UP_AFTER;
    let entry = marker.environment_entry();
    let mut seen: HashMap<i32, Proc> = HashMap::new();
    let mut pids: HashSet<i32> = HashSet::new();
    let mut n_looks = 0;
    loop {
        // Looked at before the group is killed: whoever dies becomes our child, and we can reap
        // only whom we know.
        let killed = freeze_and_kill(|| {
            let found = look(&entry, keeper, cgroup);
            // The dead ones too: they become our children when their parent dies.
            seen.extend(found.iter().map(|process| (process.pid, *process)));
            found
        });
        if let Some(cgroup) = cgroup {
            cgroup.kill();
        }
        pids.extend(killed.iter().map(|process| process.pid));
        let n_left = seen.values().filter(|process| is_ours_to_await(process)).count();
        n_looks += 1;
        let is_over = n_looks >= MIN_LOOKS && Instant::now() >= give_up_at;
        if (killed.is_empty() && n_left == 0) || is_over {
            return MarkedCleanup { pids: pids.into_iter().collect(), n_left };
        }
        thread::sleep(LOOK_AGAIN_AFTER);
    }
}

fn look(entry: &[u8], keeper: Option<i32>, cgroup: Option<&Cgroup>) -> Vec<Proc> {
    let all = snapshot();
    let in_cgroup: HashSet<i32> =
        cgroup.map(Cgroup::pids).unwrap_or_default().into_iter().collect();
    let own_pid = std::process::id().cast_signed();
    let is_candidate = |process: &Proc| process.pid != own_pid && Some(process.pid) != keeper;
    let roots: Vec<Proc> = all
        .iter()
        .copied()
        .filter(is_candidate)
        .filter(|process| {
            Some(process.session) == keeper
                || in_cgroup.contains(&process.pid)
                || process.has_environment_entry(entry)
        })
        .collect();
    let root_pids: Vec<i32> = roots.iter().map(|process| process.pid).collect();
    let mut found = descendants(&root_pids, &all);
    found.retain(is_candidate);
    found.extend(roots);
    found
}

/// Whether a process we saw is still there. Reaps it if it became our child by its parent's
/// death; somebody else's zombie is left to its parent.
fn is_ours_to_await(process: &Proc) -> bool {
    process.reap();
    Proc::read(process.pid).is_some_and(|now| {
        let is_same = now.start == process.start;
        let is_our_child = now.parent == std::process::id().cast_signed();
        is_same && (!now.is_zombie || is_our_child)
    })
}
