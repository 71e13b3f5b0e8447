//! Sessions: durable conversations between clients and agents.
//!
//! In: prompts, cancels and answers from clients; ACP from agents. Out: a log of events per
//! session, and other vocabularies projected from it. The host speaks to agents, the front
//! to ACP clients, and only a session's own task appends to its log. Nothing here knows
//! HTTP or SQL.

pub mod audit;
pub mod budget;
pub mod desk;
pub mod details;
mod fault;
mod file_stamp;
pub mod front;
pub mod host;
pub mod link;
mod listed;
mod lock;
pub mod made_of;
mod memory;
mod name_list;
pub mod news;
pub mod observer;
pub mod open;
pub mod options;
pub mod order;
pub mod pending;
pub mod permission;
pub mod places;
pub mod pools;
mod preface;
mod relink;
mod reseed;
pub mod session;
pub mod settings;
mod terminals;
pub mod yard;

pub use store::mint;
