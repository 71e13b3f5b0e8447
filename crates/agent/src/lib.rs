//! Agents that live inside the Switchyard binary and are started like any other agent.
//!
//! In: ACP v1 on stdin. Out: ACP v1 on stdout. Nothing here knows who calls it.

pub mod demo;
pub mod native;
