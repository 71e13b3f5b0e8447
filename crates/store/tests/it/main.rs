//! The event log from the outside: real files, real processes, real kills.

// The exception that clippy.toml makes for tests does not reach the functions they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod basics;
mod closing;
mod corrupt;
mod deleting;
mod disk_full;
mod files_gone;
mod fixture;
mod kill;
mod maintenance;
mod model;
mod processes;
mod repair;
