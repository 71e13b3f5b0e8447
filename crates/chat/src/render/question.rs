//! The question that waits for a person.

use projection::{names_path, short_path};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Canvas;
use super::items::{diff, has_diff_of};
use crate::conversation::{
    AnswerKind, CardOutput, CardText, ChatQuestion, FieldKind, QuestionChoice,
};
use crate::state::ChatState;
use crate::wrap::{BreakAt, Margin, cut, width, wrap};

/// The least columns of a name that is cut; they tell one option from another.
const MIN_NAME_COLUMNS: usize = 12;
/// The notice in full, and for a narrow window.
const TOO_SMALL: [&str; 2] = ["the window is too small: no key answers", "too small"];

/// A question, laid out. Its title and everything that can be answered come first: where they
/// do not all fit, it says so, and nobody can answer what they cannot read.
pub(super) struct QuestionPanel {
    title: Vec<Line<'static>>,
    about: Vec<Line<'static>>,
    answers: Vec<Line<'static>>,
    hint: Option<Line<'static>>,
    /// The notice that it cannot be answered, if it does not fit.
    notice: Vec<Line<'static>>,
    canvas: Canvas,
    loud: Style,
}

impl QuestionPanel {
    /// For a screen that has at most `max_rows` for it.
    pub(super) fn new(
        question: &ChatQuestion,
        state: &ChatState,
        max_rows: usize,
        canvas: Canvas,
    ) -> Self {
        let loud = canvas.doubtful().add_modifier(ratatui::style::Modifier::BOLD);
        let others = match state.conversation.questions.len() {
            0 | 1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let head =
            [Span::styled(question.title.as_str(), loud), Span::styled(others, canvas.dim())];
        let (answers, hint) = answers(question, state, canvas);
        let mut asked = Self {
            title: wrap(&head, canvas.columns, &Margin::new("? ", "  ", loud), BreakAt::Words),
            about: about(question, state.conversation.log.cwd(), canvas),
            answers,
            hint,
            notice: Vec::new(),
            canvas,
            loud,
        };
        if !asked.fits(max_rows)
            && let AnswerKind::Choice(choices) = &question.answer_kind
        {
            let short = choices.iter().enumerate();
            let short = short.map(|(index, choice)| short_option(index, choice, state, canvas));
            if let Some(short) = short.collect() {
                asked.answers = short;
            }
        }
        if !asked.fits(max_rows) {
            let [full, short] = TOO_SMALL;
            let text = if width(full) <= canvas.columns { full } else { short };
            asked.notice = canvas.words(text, loud, &Margin::default());
        }
        asked
    }

    /// Whether everything that a key could answer can be read.
    pub(super) fn is_readable(&self) -> bool {
        self.notice.is_empty()
    }

    /// The rows that it cannot do without.
    pub(super) fn least_rows(&self) -> usize {
        match self.is_readable() {
            // The row that says that something is left out is needed in any case.
            true => self.title.len() + self.answers.len() + usize::from(!self.about.is_empty()),
            false => self.notice.len(),
        }
    }

    fn fits(&self, max_rows: usize) -> bool {
        let mut lines = self.title.iter().chain(&self.answers);
        self.least_rows() <= max_rows && lines.all(|line| line.width() <= self.canvas.columns)
    }

    /// The rows, at most `max_rows`: of the details as many as fit.
    pub(super) fn lines(self, max_rows: usize) -> Vec<Line<'static>> {
        let spare = max_rows.saturating_sub(self.least_rows());
        let hint = self.hint.filter(|_| spare > 0 && self.notice.is_empty());
        let taken = self.title.len() + self.answers.len() + usize::from(hint.is_some());
        let room = max_rows.saturating_sub(taken);
        let mut about = self.about;
        if about.len() > room {
            let shown = room.saturating_sub(1);
            let n_hidden = about.len() - shown;
            about.truncate(shown);
            let short = format!("  … {n_hidden} more lines");
            let full = format!("{short} are not shown; PageUp and Ctrl-O show the call in full");
            let text = if width(&full) <= self.canvas.columns { full } else { short };
            about.push(self.canvas.line(&text, self.loud));
        }
        let mut lines = self.notice;
        lines.extend(self.title);
        lines.extend(about);
        lines.extend(self.answers);
        lines.extend(hint);
        lines.truncate(max_rows);
        lines
    }
}

/// The action in question: the command, the changes, or the other input of the tool. Titles are the
/// agent's words; these are what will happen.
fn about(question: &ChatQuestion, cwd: Option<&str>, canvas: Canvas) -> Vec<Line<'static>> {
    let call = question.call.shown(cwd);
    let outputs = &call.outputs;
    let mut lines = Vec::new();
    if let Some(command) = call.command.as_ref().filter(|command| **command != question.title) {
        let margin = Margin::new("  $ ", "    ", canvas.dim());
        lines.extend(canvas.cells(command, canvas.code(), &margin));
    }
    let indented = |text: &str| {
        let margin = Margin::new("  ", "  ", canvas.dim());
        canvas.cells(text, canvas.code(), &margin)
    };
    // A change is what the agent shows; what the tool is given beside it comes first.
    if !call.unshown_input.is_empty() {
        lines.extend(indented(&call.unshown_input));
    }
    let mut has_diff = false;
    for output in outputs {
        if let CardOutput::Diff(change) = output {
            has_diff = true;
            lines.extend(diff(change, false, true, canvas));
        }
    }
    if !has_diff {
        let texts = outputs.iter().filter_map(|output| match output {
            CardOutput::Text(text) if !says_the_same(text, &call) => Some(text),
            _ => None,
        });
        lines.extend(texts.flat_map(|text| indented(text)));
    }
    let n_left_out = call.n_outputs_left_out;
    if n_left_out > 0 {
        lines.extend(indented(&format!("… {n_left_out} more parts are not shown")));
    }
    let is_told = |path: &str| {
        let mut given = call.unshown_input.lines().filter_map(|line| line.split_once(": "));
        given.any(|(_, value)| value == path || short_path(value, cwd) == path)
    };
    let paths = call.paths.iter().filter(|path| {
        !names_path(&question.title, path) && !is_told(path) && !has_diff_of(outputs, path)
    });
    lines.extend(paths.flat_map(|path| indented(path)));
    if call.n_paths_left_out > 0 {
        lines.extend(indented(&format!("… {} more places", call.n_paths_left_out)));
    }
    lines
}

