//! The errors of a chat.

use client::ClientError;

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("cannot use the terminal: {0}")]
    Terminal(#[source] std::io::Error),
    #[error(transparent)]
    Daemon(#[from] ClientError),
    #[error("no session was used in {0} yet")]
    NothingToContinue(String),
    #[error("several agents are ready, name one of them: {0}")]
    WhichAgent(String),
    /// In the daemon's words.
    #[error("{0}")]
    CannotOpen(String),
    #[error("no agent is ready")]
    NoAgent,
    #[error("cannot write: {0}")]
    Write(#[source] std::io::Error),
    #[error("the session could not go on: {0}")]
    Halted(String),
    #[error("the daemon is gone: {0}")]
    Lost(String),
}
