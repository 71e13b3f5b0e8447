//! Rows as comma-separated values, safe to open in a spreadsheet.
//!
//! Titles, commands and paths come from agents, and so from whatever an agent has read. A
//! cell that a spreadsheet would take for a formula is made text by a leading apostrophe;
//! characters that a terminal would act on are shown instead.

use super::Row;
use projection::sanitize;

const COLUMNS: [&str; 22] = [
    "time",
    "session",
    "agent",
    "cwd",
    "turn",
    "seq",
    "request_id",
    "asked",
    "kind",
    "title",
    "command",
    "paths",
    "allowed",
    "outcome",
    "option_id",
    "option_kind",
    "option_name",
    "by",
    "detail",
    "rule",
    "waited_ms",
    "damaged",
];

/// What begins a formula in some spreadsheet, also in its full-width form.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '|', '%', '＝', '＋', '－', '＠'];

/// The first line, with its line end.
pub fn header() -> String {
    line(COLUMNS.map(str::to_owned))
}

impl Row {
    /// One line, with its line end.
    pub fn to_csv(&self) -> String {
        let text = |maybe: &Option<String>| maybe.clone().unwrap_or_default();
        let rule = match (&self.rule_file, self.rule_index) {
            (Some(file), Some(index)) => format!("{file}#{index}"),
            _ => String::new(),
        };
        line([
            self.time.clone(),
            self.session.clone(),
            self.agent.clone(),
            self.cwd.clone(),
            self.turn.map(|turn| turn.to_string()).unwrap_or_default(),
            self.seq.to_string(),
            self.request_id.clone(),
            self.asked.to_string(),
            self.kind.clone(),
            self.title.clone(),
            text(&self.command),
            self.paths.join("\n"),
            self.allowed.to_string(),
            self.outcome.clone(),
            text(&self.option_id),
            text(&self.option_kind),
            text(&self.option_name),
            self.by.clone(),
            text(&self.detail),
            rule,
            self.waited_ms.map(|waited| waited.to_string()).unwrap_or_default(),
            self.is_damaged.to_string(),
        ])
    }
}

fn line(cells: [String; COLUMNS.len()]) -> String {
    let cells = cells.map(|text| cell(&text));
    format!("{}\r\n", cells.join(","))
}

fn cell(text: &str) -> String {
    let text = sanitize(text);
    let first = text.trim_start().chars().next();
    let is_formula =
        first.is_some_and(|first| FORMULA.contains(&first)) || text.starts_with(['\t', '\n', '\r']);
    let guard = if is_formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}
