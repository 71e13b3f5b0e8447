//! The session log, told in other vocabularies.
//!
//! In: events of one session, in order, from the first. Out: what a client of that
//! vocabulary expects. A projection is a pure state machine: it does no I/O, reads no
//! clock and draws no randomness, so the same log always gives the same output. It reads
//! payloads leniently, because they are the agent's bytes: a member that is missing, null
//! or of the wrong type costs that member and nothing else, and nothing panics.

mod acp;
mod argv;
mod diff;
mod envelopes;
pub(crate) mod json;
mod media;
mod printed;
mod prompts;
mod quiet;
mod retold;
mod sanitize;
mod terminals;
mod text;
mod told;
mod tools;
mod ui;
mod usage;
mod view;

pub use acp::AcpReplay;
pub(crate) use acp::{Pace, TerminalsAsText};
pub use argv::command_line;
pub use diff::{Diff, Line as DiffLine, Mark as DiffMark};
pub use envelopes::{Envelope, EnvelopeUsage, Envelopes, Ev, Role, TurnStatus};
pub use printed::End as CommandEnd;
pub use quiet::Quiet;
pub use retold::Retold;
pub use sanitize::{Sanitizer, sanitize, sanitize_line};
pub use text::{Style, TextRenderer};
pub use told::{Beside, ShownChange, names_place, short_path, without_cwd};
pub use ui::{
    AgentUpdate, EndStatus, Ui, UiEnd, UiError, UiErrorDetail, UiEvent, UiOption, UiStart, UiStatus,
};
pub use usage::Usage;
pub use view::describe_block;

#[cfg(test)]
pub(crate) mod tests;
