//! Errors of requests to a daemon.

use serde::Deserialize;
use wire::Category;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach the daemon: {0}")]
    Unreachable(#[source] std::io::Error),
    #[error("the daemon does not answer")]
    Silent,
    #[error("the connection to the daemon broke: {0}")]
    ConnectionBroken(#[from] Box<dyn std::error::Error + Send + Sync>),
    #[error("the request cannot be built: {0}")]
    InvalidRequest(#[from] hyper::http::Error),
    #[error("{}", .0.message)]
    Refused(Box<DaemonRefusal>),
    #[error("the session was deleted")]
    SessionDeleted,
    #[error("the daemon's answer cannot be read: {0}")]
    Unreadable(#[source] serde_json::Error),
    #[error("the daemon sent a line that is too long")]
    TooLong,
    #[error("cannot write: {0}")]
    Write(#[source] std::io::Error),
}

/// An error response of the daemon: a problem, with a remedy if it knows one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonRefusal {
    /// The HTTP status.
    pub status: u16,
    /// The last word of the problem's type, such as `not-found`; does not change.
    pub slug: String,
    pub message: String,
    pub remedy: Option<String>,
    /// The process that has the session, if it is another one.
    pub process: Option<u32>,
}

impl DaemonRefusal {
    /// The category of the failure, where an agent or the request is at fault.
    pub fn category(&self) -> Option<Category> {
        Category::named(&self.slug.replace('-', "_"))
    }
}

impl ClientError {
    /// Whether the daemon has decided, so that asking again changes nothing.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.status < 500,
            Self::InvalidRequest(_)
            | Self::Unreadable(_)
            | Self::SessionDeleted
            | Self::Write(_) => true,
            _ => false,
        }
    }

    /// The advice that came with the error, if any.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.remedy.as_deref(),
            _ => None,
        }
    }

    /// The daemon's error response, if it has refused.
    pub fn refusal(&self) -> Option<&DaemonRefusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The HTTP status with which it has refused.
    pub fn status(&self) -> Option<u16> {
        self.refusal().map(|refusal| refusal.status)
    }

    /// The problem at which a stream has ended.
    pub(crate) fn in_stream(problem: &serde_json::Value) -> Self {
        // One without a status may be over the next time.
        const UNAVAILABLE: u16 = 503;
        let text = |member: &str| problem[member].as_str().map(str::to_owned);
        let status = problem["status"].as_u64().and_then(|status| status.try_into().ok());
        let kind = text("type").unwrap_or_default();
        Self::Refused(Box::new(DaemonRefusal {
            status: status.unwrap_or(UNAVAILABLE),
            slug: kind.rsplit(':').next().unwrap_or_default().to_owned(),
            message: text("detail").unwrap_or_else(|| "the log cannot be read".to_owned()),
            remedy: text("remedy"),
            process: None,
        }))
    }

    pub(crate) fn refused(status: u16, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Problem {
            #[serde(rename = "type")]
            kind: String,
            title: String,
            detail: Option<String>,
            remedy: Option<String>,
            process: Option<u32>,
        }
        Self::Refused(Box::new(match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => DaemonRefusal {
                status,
                slug: problem.kind.rsplit(':').next().unwrap_or_default().to_owned(),
                message: problem.detail.unwrap_or(problem.title),
                remedy: problem.remedy,
                process: problem.process,
            },
            Err(_) => {
                let message = format!("the daemon answered with {status}");
                DaemonRefusal { status, slug: String::new(), message, remedy: None, process: None }
            }
        }))
    }
}
