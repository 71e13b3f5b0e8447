//! The real binary, driven as its users and its enemies would.

// A test that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod adapters;
mod adapters_turns;
mod agents;
mod attacks;
mod cli;
mod conformance;
mod faults;
mod faults_disk;
mod faults_kill;
mod faults_tree;
mod front;
mod schema_run;
mod tidy;
