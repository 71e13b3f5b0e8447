//! What the desk could not do, as a problem.

use std::num::NonZeroU32;

use axum::http::StatusCode;
use sessions::desk::DeskError;
use sessions::open::OpenError;
use sessions::session::{ChooseError, NotQueued, SessionError};
use store::StoreError;
use wire::{Category, Fault};

use crate::problem::Problem;

impl From<DeskError> for Problem {
    fn from(error: DeskError) -> Self {
        let fault = Fault::from(&error);
        let problem = match &error {
            DeskError::NoSuchSession(id) => {
                return Self::not_found(format!("there is no session `{id}`"));
            }
            DeskError::BadOrder(why) => return Self::bad_request(why),
            DeskError::Refused(why) => return Self::forbidden(why),
            DeskError::TooMany { .. } => {
                let (status, title) = (StatusCode::FORBIDDEN, "there are too many sessions");
                Self::new(status, "too-many-sessions", title)
            }
            DeskError::ShuttingDown => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, "shutting-down", "the daemon is shutting down").retry_after(5)
            }
            DeskError::Open(OpenError::Store(error)) => return Self::of_store(error),
            DeskError::Open(OpenError::NotGranted(error)) => return Self::of_choice(error),
            DeskError::Session(error) => return Self::of_session(error),
            _ => return Self::of_fault(fault),
        };
        problem.detail(fault.message).with_remedy(fault.remedy)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl Problem {
    fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::NoSuchSession(id) => Self::not_found(format!("there is no session `{id}`")),
            StoreError::InvalidPrefix(_) => Self::bad_request(error.to_string()),
            StoreError::InUse { pid, .. } => {
                let problem = Self::conflict("in-use", "another process has this session");
                Self { process: pid.and_then(NonZeroU32::new), ..problem.detail(error.to_string()) }
            }
            StoreError::SessionFull { .. } => {
                Self::conflict("session-full", "the session's log is full")
                    .detail(error.to_string())
                    .remedy("go on in a new session")
            }
            StoreError::Damaged { .. }
            | StoreError::Corrupt { .. }
            | StoreError::CorruptRecord { .. } => {
                Self::conflict("damaged", "the session's log is damaged").detail(error.to_string())
            }
            StoreError::DiskFull { .. } => {
                let status = StatusCode::INSUFFICIENT_STORAGE;
                Self::new(status, "disk-full", "the disk is full").detail(error.to_string())
            }
            error => Self::internal(error.to_string()),
        }
    }

    fn of_session(error: &SessionError) -> Self {
        match error {
            SessionError::NotQueued(NotQueued::OtherPrompt) => super::other_request(),
            SessionError::NotQueued(NotQueued::DuplicateTurn) => {
                Self::conflict("duplicate-turn", "this turn exists already")
            }
            SessionError::NotQueued(full) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, "queue-full", "too many prompts wait")
                    .detail(full.to_string())
                    .retry_after(5)
            }
            SessionError::LimitReached(_) => Self::conflict(
                "limit-reached",
                "the session has used what it may",
            )
            .detail(error.to_string())
            .remedy("raise them: `limits` of PATCH, or `--max-turns`, `--max-tokens` … of a run"),
            SessionError::Over(_) | SessionError::PutAside => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, "session-over", "the session could not go on")
                    .detail(error.to_string())
                    .retry_after(1)
            }
        }
    }

    /// A wish that the agent did not grant.
    fn of_choice(error: &ChooseError) -> Self {
        match error {
            ChooseError::Session(error) => Self::of_session(error),
            error => Self::of_fault(error.into()),
        }
    }

    /// What went wrong with an agent, or is asked of one that cannot be had.
    pub(super) fn of_fault(fault: Fault) -> Self {
        let slug = fault.category.as_str().replace('_', "-");
        let problem = match fault.category {
            Category::BadInput => Self::bad_request(fault.message),
            category => {
                let (status, title) = match category {
                    Category::AgentNotFound => (StatusCode::BAD_REQUEST, "there is no such agent"),
                    Category::Rejected => (StatusCode::BAD_GATEWAY, "the agent refused"),
                    _ => (StatusCode::BAD_GATEWAY, "the agent could not do it"),
                };
                Self::new(status, &slug, title).detail(fault.message)
            }
        };
        problem.with_remedy(fault.remedy)
    }

    fn with_remedy(self, remedy: Option<String>) -> Self {
        match remedy {
            Some(remedy) => self.remedy(remedy),
            None => self,
        }
    }
}
