//! One item of the conversation as lines.

use projection::{DiffMark, names_path};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::Canvas;
use crate::conversation::{
    CallStatus, CardOutput, CardText, ChatItem, ChatPart, CommandState, NoteTone, PlanStep,
    Terminal, ToolCard,
};
use crate::markdown;
use crate::state::ChatState;
use crate::wrap::{Margin, StyledText, wrap_words};

/// Lines of a tool's output, in short and in full.
const OUTPUT_LINES: (usize, usize) = (6, 400);
const DIFF_LINES: (usize, usize) = (24, 1000);
/// Paths that are shown of a call in short.
const SHOWN_PATHS: usize = 20;

/// The item's lines; `before` is the item above it.
pub(crate) fn item_lines(
    item: &ChatItem,
    before: Option<&ChatItem>,
    state: &ChatState,
    canvas: Canvas,
) -> Vec<Line<'static>> {
    let canvas = Canvas { columns: canvas.columns.max(1), ..canvas };
    let mut lines = Vec::new();
    if before.is_some_and(|before| stands_apart(before, item)) {
        lines.push(Line::default());
    }
    match &item.part {
        ChatPart::Prompt { text, by } => {
            let mark = match by {
                Some(by) => format!("{by} › "),
                None if state.conversation.has_other_senders => "you › ".to_owned(),
                None => "› ".to_owned(),
            };
            let margin = Margin {
                first: vec![Span::styled(mark, canvas.user())],
                rest: vec![Span::raw("  ")],
            };
            lines.extend(canvas.words(text.clone(), canvas.strong(), &margin));
        }
        ChatPart::Answer(prose) => {
            lines.extend(markdown::lines(&prose.text, canvas.columns, canvas.theme));
        }
        ChatPart::Thought(prose) => lines.extend(thought(&prose.text, state, canvas)),
        ChatPart::Tool(tool) => {
            let is_over = item.turn.is_none() || item.turn != state.conversation.running;
            lines.extend(tool_lines(tool, is_over, state, canvas));
        }
        ChatPart::Plan(entries) => lines.extend(plan(entries, canvas)),
        ChatPart::Note(tone, text) => {
            let style = match tone {
                NoteTone::Dim => canvas.dim(),
                NoteTone::Good => canvas.good(),
                NoteTone::Doubtful => canvas.doubtful(),
                NoteTone::Bad => canvas.bad(),
            };
            let margin = Margin::new("· ", "  ", style);
            lines.extend(canvas.words(text.clone(), style, &margin));
        }
    }
    lines
}

/// Whether an empty line is between the two.
fn stands_apart(before: &ChatItem, item: &ChatItem) -> bool {
    match (&before.part, &item.part) {
        (ChatPart::Tool(_) | ChatPart::Note(..), ChatPart::Tool(_) | ChatPart::Note(..)) => false,
        // Code that goes on.
        (ChatPart::Answer(_), ChatPart::Answer(prose)) => !prose.text.starts_with("```"),
        (ChatPart::Thought(_), ChatPart::Thought(_)) => false,
        _ => true,
    }
}

fn thought(text: &str, state: &ChatState, canvas: Canvas) -> Vec<Line<'static>> {
    let style = canvas.dim().add_modifier(Modifier::ITALIC);
    if state.shows_thinking {
        let margin = Margin::new("✻ ", "  ", canvas.dim());
        return canvas.words(text.trim(), style, &margin);
    }
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    vec![canvas.line(&format!("✻ thinking: {}", last.trim()), style)]
}

