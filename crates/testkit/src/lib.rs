//! Test tools that judge Switchyard by something other than itself.
//!
//! In: real processes and their messages. Out: whether these were ACP, whether the processes have
//! ended, what is left of them. The peers on both sides are built with the official SDK, and the
//! judge is the official schema, so that our own misreading of the protocol cannot agree with
//! itself.
//!
//! | module | owns |
//! |---|---|
//! | [`transcript`] | the messages of both peers, in order |
//! | [`schema`] | the verdict on a transcript |
//! | [`tap`] | recording two peers that know nothing of it |
//! | [`sdk_client`] | a client made with the official SDK |
//! | [`line_client`] | a client that sends and reads any bytes, on sockets and pipes |
//! | [`daemon`] | `switchyard serve`, where it listens, and a client for it |
//! | [`event_client`] | a reader of a session's events by SSE or WebSocket, as slow as a test wants |
//! | [`browser`] | a real browser without a window, and what happens in its pages |
//! | [`memory_log`] | an event log that is gone with the test |
//! | [`model_server`] | a model endpoint that follows a script, and fails in every way |
//! | [`test_home`] | the binary under test in a home of its own, and waiting for conditions |
//! | [`helper_programs`], [`test_executables`] | where the programs of this crate are |
//! | [`proc`] | what `/proc` knows about processes |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "only tests use this crate; where it cannot go on, a test has failed"
)]

pub mod browser;
pub mod daemon;
pub mod disk_faults;
pub mod event_client;
pub mod helper_programs;
pub mod json_schema;
pub mod line_client;
pub mod memory_log;
pub mod model_server;
pub mod proc;
pub mod schema;
pub mod sdk_client;
pub mod small_disk;
pub mod tap;
pub mod test_executables;
pub mod test_home;
pub mod transcript;

pub use memory_log::MemoryLog;
pub use schema::{Validator, Violation};
pub use transcript::{Direction, Transcript, TranscriptEntry};
