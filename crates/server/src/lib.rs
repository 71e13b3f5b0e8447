//! The daemon's listeners and transports: HTTP, events, ACP for many clients.
//!
//! In: connections. Out: the daemon's sessions, created, followed, steered and approved by whoever
//! holds a token. One guard stands on every way in. Nothing here knows how an agent is driven, or SQL.

mod access;
pub mod acp;
mod api;
mod attachments;
pub mod daemon;
mod dir_handles;
mod endpoints;
mod events;
pub mod guard;
mod header_lists;
mod input;
pub mod limits;
pub mod listen;
mod locking;
pub mod login;
pub mod metrics;
pub mod open_design;
pub mod page;
pub mod page_name;
pub mod principal;
pub mod problem;
mod request_names;
pub mod router;
pub mod secrets;
pub mod tls;
pub mod tokens;
mod web_socket;
pub mod webhook;
