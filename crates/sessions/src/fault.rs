//! Errors of an agent's process or its session as faults, with remedies for the user.

use wire::fault::{DESCRIPTORS_REMEDY, LOGIN_REMEDY};
use wire::{Category, Fault};

use crate::host::{HostError, StartError};
use crate::link::LinkError;

/// The remedy for a command that printed no ACP.
const SPEAK_ACP: &str = "run the command by hand to see what it needs: it must speak ACP on stdio; \
     a CLI that only prints text can be a custom agent with `dialect = \"plain\"`";

impl From<&HostError> for Fault {
    fn from(error: &HostError) -> Self {
        let message = error.to_string();
        match error {
            HostError::Start(start) if start.is_out_of_descriptors() => {
                Self::new(Category::Internal, message).remedy(DESCRIPTORS_REMEDY)
            }
            HostError::Start(StartError::Spawn(spawn)) => match spawn {
                bus::SpawnError::NotFound { .. } => Self::new(Category::AgentNotFound, message)
                    .remedy("install the agent, or give its full path after `--`"),
                bus::SpawnError::NotExecutable { .. } => {
                    Self::new(Category::AgentNotFound, message)
                        .remedy("make it executable, or give another command after `--`")
                }
                bus::SpawnError::Record { .. } => Self::new(Category::Internal, message)
                    .remedy("make room or give access there, or set SWITCHYARD_HOME elsewhere"),
                _ => Self::new(Category::ProcessExit, message),
            },
            HostError::Start(StartError::Place(_)) => Self::new(Category::BadInput, message),
            HostError::Start(StartError::DiedEarly { .. }) => {
                Self::new(Category::ProcessExit, message).remedy(SPEAK_ACP)
            }
            HostError::Start(StartError::Silent { .. }) => {
                Self::new(Category::Timeout, message).remedy(SPEAK_ACP)
            }
            HostError::Start(_) => Self::new(Category::Protocol, message),
            HostError::CircuitOpen { .. } => Self::new(Category::ProcessExit, message)
                .remedy("see the agent's stderr in the session's events"),
            HostError::KeepsFailing(_) => Self::new(Category::ProcessExit, message)
                .remedy("do what the error asks for; the agent is then tried again by itself"),
            HostError::ShuttingDown => Self::new(Category::Internal, message),
        }
    }
}

impl From<&LinkError> for Fault {
    fn from(error: &LinkError) -> Self {
        let message = error.to_string();
        match error {
            LinkError::AuthRequired { methods, error: told_error, login } => {
                let names: Vec<String> = methods
                    .iter()
                    .map(|method| format!("`{}` ({})", method.id, method.name))
                    .collect();
                if let Some(fault) = Fault::from_data(told_error) {
                    return fault;
                }
                let login = login.as_deref().unwrap_or(LOGIN_REMEDY);
                let remedy = match names.is_empty() {
                    true => login.to_owned(),
                    false => format!("{login}, or try --auth with one of: {}", names.join(", ")),
                };
                Self::new(Category::Auth, message).remedy(remedy)
            }
            LinkError::Refused { error, .. } => {
                Fault::from_data(error).unwrap_or_else(|| Self::new(Category::Rejected, message))
            }
            LinkError::ModeNotSet { .. } => Self::new(Category::Protocol, message)
                .remedy("give the agent's own command after `--` to run it as it is"),
            LinkError::AgentEnded => Self::new(Category::ProcessExit, message),
            LinkError::Silent { .. } => Self::new(Category::Timeout, message),
            LinkError::NoSessionId | LinkError::SameSession => {
                Self::new(Category::Protocol, message)
            }
        }
    }
}
