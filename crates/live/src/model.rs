//! A model server of our own: four vendors' wires on loopback, the same answer every time.
//!
//! In: requests of agents. Out: streamed replies, tool calls, thoughts, errors and broken streams.
//! What is answered is decided by the last marker in what the user said, `[model:SCENARIO …]`,
//! and by how many rounds of tool results have come since, so that a tool loop advances by itself.
//!
//! | part | owns |
//! |---|---|
//! | [`marker`] | the words in a prompt that choose the answer |
//! | [`scenario`] | the answers |
//! | [`request`] | what all vendors' requests have in common |
//! | [`tools`] | calls of whatever tools an agent offers |
//! | [`wire`] | the format of each vendor |
//! | [`log`] | what was asked |
//!
//! | scenario | answer |
//! |---|---|
//! | `text`, `unicode`, `long`, `empty`, `max-tokens` | text |
//! | `think`, `think-tool` | thoughts before it |
//! | `write`, `read`, `edit` (`path=`) | files |
//! | `shell`, `shell-fail`, `shell-sleep`, `shell-write` (`path=`), `two-tools`, `plan` | other tools |
//! | `bad-tool`, `bad-args` | calls that fit nothing |
//! | `slow` | a line every tenth of a second for two minutes |
//! | `recall` | how many markers the conversation held, and the first of them |
//! | `hang`, `cut`, `stream-error` (`at=`) | a stream that breaks after so many pieces of text |
//! | `http401` …, `http429-once` … (`retry=`) | an HTTP status, for ever or once |
//!
//! `pace=` sets the milliseconds between two events. A request without tools is taken for one on
//! the side (a title, a summary) and gets `ok`, unless its marker says `tools=none`.

mod http;
pub mod log;
pub mod marker;
pub mod request;
pub mod scenario;
#[cfg(test)]
mod tests;
pub mod tools;
pub mod wire;

pub use http::Server;

/// The models on the server's lists. Others are answered too.
pub const MODELS: [&str; 2] = ["live-large", "live-small"];
