//! Times and durations as people write them.

use std::time::Duration;

use sessions::mint;
use wire::Millis;

/// `90s`, `10m`, `1h30m`, `30d`, or a number of seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 60 * 60;
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let days = text.strip_suffix('d').and_then(|days| days.trim().parse::<u64>().ok());
    if let Some(seconds) = days.and_then(|days| days.checked_mul(DAY)) {
        return Ok(Duration::from_secs(seconds));
    }
    let bad = |_| "write it as 90s, 10m, 1h30m or 30d".to_owned();
    let duration = text.parse::<jiff::SignedDuration>().map_err(bad)?;
    Duration::try_from(duration).map_err(|_| "a duration cannot be negative".to_owned())
}

/// A time, the beginning of a day here, or how long ago.
pub(crate) fn parse_time(text: &str) -> Result<Millis, String> {
    let text = text.trim();
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(Millis(time.as_millisecond()));
    }
    if let Ok(day) = text.parse::<jiff::civil::Date>() {
        let start =
            day.to_zoned(jiff::tz::TimeZone::system()).map_err(|error| error.to_string())?;
        return Ok(Millis(start.timestamp().as_millisecond()));
    }
    let ago = parse_duration(text).map_err(|_| {
        format!("`{text}` is no time: give 2026-11-03T09:00:00Z, 2026-11-03, 90m or 7d")
    })?;
    let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    Ok(Millis(mint::now().0.saturating_sub(ago)))
}

pub(crate) fn days_ago(days: u32) -> Millis {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    Millis(mint::now().0 - i64::from(days) * DAY_MS)
}

pub(crate) fn timestamp(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}

/// The same in the name of a file: `2026-11-03T09-00-00Z`.
pub(crate) fn file_timestamp(at: Millis) -> String {
    timestamp(Millis(at.0 - at.0.rem_euclid(1000))).replace(':', "-")
}

#[cfg(test)]
mod tests;
