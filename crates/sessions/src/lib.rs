//! Sessions: durable conversations between clients and agents.
//!
//! In: prompts, cancels and answers from clients; ACP from agents. Out: a log of events per
//! session, and other vocabularies projected from it. The host speaks to agents, the front
//! to ACP clients, and only who has claimed a session appends to its log: its task, and what
//! opens, repairs, forks and deletes it. Nothing here knows HTTP or SQL.

mod allow_list;
pub mod audit;
pub mod budget;
pub mod context;
pub mod details;
pub mod fair_limiter;
mod fault;
mod file_stamp;
pub mod front;
pub mod halted;
pub mod host;
pub mod link;
mod lock;
mod memory;
mod name_list;
pub mod notices;
pub mod observer;
pub mod open;
pub mod options;
pub mod order;
pub mod pending;
pub mod permission;
pub mod pools;
mod preface;
pub mod registry;
mod relink;
pub mod session;
pub mod settings;
mod terminals;

pub use store::mint;
