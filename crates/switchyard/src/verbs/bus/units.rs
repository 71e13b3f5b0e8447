//! Durations and sizes as people write them in a bus file: `"500ms"`, `"5m"`, `"16MiB"`.
//!
//! A duration needs a unit, because nobody remembers whether a bare 30 means seconds or
//! milliseconds; a bare size is in bytes.

use std::time::Duration;

use serde::Deserialize;

use crate::time::parse_duration;

const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenWait")]
pub(super) struct BusWait(pub(super) Duration);

/// A wait that may be switched off with `"never"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenWaitOrNever")]
pub(super) struct WaitOrNever(pub(super) Option<BusWait>);

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenSize")]
pub(super) struct ByteSize(pub(super) u64);

impl BusWait {
    pub(super) fn millis(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn millis_or(wait: Option<Self>, usual: u64) -> u64 {
        wait.map_or(usual, Self::millis)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let has_unit = text.contains(|c: char| c.is_ascii_alphabetic());
        match parse_duration(text).ok().filter(|_| has_unit) {
            Some(duration) => Ok(Self(duration)),
            None => {
                Err(format!("{text:?} is no duration; write it like \"500ms\", \"30s\" or \"5m\""))
            }
        }
    }
}

impl ByteSize {
    pub(super) fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is no size; write it like \"64KiB\", \"16MiB\" or \"2GiB\"");
        let word = text.trim();
        let n_digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, unit) = word.split_at(n_digits);
        let factor = match unit.trim_start() {
            "" => 1,
            unit => {
                let known = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
                known.map(|(_, factor)| *factor).ok_or_else(bad)?
            }
        };
        let number: u64 = digits.parse().map_err(|_| bad())?;
        number.checked_mul(factor).map(Self).ok_or_else(bad)
    }
}

/// A duration in the largest unit that says it exactly.
pub(super) fn show_millis(n_millis: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let fits = |(factor, _): &&(u64, &str)| n_millis > 0 && n_millis.is_multiple_of(*factor);
    match UNITS.iter().find(fits) {
        Some((factor, unit)) => format!("{}{unit}", n_millis / factor),
        None => format!("{n_millis}ms"),
    }
}

/// A size in the largest binary unit that says it exactly.
pub(super) fn show_bytes(n_bytes: u64) -> String {
    let fits = |(name, factor): &&(&str, u64)| {
        name.ends_with("iB") && n_bytes > 0 && n_bytes.is_multiple_of(*factor)
    };
    match SIZES.iter().find(fits) {
        Some((name, factor)) => format!("{}{name}", n_bytes / factor),
        None => n_bytes.to_string(),
    }
}

// The forms in the file; their `expecting` texts tell whoever wrote something else what to write.

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a duration with its unit, such as \"500ms\", \"30s\" or \"5m\""
)]
enum WrittenWait {
    Text(String),
}

impl TryFrom<WrittenWait> for BusWait {
    type Error = String;

    fn try_from(WrittenWait::Text(text): WrittenWait) -> Result<Self, String> {
        Self::parse(&text)
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected \"never\", or a duration with its unit, such as \"30s\"")]
enum WrittenWaitOrNever {
    Text(String),
}

impl TryFrom<WrittenWaitOrNever> for WaitOrNever {
    type Error = String;

    fn try_from(WrittenWaitOrNever::Text(text): WrittenWaitOrNever) -> Result<Self, String> {
        match &*text {
            "never" => Ok(Self(None)),
            text => BusWait::parse(text).map(|wait| Self(Some(wait))),
        }
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of bytes, or a size such as \"64KiB\" or \"16MiB\""
)]
enum WrittenSize {
    Number(i64),
    Text(String),
}

impl TryFrom<WrittenSize> for ByteSize {
    type Error = String;

    fn try_from(written: WrittenSize) -> Result<Self, String> {
        match written {
            WrittenSize::Number(number) => {
                u64::try_from(number).map(Self).map_err(|_| "a size cannot be negative".to_owned())
            }
            WrittenSize::Text(text) => Self::parse(&text),
        }
    }
}

#[cfg(test)]
mod tests;
