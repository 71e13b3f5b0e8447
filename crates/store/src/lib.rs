//! The durable event log: what was acknowledged here is never lost, doubled or re-ordered without
//! an error that says so.
//!
//! In: batches of drafts and changes to a session's record. Out: numbered events, records
//! and wake-ups. One trait, [`EventLog`], and two stores behind it: [`SqliteLog`] on disk,
//! shared by several processes, and [`MemoryLog`] for tests, which is also the model that
//! the other one is checked against. Nothing here knows what an event means.

mod chain;
mod claim;
mod decisions;
mod error;
mod heads;
mod log;
mod memory;
pub mod mint;
mod read_budget;
mod record;
mod sqlite;
mod wake_ups;

pub use claim::{Claim, ClaimOwner};
pub use decisions::{DecisionFilter, DecisionPlace, LoggedDecision};
pub use error::StoreError;
pub use log::EventLog;
pub use memory::MemoryLog;
pub use read_budget::{BudgetedRead, ReadBudget, ReadPermit};
pub use record::{
    AppendedRange, Batch, Damage, Durability, LogUsage, NewSession, PageStart, PruneRule,
    RecordChanges, SessionFilter, SessionOrigin, SessionRecord,
};
pub use sqlite::{LostSession, SqliteLog, SqliteOptions};
