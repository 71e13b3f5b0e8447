//! A session at the terminal: full screen, or plain lines where there is none.
//!
//! In: a client of the daemon, what is wanted, and a terminal. Out: how it ended. It is a
//! client of the daemon's public API and of nothing else.
//!
//! | file | owns |
//! |---|---|
//! | `conversation` | the log as items: a pure function |
//! | `state`, `effect` | keys and news in, effects out: no I/O, no clock |
//! | `view`, `render`, `markdown`, `wrap` | the state as a screen |
//! | `app`, `screen` | the terminal, the stream, what effects do |
//! | `plain` | one prompt a line, answers as text |

mod app;
mod commands;
mod completion;
mod conversation;
mod editor;
mod effect;
mod error;
mod form;
mod history;
mod info;
mod markdown;
mod picker;
mod plain;
mod render;
mod screen;
mod state;
mod theme;
mod wrap;

pub use app::full_screen;
pub use error::ChatError;
pub use plain::{Lines, lines_of_stdin, plain};

use std::collections::BTreeMap;
use std::path::PathBuf;

use wire::event::Limit;
use wire::event::StopReason;

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub start: Start,
    /// Where new sessions work.
    pub cwd: PathBuf,
    /// What new sessions get beside agent, directory and environment, as the API names it.
    pub order: serde_json::Map<String, serde_json::Value>,
    /// The environment of the agents of new sessions; none if that is not ours to choose.
    pub env: Option<BTreeMap<String, String>>,
    /// Where what was typed is kept.
    pub history: PathBuf,
    pub has_color: bool,
    /// Said once, when the screen is there.
    pub remark: Option<String>,
}

/// How to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A new session with this agent.
    Agent(String),
    /// A new session with an agent that is chosen, or the only one that is ready.
    AnyAgent,
    /// A new session with an agent of this command line.
    Command(Vec<String>),
    /// A session by its id.
    Session(String),
    /// The session that was used last in this directory.
    Continue,
    /// A session that is chosen.
    AnySession,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// The session that was open.
    pub session: Option<String>,
    /// The stop reason of the last turn.
    pub stop: Option<StopReason>,
    /// Something was refused because nobody was there to ask.
    pub was_denied: bool,
    /// For that the last turn was cancelled, and not because somebody wished it.
    pub was_cut_by_denial: bool,
    /// The limit that the last turn stopped at, because nobody was there to ask.
    pub limit: Option<Limit>,
}
