//! A log event as one line, of text or of JSON.
//!
//! Always true: a line has no line break but its last character, nothing in it moves a
//! cursor, no registered secret is in it, and it is no longer than some 70 KiB.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value, json};
use server::secrets::{self, Secrets};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};
use wire::text::is_hidden;

use crate::terminal::output::escape_in_json;
use crate::terminal::paint::Paint;

/// The longest value that is shown.
const MAX_VALUE_BYTES: usize = 16 * 1024;
/// How many bytes are looked at beyond that, so that a secret at the cut is recognised.
const LOOKAHEAD_BYTES: usize = 4096;
/// The most that is shown of all values together.
const MAX_LINE_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct LogLine {
    time: jiff::Timestamp,
    level: Level,
    target: String,
    message: String,
    /// Texts, numbers and booleans, in the order in which they were given.
    fields: Map<String, Value>,
}

impl LogLine {
    pub(super) fn of(event: &Event<'_>, secrets: &Secrets) -> Self {
        let metadata = event.metadata();
        let mut line = Self {
            time: jiff::Timestamp::now(),
            level: *metadata.level(),
            target: metadata.target().to_owned(),
            message: String::new(),
            fields: Map::new(),
        };
        event.record(&mut FieldCollector { line: &mut line, secrets, n_bytes: 0 });
        line
    }

    /// The line that says how many lines are missing.
    pub(super) fn lost(n_lines: u64) -> Self {
        Self {
            time: jiff::Timestamp::now(),
            level: Level::WARN,
            target: "switchyard::logging".to_owned(),
            message: "lines could not be logged".to_owned(),
            fields: Map::from_iter([("n_lines".to_owned(), n_lines.into())]),
        }
    }

    pub(super) fn text(&self, paint: Paint) -> String {
        let level = format!("{:<5}", self.level);
        let level = match self.level {
            Level::ERROR => paint.bad(&level),
            Level::WARN => paint.doubtful(&level),
            Level::INFO => paint.good(&level),
            _ => level,
        };
        let mut text = format!("{:.3} {level} {} ", self.time, self.target);
        escape(&self.message, &mut text);
        for (name, value) in &self.fields {
            let _ = write!(text, " {name}=");
            match value {
                Value::String(value) if is_one_word(value) => text.push_str(value),
                Value::String(value) => {
                    text.push('"');
                    escape(&value.replace('\\', "\\\\").replace('"', "\\\""), &mut text);
                    text.push('"');
                }
                value => _ = write!(text, "{value}"),
            }
        }
        text.push('\n');
        text
    }

    pub(super) fn json(&self) -> String {
        let line = json!({
            "time": format!("{:.3}", self.time),
            "level": self.level.as_str(),
            "target": self.target,
            "message": self.message,
            "fields": self.fields,
        });
        let line = line.to_string();
        let mut text = String::with_capacity(line.len() + 1);
        // Hidden characters are only inside of strings, where escapes can be.
        for c in line.chars() {
            match is_hidden(c) {
                true => escape_in_json(c, &mut text),
                false => text.push(c),
            }
        }
        text.push('\n');
        text
    }
}

struct FieldCollector<'a> {
    line: &'a mut LogLine,
    secrets: &'a Secrets,
    n_bytes: usize,
}

impl FieldCollector<'_> {
    fn text(&mut self, field: &Field, value: &str) {
        let name = field.name();
        let value = match secrets::names_a_secret(name) {
            true => secrets::REDACTED.to_owned(),
            false => self.secrets.redact(value).into_owned(),
        };
        let room = MAX_LINE_BYTES.saturating_sub(self.n_bytes).min(MAX_VALUE_BYTES);
        let value = cut(value, room);
        self.n_bytes += value.len();
        match name {
            "message" => self.line.message = value,
            name => _ = self.line.fields.insert(name.to_owned(), value.into()),
        }
    }

    fn plain(&mut self, field: &Field, value: impl Into<Value>) {
        self.line.fields.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for FieldCollector<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Written into one text first: a secret may come in several pieces.
        let mut text = BoundedText(String::new());
        let _ = write!(text, "{value:?}");
        self.text(field, &text.0);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let end = value.floor_char_boundary(MAX_VALUE_BYTES + LOOKAHEAD_BYTES);
        self.text(field, value.get(..end).unwrap_or(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match value.is_finite() {
            true => self.plain(field, value),
            false => self.text(field, &value.to_string()),
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

/// A buffer that takes no more than is looked at.
struct BoundedText(String);

impl fmt::Write for BoundedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = (MAX_VALUE_BYTES + LOOKAHEAD_BYTES).saturating_sub(self.0.len());
        let taken = part.get(..part.floor_char_boundary(room)).unwrap_or_default();
        self.0.push_str(taken);
        // An error ends a `Debug` that would go on for long.
        if taken.len() < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

fn cut(mut value: String, room: usize) -> String {
    if value.len() > room {
        value.truncate(value.floor_char_boundary(room));
        value.push('…');
    }
    value
}

fn is_one_word(value: &str) -> bool {
    let is_plain = |c: char| {
        !c.is_whitespace() && !matches!(c, '"' | '=' | '\\') && !is_hidden(c) && c != '\''
    };
    !value.is_empty() && value.chars().all(is_plain)
}

fn escape(value: &str, out: &mut String) {
    for c in value.chars() {
        match matches!(c, '\n' | '\r' | '\t') || is_hidden(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