fn tool_lines(
    tool: &ToolCard,
    is_turn_over: bool,
    state: &ChatState,
    canvas: Canvas,
) -> Vec<Line<'static>> {
    let is_full = state.shows_tools;
    let shown = tool.shown();
    let outputs = &shown.outputs;
    let is_over =
        is_turn_over || !matches!(tool.status, CallStatus::Pending | CallStatus::InProgress);
    let runs_on = outputs.iter().any(|output| match output {
        CardOutput::Terminal(id) => {
            state.conversation.terminal(id).is_some_and(|one| one.state() == CommandState::Running)
        }
        _ => false,
    });
    let failure = failure(&shown, state);
    let (glyph, style) = match tool.status {
        CallStatus::Pending => ("○", canvas.dim()),
        CallStatus::InProgress => ("●", canvas.doubtful()),
        CallStatus::Completed if failure.is_some() => ("✗", canvas.bad()),
        CallStatus::Completed => ("✓", canvas.good()),
        CallStatus::Failed => ("✗", canvas.bad()),
        CallStatus::Cancelled => ("⊘", canvas.dim()),
        CallStatus::Abandoned => ("?", canvas.dim()),
    };
    let mut head = Vec::new();
    if !shown.kind.is_empty() && shown.kind != "other" && !begins_with(&shown.title, &shown.kind) {
        head.push(StyledText::new(format!("{} ", shown.kind), canvas.dim()));
    }
    let title = if shown.title.is_empty() { "a tool" } else { &shown.title };
    head.push(StyledText::new(title, canvas.strong()));
    match tool.status {
        CallStatus::Completed | CallStatus::Failed if failure.is_some() => {
            head.push(StyledText::new(format!(" {}", failure.unwrap_or_default()), canvas.bad()));
        }
        CallStatus::Failed => head.push(StyledText::new(" failed", canvas.bad())),
        CallStatus::Cancelled => head.push(StyledText::new(" cancelled", canvas.dim())),
        CallStatus::Abandoned if !runs_on => {
            head.push(StyledText::new(" (not known how it ended)", canvas.dim()));
        }
        _ => {}
    }
    let mut lines =
        wrap_words(&head, canvas.columns, &Margin::new(&format!("{glyph} "), "  ", style));
    if let Some(command) = shown.command.as_ref().filter(|command| !shown.title.contains(*command))
    {
        let margin = Margin::new("  $ ", "    ", canvas.dim());
        lines.extend(canvas.cells(command.clone(), canvas.code(), &margin));
    }
    // The input is worth a line where nothing else shows what the call is about.
    let is_told = shown.command.is_some() || !outputs.is_empty();
    if !shown.input.is_empty() && (is_full || !is_told) {
        let margin = Margin::new("  ", "  ", canvas.dim());
        let given = canvas.cells(shown.input.clone(), canvas.dim(), &margin);
        lines.extend(first(given, is_full, canvas));
    }
    let paths: Vec<&str> = shown
        .paths
        .iter()
        .map(String::as_str)
        .filter(|path| {
            let place = without_line(path);
            !names_path(&shown.title, place) && !has_diff_of(outputs, place)
        })
        .collect();
    if !paths.is_empty() {
        let margin = Margin::new("  ", "  ", canvas.dim());
        let n_shown = if is_full { paths.len() } else { paths.len().min(SHOWN_PATHS) };
        let text = paths.get(..n_shown).unwrap_or_default().join(", ");
        let text = match shown.n_paths_left_out + paths.len() - n_shown {
            0 => text,
            n_hidden => format!("{text} and {n_hidden} more"),
        };
        lines.extend(canvas.words(text, canvas.dim(), &margin));
    }
    for output in outputs {
        match output {
            CardOutput::Text(text) => lines.extend(output_text(text, is_full, canvas)),
            CardOutput::Terminal(id) => {
                lines.extend(terminal(state.conversation.terminal(id), is_over, is_full, canvas));
            }
            CardOutput::Diff { path, lines: changes, n_left_out, n_added, n_removed } => {
                // The title has named it.
                let head = match names_path(&shown.title, path) {
                    true => format!("  +{n_added} −{n_removed}"),
                    false => format!("  {path} +{n_added} −{n_removed}"),
                };
                lines.push(canvas.line(&head, canvas.strong()));
                lines.extend(diff(changes, *n_left_out, is_full, canvas));
            }
        }
    }
    if shown.n_outputs_left_out > 0 {
        let text = format!("  … {} more parts are not shown", shown.n_outputs_left_out);
        lines.push(canvas.line(&text, canvas.doubtful()));
    }
    lines
}

/// How a call's command failed, whatever status the agent gives the call: the agent's own report
/// counts before the exit of its terminal, since it knows why it ended the command.
fn failure(shown: &CardText, state: &ChatState) -> Option<String> {
    if let Some(end) = shown.end.as_ref().filter(|_| shown.is_command()) {
        return end.failure();
    }
    let mut terminals = shown.outputs.iter().rev().filter_map(|output| match output {
        CardOutput::Terminal(id) => Some(id),
        _ => None,
    });
    state.conversation.terminal(terminals.next()?)?.failure.clone()
}

/// Whether a title says already what kind of call it is.
fn begins_with(title: &str, kind: &str) -> bool {
    title.to_lowercase().starts_with(&kind.to_lowercase())
}

