//! Why a session could not be opened.

use roots::RootsError;
use store::StoreError;
use wire::fault::DESCRIPTORS_REMEDY;
use wire::{Category, Fault, RpcError, SessionId, codes};

use crate::host::HostError;
use crate::link::LinkError;
use crate::order::OrderError;
use crate::session::error::ChooseError;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What could not be done for want of a file descriptor, and that this was why.
    #[error("{0}")]
    TooManyOpenFiles(String),
    /// A fork that is not whole yet.
    #[error("session `{0}` is a fork that is still being copied")]
    Copying(SessionId),
    #[error(transparent)]
    Host(HostError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Store(StoreError),
    #[error(transparent)]
    Roots(RootsError),
    #[error(transparent)]
    Place(#[from] OrderError),
    #[error(transparent)]
    OptionNotSet(#[from] ChooseError),
}

impl From<HostError> for OpenError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Start(start) if start.is_out_of_descriptors() => {
                Self::TooManyOpenFiles(start.to_string())
            }
            HostError::Start(ref start) => match start.full_disk() {
                Some(path) => Self::Store(StoreError::DiskFull { path: path.to_owned() }),
                None => Self::Host(error),
            },
            error => Self::Host(error),
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TooManyOpenFiles { .. } => Self::TooManyOpenFiles(error.to_string()),
            error => Self::Store(error),
        }
    }
}

impl From<RootsError> for OpenError {
    fn from(error: RootsError) -> Self {
        match error.is_out_of_descriptors() {
            true => Self::TooManyOpenFiles(error.to_string()),
            false => Self::Roots(error),
        }
    }
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
            OpenError::Copying(_) => Self::new(Category::Rejected, error.to_string())
                .remedy("send it again when the fork is `idle`"),
            OpenError::Store(store) => {
                let fault = Self::new(Category::Internal, error.to_string());
                store.remedy().map_or_else(|| fault.clone(), |remedy| fault.clone().remedy(remedy))
            }
            OpenError::OptionNotSet(error) => error.into(),
            OpenError::TooManyOpenFiles(said) => {
                Self::new(Category::Internal, said).remedy(DESCRIPTORS_REMEDY)
            }
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
            OpenError::Store(StoreError::InUse { .. }) | OpenError::Copying(_) => {
                codes::INVALID_REQUEST
            }
            OpenError::OptionNotSet(_) => codes::INVALID_PARAMS,
            _ => return Self::from(&Fault::from(&error)),
        };
        Self { code, ..Self::from(&Fault::from(&error)) }
    }
}
