//! The verdict of a check, and the reason.

use crate::turn::TurnFailure;
use std::io;

/// The verdict, with a short explanation or an empty text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Pass(String),
    Fail(String),
    NotApplicable(String),
}

/// A reason to fail.
#[derive(Debug, thiserror::Error)]
pub enum CheckFailure {
    #[error(transparent)]
    Stuck(#[from] TurnFailure),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Because(String),
}

pub(crate) fn because(reason: String) -> CheckFailure {
    CheckFailure::Because(reason)
}
