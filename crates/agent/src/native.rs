//! The built-in agent: any Chat Completions endpoint as a coding agent that speaks ACP.
//!
//! In: ACP on a pair of byte streams. Out: the same, and what the tools do. It is started like
//! any other agent and does not know who starts it.

pub mod arguments;
pub mod assemble;
pub mod chat;
pub mod client;
pub mod commands;
pub mod config;
mod content;
mod context;
pub mod context_tools;
pub mod discover;
pub mod endpoint;
pub mod files;
mod gate;
mod instructions;
mod journal;
pub mod mcp;
pub mod models;
mod options;
mod process;
pub mod provider;
pub mod providers;
mod replay;
pub mod sandbox;
pub mod scene;
pub mod secret;
mod session;
mod slash;
mod task;
pub mod todo;
pub mod tools;
mod turn;
mod visible;
pub mod webfetch;

pub use options::{efforts, modes};
pub use process::{Setup, serve};
pub use session::Limits;
#[cfg(test)]
mod testing;
