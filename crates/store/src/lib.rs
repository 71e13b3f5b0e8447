//! The durable event log: what was acknowledged here is never lost, doubled or re-ordered without
//! an error that says so.
//!
//! In: batches of drafts and changes to a session's record. Out: numbered events, records
//! and wake-ups. One trait, [`EventLog`], and behind it [`SqliteLog`] on disk, shared by several
//! processes. Tests have a log in memory, which is also the model that the one on disk is checked
//! against. Nothing here knows what an event means, but for which kinds are decisions: the audit
//! lists those.

mod chain;
mod claim;
mod decisions;
mod error;
mod heads;
mod health;
mod log;
pub mod mint;
mod private_file;
mod read_budget;
mod record;
mod sqlite;
mod wake_ups;

pub use claim::{Claim, ClaimOwner};
pub use decisions::{DECISION_KINDS, DecisionFilter, DecisionPlace, LoggedDecision};
pub use error::StoreError;
pub use health::{LogHealth, LogTrouble, LostSession, TroubleKind};
pub use log::{EventLog, check_prefix};
pub use read_budget::{BudgetedRead, ReadBudget, ReadPermit};
pub use record::{
    AppendedRange, Batch, DEFAULT_MAX_SESSION_BYTES, Damage, Durability, LogUsage, MAX_FOUND,
    MAX_READ_BYTES, NewSession, PageStart, PruneRule, RecordChanges, SessionFilter, SessionOrigin,
    SessionRecord,
};
pub use sqlite::maintenance;
pub use sqlite::{SqliteLog, SqliteOptions};
