//! Audit rows as comma-separated values, safe to open in a spreadsheet.
//!
//! Titles, commands and paths come from agents, and so from whatever an agent has read. A
//! cell that a spreadsheet would take for a formula is made text by a leading apostrophe;
//! characters that a terminal would act on are shown instead.

use super::AuditRow;
use projection::sanitize;

/// First characters of a formula in some spreadsheet, also in their full-width forms.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '|', '%', '＝', '＋', '－', '＠'];

/// The CSV line of column names, with its line end.
pub fn header() -> String {
    line(AuditRow::default().cells().into_iter().map(|(column, _)| column.to_owned()))
}

impl AuditRow {
    /// The row as one CSV line, with its line end.
    pub fn to_csv(&self) -> String {
        line(self.cells().into_iter().map(|(_, text)| text))
    }

    /// The name of each column, and the row's text in it.
    fn cells(&self) -> [(&'static str, String); 22] {
        let text = |maybe: &Option<String>| maybe.clone().unwrap_or_default();
        let rule = match (&self.rule_file, self.rule_index) {
            (Some(file), Some(index)) => format!("{file}#{index}"),
            _ => String::new(),
        };
        [
            ("time", self.time.clone()),
            ("session", self.session.clone()),
            ("agent", self.agent.clone()),
            ("cwd", self.cwd.clone()),
            ("turn", self.turn.map(|turn| turn.to_string()).unwrap_or_default()),
            ("seq", self.seq.to_string()),
            ("request_id", self.request_id.clone()),
            ("asked", self.asked.to_string()),
            ("kind", self.kind.clone()),
            ("title", self.title.clone()),
            ("command", text(&self.command)),
            ("paths", self.paths.join("\n")),
            ("allowed", self.allowed.to_string()),
            ("outcome", self.outcome.clone()),
            ("option_id", text(&self.option_id)),
            ("option_kind", text(&self.option_kind)),
            ("option_name", text(&self.option_name)),
            ("by", self.by.clone()),
            ("detail", text(&self.detail)),
            ("rule", rule),
            ("waited_ms", self.waited_ms.map(|waited| waited.to_string()).unwrap_or_default()),
            ("damaged", self.is_damaged.to_string()),
        ]
    }
}

fn line(texts: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = texts.map(|text| cell(&text)).collect();
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
