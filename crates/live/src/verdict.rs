//! How a check has ended, and why.

use crate::turn::Stuck;
use std::io;

/// With a few words that explain it; empty if there is nothing to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Pass(String),
    Fail(String),
    NotApplicable(String),
}

/// A reason to fail.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error(transparent)]
    Stuck(#[from] Stuck),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Because(String),
}

pub(crate) fn because(reason: String) -> Failed {
    Failed::Because(reason)
}
