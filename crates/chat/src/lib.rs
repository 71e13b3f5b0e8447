//! A session at the terminal: full screen, or plain lines where there is no terminal.
//!
//! In: a client of the daemon, the options, and a terminal. Out: how the chat ended. It is a client
//! of the daemon's public API and of nothing else.
//!
//! | file | owns |
//! |---|---|
//! | `conversation` | the log as items: a pure function |
//! | `state`, `effect` | keys and messages in, effects out: no I/O, no clock |
//! | `render`, `markdown`, `wrap` | the state as a screen |
//! | `app`, `screen` | the terminal, the stream, the requests of effects |
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
pub use plain::{InputLines, lines_of_stdin, plain};

use std::path::PathBuf;

use wire::event::Limit;
use wire::event::StopReason;

/// The options of a chat.
#[derive(Debug, Clone)]
pub struct ChatOptions {
    pub start: ChatStart,
    /// The directory of new sessions.
    pub cwd: PathBuf,
    /// Members of the request for a new session beside its agent.
    pub create_params: serde_json::Map<String, serde_json::Value>,
    /// The file of the input history.
    pub history: PathBuf,
    pub has_color: bool,
    /// A remark that is shown once, when the screen is there.
    pub remark: Option<String>,
}

/// The session that a chat begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatStart {
    /// A new session with this agent; without a name, with the command of the `create_params`.
    New(Option<String>),
    /// A new session with an agent that is chosen, or the only one that is ready.
    AnyAgent,
    /// A session by its id.
    Session(String),
    /// The session that was used last in this directory.
    Continue,
    /// A session that is chosen.
    AnySession,
}

/// How a chat ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatOutcome {
    /// The session that was open.
    pub session: Option<String>,
    /// The stop reason of the last turn.
    pub stop: Option<StopReason>,
    /// Something was refused because nobody was there to ask.
    pub was_denied: bool,
    /// The last turn was cancelled because of such a refusal, and not because somebody wanted it.
    pub was_cut_by_denial: bool,
    /// The limit that the last turn stopped at, because nobody was there to ask.
    pub limit: Option<Limit>,
}
