//! Drives the agents as a client would, over pipes in memory and as real processes, and what
//! they are made of against servers that are not to be trusted.
//!
//! The clock is paused where nothing outside the test takes part: a wait that nobody can end then
//! fails at once instead of hanging. Every message of a well-behaved command is checked against
//! the official schema.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod asking;
mod client;
mod faults;
mod lifecycle;
mod mcp;
mod model_faults;
mod models;
mod offers;
mod process;
mod schema;
mod sessions;
mod speech;
mod working;
