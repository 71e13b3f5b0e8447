//! Why a request came to nothing.

use serde::Deserialize;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach the daemon: {0}")]
    Unreachable(#[source] std::io::Error),
    #[error("the daemon does not answer")]
    Silent,
    #[error("the daemon broke off: {0}")]
    BrokenOff(#[from] hyper::Error),
    #[error("this is no request: {0}")]
    NoRequest(#[from] hyper::http::Error),
    /// What the daemon says, and what it advises.
    #[error("{message}")]
    Refused { status: u16, message: String, remedy: Option<String> },
    #[error("the daemon's answer cannot be read: {0}")]
    Unreadable(#[source] serde_json::Error),
    #[error("the daemon sent a line that is too long")]
    TooLong,
    #[error("cannot write: {0}")]
    Write(#[source] std::io::Error),
}

impl ClientError {
    /// Whether the daemon has decided, so that asking again changes nothing.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Refused { status, .. } => *status < 500,
            Self::NoRequest(_) | Self::Unreadable(_) | Self::Write(_) => true,
            _ => false,
        }
    }

    /// What to do about it, if somebody knows.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::Refused { remedy, .. } => remedy.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn refused(status: u16, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Problem {
            title: String,
            detail: Option<String>,
            remedy: Option<String>,
        }
        match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => Self::Refused {
                status,
                message: problem.detail.unwrap_or(problem.title),
                remedy: problem.remedy,
            },
            Err(_) => {
                let message = format!("the daemon answered with {status}");
                Self::Refused { status, message, remedy: None }
            }
        }
    }
}
