//! Errors of sessions, agents and the store, as problems.

use std::num::NonZeroU32;

use sessions::host::HostError;
use sessions::open::OpenError;
use sessions::order::OrderError;
use sessions::registry::RegistryError;
use sessions::session::{ChooseError, NotQueued, SessionError};
use store::StoreError;
use wire::Fault;
use wire::fault::DESCRIPTORS_REMEDY;

use super::Problem;
use super::kinds::{self, ProblemKind};

/// Seconds after which a file may be opened again: sessions that nobody uses are put aside by then.
const DESCRIPTORS_RETRY_AFTER: u32 = 5;

impl From<RegistryError> for Problem {
    fn from(error: RegistryError) -> Self {
        let fault = Fault::from(&error);
        let kind = match error {
            RegistryError::NoSuchSession(_) => kinds::NOT_FOUND,
            RegistryError::Order(OrderError::Bad(_)) => kinds::BAD_INPUT,
            RegistryError::Order(OrderError::Refused(_)) => kinds::FORBIDDEN,
            RegistryError::TooMany { .. } => kinds::TOO_MANY_SESSIONS,
            RegistryError::ShuttingDown => {
                return Self::of(kinds::SHUTTING_DOWN).detail(fault.message).retry_after(5);
            }
            RegistryError::Open(OpenError::Store(error)) => return error.into(),
            RegistryError::Open(OpenError::Copying(_)) => {
                return Self::of_kind(kinds::IN_USE, fault).retry_after(1);
            }
            RegistryError::Open(OpenError::TooManyOpenFiles(_)) => {
                return Self::too_many_open_files(fault.message);
            }
            RegistryError::Open(OpenError::Host(HostError::KeepsFailing(failing))) => {
                let seconds = u32::try_from(failing.wait.as_secs()).unwrap_or(u32::MAX);
                return Self::from(fault).retry_after(seconds);
            }
            RegistryError::Open(OpenError::OptionNotSet(error)) => return error.into(),
            RegistryError::Session(error) => return error.into(),
            // There is no such agent, or it cannot be started as it is requested.
            RegistryError::Agent(_) => {
                let open_design = kinds::AGENT_NOT_FOUND.open_design;
                return Self { open_design, ..fault.into() };
            }
            RegistryError::Open(_) => return fault.into(),
        };
        Self::of_kind(kind, fault)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (said, remedy) = (error.to_string(), error.remedy());
        match error {
            StoreError::NoSuchSession(id) => Self::not_found(format!("there is no session `{id}`")),
            StoreError::InvalidPrefix(_) => Self::bad_request(said),
            StoreError::InUse { pid, .. } => {
                let process = pid.and_then(NonZeroU32::new);
                Self { process, ..Self::of(kinds::IN_USE).detail(said) }
            }
            StoreError::SessionFull { .. } => {
                Self::of(kinds::SESSION_FULL).detail(said).remedy("go on in a new session")
            }
            StoreError::Damaged { .. }
            | StoreError::Corrupt { .. }
            | StoreError::CorruptRecord { .. } => {
                Self::of(kinds::DAMAGED).detail(said).advised(remedy)
            }
            StoreError::SessionLost { .. } => {
                Self::of(kinds::SESSION_MISSING).detail(said).advised(remedy)
            }
            StoreError::TooManyOpenFiles { .. } => Self::too_many_open_files(said),
            StoreError::DiskFull { .. } => Self::of(kinds::DISK_FULL).detail(said).advised(remedy),
            error if error.is_trouble() => {
                Self::of(kinds::LOG_UNAVAILABLE).detail(said).advised(remedy).retry_after(5)
            }
            _ => Self::internal(said),
        }
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        match &error {
            SessionError::NotQueued(NotQueued::OtherPrompt) => Self::other_request(),
            SessionError::NotQueued(NotQueued::DuplicateTurn) => Self::of(kinds::DUPLICATE_TURN),
            SessionError::NotQueued(full) => {
                Self::of(kinds::QUEUE_FULL).detail(full.to_string()).retry_after(5)
            }
            SessionError::LimitReached(_) => {
                Self::of(kinds::LIMIT_REACHED).detail(error.to_string()).remedy(
                    "raise them: `limits` of PATCH, or `--max-turns`, `--max-tokens` … of a run",
                )
            }
            SessionError::Halted(failure) => failure.clone().into(),
            SessionError::Over | SessionError::PutAside => {
                Self::of(kinds::SESSION_OVER).detail(error.to_string()).retry_after(1)
            }
        }
    }
}

/// An option that the agent did not set.
impl From<ChooseError> for Problem {
    fn from(error: ChooseError) -> Self {
        match error {
            ChooseError::Session(error) => error.into(),
            ChooseError::NotLinked(fault) => {
                let open_design = kinds::unlinked_code(fault.category);
                Self { open_design, ..fault.into() }
            }
            error => Fault::from(&error).into(),
        }
    }
}

/// A fault of an agent, or a request that no agent can fulfil.
impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::of_kind(fault.category.into(), fault)
    }
}

impl Problem {
    pub(crate) fn other_request() -> Self {
        Self::of(kinds::IDEMPOTENCY_CONFLICT)
            .remedy("use a new `clientRequestId` for every new request")
    }

    pub(crate) fn too_many_open_files(detail: String) -> Self {
        Self::of(kinds::TOO_MANY_OPEN_FILES)
            .detail(detail)
            .remedy(DESCRIPTORS_REMEDY)
            .retry_after(DESCRIPTORS_RETRY_AFTER)
    }

    fn advised(self, remedy: Option<&str>) -> Self {
        Self { remedy: remedy.map(str::to_owned).or(self.remedy), ..self }
    }

    fn of_kind(kind: ProblemKind, Fault { message, remedy, .. }: Fault) -> Self {
        Self { remedy, ..Self::of(kind).detail(message) }
    }
}

#[cfg(test)]
mod tests;
