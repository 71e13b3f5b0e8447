//! Reads the log of a session and renders it in several vocabularies.
//!
//! In: events of one session, in order. [`Conversation`] reads them, in one place for all, and
//! returns for each event the changes it makes. Out: the format that a client asked for: its
//! [`Projection`] writes those changes in it and knows nothing of payloads. All of it is pure: no
//! I/O, no clock, no randomness, so the same log always gives the same output, and a copy of a
//! [`Reader`] goes on where the original was.
//!
//! Payloads are read leniently, because they are the agent's bytes: a member that is missing, null
//! or of the wrong type costs that member and nothing else, and nothing panics.

mod answer;
mod calls;
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
mod printed;
mod prompts;
mod question;
mod recap;
mod replay;
mod retold;
mod shell;
mod terminals;
mod text;
mod turn;
mod ui;
mod untold;
mod usage;
mod vocabulary;

pub use answer::Answer;
pub use calls::{CallKey, FileChange, FileDiff, Output, Place, Status, ToolCall};
pub use content::Block;
pub use conversation::{Change, Conversation, Projection, Reader};
pub use diff::{Diff, Line as DiffLine, Mark as DiffMark};
pub use envelopes::{Envelope, EnvelopeUsage, Envelopes, Ev, Role};
pub use notice::{Notice, Tone, Weight};
pub use plan::PlanStep;
pub use prompts::{Said, Source};
pub use question::{ACTING_KINDS, Choice, Decision, Question, decided_by, plain_yes};
pub use recap::Recap;
pub use replay::{AcpReplay, Pace, TerminalsAsText};
pub use retold::Retold;
pub use shell::command_line;
pub use terminals::End as CommandEnd;
pub use text::{Style, Text};
pub use turn::{Turn, TurnEnd, Why};
pub use ui::{
    AgentUpdate, EndStatus, Ui, UiEnd, UiError, UiErrorDetail, UiEvent, UiOption, UiStart, UiStatus,
};
pub use untold::{Beside, ShownChange, names_place, short_path, without_cwd};
pub use usage::Usage;
pub use vocabulary::{Frame, Vocabulary};
pub use wire::text::{Sanitizer, sanitize, sanitize_line};

#[cfg(test)]
mod tests;
