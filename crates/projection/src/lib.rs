//! Reads the log of a session and renders it in several vocabularies.
//!
//! In: events of one session, in order. [`Conversation`] reads them, in one place for all, and
//! returns for each event the changes it makes. Out: the format that a client asked for: its
//! [`Projection`] writes those changes in it and knows nothing of payloads. All of it is pure: no
//! I/O, no clock, no randomness, so the same log always gives the same output, and a copy of a
//! [`LogReader`] goes on where the original was.
//!
//! Payloads are read leniently, because they are the agent's bytes: a member that is missing, null
//! or of the wrong type costs that member and nothing else, and nothing panics.

mod answer;
mod calls;
mod command_output;
mod content;
mod conversation;
mod diff;
mod envelopes;
mod inline;
pub mod items;
pub mod json;
mod media;
mod notice;
mod plan;
mod prompts;
mod question;
mod recap;
mod repeat_filter;
mod replay;
mod shell;
mod terminals;
mod text;
mod turn;
mod ui;
mod unshown_input;
mod usage;
mod vocabulary;

pub use answer::AnswerProjection;
pub use calls::{CallKey, CallLocation, CallStatus, FileChange, FileDiff, ToolCall, ToolOutput};
pub use content::ContentBlock;
pub use conversation::{Change, Conversation, LogReader, Projection};
pub use diff::{Diff, DiffLine, DiffMark};
pub use envelopes::{Envelope, EnvelopeEvent, EnvelopeSender, EnvelopeUsage, EnvelopesProjection};
pub use media::FileContent;
pub use notice::{Notice, NoticeLevel, NoticeTone};
pub use plan::PlanStep;
pub use prompts::{MessageSource, UserMessage};
pub use question::{
    ACTING_KINDS, PermissionChoice, PermissionDecision, PermissionQuestion, decider_phrase,
    plain_yes,
};
pub use recap::RecapProjection;
pub use repeat_filter::RepeatFilter;
pub use replay::{AcpReplay, OutputPace, TerminalsAsText};
pub use shell::command_line;
pub use terminals::CommandEnd;
pub use text::{TextOptions, TextProjection};
pub use turn::{ActiveTurn, TurnEnd, TurnEndReason};
pub use ui::{
    UiAgentUpdate, UiEnd, UiEndStatus, UiError, UiErrorDetail, UiEvent, UiOption, UiProjection,
    UiStart, UiStatus,
};
pub use unshown_input::{ShownChange, ShownParts, names_path, short_path, without_cwd};
pub use usage::TurnUsage;
pub use vocabulary::{Frame, STATE_VERSION, Vocabulary};
pub use wire::text::{Sanitizer, sanitize, sanitize_line};

#[cfg(test)]
mod tests;
