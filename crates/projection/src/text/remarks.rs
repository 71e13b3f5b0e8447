//! Switchyard's own remarks: ends of turns, errors, and the agent's process.
//!
//! In: notices, errors, the ends of turns. Out: a line or two each. What a person rarely needs is
//! printed only when `verbose`; errors are printed always, with a `hint:` line when there is
//! something to do about it.

use wire::Fault;
use wire::event::{StopReason, TurnOutcome};

use super::{TextProjection, output, whole_line};
use crate::notice::{Notice, NoticeLevel, NoticeTone, duration};
use crate::turn::{TurnEnd, TurnEndReason};
use wire::text::sanitize;

/// Lines of stderr that are shown when an agent's process ends.
const STDERR_LINES: usize = 5;

impl TextProjection {
    pub(super) fn turn_ended(&mut self, end: &TurnEnd, out: &mut String) {
        match (end.outcome, &end.reason) {
            // A notice says it, or nothing does.
            (_, TurnEndReason::Dropped(_) | TurnEndReason::Lost) => {}
            (TurnOutcome::Cancelled, _) => self.output.line(output::ASKING, "cancelled", out),
            (TurnOutcome::Failed, _) if !self.is_failure_shown => {
                self.output.line(output::BAD, "error: the turn failed", out);
            }
            (TurnOutcome::Failed, _) | (_, TurnEndReason::Stopped(StopReason::EndTurn)) => {}
            (_, TurnEndReason::Stopped(StopReason::MaxTokens)) => {
                self.stopped("the model's token limit was reached", out);
            }
            (_, TurnEndReason::Stopped(StopReason::MaxTurnRequests)) => {
                self.stopped("the agent's limit of requests in one turn was reached", out);
            }
            (_, TurnEndReason::Stopped(StopReason::Refusal)) => {
                self.stopped("the agent refused to go on", out);
            }
            (_, TurnEndReason::Stopped(other)) => self.stopped(other.as_str(), out),
        }
        self.usage(end, out);
        self.output.end_part(out);
        self.calls.clear();
        self.is_failure_shown = false;
    }

    pub(super) fn error(&mut self, fault: &Fault, out: &mut String) {
        let mut lines = fault.message.trim().lines();
        let first = whole_line(lines.next().unwrap_or_default());
        self.output.line(output::BAD, &format!("error: {first}"), out);
        for line in lines.take(STDERR_LINES) {
            let line = format!("  {}", whole_line(line));
            self.output.line(output::BAD, &line, out);
        }
        self.hint(fault, out);
    }

    /// Prints the remedy of an error that has been printed.
    pub(super) fn hint(&mut self, fault: &Fault, out: &mut String) {
        if let Some(remedy) = &fault.remedy {
            let hint = format!("hint: {}", whole_line(remedy));
            self.output.line(output::PLAIN, &hint, out);
        }
        self.is_failure_shown = true;
    }

    pub(super) fn notice(&mut self, notice: Option<&Notice>, out: &mut String) {
        let Some(Notice { tone, level, text, by, more }) = notice else { return };
        let line = match by {
            Some(by) => whole_line(&format!("{text} by {by}")),
            None => whole_line(text),
        };
        if (*level < NoticeLevel::Prominent && !self.options.verbose) || line.trim().is_empty() {
            return;
        }
        let style = if *tone == NoticeTone::Error { output::BAD } else { output::DIM };
        self.output.line(style, &line, out);
        let more = sanitize(more.as_deref().unwrap_or_default());
        let n_lines = more.lines().count();
        for line in more.lines().skip(n_lines.saturating_sub(STDERR_LINES)) {
            let line = format!("  {}", whole_line(line));
            self.output.line(output::DIM, &line, out);
        }
    }

    fn usage(&mut self, end: &TurnEnd, out: &mut String) {
        // A cancelled turn often comes with nothing but zeros.
        let Some(usage) = end.usage.as_ref().filter(|usage| !usage.is_zero()) else { return };
        let mut parts = Vec::new();
        let least = if end.is_usage_partial { "at least " } else { "" };
        if let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) {
            parts.push(format!("{least}{input} tokens in, {output} out"));
        } else if let Some(total) = usage.total_tokens {
            parts.push(format!("{least}{total} tokens"));
        }
        if let Some(cost) = end.cost_usd.filter(|cost| *cost > 0.0) {
            parts.push(format!("${cost:.4}"));
        }
        if let Some(took) = end.took_ms {
            parts.push(duration(took));
        }
        self.output.line(output::DIM, &parts.join(" · "), out);
    }

    fn stopped(&mut self, why: &str, out: &mut String) {
        let line = whole_line(&format!("stopped: {why}"));
        self.output.line(output::ASKING, &line, out);
    }
}
