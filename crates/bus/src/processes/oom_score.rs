//! Who dies first when the machine has no memory left.
//!
//! The kernel kills the process with the highest score: its share of the memory in thousandths, plus
//! an adjustment, which children inherit. A worker's is raised, and its keeper's half as much, so that
//! both go before Switchyard, which would take all sessions along. Raising needs no privilege.

use std::fs;

const OWN: &str = "/proc/self/oom_score_adj";
/// As browsers do with their pages. Switchyard is safe as long as it has no third of the machine's
/// memory more than the worker; a program of the user that has that much more than a worker is
/// still killed before it. Workers of a worker get it twice: a command goes before its agent.
const WORKER: i32 = 300;
/// Less than the worker's: it is needed to end what the kernel leaves.
const KEEPER: i32 = WORKER / 2;
/// The kernel takes no more.
const MOST: i32 = 1000;

/// Gives a keeper the score that its worker is to be born with; returns what it had before.
pub(super) fn raise_for_worker() -> Option<i32> {
    let before = fs::read_to_string(OWN).ok()?.trim().parse().ok()?;
    adjust(before + WORKER).then_some(before)
}

/// Gives a keeper its own score, once the worker is there.
pub(super) fn lower_for_keeper(before: i32) {
    // Nobody may go below where somebody with privileges has put them, and that was not here.
    adjust(before + KEEPER);
}

fn adjust(score: i32) -> bool {
    fs::write(OWN, score.min(MOST).to_string()).is_ok()
}
