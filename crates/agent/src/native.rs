//! The built-in agent: any Chat Completions endpoint as a coding agent that speaks ACP.
//!
//! In: ACP on a pair of byte streams. Out: the same, and what the tools do. It is started like
//! any other agent and does not know who starts it.
//!
//! ```text
//! client ─ACP─► process ─► session ─► turn ─► provider ─HTTP─► endpoint
//!                  ▲          │        │ ▲
//!                  │          ▼        ▼ │ results
//!                  └─updates─ journal  calls ─► gate ─► tools
//! ```
//!
//! | part | owns |
//! |---|---|
//! | `process` | the connection, which sessions are open, the answer to every request |
//! | `prompt`, `slash_commands` | a prompt and its answer: slash commands, the tools of its turn, the turn, a summary where room has to be made |
//! | `prompt::session_conversation` | what a turn sees of its session: its journal, its client, its model |
//! | `session` | what one conversation has: its journal, options, MCP servers, what it cost, the one turn that runs |
//! | `turn`, `turn::calls`, `turn_bounds` | the loop: ask the model, run its calls, again; how often, for all who work for a turn |
//! | `assemble`, `provider` | an answer from fragments; requests, streams, retries, what went wrong in words |
//! | `models`, `providers`, `config`, `discovery` | which endpoints and models there are |
//! | `journal`, `context`, `replay` | what happened; what of it is sent to a model; what a client is shown again |
//! | `permission_gate` | what may run without a question |
//! | `options` | what a client can choose: model, mode, effort, tools |
//! | `tool`, `tool_call` | what a tool is, and what its calls may use; what a call would do, what it needs for that, what it gave |
//! | `file_tools`, `files`, `commands`, `webfetch`, `todo`, `sub_agent`, `mcp` | what a model can do |
//! | `context_tools`, `context::overlay` | what it can do with its own context, where that is switched on |
//! | `settings`, `client` | how much tools may do; what the client can be asked for: files, terminals, permission |
//! | `sandbox` | holding commands in |
//!
//! 1. `process` begins the turn at once and runs it as a task, so that a cancel is heard; opening a
//!    session is a task, too; everything else is answered in order.
//! 2. Slash commands are read (`slash_commands`), and may be the whole answer; else the prompt is
//!    appended to the session's journal, and its MCP servers are waited for, for a while.
//! 3. The turn makes room if the window is nearly full, makes the messages from the journal
//!    (`context`), and asks. Each piece of text goes to the client the moment it comes; all fragments
//!    go into the assembly, and the whole answer into the journal.
//! 4. Its calls are parsed and repaired (`call_arguments`), prepared by their tools (which looks, and makes
//!    the diff or the title), let through by the gate, and run. Results go into the journal and,
//!    with the next request, to the model.
//! 5. No calls, a limit, a refusal, a cancel or an error end the turn.
//!
//! A model whose endpoint refuses tools is asked again without them: the refusal is learnt
//! (`provider::quirks`), the prompt says that there are none, and earlier calls become words
//! (`provider::body`). A model's error is sent as text and ends the turn as `end_turn` with
//! `_meta.switchyard.error`, of which a session makes a failed turn.

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
mod turn_bounds;
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
