//! The marker of a worker's processes: a variable in their environment.

use std::fmt;
use std::io;

pub(crate) const MARKER_VARIABLE: &str = "SWITCHYARD_WORKER";

/// A worker's random 128-bit id, as 32 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Marker(String);

impl Marker {
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::from)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_marker =
            text.len() == 32 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        is_marker.then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
