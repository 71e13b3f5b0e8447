//! Supervised child processes ([`Launch`]), JSON-RPC peers on a pair of byte streams
//! ([`connection`]), and a bus ([`Bus`]) that routes lines between clients and pools of workers.

pub mod connection;
pub mod hello;
mod kernel;
mod process_calls;
mod processes;
pub mod quota;
pub mod switch;

pub use hello::BusToken;
pub use kernel::{
    Bus, BusError, BusSnapshot, ClientSnapshot, IoLimits, KernelSetup, ListenAddress, ListenConfig,
    PoolSetup, Port, PortReceiver, PortSender,
};
pub use process_calls::{give_free_memory_back, give_large_memory_back};
pub use processes::cgroup::{GroupLimits, LimitHit, MOST_CPU_WEIGHT, MissingLimit, WorkerLimits};
pub use processes::descriptors::raise_descriptor_limit;
pub use processes::environment::Environment;
pub use processes::exit::ExitReport;
pub use processes::keeper::{self, is_below_keeper};
pub use processes::launch::{Launch, SpawnError};
pub use processes::paced_output::{PacedOutput, READ_BYTES};
pub use processes::process_tree::resident_bytes;
pub use processes::record::{SweepReport, SweptWorker, sweep};
pub use processes::spawn::{StderrKind, StdinKind};
pub use processes::stderr::{StderrLine, StderrLines};
pub use processes::worker::{
    Containment, StopLadder, StopStep, Worker, WorkerHandle, WorkerStdin, WorkerStdout,
};

// The file that replays recorded runs names the crate from outside, as it is part of others, too.
#[cfg(test)]
extern crate self as bus;
