//! Errors of commands to a session.

use store::StoreError;
use wire::{Category, Fault, RpcError};

use super::turns::NotQueued;
use crate::budget::ReachedLimit;
use crate::options::NotOffered;

#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    NotQueued(#[from] NotQueued),
    /// Somebody said at this limit that it is enough.
    #[error("{0}, and was stopped there; raise the limit to go on")]
    LimitReached(Box<ReachedLimit>),
    /// Its log failed.
    #[error("the session cannot go on: {0}")]
    Halted(StoreError),
    #[error("the session has ended")]
    Over,
    /// It is in the log alone, because it was closed, idle for long, or others needed the room; it
    /// can be woken.
    #[error("the session is not in memory any more; try again")]
    PutAside,
}

#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    #[error(transparent)]
    NotOffered(#[from] NotOffered),
    #[error("the agent refused: {0}")]
    Refused(RpcError),
    #[error("{}", .0.message)]
    NotLinked(Fault),
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl From<&ChooseError> for Fault {
    fn from(error: &ChooseError) -> Self {
        match error {
            ChooseError::NotOffered(_) => Self::new(Category::BadInput, error.to_string()),
            ChooseError::NotLinked(fault) => fault.clone(),
            ChooseError::Refused(_) | ChooseError::Session(_) => {
                Self::new(Category::Rejected, error.to_string())
            }
        }
    }
}
