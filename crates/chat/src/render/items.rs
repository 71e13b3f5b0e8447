//! One item of the conversation as lines.

use projection::{DiffMark, names_path};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::Canvas;
use crate::conversation::{
    CallStatus, CardDiff, CardOutput, CardText, ChatItem, ChatPart, CommandState, NoteTone,
    PlanStep, Terminal, ToolCard,
};
use crate::markdown;
use crate::state::ChatState;
use crate::wrap::{BreakAt, Margin, wrap};

/// Lines of a tool's output, in short and in full.
const OUTPUT_LINES: (usize, usize) = (6, 400);
const DIFF_LINES: (usize, usize) = (24, 1000);
/// Paths that are shown of a call in short.
const SHOWN_PATHS: usize = 20;

/// The item's lines; `before` is the item above it.
pub(super) fn item_lines(
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
            lines.extend(canvas.words(text, canvas.strong(), &margin));
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
            lines.extend(canvas.words(text, style, &margin));
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
    let shown = tool.shown(state.conversation.log.cwd());
    let outputs = &shown.outputs;
    let is_over =
        is_turn_over || !matches!(tool.status, CallStatus::Pending | CallStatus::InProgress);
    let runs_on = outputs.iter().any(|output| match output {
        CardOutput::Terminal(id) => {
            state.conversation.terminal(id).is_some_and(|one| one.state() == CommandState::Running)
        }
        _ => false,
    });
    let (glyph, style, end) = match (tool.status, failure(&shown, state)) {
        (CallStatus::Pending, _) => ("○", canvas.dim(), None),
        (CallStatus::InProgress, _) => ("●", canvas.doubtful(), None),
        (CallStatus::Completed, None) => ("✓", canvas.good(), None),
        (CallStatus::Failed, None) => ("✗", canvas.bad(), Some("failed".to_owned())),
        (CallStatus::Completed | CallStatus::Failed, why) => ("✗", canvas.bad(), why),
        (CallStatus::Cancelled, _) => ("⊘", canvas.dim(), Some("cancelled".to_owned())),
        (CallStatus::Abandoned, _) => {
            let is_unknown = (!runs_on).then(|| "(not known how it ended)".to_owned());
            ("?", canvas.dim(), is_unknown)
        }
    };
    let mut head = Vec::new();
    // A title may say already what kind of call it is.
    let is_said = shown.title.to_lowercase().starts_with(&shown.kind.to_lowercase());
    if !shown.kind.is_empty() && shown.kind != "other" && !is_said {
        head.push(Span::styled(format!("{} ", shown.kind), canvas.dim()));
    }
    let title = if shown.title.is_empty() { "a tool" } else { &shown.title };
    head.push(Span::styled(title, canvas.strong()));
    head.extend(end.map(|end| Span::styled(format!(" {end}"), style)));
    let margin = Margin::new(&format!("{glyph} "), "  ", style);
    let mut lines = wrap(&head, canvas.columns, &margin, BreakAt::Words);
    let indent = Margin::new("  ", "  ", canvas.dim());
    if let Some(command) = shown.command.as_ref().filter(|command| !shown.title.contains(*command))
    {
        let margin = Margin::new("  $ ", "    ", canvas.dim());
        lines.extend(canvas.cells(command, canvas.code(), &margin));
    }
    // The input is worth a line where nothing else shows what the call is about.
    let is_told = shown.command.is_some() || !outputs.is_empty();
    if !shown.input.is_empty() && (is_full || !is_told) {
        let given = canvas.cells(&shown.input, canvas.dim(), &indent);
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
        let n_shown = if is_full { paths.len() } else { paths.len().min(SHOWN_PATHS) };
        let text = paths.get(..n_shown).unwrap_or_default().join(", ");
        let text = match shown.n_paths_left_out + paths.len() - n_shown {
            0 => text,
            n_hidden => format!("{text} and {n_hidden} more"),
        };
        lines.extend(canvas.words(text, canvas.dim(), &indent));
    }
    for output in outputs {
        match output {
            CardOutput::Text(text) => lines.extend(output_text(text, is_full, canvas)),
            CardOutput::Terminal(id) => {
                lines.extend(terminal(state.conversation.terminal(id), is_over, is_full, canvas));
            }
            CardOutput::Diff(change) => {
                let is_named = names_path(&shown.title, &change.path);
                lines.extend(diff(change, is_named, is_full, canvas));
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
    state.conversation.terminal(terminals.next()?)?.end.as_ref()?.failure()
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
        CommandState::Ended => terminal.end_words().map(|end| (end, canvas.bad())),
        CommandState::Lost => {
            Some(("lost: nobody knows how it ended".to_owned(), canvas.doubtful()))
        }
        // While the call runs, it says so itself.
        CommandState::Running if is_over => Some(("still running".to_owned(), canvas.doubtful())),
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
    outputs.iter().any(|output| matches!(output, CardOutput::Diff(diff) if diff.path == path))
}

fn output_text(text: &str, is_full: bool, canvas: Canvas) -> Vec<Line<'static>> {
    let max_lines = if is_full { OUTPUT_LINES.1 } else { OUTPUT_LINES.0 };
    let all: Vec<&str> = text.lines().collect();
    let hidden = all.len().saturating_sub(max_lines);
    let tail = all.get(hidden..).unwrap_or_default().join("\n");
    let margin = Margin::new("  │ ", "  │ ", canvas.dim());
    let lines = canvas.cells(&tail, canvas.dim(), &margin);
    let too_many = lines.len().saturating_sub(max_lines);
    let n_hidden = hidden + too_many;
    let mut out = Vec::new();
    if n_hidden > 0 {
        out.push(more(n_hidden, is_full, canvas));
    }
    out.extend(lines.into_iter().skip(too_many));
    out
}

/// A change of a file, with its path unless that is named already.
pub(super) fn diff(
    change: &CardDiff,
    is_named: bool,
    is_full: bool,
    canvas: Canvas,
) -> Vec<Line<'static>> {
    let max_lines = if is_full { DIFF_LINES.1 } else { DIFF_LINES.0 };
    let CardDiff { path, lines, n_left_out, n_added, n_removed } = change;
    let head = match is_named {
        true => format!("  +{n_added} −{n_removed}"),
        false => format!("  {path} +{n_added} −{n_removed}"),
    };
    let mut out = vec![canvas.line(&head, canvas.strong())];
    for (mark, text) in lines.iter().take(max_lines) {
        let style = match mark {
            DiffMark::Hunk => canvas.hunk(),
            DiffMark::Same => Style::new(),
            DiffMark::Added => canvas.good(),
            DiffMark::Removed => canvas.bad(),
            DiffMark::Note => canvas.dim(),
        };
        let margin = Margin::new(&format!("  {}", mark.sign()), "   ", style);
        out.extend(canvas.cells(text, style, &margin));
    }
    let n_hidden = lines.len().saturating_sub(max_lines) + n_left_out;
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
        lines.extend(canvas.words(&entry.content, style, &margin));
    }
    lines
}
