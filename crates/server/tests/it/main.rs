//! The daemon's doors with real sockets, and everybody who must not get through them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bounds;
mod browser_login;
mod csrf;
mod doors;
mod guessing;
mod rebinding;
mod revoking;
mod stage;
mod tls;
mod ways_in;
