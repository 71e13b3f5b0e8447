//! Durations and sizes as people write them in a bus file: `"500ms"`, `"5m"`, `"16MiB"`.
//!
//! A duration needs a unit, because nobody remembers whether a bare 30 means seconds or
//! milliseconds; a bare size is in bytes.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::cli::parse_duration;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait(pub(super) Duration);

/// A wait that may be switched off with `"never"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaitOrNever(pub(super) Option<Wait>);

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

impl Wait {
    pub(super) fn millis(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
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

impl Size {
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

/// In the largest unit that says it exactly.
pub(super) fn show_millis(n_millis: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let fits = |(factor, _): &&(u64, &str)| n_millis > 0 && n_millis.is_multiple_of(*factor);
    match UNITS.iter().find(fits) {
        Some((factor, unit)) => format!("{}{unit}", n_millis / factor),
        None => format!("{n_millis}ms"),
    }
}

/// In the largest binary unit that says it exactly.
pub(super) fn show_bytes(n_bytes: u64) -> String {
    let fits = |(name, factor): &&(&str, u64)| {
        name.ends_with("iB") && n_bytes > 0 && n_bytes.is_multiple_of(*factor)
    };
    match SIZES.iter().find(fits) {
        Some((name, factor)) => format!("{}{name}", n_bytes / factor),
        None => n_bytes.to_string(),
    }
}

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Wait;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with its unit, such as \"500ms\", \"30s\" or \"5m\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Wait, E> {
                Wait::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Words)
    }
}

impl<'de> Deserialize<'de> for WaitOrNever {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = WaitOrNever;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"never\", or a duration with its unit, such as \"30s\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<WaitOrNever, E> {
                match text {
                    "never" => Ok(WaitOrNever(None)),
                    text => Wait::parse(text).map(|w| WaitOrNever(Some(w))).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_str(Words)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or a size such as \"64KiB\" or \"16MiB\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                Size::parse(text).map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Size, E> {
                u64::try_from(number).map(Size).map_err(|_| E::custom("a size cannot be negative"))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Size, E> {
                Ok(Size(number))
            }
        }
        deserializer.deserialize_any(Words)
    }
}

#[cfg(test)]
mod tests;
