//! Sessions with real agent processes.

// A test that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod circuit;
mod fork;
mod leaving;
mod making;
mod pools_bounds;
mod pools_registry;
mod pools_shared;
mod pools_warm;
mod quiet;
mod stage;
mod terminals;
mod twins;
