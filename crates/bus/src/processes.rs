//! Child processes that are supervised, with everything that they start.
//!
//! In: a [`Launch`](launch::Launch). Out: a [`Worker`](worker::Worker), its pipes and a handle to
//! stop it. Every worker runs below a *keeper* ([`keeper`]), this same binary re-executed, and a
//! process we started is a process we end: by [`WorkerHandle::stop`](worker::WorkerHandle::stop),
//! when the worker exits and leaves others behind, when the last handle is dropped, and when
//! Switchyard itself is killed with SIGKILL.
//!
//! Who guards against what:
//!
//! | what dies | who ends the tree | how it is found |
//! |---|---|---|
//! | nothing, we stop it | keeper | descendants by parent pid (keeper is the child sub-reaper), cgroup |
//! | the worker | keeper | the same |
//! | Switchyard | keeper, its lifeline closed | the same |
//! | the keeper | Switchyard ([`supervisor`]) | marker in the environment, keeper's session, cgroup |
//! | both | [`sweep`](record::sweep) at the next start | record file, marker in the environment, cgroup |
//!
//! What a dead keeper leaves becomes our child, and is reaped once it is dead ([`orphans`]).
//!
//! We do not use a PID namespace: for ordinary users it needs a user namespace, which changes
//! what uid 0 and file ownership mean below it, and so breaks sudo, git's ownership check and the
//! sandboxes that agents bring along. Nor PDEATHSIG: it fires when the spawning *thread* ends.

pub(crate) mod cgroup;
mod control;
pub(crate) mod descriptors;
pub(crate) mod environment;
pub(crate) mod exit;
pub mod keeper;
pub(crate) mod launch;
mod lost_workers;
mod marked_processes;
mod marker;
mod oom_score;
mod orphans;
pub(crate) mod paced_output;
pub(crate) mod process_tree;
pub(crate) mod procs;
mod program;
pub(crate) mod record;
pub(crate) mod spawn;
pub(crate) mod stderr;
mod supervisor;
pub(crate) mod worker;
