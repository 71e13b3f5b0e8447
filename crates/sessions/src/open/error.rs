//! Why a session could not be opened.

use store::StoreError;
use wire::{Category, Fault, RpcError, codes};

use crate::host::HostError;
use crate::link::LinkError;
use crate::order::OrderError;
use crate::session::error::ChooseError;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Roots(#[from] roots::RootsError),
    #[error(transparent)]
    Place(#[from] OrderError),
    #[error(transparent)]
    OptionNotSet(#[from] ChooseError),
}

impl From<&OpenError> for Fault {
    fn from(error: &OpenError) -> Self {
        match error {
            OpenError::Host(error) => error.into(),
            OpenError::Link(error) => error.into(),
            OpenError::Store(StoreError::InUse { .. }) => {
                Self::new(Category::Rejected, error.to_string())
                    .remedy("wait for its turn to end, or stop it with `switchyard cancel`")
            }
            OpenError::Store(_) => Self::new(Category::Internal, error.to_string()),
            OpenError::OptionNotSet(error) => error.into(),
            OpenError::Roots(_) | OpenError::Place(_) => {
                Self::new(Category::BadInput, error.to_string())
            }
        }
    }
}

impl From<OpenError> for RpcError {
    /// The agent's own errors go to the client as they are.
    fn from(error: OpenError) -> Self {
        let code = match &error {
            OpenError::Link(
                LinkError::AuthRequired { error, .. } | LinkError::Refused { error, .. },
            ) => return error.clone(),
            OpenError::Store(StoreError::NoSuchSession(_)) => codes::NOT_FOUND,
            OpenError::Store(StoreError::InUse { .. }) => codes::INVALID_REQUEST,
            OpenError::OptionNotSet(_) => codes::INVALID_PARAMS,
            _ => return Self::from(&Fault::from(&error)),
        };
        Self { code, ..Self::from(&Fault::from(&error)) }
    }
}
