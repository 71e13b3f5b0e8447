//! Effects that the state wants performed, and the messages that it gets.

use client::FollowerMessage;
use serde_json::Value;
use wire::{CallId, TurnId};

use crate::info::{AgentInfo, SessionInfo};

/// A request to the outside of the state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Prompts the session. Sending it again under the same name runs it once.
    Prompt {
        text: String,
        mentions: Vec<String>,
        name: u64,
    },
    Cancel,
    Answer {
        id: CallId,
        body: Value,
    },
    /// Changes the session: title, model, mode, effort.
    Change(Value),
    DropQueued(String),
    /// Makes a session with an agent, or with none that is named.
    Create {
        agent: Option<String>,
    },
    /// Goes to a session by its id.
    Attach(String),
    Fork,
    /// Asks for the current data of the session.
    Refresh,
    /// Asks how long the daemon runs.
    CheckUptime,
    Sessions,
    Agents,
    /// Opens the stream anew after an event that is missing.
    Reopen,
    Export(String),
    SaveToHistory(String),
    Scroll(Scroll),
    Suspend,
    Redraw,
    Leave,
    /// Leaves, because nothing could be opened.
    LeaveWithError(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    Lines(isize),
    Pages(isize),
    Start,
    End,
}

/// A message to the state: an event, a response, a change of the connection.
#[derive(Debug)]
pub(crate) enum ChatMessage {
    /// A session was made or found; its events follow.
    Opened(Box<SessionInfo>),
    /// The current data of the session.
    Info(Box<SessionInfo>),
    /// An event, or a change of the stream of events.
    Stream(FollowerMessage),
    /// Since when the daemon runs, in milliseconds since 1970.
    DaemonSince(i64),
    Sessions(Vec<SessionInfo>),
    Agents {
        found: Vec<AgentInfo>,
        is_complete: bool,
    },
    Files(Vec<String>),
    /// A prompt is in the log, and will be this turn.
    PromptAccepted {
        text: String,
        turn: Option<TurnId>,
    },
    /// A prompt could not be sent.
    PromptRejected {
        text: String,
        why: String,
    },
    /// A request has failed.
    Failed(String),
    /// The session that was to be opened cannot be.
    CannotOpen(String),
    Done(String),
}

/// The state of the connection to the session's events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ConnectionState {
    #[default]
    Opening,
    Live,
    /// The connection is lost for this reason, and is tried again.
    Lost(String),
    /// The connection has ended for this reason, and is not tried again.
    Over(String),
}
