//! Real processes: what the crate promises about ending them, and about what they see.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod errors;
mod ordinary_user;
mod pausing;
mod pipes;
mod stage;
mod surroundings;
mod tree;
mod unfinished;
mod zombies;
