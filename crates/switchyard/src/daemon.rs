//! The process that `switchyard serve` is, and the same daemon inside of the process of a command
//! that found none.

pub(crate) mod activation;
mod addresses;
mod assembly;
mod backups;
mod browser;
pub(crate) mod in_process;
mod listeners;
pub(crate) mod presence;
mod sd_notify;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod session_context;
