//! Values as people write them into variables and the configuration. Numbers of variables are read
//! as JavaScript reads them: what comes after is ignored.

use std::time::Duration;

use serde::Deserialize;

/// A duration: `90s`, `2m`, or a number of seconds as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ConfigDuration(pub Duration);

impl TryFrom<String> for ConfigDuration {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Ok(Self(Duration::from_secs(seconds)));
        }
        let parsed = text.parse::<jiff::SignedDuration>().ok();
        parsed
            .and_then(|duration| Duration::try_from(duration).ok())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a time; hint: write it like `30s` or `5m`"))
    }
}

/// As `parseInt` does; a limit that is not positive is none.
pub(super) fn max_tokens(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok().filter(|tokens| *tokens > 0)
}

/// As `parseFloat` does, without its infinities.
pub(super) fn temperature(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let longest = text
        .char_indices()
        .take_while(|(_, c)| c.is_ascii_digit() || "+-.eE".contains(*c))
        .last()
        .map_or(0, |(at, _)| at + 1);
    // `1.5e` and `1-2` begin with numbers: the longest beginning that is one counts.
    let numbers = (1..=longest).rev().filter_map(|end| text.get(..end)?.parse::<f64>().ok());
    numbers.into_iter().next().filter(|number| number.is_finite())
}

/// Reads a switch as people write it.
pub(super) fn is_on(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}
