//! The results as a table.
//!
//! In: rows of verdicts. Out: text for a terminal, Markdown for the documentation, and the
//! documentation with its old table replaced.

use crate::verdict::Verdict;
use std::fmt::Write as _;

pub const BEGIN: &str = "<!-- live:begin -->";
pub const END: &str = "<!-- live:end -->";

/// One row: an agent and its verdicts.
#[derive(Debug, Clone)]
pub struct Row {
    pub agent: String,
    pub version: String,
    /// In the order of the columns; empty if it could not be installed.
    pub cells: Vec<(String, Verdict)>,
    /// The reason why nothing was checked.
    pub problem: Option<String>,
}

impl Row {
    pub fn has_failed(&self) -> bool {
        self.cells.iter().any(|(_, verdict)| matches!(verdict, Verdict::Fail(_)))
    }
}

/// A table and, below it, what is to be said about its cells.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for group in grouped(rows) {
        let Some(first) = group.first() else { continue };
        let _ = write!(out, "\n{:<18}{:<10}", "agent", "version");
        for (column, _) in &first.cells {
            let _ = write!(out, "{column:<10}");
        }
        out.push('\n');
        for row in group {
            let _ = write!(out, "{:<18}{:<10}", row.agent, row.version);
            for (_, verdict) in &row.cells {
                let _ = write!(out, "{:<10}", word(verdict));
            }
            out.push('\n');
        }
    }
    for note in notes(rows) {
        let _ = write!(out, "\n{note}");
    }
    out.push('\n');
    out
}

/// The same between the marks of the documentation.
pub fn markdown(rows: &[Row], date: &str) -> String {
    let mut out = format!("{BEGIN}\nMeasured on {date} by `make test-live`.\n");
    for group in grouped(rows) {
        let Some(first) = group.first() else { continue };
        let _ = write!(out, "\n| agent | version |");
        for (column, _) in &first.cells {
            let _ = write!(out, " {column} |");
        }
        let _ = write!(out, "\n|---|---|{}\n", "---|".repeat(first.cells.len()));
        for row in group {
            let _ = write!(out, "| `{}` | {} |", row.agent, row.version);
            for (_, verdict) in &row.cells {
                let _ = write!(out, " {} |", word(verdict));
            }
            out.push('\n');
        }
    }
    let notes = notes(rows);
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes {
        let _ = writeln!(out, "- {note}");
    }
    out + END
}

/// The document with this part in place of the old one; nothing if it has no such part.
pub fn replaced(document: &str, part: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{part}{after}"))
}

/// Rows with the same columns.
fn grouped(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows.iter().filter(|row| !row.cells.is_empty()) {
        let fits = |group: &&mut Vec<&Row>| {
            let columns =
                |row: &Row| row.cells.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            group.first().is_some_and(|first| columns(first) == columns(row))
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass(_) => "pass",
        Verdict::Fail(_) => "FAIL",
        Verdict::NotApplicable(_) => "n.a.",
    }
}

fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    for row in rows {
        notes.extend(row.problem.iter().map(|problem| format!("{}: {problem}", row.agent)));
        for (column, verdict) in &row.cells {
            let (Verdict::Pass(note) | Verdict::Fail(note) | Verdict::NotApplicable(note)) =
                verdict;
            if !note.is_empty() {
                let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
                notes.push(format!("{}, {column}: {note}", row.agent));
            }
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(agent: &str, verdict: Verdict) -> Row {
        let cells = vec![("text".to_owned(), verdict)];
        Row { agent: agent.to_owned(), version: "1.0".to_owned(), cells, problem: None }
    }

    #[test]
    fn a_document_gets_the_new_table_and_keeps_the_rest() {
        let rows = [
            row("a", Verdict::Pass(String::new())),
            row("b", Verdict::NotApplicable("it cannot".to_owned())),
        ];
        let part = markdown(&rows, "2026-11-15");
        let document = format!("# Agents\n\n{BEGIN}\nold\n{END}\n\nmore\n");

        let new = replaced(&document, &part).unwrap();

        assert!(
            new.starts_with("# Agents\n\n<!-- live:begin -->\nMeasured on 2026-11-15"),
            "{new}"
        );
        assert!(new.ends_with("- b, text: it cannot\n<!-- live:end -->\n\nmore\n"), "{new}");
        assert!(
            new.contains("| `a` | 1.0 | pass |\n| `b` | 1.0 | n.a. |\n") && !new.contains("old")
        );
        assert_eq!(replaced("nothing", &part), None);
    }

    #[test]
    fn only_a_failure_fails() {
        assert!(!row("a", Verdict::Pass("with a note".to_owned())).has_failed());
        assert!(!row("a", Verdict::NotApplicable(String::new())).has_failed());
        assert!(row("a", Verdict::Fail(String::new())).has_failed());
    }
}
