//! A bus file that has been read: pools, limits and listeners; or the error in it.

use std::fmt;
use std::path::PathBuf;

use bus::IoLimits;
use bus::switch::SwitchLimits;
use serde::Serialize;

use super::listener::BusListener;
use super::pool_table::PoolEntry;
use crate::outcome::{ERROR, Failure};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BusFile {
    pub(crate) form: BusFileFormat,
    pub(crate) pools: Vec<PoolEntry>,
    pub(crate) limits: SwitchLimits,
    pub(crate) edges: IoLimits,
    pub(crate) listeners: Vec<BusListener>,
    pub(crate) token_file: Option<PathBuf>,
    /// Settings that are valid but may not be what was meant.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BusFileFormat {
    Toml,
    StdioBus,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BusFileError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}{wrong}", path.display())]
    Invalid { path: PathBuf, wrong: BusFileProblem },
}

/// An error in the text of a bus file, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BusFileProblem {
    /// Line and column, from 1.
    pub(crate) at: Option<(usize, usize)>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl BusFileProblem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map(|span| line_and_column(text, span.start));
        Self { at, ..Self::new(error.message()) }
    }

    pub(super) fn of_json(error: &serde_json::Error) -> Self {
        let at = Some((error.line(), error.column()));
        // The message ends with the place, which has a field of its own here.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        Self { at, ..Self::new(message) }
    }
}

/// Line and column of a byte, from 1.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

impl fmt::Display for BusFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, ":{line}:{column}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}

impl From<BusFileError> for Failure {
    fn from(error: BusFileError) -> Self {
        let message = error.to_string();
        match error {
            BusFileError::Unreadable { .. } => Self::usage(message),
            BusFileError::Invalid { wrong, .. } => Self::new(ERROR, message).hinting(wrong.hint),
        }
    }
}
