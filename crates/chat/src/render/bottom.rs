//! The rows between the conversation and the end of the screen.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Canvas;
use super::question::QuestionPanel;
use crate::effect::ConnectionState;
use crate::picker::AgentOption;
use crate::state::ChatState;
use crate::wrap::{cut, displayable, width};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Waiting prompts that are shown.
const MAX_WAITING: usize = 3;
/// Offers that are shown at once.
const MAX_OFFERS: usize = 8;

/// Waiting prompts, the question, and completions.
pub(super) fn panel(
    state: &ChatState,
    asked: Option<QuestionPanel>,
    max_rows: usize,
    canvas: Canvas,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    // The first of those that wait begins its turn at once if none runs.
    let n_begins = usize::from(state.conversation.running.is_none());
    let waiting: Vec<_> = state.conversation.waiting_prompts.iter().skip(n_begins).collect();
    for one in waiting.iter().take(MAX_WAITING) {
        let by = one.by.as_ref().map(|by| format!("{by}: ")).unwrap_or_default();
        let text = format!("⏸ waits: {by}{}", one.text.replace('\n', " "));
        lines.push(canvas.line(&text, canvas.dim()));
    }
    if waiting.len() > MAX_WAITING {
        let text = format!("⏸ and {} more", waiting.len() - MAX_WAITING);
        lines.push(canvas.line(&text, canvas.dim()));
    }
    let least = asked.as_ref().map_or(0, QuestionPanel::least_rows);
    let offers = offers(state, max_rows.saturating_sub(least).min(MAX_OFFERS), canvas);
    if let Some(asked) = asked {
        // Waiting prompts can be seen later; a question has to be seen now.
        let room = max_rows.saturating_sub(offers.len());
        let asked = asked.lines(room);
        lines.truncate(room.saturating_sub(asked.len()));
        lines.extend(asked);
    }
    lines.extend(offers);
    let hidden = lines.len().saturating_sub(max_rows);
    lines.split_off(hidden)
}

fn offers(state: &ChatState, max_rows: usize, canvas: Canvas) -> Vec<Line<'static>> {
    if state.overlay.is_some() {
        return Vec::new();
    }
    let Some((completion, marked)) = state.completion() else { return Vec::new() };
    let start = (marked + 1).saturating_sub(max_rows);
    let offers = completion.offers.iter().enumerate().skip(start).take(max_rows);
    offers
        .map(|(index, offer)| {
            let text = format!(
                "  {:<16} {}",
                displayable(offer.text.trim_end()),
                displayable(&offer.about)
            );
            let style = if index == marked { canvas.selected() } else { canvas.dim() };
            canvas.line(text.trim_end(), style)
        })
        .collect()
}

/// The activity line: what happens now.
pub(super) fn activity(state: &ChatState, is_at_end: bool, canvas: Canvas) -> Line<'static> {
    let frame = usize::try_from(state.now / 100).unwrap_or_default() % FRAMES.len();
    let spinner = FRAMES.get(frame).copied().unwrap_or("·");
    let (text, style) = if let ConnectionState::Lost(why) = &state.link {
        (format!("{spinner} the connection is lost: {why}; trying again"), canvas.bad())
    } else if let ConnectionState::Over(why) = &state.link {
        (format!("✗ {why}"), canvas.bad())
    } else if state.session.is_none() {
        (format!("{spinner} opening …"), canvas.dim())
    } else if let Some((read, head)) = state.backlog() {
        (format!("{spinner} reading event {read} of {head}"), canvas.dim())
    } else if !is_at_end {
        ("▲ earlier; PageDown or Ctrl-End goes to the end".to_owned(), canvas.doubtful())
    } else if state.is_cancelling() {
        (format!("{spinner} cancelling …"), canvas.doubtful())
    } else if state.question().is_some() {
        ("the agent waits for you".to_owned(), canvas.doubtful())
    } else if state.conversation.running.is_some() {
        let since = u64::try_from(state.conversation.running_since).unwrap_or_default();
        let seconds = state.now.saturating_sub(since) / 1000;
        (format!("{spinner} working · {} · Esc stops", lasting(seconds)), canvas.good())
    } else if state.n_sending > 0 || !state.conversation.waiting_prompts.is_empty() {
        (format!("{spinner} sending …"), canvas.dim())
    } else {
        (String::new(), canvas.dim())
    };
    let text = cut(&text, canvas.columns);
    let room = canvas.columns.saturating_sub(width(&text) + 2);
    let between = if text.is_empty() { "" } else { "  " };
    let remark = state.remark().map(|remark| format!("{between}{}", cut(remark, room)));
    Line::from(vec![
        Span::styled(text, style),
        Span::styled(remark.unwrap_or_default(), canvas.doubtful()),
    ])
}

/// The status line: agent and title, model, mode, and usage.
pub(super) fn status(state: &ChatState, canvas: Canvas) -> Line<'static> {
    let mut left = Vec::new();
    if let Some(session) = &state.session {
        left.push(displayable(&session.agent).into_owned());
    }
    left.extend(state.title());
    let mut right: Vec<String> = Vec::new();
    let in_use = |option| state.in_use(option).map(displayable);
    right.extend(in_use(AgentOption::Model).map(Cow::into_owned));
    right.extend(in_use(AgentOption::Effort).map(|effort| format!("{effort} effort")));
    right.extend(in_use(AgentOption::Mode).map(Cow::into_owned));
    let (usage, n_tokens) = (state.conversation.log.usage(), state.conversation.n_tokens);
    if n_tokens > 0 {
        right.push(format!("{} tokens", short(n_tokens)));
    }
    if let (Some(used), Some(size)) = (usage.used, usage.window()) {
        let percent = state.conversation.context_percent().unwrap_or_default();
        right.push(format!("{percent}% of {} context", short(size)));
        // An agent that counts no turns still tells what the model sees.
        if n_tokens == 0 {
            right.push(format!("{} tokens", short(used)));
        }
    }
    if let Some(cost) = usage.cost_usd() {
        right.push(format!("${cost:.2}"));
    }
    let right = cut(&right.join(" · "), canvas.columns);
    let room = canvas.columns.saturating_sub(width(&right) + 1);
    let left = cut(&left.join(" · "), room);
    let gap = canvas.columns.saturating_sub(width(&left) + width(&right));
    Line::from(vec![
        Span::styled(left, canvas.dim()),
        Span::styled(" ".repeat(gap), Style::new()),
        Span::styled(right, canvas.dim()),
    ])
}

fn short(n: u64) -> String {
    let (unit, name) = match n {
        0..1000 => return n.to_string(),
        1000..1_000_000 => (1000, "k"),
        _ => (1_000_000, "M"),
    };
    match n % unit / (unit / 10) {
        0 => format!("{}{name}", n / unit),
        tenths => format!("{}.{tenths}{name}", n / unit),
    }
}

fn lasting(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
