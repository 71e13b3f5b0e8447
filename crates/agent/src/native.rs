//! The built-in agent: any Chat Completions endpoint as a coding agent that speaks ACP.
//!
//! In: ACP on a pair of byte streams. Out: the same, and what the tools do. It is started like
//! any other agent and does not know who starts it.

pub mod assemble;
mod call_arguments;
pub mod chat;
pub mod client;
mod commands;
pub mod config;
mod content;
mod context;
mod context_tools;
mod cost;
pub mod discovery;
mod display_text;
pub mod endpoint;
mod excerpt;
mod file_tools;
mod files;
mod http;
mod instructions;
mod journal;
mod lenient;
pub mod mcp;
pub mod models;
mod options;
mod permission_gate;
mod process;
mod prompt;
pub mod provider;
pub mod providers;
mod replay;
pub mod sandbox;
pub mod secret;
mod session;
pub mod settings;
mod slash_commands;
mod sub_agent;
mod todo;
pub mod tool;
mod tool_call;
mod turn;
mod webfetch;

pub use options::{efforts, modes};
pub use process::{AgentSetup, serve};
#[cfg(test)]
mod testing;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also a poisoned one: nothing that can panic runs under the locks here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
