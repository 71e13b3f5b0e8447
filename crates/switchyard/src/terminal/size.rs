//! Sizes for people.

use std::fmt;

/// Each a thousand times the one before.
const UNITS: [&str; 5] = ["bytes", "KB", "MB", "GB", "TB"];

/// A number of bytes in the unit that fits: `900 bytes`, `1.4 KB`, `53 MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tenths = u128::from(self.0) * 10;
        let mut unit = 0;
        // What would be rounded to a thousand is one of the next unit.
        while tenths >= 9_995 && unit + 1 < UNITS.len() {
            tenths = (tenths + 500) / 1000;
            unit += 1;
        }
        let name = UNITS.get(unit).copied().unwrap_or_default();
        match unit > 0 && tenths < 100 {
            true => write!(f, "{}.{} {name}", tenths / 10, tenths % 10),
            false => write!(f, "{} {name}", (tenths + 5) / 10),
        }
    }
}

#[cfg(test)]
mod tests;
