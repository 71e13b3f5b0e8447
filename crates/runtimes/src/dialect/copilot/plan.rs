//! Todos, which Copilot writes as a list in Markdown.

use serde_json::Value;

use crate::tools;
use crate::update::{PlanEntry, PlanStatus, Priority};

pub(super) fn of(todos: &Value) -> Option<Vec<PlanEntry>> {
    let Some(text) = todos.as_str() else { return tools::plan_of(todos) };
    let entries: Vec<PlanEntry> = text.lines().filter_map(entry).collect();
    (!entries.is_empty()).then_some(entries)
}

/// `- [x] done`, `- [ ] to do`, `- [-] being done`.
fn entry(line: &str) -> Option<PlanEntry> {
    let line = line.trim().trim_start_matches(['-', '*']).trim_start();
    let (mark, content) = line.strip_prefix('[')?.split_once(']')?;
    let status = match mark.trim() {
        "x" | "X" => PlanStatus::Completed,
        "" => PlanStatus::Pending,
        _ => PlanStatus::InProgress,
    };
    let content = content.trim().to_owned();
    (!content.is_empty()).then_some(PlanEntry { content, priority: Priority::Medium, status })
}
