//! Coding-agent CLIs: what they are, where they are, how to start them, what they say.
//!
//! In: *runtime definitions* (data), and the bytes that a CLI prints. Out: agents that speak
//! ACP. A [`dialect`] turns what one CLI says into ACP and does no I/O.

pub mod adapter;
pub mod argv;
pub mod catalogue;
pub mod checks;
pub mod compose;
pub mod definition;
pub mod detect;
pub mod dialect;
pub mod mcp;
pub mod mint;
pub mod scratch;
pub mod tools;
pub mod update;

// What is fuzzed names the crate from outside, and is tried in its tests, too.
#[cfg(test)]
extern crate self as runtimes;
