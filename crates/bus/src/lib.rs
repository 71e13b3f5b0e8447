//! Supervised child processes, and JSON-RPC peers on a pair of byte streams ([`connection`]).
//!
//! In: a [`Launch`]. Out: a [`Worker`], its pipes and a handle to stop it. Every worker runs
//! below a *keeper* ([`keeper`]), this same binary re-executed, and a process we started is a
//! process we end: by [`WorkerHandle::stop`], when the worker exits and leaves others behind,
//! when the last handle is dropped, and when Switchyard itself is killed with SIGKILL.
//!
//! Who guards against what:
//!
//! | what dies | who ends the tree | how it is found |
//! |---|---|---|
//! | nothing, we stop it | keeper | descendants by parent pid (keeper is the child sub-reaper), cgroup |
//! | the worker | keeper | the same |
//! | Switchyard | keeper, its lifeline closed | the same |
//! | the keeper | Switchyard ([`supervisor`](self)) | marker in the environment, keeper's session, cgroup |
//! | both | [`sweep`](fn@sweep) at the next start | record file, marker in the environment, cgroup |
//!
//! We do not use a PID namespace: for ordinary users it needs a user namespace, which changes
//! what uid 0 and file ownership mean below it, and so breaks sudo, git's ownership check and the
//! sandboxes that agents bring along. Nor PDEATHSIG: it fires when the spawning *thread* ends.

mod cgroup;
pub mod connection;
mod control;
mod descriptors;
mod environment;
mod exit;
pub mod hello;
pub mod keeper;
mod kernel;
mod launch;
mod marked;
mod process_calls;
mod procs;
mod program;
pub mod quota;
mod record;
mod spawn;
mod stderr;
mod supervisor;
pub mod switch;
mod worker;

pub use descriptors::raise_descriptor_limit;
pub use environment::Environment;
pub use exit::ExitReport;
pub use hello::Token;
pub use kernel::{
    Bus, BusError, ClientPicture, Edges, Listen, Picture, PoolSetup, Port, PortReceiver,
    PortSender, Setup,
};
pub use launch::{Launch, SpawnError, StderrKind, StdinKind};
pub use process_calls::{give_free_memory_back, give_large_memory_back};
pub use procs::{is_below_keeper, resident_bytes};
pub use record::{Swept, SweptWorker, sweep};
pub use stderr::{StderrLine, StderrLines};
pub use worker::{
    Containment, StopLadder, StopStep, Worker, WorkerHandle, WorkerStdin, WorkerStdout,
};
