//! The end of a command: its exit code, and its error message.

use std::io::ErrorKind;
use std::process::ExitCode;

use serde::Serialize;
use wire::event::{Limit, StopReason};
use wire::{Category, Fault};

use crate::terminal;

pub(crate) const ERROR: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const TIMEOUT: u8 = 3;
pub(crate) const NOT_FOUND: u8 = 4;
pub(crate) const DENIED: u8 = 5;
/// The log, or a backup of it.
pub(crate) const DAMAGED: u8 = 6;
pub(crate) const INTERRUPTED: u8 = 130;
pub(crate) const TERMINATED: u8 = 143;

/// The exit code by the category of a fault; [`ERROR`] for all others.
const BY_CATEGORY: [(Category, u8); 3] = [
    (Category::BadInput, USAGE),
    (Category::Timeout, TIMEOUT),
    (Category::AgentNotFound, NOT_FOUND),
];
/// The exit code by the HTTP status of a daemon's refusal, where its category is not listed above.
const BY_STATUS: [(u16, u8); 5] =
    [(400, USAGE), (403, DENIED), (404, NOT_FOUND), (410, DAMAGED), (422, USAGE)];

const NO_SPACE: &str =
    "free some space there; `SWITCHYARD_HOME=DIR` puts everything on another disk";

/// One process has a session open. The daemon shares it with whoever asks for nothing of their own.
const IN_USE: &str = "if that is the daemon, leave out --no-daemon and the permissions of this `run` \
                      alone (--approve-all, --deny-all, --permissions, --policy); else wait until \
                      that process has ended";

/// A command's error, for a person: one line, and a hint if there is something to do.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    #[serde(skip)]
    pub(crate) code: u8,
    pub(crate) message: String,
    #[serde(rename = "remedy")]
    pub(crate) hint: Option<String>,
    /// The reader of our stdout has closed it, as `| head` does when it has seen enough.
    #[serde(skip)]
    pub(crate) is_reader_gone: bool,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, is_reader_gone: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With a hint, if there is one.
    pub(crate) fn hinting(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Adds the hint for a file of Switchyard's own that cannot be written.
    pub(crate) fn hint_about_home(self, why: ErrorKind) -> Self {
        match why {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => self.hint(NO_SPACE),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => self.hint(
                "Switchyard keeps its sessions there; `SWITCHYARD_HOME=DIR` puts everything into \
                 a directory that you can write to",
            ),
            _ => self,
        }
    }

    /// The failure as a fault, for clients.
    pub(crate) fn fault(&self) -> Fault {
        let category = BY_CATEGORY.iter().find(|(_, code)| *code == self.code);
        let category = category.map_or(Category::BadInput, |(category, _)| *category);
        let fault = Fault::new(category, &self.message);
        match &self.hint {
            Some(hint) => fault.remedy(hint),
            None => fault,
        }
    }

    /// The failure of a write to stdout.
    pub(crate) fn of_stdout(error: &std::io::Error) -> Self {
        let is_reader_gone = error.kind() == ErrorKind::BrokenPipe;
        Self { is_reader_gone, ..Self::new(ERROR, format!("cannot write to stdout: {error}")) }
    }

    /// Counts a closed stdout as an error, too: for output that is lost with its reader, such as a
    /// token, or that is not what the command is for.
    pub(crate) fn counting_closed_stdout(self) -> Self {
        Self { is_reader_gone: false, ..self }
    }

    /// The failure of a turn that was stopped at a limit.
    pub(crate) fn at_limit(limit: Limit) -> Self {
        let flag = match limit {
            Limit::Turns => "--max-turns",
            Limit::RunningSeconds => "--max-time",
            Limit::InactiveSeconds => "--max-inactivity",
            Limit::Tokens => "--max-tokens",
            Limit::CostUsd => "--max-cost",
        };
        Self::new(DENIED, "a limit is reached, and nobody was there to ask")
            .hint(format!("go on with a higher {flag}, or at a terminal"))
    }

    /// Prints the failure and returns the exit code. A command whose reader has had enough has done
    /// what it was asked for, as any filter.
    pub(crate) fn report(self) -> ExitCode {
        if self.is_reader_gone {
            return ExitCode::SUCCESS;
        }
        self.say();
        ExitCode::from(self.code)
    }

    /// Prints the failure on stderr.
    pub(crate) fn say(&self) {
        terminal::say(&projection::sanitize(&format!("switchyard: {}", self.with_hint())));
    }

    /// The message, and the hint on a line of its own.
    pub(crate) fn with_hint(&self) -> String {
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
        format!("{}{hint}", self.message)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(ERROR, format!("{error:#}"))
    }
}

/// The exit code of a command, by how its last turn ended.
pub(crate) fn exit_code_of_turn(
    stop: &StopReason,
    was_cut_by_denial: bool,
    was_denied: bool,
) -> u8 {
    match stop {
        StopReason::Error => ERROR,
        StopReason::Cancelled if was_cut_by_denial => DENIED,
        StopReason::Cancelled => INTERRUPTED,
        _ if was_denied => DENIED,
        _ => 0,
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Self {
        let message = error.to_string();
        match error {
            store::StoreError::NoSuchSession(_) => Self::new(NOT_FOUND, message),
            store::StoreError::InvalidPrefix(_) => Self::usage(message),
            store::StoreError::DiskFull { .. } => Self::new(ERROR, message).hint(NO_SPACE),
            _ => Self::new(ERROR, message),
        }
    }
}

impl From<server::tokens::TokensError> for Failure {
    fn from(error: server::tokens::TokensError) -> Self {
        let failure = Self::new(ERROR, format!("cannot use the tokens: {error}"));
        match error {
            server::tokens::TokensError::Io { source, .. } => {
                failure.hint_about_home(source.kind())
            }
            _ => failure,
        }
    }
}

impl From<client::ClientError> for Failure {
    fn from(error: client::ClientError) -> Self {
        use client::ClientError;
        let code = match (&error, error.refusal()) {
            (ClientError::SessionDeleted, _) => NOT_FOUND,
            (_, Some(refusal)) if refusal.slug == "limit-reached" => DENIED,
            (_, Some(refusal)) if refusal.slug == "damaged" => DAMAGED,
            (_, Some(refusal)) => {
                let category = refusal.category();
                let by_category = BY_CATEGORY.iter().find(|(one, _)| Some(*one) == category);
                let by_status = BY_STATUS.iter().find(|(status, _)| *status == refusal.status);
                let listed = by_category.map(|(_, code)| *code);
                listed.or(by_status.map(|(_, code)| *code)).unwrap_or(ERROR)
            }
            _ => ERROR,
        };
        let failure = Self::new(code, error.to_string());
        match (&error, error.refusal()) {
            (ClientError::Silent, _) => failure.hint("`--no-daemon` works without it"),
            (_, Some(refusal)) if refusal.slug == "disk-full" => failure.hint(NO_SPACE),
            (_, Some(refusal)) if refusal.slug == "in-use" => failure.hint(IN_USE),
            _ => failure.hinting(error.remedy()),
        }
    }
}

impl From<server::listen::ListenError> for Failure {
    fn from(error: server::listen::ListenError) -> Self {
        Self::new(ERROR, error.to_string())
    }
}

impl From<bus::BusError> for Failure {
    fn from(error: bus::BusError) -> Self {
        let hint = match &error {
            bus::BusError::OpenToAll(_) => Some("leave out --no-token, or listen on 127.0.0.1"),
            _ => None,
        };
        Self::new(ERROR, error.to_string()).hinting(hint)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
