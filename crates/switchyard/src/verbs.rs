//! The implementation of each command: a file or folder each, small ones with their kin. That of
//! `serve` is in `daemon`, and those of the agents inside this binary are in `agents`.

pub(crate) mod acp;
pub(crate) mod adapter;
pub(crate) mod agents;
pub(crate) mod attach;
pub(crate) mod bus;
pub(crate) mod chat;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod run;
mod session_args;
pub(crate) mod sessions;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod translate;
