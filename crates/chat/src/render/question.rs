//! The question that waits for a person.

use ratatui::style::Style;
use ratatui::text::Line;

use crate::conversation::{FieldKind, Question, Wants};
use crate::state::State;
use crate::theme::Theme;
use crate::wrap::{Margin, Piece, cut, words};

pub(super) fn lines(
    question: &Question,
    state: &State,
    columns: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let asking = theme.doubtful().add_modifier(ratatui::style::Modifier::BOLD);
    let mut lines = Vec::new();
    let others = match state.n_questions() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let head = [Piece::new(question.title.clone(), asking), Piece::new(others, theme.dim())];
    lines.extend(words(&head, columns, &Margin::new("? ", "  ", asking)));
    for detail in &question.details {
        let margin = Margin::new("  ", "  ", Style::new());
        lines.extend(words(&[Piece::new(detail.clone(), theme.code())], columns, &margin));
    }
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
                let text = format!("{mark} {}. {}{letter}", index + 1, choice.name);
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
