//! Real processes: finding CLIs, and what is told about them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod asking;
mod diagnoses;
mod keeping;
mod leaving;
mod stage;
