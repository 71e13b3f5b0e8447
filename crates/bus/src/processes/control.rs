//! The protocol between Switchyard and a keeper.
//!
//! One unix stream socket. Switchyard sends one order (the worker's descriptors ride on its length
//! header), then single-byte commands; the keeper sends reports, a line each. Both are JSON, in
//! which paths and arguments are lists of their bytes, whatever these are. End of file has a
//! meaning too: towards the keeper it says "our owner is gone", towards Switchyard "the keeper is
//! gone". Both ends are the same binary, so there is no version to negotiate.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use wire::Json;

use super::cgroup::LimitHit;

/// Above what `execve` takes for arguments and environment on any default Linux, of which each byte
/// is up to four here.
pub(crate) const MAX_ORDER_BYTES: usize = 64 * 1024 * 1024;
/// No report is nearly as long.
pub(crate) const MAX_REPORT_BYTES: usize = 1024;

/// The command that a keeper is to start, and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartOrder {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: OsString,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cgroup: Option<OsString>,
    /// How many descriptors it may open, if that is another number than ours.
    pub(crate) n_descriptors: Option<u64>,
}

/// The state that Switchyard wants a running process tree in. From `Stop` there is a way back to
/// `Run`; the others are never taken back, and each includes those before it but `Stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WantedState {
    Run,
    /// No process of the tree may run for now.
    Stop,
    Term,
    Kill,
}

impl WantedState {
    pub(crate) fn encode(self) -> u8 {
        match self {
            Self::Run => b'R',
            Self::Stop => b'S',
            Self::Term => b'T',
            Self::Kill => b'K',
        }
    }

    pub(crate) fn decode(byte: u8) -> Option<Self> {
        [Self::Run, Self::Stop, Self::Term, Self::Kill]
            .into_iter()
            .find(|wanted| wanted.encode() == byte)
    }
}

/// Why a worker did not start. The number is an errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StartFailure {
    Cwd(i32),
    NotFound,
    NotExecutable(i32),
    Other(i32),
}

/// One report of a keeper about its worker or its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KeeperReport {
    Started {
        pid: i32,
        in_cgroup: bool,
    },
    Failed(StartFailure),
    /// The limit that explains the worker's end, which is reported next.
    AtLimit(LimitHit),
    ExitedWith(i32),
    KilledBy(i32),
    /// Killing has lasted long and this many processes still live; the keeper goes on trying.
    Stuck(i32),
    /// No descendant is left; the keeper exits after this.
    Empty,
}

impl KeeperReport {
    /// One line.
    pub(crate) fn encode(self) -> String {
        format!("{}\n", Json::of(&self).as_str())
    }
}

#[cfg(test)]
mod tests;
