//! Versions of CLIs, and ranges of them.
//!
//! In: the output of a CLI's `--version`, and ranges from definitions. CLIs number versions in
//! their own ways (`2.1.325`, `2026.10.01-e373342`, `0.0.1790142911-g7618fb`), so only three
//! numbers are compared.

use std::fmt;

/// The first three numbers of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version; it must look like 1.2.3")]
pub struct BadVersion(pub String);

impl Version {
    /// Exactly `x.y.z`.
    pub fn parse(text: &str) -> Result<Self, BadVersion> {
        let numbers: Option<Vec<u64>> = text.split('.').map(number).collect();
        match numbers.as_deref() {
            Some(&[major, minor, patch]) => Ok(Self { major, minor, patch }),
            _ => Err(BadVersion(text.to_owned())),
        }
    }

    /// The first `x.y.z` in what a CLI prints, which may be several lines.
    pub fn find(output: &str) -> Option<Self> {
        output
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
            .find_map(|word| Self::in_word(word.trim_start_matches(['v', 'V'])))
    }

    fn in_word(word: &str) -> Option<Self> {
        let mut numbers = word.trim_matches('.').split('.');
        let mut next = || numbers.next().and_then(number);
        Some(Self { major: next()?, minor: next()?, patch: next()? })
    }
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A range of versions: all conditions of `>=2.1.0, <3.0.0`. A bare version means exactly that
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange(Vec<(Bound, Version)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

impl VersionRange {
    pub fn parse(text: &str) -> Result<Self, BadVersion> {
        text.split(',').map(|part| condition(part.trim())).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a version is older than every version in the range.
    pub fn begins_after(&self, version: Version) -> bool {
        self.0.iter().any(|(bound, limit)| match bound {
            Bound::AtLeast | Bound::Exactly => version < *limit,
            Bound::Above => version <= *limit,
            Bound::AtMost | Bound::Below => false,
        })
    }

    pub fn contains(&self, version: Version) -> bool {
        self.0.iter().all(|(bound, limit)| match bound {
            Bound::AtLeast => version >= *limit,
            Bound::Above => version > *limit,
            Bound::AtMost => version <= *limit,
            Bound::Below => version < *limit,
            Bound::Exactly => version == *limit,
        })
    }
}

fn condition(text: &str) -> Result<(Bound, Version), BadVersion> {
    const SIGNS: [(&str, Bound); 5] = [
        (">=", Bound::AtLeast),
        ("<=", Bound::AtMost),
        (">", Bound::Above),
        ("<", Bound::Below),
        ("=", Bound::Exactly),
    ];
    let (bound, rest) = SIGNS
        .into_iter()
        .find_map(|(sign, bound)| text.strip_prefix(sign).map(|rest| (bound, rest)))
        .unwrap_or((Bound::Exactly, text));
    Ok((bound, Version::parse(rest.trim())?))
}
