//! Coding-agent CLIs: their definitions, detection, command lines and output.
//!
//! In: *runtime definitions* (data), and the bytes that a CLI prints. Out: agents that speak
//! ACP. A [`dialect`] translates the output of one CLI into ACP and does no I/O.

pub mod adapter;
pub mod argument_checks;
pub mod argv;
pub mod catalogue;
pub mod compose;
pub mod definition;
pub mod detect;
pub mod dialect;
pub mod ids;
pub mod mcp;
pub mod scratch;
pub mod tools;
pub mod update;

// The fuzz targets name the crate as `runtimes`; the crate's own tests include them.
#[cfg(test)]
extern crate self as runtimes;