/// The first lines of a text that may be long.
fn first(lines: Vec<Line<'static>>, is_full: bool, canvas: Canvas) -> Vec<Line<'static>> {
    let max_lines = if is_full { OUTPUT_LINES.1 } else { OUTPUT_LINES.0 };
    let n_hidden = lines.len().saturating_sub(max_lines);
    let mut out: Vec<Line<'static>> = lines.into_iter().take(max_lines).collect();
    if n_hidden > 0 {
        out.push(more(n_hidden, is_full, canvas));
    }
    out
}

/// The output of a command, while it runs and afterwards.
fn terminal(
    terminal: Option<&Terminal>,
    is_over: bool,
    is_full: bool,
    canvas: Canvas,
) -> Vec<Line<'static>> {
    let text = terminal.map(|terminal| terminal.printed.text()).unwrap_or_default();
    let mut lines = match text.is_empty() {
        true => vec![canvas.line("  │ (no output was seen)", canvas.dim())],
        false => output_text(&text, is_full, canvas),
    };
    let Some(terminal) = terminal else { return lines };
    if terminal.is_truncated {
        let text = "  │ (some of the output is not in the log)";
        lines.push(canvas.line(text, canvas.dim()));
    }
    let end = match terminal.state() {
        CommandState::Ended => terminal.end.as_deref().map(|end| (end, canvas.bad())),
        CommandState::Lost => Some(("lost: nobody knows how it ended", canvas.doubtful())),
        // While the call runs, it says so itself.
        CommandState::Running if is_over => Some(("still running", canvas.doubtful())),
        CommandState::Running | CommandState::Unknown => None,
    };
    if let Some((end, style)) = end {
        lines.push(canvas.line(&format!("  └ {end}"), style));
    }
    lines
}

/// A place without the number of its line.
fn without_line(path: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    path.rsplit_once(':').filter(|(_, line)| is_number(line)).map_or(path, |(place, _)| place)
}

pub(super) fn has_diff_of(outputs: &[CardOutput], path: &str) -> bool {
    let is_of =
        |output: &CardOutput| matches!(output, CardOutput::Diff { path: of, .. } if of == path);
    outputs.iter().any(is_of)
}

fn output_text(text: &str, is_full: bool, canvas: Canvas) -> Vec<Line<'static>> {
    let max_lines = if is_full { OUTPUT_LINES.1 } else { OUTPUT_LINES.0 };
    let all: Vec<&str> = text.lines().collect();
    let hidden = all.len().saturating_sub(max_lines);
    let tail = all.get(hidden..).unwrap_or_default().join("\n");
    let margin = Margin::new("  │ ", "  │ ", canvas.dim());
    let lines = canvas.cells(tail, canvas.dim(), &margin);
    let too_many = lines.len().saturating_sub(max_lines);
    let n_hidden = hidden + too_many;
    let mut out = Vec::new();
    if n_hidden > 0 {
        out.push(more(n_hidden, is_full, canvas));
    }
    out.extend(lines.into_iter().skip(too_many));
    out
}

pub(super) fn diff(
    changes: &[(DiffMark, String)],
    n_left_out: usize,
    is_full: bool,
    canvas: Canvas,
) -> Vec<Line<'static>> {
    let max_lines = if is_full { DIFF_LINES.1 } else { DIFF_LINES.0 };
    let mut out = Vec::new();
    for (mark, text) in changes.iter().take(max_lines) {
        let style = match mark {
            DiffMark::Hunk => canvas.hunk(),
            DiffMark::Same => Style::new(),
            DiffMark::Added => canvas.good(),
            DiffMark::Removed => canvas.bad(),
            DiffMark::Note => canvas.dim(),
        };
        let margin = Margin::new(&format!("  {}", mark.sign()), "   ", style);
        out.extend(canvas.cells(text.clone(), style, &margin));
    }
    let n_hidden = changes.len().saturating_sub(max_lines) + n_left_out;
    if n_hidden > 0 {
        out.push(more(n_hidden, is_full, canvas));
    }
    out
}

fn more(n_hidden: usize, is_full: bool, canvas: Canvas) -> Line<'static> {
    let how = if is_full { "" } else { " (Ctrl-O)" };
    canvas.line(&format!("  … {n_hidden} more lines{how}"), canvas.dim())
}

fn plan(entries: &[PlanStep], canvas: Canvas) -> Vec<Line<'static>> {
    let n_done = entries.iter().filter(|entry| entry.status == "completed").count();
    let head = format!("Plan {n_done}/{}", entries.len());
    let mut lines = vec![canvas.line(&head, canvas.heading())];
    for entry in entries {
        let (mark, style) = match entry.status.as_str() {
            "completed" => ("  ✓ ", canvas.dim()),
            "in_progress" => ("  ▸ ", canvas.strong()),
            "cancelled" => ("  ⊘ ", canvas.dim()),
            _ => ("  ○ ", Style::new()),
        };
        let margin = Margin::new(mark, "    ", style);
        lines.extend(canvas.words(entry.content.clone(), style, &margin));
    }
    lines
}
