//! Screens that cover the conversation: lists to choose from, help, and the welcome.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Canvas;
use crate::commands::CHAT_COMMANDS;
use crate::picker::Picker;
use crate::state::ChatState;
use crate::wrap::{cut, displayable, width};

const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; while a turn runs the prompt is queued"),
    ("Alt-Enter, Shift-Enter, Ctrl-J", "a new line"),
    ("Esc", "cancel the turn"),
    ("Ctrl-C", "cancel the turn or empty the input; twice quits"),
    ("Ctrl-D", "quit; the session stays"),
    ("PageUp, PageDown, Shift-↑↓", "look at what was said before"),
    ("Ctrl-Home, Ctrl-End", "its beginning, its end"),
    ("↑ ↓, Ctrl-P, Ctrl-N", "earlier prompts"),
    ("Tab", "complete; between a question and the input"),
    ("1…9, y, a, n", "answer a question"),
    ("Ctrl-T, Ctrl-O", "thinking; tool calls in full"),
    ("Ctrl-Z, Ctrl-L", "suspend; draw anew"),
];

pub(super) fn picker(picker: &Picker, rows: usize, canvas: Canvas) -> Vec<Line<'static>> {
    let mut head = vec![Span::styled(picker.kind.title(), canvas.heading())];
    let filter = displayable(&picker.filter).into_owned();
    match filter.is_empty() {
        true => {
            head.push(Span::styled("  type to narrow, Enter chooses, Esc closes", canvas.dim()));
        }
        false => head.push(Span::raw(format!("  {filter}▏"))),
    }
    if picker.is_loading {
        head.push(Span::styled("  looking …", canvas.dim()));
    }
    let mut lines = vec![Line::from(head), Line::default()];
    let entries = picker.shown();
    if entries.is_empty() && !picker.is_loading {
        lines.push(Line::styled("  nothing", canvas.dim()));
    }
    let room = rows.saturating_sub(lines.len()).max(1);
    let selected = picker.selected.min(entries.len().saturating_sub(1));
    let start = (selected + 1).saturating_sub(room);
    for (index, entry) in entries.iter().enumerate().skip(start).take(room) {
        let style = if index == selected { canvas.selected() } else { Style::new() };
        let name = cut(&entry.name, canvas.columns.saturating_sub(2) * 2 / 3);
        let left = canvas.columns.saturating_sub(width(&name) + 5);
        lines.push(Line::from(vec![
            Span::styled(format!("  {name}"), style),
            Span::styled(format!("  {}", cut(&entry.about, left)), canvas.dim()),
        ]));
    }
    lines
}

pub(super) fn help(rows: usize, canvas: Canvas) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("Keys", canvas.heading())];
    let row = |name: &str, about: &str| canvas.line(&format!("  {name:<32}{about}"), Style::new());
    lines.extend(KEYS.iter().map(|(name, about)| row(name, about)));
    lines.push(Line::default());
    lines.push(Line::styled("Commands", canvas.heading()));
    for entry in CHAT_COMMANDS {
        let name = format!("/{} {}", entry.name, entry.takes);
        lines.push(row(name.trim_end(), entry.about));
    }
    lines.push(row("//NAME", "a command of the agent that is named like one of these"));
    lines.truncate(rows);
    lines
}

/// The welcome, before there is a first prompt.
pub(super) fn welcome(state: &ChatState, rows: usize, canvas: Canvas) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(session) = &state.session {
        let agent = displayable(&session.agent).into_owned();
        let cwd = displayable(&session.cwd).into_owned();
        lines.push(Line::from(vec![
            Span::styled(agent, canvas.heading()),
            Span::styled(
                cut(&format!("  in {cwd}"), canvas.columns.saturating_sub(12)),
                canvas.dim(),
            ),
        ]));
        let id = displayable(&session.id).into_owned();
        lines.push(canvas.line(&format!("session {id}"), canvas.dim()));
        lines.push(canvas.line("/help lists keys and commands", canvas.dim()));
    }
    lines.truncate(rows);
    lines
}
