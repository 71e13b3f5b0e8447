//! The processes below another one.
//!
//! In: a pid. Out: its descendants. The kernel lists the children of each thread
//! (`/proc/PID/task/TID/children`), so a look at a tree costs what the tree is large, however many
//! processes the machine runs: of a thousand keepers each looks at its own. A kernel that was built
//! without these lists has all of `/proc` read instead.
//!
//! Not one moment in time: who forks, or loses its parent, during a look may be missed, so callers
//! look again until nothing new turns up. What is found is below the root, for a pid that has come to
//! mean a stranger has its parent elsewhere.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::sync::OnceLock;

use super::procs::{Proc, snapshot};

/// The kernel goes on by counting when the child that it listed last is gone, and skips as many as
/// have gone. Then the list is read again; so often, because of a process whose children come and go
/// without end any reading may be short.
const MAX_READINGS: usize = 4;
/// One read of the kernel's list has all children of nearly every process.
const USUAL_LIST_BYTES: usize = 4096;

/// Everything below `root`, without the root.
pub(crate) fn below(root: i32) -> Vec<Proc> {
    match has_lists_of_children() {
        true => walk(root),
        false => descendants(&[root], &snapshot()),
    }
}

/// The children of a process, the dead ones that it has not waited for among them. They may have
/// gone by now, and their pids may mean others.
pub(crate) fn children(parent: i32) -> Vec<i32> {
    match has_lists_of_children() {
        true => listed_children(parent),
        false => {
            let all = snapshot().into_iter();
            all.filter(|process| process.parent == parent).map(|process| process.pid).collect()
        }
    }
}

/// Everything below `roots` among `all`, without the roots.
pub(crate) fn descendants(roots: &[i32], all: &[Proc]) -> Vec<Proc> {
    let children = by_parent(all);
    let mut seen: HashSet<i32> = roots.iter().copied().collect();
    let mut to_visit = roots.to_vec();
    let mut found = Vec::new();
    while let Some(pid) = to_visit.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if seen.insert(child.pid) {
                found.push(**child);
                to_visit.push(child.pid);
            }
        }
    }
    found
}

/// Processes by the pid of their parent.
pub(crate) fn by_parent(all: &[Proc]) -> HashMap<i32, Vec<&Proc>> {
    let mut children: HashMap<i32, Vec<&Proc>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    children
}

/// The resident memory of each keeper's worker with everything it started, in the order of
/// `keepers`; 0 for those that are gone. Reads some files for each process, so it blocks for a
/// moment.
pub fn resident_bytes(keepers: &[u32]) -> Vec<u64> {
    let n_bytes = |tree: Vec<Proc>| tree.iter().map(Proc::n_resident_bytes).sum();
    let keepers = keepers.iter().map(|keeper| keeper.cast_signed());
    if has_lists_of_children() {
        return keepers.map(|keeper| n_bytes(walk(keeper))).collect();
    }
    let all = snapshot();
    keepers.map(|keeper| n_bytes(descendants(&[keeper], &all))).collect()
}

fn has_lists_of_children() -> bool {
    static HAS_LISTS: OnceLock<bool> = OnceLock::new();
    *HAS_LISTS.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

fn walk(root: i32) -> Vec<Proc> {
    let mut seen = HashSet::from([root]);
    let mut to_visit = vec![root];
    let mut found = Vec::new();
    while let Some(pid) = to_visit.pop() {
        for child in known_children(pid) {
            // It may have another parent by now, but one of this tree.
            if seen.contains(&child.parent) && seen.insert(child.pid) {
                found.push(child);
                to_visit.push(child.pid);
            }
        }
    }
    found
}

/// The children of a process, none left out that was one all the time.
fn known_children(parent: i32) -> Vec<Proc> {
    let mut found = Vec::new();
    for _ in 0..MAX_READINGS {
        let listed = listed_children(parent);
        found = listed.iter().filter_map(|pid| Proc::read(*pid)).collect();
        if found.len() == listed.len() {
            break;
        }
    }
    found
}

fn listed_children(parent: i32) -> Vec<i32> {
    let mut children = Vec::new();
    // A child belongs to the thread that has forked it, also when that is not the main one.
    for thread in fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten() {
        let mut list = Vec::with_capacity(USUAL_LIST_BYTES);
        let listed = File::open(thread.path().join("children"));
        if listed.and_then(|mut file| file.read_to_end(&mut list)).is_ok() {
            let pids = list.split(|byte| *byte == b' ');
            children.extend(pids.filter_map(|pid| str::from_utf8(pid).ok()?.parse::<i32>().ok()));
        }
    }
    children
}

#[cfg(test)]
mod tests;