/// Whether an agent's text only repeats the input, as some do.
fn says_the_same(text: &str, call: &CardText) -> bool {
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let said = dense(text);
    let command = call.command.as_deref().map(dense).unwrap_or_default();
    said.is_empty() || command.contains(&said) || dense(&call.input).contains(&said)
}

/// The options or the field of a form, and a hint at the keys.
fn answers(
    question: &ChatQuestion,
    state: &ChatState,
    canvas: Canvas,
) -> (Vec<Line<'static>>, Option<Line<'static>>) {
    let hint = |text: &str| Some(canvas.line(text, canvas.dim()));
    match &question.answer_kind {
        AnswerKind::Choice(choices) => {
            let lines = choices.iter().enumerate();
            let lines = lines.flat_map(|(index, choice)| option(index, choice, state, canvas));
            let how = match state.is_answering {
                true => "  a number or letter answers · ↑↓ Enter chooses · Esc stops the turn",
                false => "  Tab to answer",
            };
            (lines.collect(), hint(how))
        }
        AnswerKind::Form { url: Some(url), .. } => {
            let plain = Margin::default();
            let mut lines = canvas.words(url, canvas.link(), &plain);
            let margin = Margin::new("  ", "  ", canvas.dim());
            lines.extend(canvas.words("1 done · 2 no", canvas.dim(), &margin));
            (lines, hint("  Esc stops the turn"))
        }
        AnswerKind::Form { .. } => field(state, canvas),
    }
}

/// An option in all its words. What a name says is the agent's word; what it does is not.
fn option(
    index: usize,
    choice: &QuestionChoice,
    state: &ChatState,
    canvas: Canvas,
) -> Vec<Line<'static>> {
    /// Below this, every column is wanted.
    const INDENTED_FROM: usize = 30;
    let (mark, style) = mark(index, state, canvas);
    let (letter, does) = effect_of(choice, is_plain_yes(index, state));
    let text = format!("{}. {}{letter}{does}", index + 1, name_of(choice));
    let rest = if canvas.columns < INDENTED_FROM { "  " } else { "     " };
    canvas.words(text, style, &Margin::new(mark, rest, style))
}

/// An option on one line, if enough of its name is left there.
fn short_option(
    index: usize,
    choice: &QuestionChoice,
    state: &ChatState,
    canvas: Canvas,
) -> Option<Line<'static>> {
    let (mark, style) = mark(index, state, canvas);
    let (letter, does) = effect_of(choice, is_plain_yes(index, state));
    let name = name_of(choice);
    let begin = format!("{mark}{}. ", index + 1);
    let room = canvas.columns.checked_sub(width(&begin) + width(letter) + width(&does))?;
    let is_told = width(name) <= room || room >= MIN_NAME_COLUMNS;
    is_told.then(|| Line::styled(format!("{begin}{}{letter}{does}", cut(name, room)), style))
}

fn mark(index: usize, state: &ChatState, canvas: Canvas) -> (&'static str, Style) {
    match state.is_answering && Some(index) == state.marked {
        true => ("▸ ", canvas.selected()),
        false => ("  ", Style::new()),
    }
}

fn is_plain_yes(index: usize, state: &ChatState) -> bool {
    state.question().and_then(ChatQuestion::plain_yes) == Some(index)
}

fn name_of(choice: &QuestionChoice) -> &str {
    if choice.name.is_empty() { "(no name)" } else { &choice.name }
}

/// The letter that chooses it, and what it does where its name does not say that.
fn effect_of(choice: &QuestionChoice, is_plain_yes: bool) -> (&'static str, String) {
    let letter = match choice.kind.as_str() {
        "allow_once" if is_plain_yes => " (y)",
        "allow_always" => " (a)",
        "reject_once" => " (n)",
        _ => "",
    };
    let does = choice.unsaid_effect().map(|effect| format!(" · {effect}"));
    (letter, does.unwrap_or_default())
}

fn field(state: &ChatState, canvas: Canvas) -> (Vec<Line<'static>>, Option<Line<'static>>) {
    let Some((form, field)) = state.form.as_ref().and_then(|form| Some((form, form.field()?)))
    else {
        return (Vec::new(), Some(canvas.line("  Tab to answer", canvas.dim())));
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
    let margin = Margin::new("  ", "  ", Style::new());
    let lines = canvas.words(text, canvas.strong(), &margin);
    let skip = if field.is_required { "" } else { " · Enter alone leaves it out" };
    let hint = format!("  type and press Enter{skip} · Esc cancels the form");
    (lines, Some(canvas.line(&hint, canvas.dim())))
}
