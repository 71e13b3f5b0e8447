//! One entry of a session's log.
//!
//! An event is either a `session/update` of the agent, kept as the raw `params` it came
//! in, or something Switchyard itself has to say about the session. The two never share a
//! name: an update that calls itself `turn_ended` is logged as `agent:turn_ended`.

use std::fmt;

use crate::{Json, TurnId};

/// Position in one session's log: starts at 1, has no holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Seq(pub u64);

/// Milliseconds since the Unix epoch, as the wall clock showed them. Order comes from
/// [`Seq`]; clocks jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub i64);

/// An event before the log has given it a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub at: Millis,
    pub turn: Option<TurnId>,
    pub kind: Kind,
    pub payload: Json,
}

/// An event in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub seq: Seq,
    pub at: Millis,
    pub turn: Option<TurnId>,
    pub kind: Kind,
    pub payload: Json,
}

impl Event {
    /// The event as one line of JSON, the payload's bytes untouched.
    pub fn to_json_line(&self) -> String {
        let mut line = String::with_capacity(self.payload.as_str().len() + 128);
        self.write_json(&mut line);
        line
    }

    pub fn write_json(&self, out: &mut String) {
        use std::fmt::Write;
        // Writing to a String cannot fail. Kinds and ids need no escaping.
        let _ = write!(out, r#"{{"seq":{},"time":{}"#, self.seq.0, self.at.0);
        if let Some(turn) = self.turn {
            let _ = write!(out, r#","turn":"{turn}""#);
        }
        let _ = write!(out, r#","kind":"{}","payload":"#, self.kind);
        out.push_str(self.payload.as_str());
        out.push('}');
    }
}

/// Longest update name that is kept in the kind; the payload has it in full anyway.
const LONGEST_UPDATE_NAME: usize = 64;
const AGENT_PREFIX: &str = "agent:";

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What an event is about.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Kind {
            /// A `session/update`, by its `sessionUpdate` name; payload: its `params`.
            Update(UpdateName),
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// Every kind that Switchyard itself writes.
            pub const OWN: &[Kind] = &[$(Kind::$variant,)*];

            fn own(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            pub fn as_str(&self) -> &str {
                match self {
                    Self::Update(name) => &name.0,
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// `{agent, cwd, …}`: first event of every log.
    SessionCreated = "session_created",
    /// `{how, verified, …}`: how an agent was given back its memory of the session.
    SessionResumed = "session_resumed",
    /// `{mode|model|option…}`: a client changed a setting of the session.
    OptionSet = "option_set",
    /// `{prompt, by, _meta?}`: a prompt was accepted; it may have to wait.
    PromptReceived = "prompt_received",
    /// `{reason}`: a queued prompt was dropped before its turn started.
    PromptDropped = "prompt_dropped",
    TurnStarted = "turn_started",
    /// `{stopReason, usage?, error?, result?}`: the one end of a turn.
    TurnEnded = "turn_ended",
    /// `{by}`: someone asked for the turn to stop.
    CancelRequested = "cancel_requested",
    /// `{step}`: one rung of the ladder from asking the agent to killing it.
    CancelStep = "cancel_step",
    /// `{requestId, request}`: the agent asks; `request` is its raw params.
    PermissionRequested = "permission_requested",
    /// `{requestId, by, outcome}`
    PermissionResolved = "permission_resolved",
    /// `{requestId, request}`: the agent asks the user to fill in a form.
    ElicitationRequested = "elicitation_requested",
    /// `{requestId, by, response}`
    ElicitationResolved = "elicitation_resolved",
    /// `{limit, used, allowed, requestId}`: the session pauses, and a person is asked.
    LimitReached = "limit_reached",
    /// `{limit, allowed, by}`: it may go on, up to here.
    LimitRaised = "limit_raised",
    /// `{pid, command, containment, model?}`
    WorkerStarted = "worker_started",
    /// `{code?, signal?, stderr}`
    WorkerExited = "worker_exited",
    /// `{terminalId, data}`: more of what a command printed in a terminal that Switchyard serves.
    TerminalOutput = "terminal_output",
    /// `{terminalId, exitCode?, signal?, truncated?}`: that command has ended.
    TerminalExited = "terminal_exited",
    /// `{text}`: one line the agent wrote to stderr.
    AgentStderr = "agent_stderr",
    /// `{method, params}`: a notification that is not a `session/update`.
    AgentNotification = "agent_notification",
    /// `{quietMs, …}`: no sign of progress for a while; nothing is stopped for it.
    AgentQuiet = "agent_quiet",
    /// `{category, message, remedy}`
    Error = "error",
    /// `{lostFrom, lostTo}`: acknowledged events were missing when the log was opened.
    LogRecovered = "log_recovered",
    /// The session was closed by a client; it can be opened again.
    SessionClosed = "session_closed",
}

/// The name of an update, safe to print and to compare with the names of our own kinds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UpdateName(std::borrow::Cow<'static, str>);

/// Names that come by the thousand and need no allocation.
const COMMON_UPDATES: [&str; 14] = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "usage_update",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
];

impl Kind {
    /// The kind of a `session/update` that names itself `name`.
    pub fn update(name: &str) -> Self {
        if let Some(common) = COMMON_UPDATES.iter().find(|common| **common == name) {
            return Self::Update(UpdateName((*common).into()));
        }
        let is_plain = !name.is_empty()
            && name.len() <= LONGEST_UPDATE_NAME
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let name = if !is_plain {
            format!("{AGENT_PREFIX}other")
        } else if Self::own(name).is_some() {
            format!("{AGENT_PREFIX}{name}")
        } else {
            name.to_owned()
        };
        Self::Update(UpdateName(name.into()))
    }

    /// Reads a kind back from the log.
    pub fn from_log(name: &str) -> Self {
        if let Some(own) = Self::own(name) {
            return own;
        }
        if name.starts_with(AGENT_PREFIX) {
            return Self::Update(UpdateName(name.to_owned().into()));
        }
        Self::update(name)
    }

    /// The name of the update, when this is one.
    pub fn update_name(&self) -> Option<&str> {
        match self {
            Self::Update(name) => Some(&name.0),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
