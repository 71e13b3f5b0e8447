//! The question that waits for a person.

use ratatui::style::Style;
use ratatui::text::Line;

use super::items::{diff, has_diff_of};
use crate::conversation::{FieldKind, Output, Question, Shown, Wants};
use crate::state::State;
use crate::theme::Theme;
use crate::wrap::{Margin, Piece, cells, cut, width, words};

/// More paths than this say no more.
const MAX_PATHS: usize = 10;

/// At most `max_rows`, if there is any room: what is asked and what can be answered are
/// there in any case, and of what it is about as much as fits.
pub(super) fn lines(
    question: &Question,
    state: &State,
    columns: usize,
    max_rows: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let asking = theme.doubtful().add_modifier(ratatui::style::Modifier::BOLD);
    let others = match state.n_questions() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let head = [Piece::new(question.title.clone(), asking), Piece::new(others, theme.dim())];
    let mut lines = words(&head, columns, &Margin::new("? ", "  ", asking));
    let answers = answers(question, state, columns, theme);
    let room = max_rows.saturating_sub(lines.len() + answers.len());
    let mut about = about(question, columns, theme);
    if about.len() > room {
        let shown = room.saturating_sub(1);
        let n_hidden = about.len() - shown;
        about.truncate(shown);
        let how = "PageUp and Ctrl-O show the call in full";
        let text = format!("  … {n_hidden} more lines are not shown; {how}");
        about.push(Line::styled(cut(&text, columns), asking));
    }
    lines.extend(about);
    lines.extend(answers);
    lines
}

/// What is to be done: the command, the changes, or whatever else the tool is given. Titles are
/// the agent's words; these are what will happen.
fn about(question: &Question, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let call = question.call.shown();
    let outputs = &call.outputs;
    let mut lines = Vec::new();
    if let Some(command) = call.command.as_ref().filter(|command| **command != question.title) {
        let margin = Margin::new("  $ ", "    ", theme.dim());
        lines.extend(cells(&[Piece::new(command.clone(), theme.code())], columns, &margin));
    }
    let mut has_diff = false;
    for output in outputs {
        if let Output::Diff { path, lines: changes, n_added, n_removed } = output {
            has_diff = true;
            let head = format!("  {path} +{n_added} −{n_removed}");
            lines.push(Line::styled(cut(&head, columns), theme.strong()));
            lines.extend(diff(changes, true, columns, theme));
        }
    }
    let indented = |text: &str| {
        let margin = Margin::new("  ", "  ", theme.dim());
        cells(&[Piece::new(text, theme.code())], columns, &margin)
    };
    if !has_diff {
        if !call.input.is_empty() {
            lines.extend(indented(&call.input));
        }
        let texts = outputs.iter().filter_map(|output| match output {
            Output::Text(text) if !says_the_same(text, &call) => Some(text),
            _ => None,
        });
        lines.extend(texts.flat_map(|text| indented(text)));
    }
    let paths = call.paths.iter().filter(|path| {
        !question.title.contains(*path)
            && !call.input.contains(*path)
            && !has_diff_of(outputs, path)
    });
    lines.extend(paths.take(MAX_PATHS).flat_map(|path| indented(path)));
    lines
}

/// Some agents repeat in words what the tool is given.
fn says_the_same(text: &str, call: &Shown) -> bool {
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let said = dense(text);
    let command = call.command.as_deref().map(dense).unwrap_or_default();
    said.is_empty() || command.contains(&said) || dense(&call.input).contains(&said)
}

fn answers(question: &Question, state: &State, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    match &question.wants {
        Wants::Choice(choices) => {
            for (index, choice) in choices.iter().enumerate() {
                let is_marked = state.is_answering && Some(index) == state.marked;
                let mark = if is_marked { "▸" } else { " " };
                let letter = match choice.kind.as_str() {
                    "allow_once" => " (y)",
                    "allow_always" => " (a)",
                    "reject_once" => " (n)",
                    _ => "",
                };
                // A name is the agent's word; what it does is not.
                let does = match choice.says_it() {
                    true => String::new(),
                    false => format!(" · {}", choice.does()),
                };
                let name = if choice.name.is_empty() { "(no name)" } else { &choice.name };
                let room = columns.saturating_sub(width(&does) + width(letter) + 5);
                let text = format!("{mark} {}. {}{letter}{does}", index + 1, cut(name, room));
                let style = if is_marked { theme.selected() } else { Style::new() };
                lines.push(Line::styled(cut(&text, columns), style));
            }
            let hint = match state.is_answering {
                true => "  a number or letter answers · ↑↓ Enter chooses · Esc stops the turn",
                false => "  Tab to answer",
            };
            lines.push(Line::styled(cut(hint, columns), theme.dim()));
        }
        Wants::Form { url: Some(url), .. } => {
            lines.extend(words(
                &[Piece::new(url.clone(), theme.link())],
                columns,
                &Margin::default(),
            ));
            let hint = "  1 done · 2 no · Esc stops the turn";
            lines.push(Line::styled(cut(hint, columns), theme.dim()));
        }
        Wants::Form { .. } => lines.extend(field(state, columns, theme)),
    }
    lines
}

fn field(state: &State, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let Some((form, field)) = state.form.as_ref().and_then(|form| Some((form, form.field()?)))
    else {
        return vec![Line::styled(cut("  Tab to answer", columns), theme.dim())];
    };
    let (n, of) = form.place();
    let expected = match &field.kind {
        FieldKind::Text => String::new(),
        FieldKind::Switch => " (y/n)".to_owned(),
        FieldKind::Integer => " (a whole number)".to_owned(),
        FieldKind::Number => " (a number)".to_owned(),
        FieldKind::OneOf(values) => {
            let values = values.iter().enumerate();
            let values: Vec<String> =
                values.map(|(index, (_, name))| format!("{} {name}", index + 1)).collect();
            format!(" ({})", values.join(", "))
        }
    };
    let text = format!("{n}/{of} {}{expected}", field.title);
    let mut lines =
        words(&[Piece::new(text, theme.strong())], columns, &Margin::new("  ", "  ", Style::new()));
    let skip = if field.is_required { "" } else { " · Enter alone leaves it out" };
    let hint = format!("  type and press Enter{skip} · Esc cancels the form");
    lines.push(Line::styled(cut(&hint, columns), theme.dim()));
    lines
}
