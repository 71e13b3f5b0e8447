//! What Switchyard itself has to say: starts, ends, errors, and the agent's process.
//!
//! In: events of our own and the agent's smaller updates. Out: a line or two each. What a
//! person rarely needs is told only when `verbose`; what went wrong is told always, with a
//! `hint:` line when there is something to do about it.

use wire::event::{
    AgentQuiet, AgentStderr, CancelRequested, CancelRung, LogRecovered, OptionSet, Outcome,
    PromptDropped, ResumeProof, ResumeWay, SessionCreated, SessionResumed, StopReason,
    WorkerExited,
};
use wire::{Fault, Own};

use super::{Text, page, whole_line};
use crate::conversation::Conversation;
use crate::json::{Node, Object};
use crate::sanitize::sanitize;
use crate::turn::{TurnEnd, Why};

/// Lines of stderr that are shown when an agent's process ends.
const STDERR_LINES: usize = 5;

impl Text {
    pub(super) fn resumed(&mut self, resumed: &SessionResumed, out: &mut String) {
        let told = match (resumed.how, resumed.verified) {
            (ResumeWay::Reseed, _) => "the agent was told the conversation again",
            (ResumeWay::New, _) => "the agent starts without memory of this session",
            (_, ResumeProof::Unchecked | ResumeProof::Unknown) => {
                "the agent took the session up again, but could not prove that it remembers"
            }
            _ if self.style.verbose || !resumed.changed.is_empty() => {
                "the agent took the session up again"
            }
            _ => return,
        };
        let mut details = resumed.changed.iter().chain(&resumed.tried).peekable();
        let is_more = details.peek().is_some();
        let details = details.map(String::as_str).collect::<Vec<_>>().join("; ");
        let colon = if is_more { ": " } else { "" };
        self.note(&format!("{told}{colon}{details}"), out);
    }

    pub(super) fn turn_ended(&mut self, end: &TurnEnd, out: &mut String) {
        match (end.outcome, &end.why) {
            // Told in other words, or not at all.
            (_, Why::Dropped(_) | Why::Lost) => {}
            (Outcome::Cancelled, _) => self.page.line(page::ASKING, "cancelled", out),
            (Outcome::Failed, _) if !self.is_failure_told => {
                self.page.line(page::BAD, "error: the turn failed", out);
            }
            (Outcome::Failed, _) | (_, Why::Stopped(StopReason::EndTurn)) => {}
            (_, Why::Stopped(StopReason::MaxTokens)) => {
                self.stopped("the model's token limit was reached", out);
            }
            (_, Why::Stopped(StopReason::MaxTurnRequests)) => {
                self.stopped("the agent's limit of requests in one turn was reached", out);
            }
            (_, Why::Stopped(StopReason::Refusal)) => {
                self.stopped("the agent refused to go on", out);
            }
            (_, Why::Stopped(other)) => self.stopped(other.as_str(), out),
        }
        self.usage(end, out);
        self.page.end_part(out);
        self.calls.clear();
        self.is_failure_told = false;
    }

    pub(super) fn error(&mut self, fault: &Fault, out: &mut String) {
        let mut lines = fault.message.trim().lines();
        let first = whole_line(lines.next().unwrap_or_default());
        self.page.line(page::BAD, &format!("error: {first}"), out);
        for line in lines.take(STDERR_LINES) {
            let line = format!("  {}", whole_line(line));
            self.page.line(page::BAD, &line, out);
        }
        self.hint(fault, out);
    }

    /// What can be done about an error that has been told.
    pub(super) fn hint(&mut self, fault: &Fault, out: &mut String) {
        if let Some(remedy) = &fault.remedy {
            let hint = format!("hint: {}", whole_line(remedy));
            self.page.line(page::PLAIN, &hint, out);
        }
        self.is_failure_told = true;
    }

    pub(super) fn cancel_requested(&mut self, requested: &CancelRequested, out: &mut String) {
        let by = match requested.by.as_str() {
            "" => String::new(),
            by => format!(" by {}", whole_line(by)),
        };
        self.page.line(page::DIM, &format!("cancel requested{by}"), out);
    }

    pub(super) fn cancel_step(&mut self, step: CancelRung, out: &mut String) {
        let told = match step {
            CancelRung::Terminate => "the agent did not stop when asked; ending it",
            CancelRung::Kill => "the agent did not end; killing it",
            _ if !self.style.verbose => return,
            CancelRung::Notified => "cancel: the agent was asked to stop",
            CancelRung::PermissionsCancelled => "cancel: open questions were withdrawn",
            CancelRung::Eof => "cancel: the agent's input was closed",
            CancelRung::Unknown => return,
        };
        self.note(told, out);
    }

    pub(super) fn worker_exited(
        &mut self,
        exited: &WorkerExited,
        now: &Conversation,
        out: &mut String,
    ) {
        let is_clean = exited.signal.is_none() && exited.code.is_none_or(|code| code == 0);
        // What we ended ourselves after its last turn is no news.
        let is_expected = is_clean || exited.stopped;
        if is_expected && now.turn().is_none() && !self.style.verbose {
            return;
        }
        let how = match (exited.signal, exited.code) {
            (Some(signal), _) => format!("was ended by signal {signal}"),
            (None, Some(code)) => format!("exited with code {code}"),
            (None, None) => "exited".to_owned(),
        };
        let line = format!("the agent's process {how}");
        self.page.line(if is_clean { page::DIM } else { page::BAD }, &line, out);
        let stderr = sanitize(exited.stderr.trim_end());
        let n_lines = stderr.lines().count();
        for line in stderr.lines().skip(n_lines.saturating_sub(STDERR_LINES)) {
            let line = format!("  {}", whole_line(line));
            self.page.line(page::DIM, &line, out);
        }
    }

    pub(super) fn quiet(&mut self, quiet: &AgentQuiet, out: &mut String) {
        let waiting = quiet.waiting_for.as_ref().map_or_else(String::new, |w| format!(" ({w})"));
        let told = format!("no sign of progress for {}{waiting}", duration(quiet.quiet_ms));
        self.note(&told, out);
    }

    pub(super) fn prompt_dropped(&mut self, dropped: PromptDropped, out: &mut String) {
        self.note(&format!("a waiting prompt was dropped: {}", dropped.reason.as_str()), out);
    }

    pub(super) fn log_recovered(&mut self, lost: &LogRecovered, out: &mut String) {
        let LogRecovered { lost_from, lost_to } = lost;
        let lost = format!("events {lost_from} to {lost_to} are missing");
        let line = format!("warning: part of this session's log was lost: {lost}");
        self.page.line(page::ASKING, &line, out);
    }

    /// Updates of the agent that are neither talk nor tools.
    pub(super) fn other_update(&mut self, name: &str, update: &Object<'_>, out: &mut String) {
        if name == "notice" {
            let (title, description) = (update.words("title"), update.words("description"));
            // A title that only begins what the description says is said with it.
            let is_said = |title: &str| {
                let beginning = title.trim_end_matches('…');
                description.as_deref().is_some_and(|text| text.starts_with(beginning))
            };
            let title = title.filter(|title| !is_said(title));
            let text = [title, description].into_iter().flatten().collect::<Vec<_>>().join(": ");
            self.note(&text, out);
            return;
        }
        if name == "compaction_update" {
            match update.text("status").as_deref() {
                Some("completed") => self.note("what was said so far is now a summary", out),
                Some("failed") => self.note("what was said so far could not be summarised", out),
                _ => {}
            }
            return;
        }
        if !self.style.verbose {
            return;
        }
        match name {
            "session_info_update" => {
                if let Some(title) = update.words("title") {
                    self.note(&format!("title: {title}"), out);
                }
            }
            "current_mode_update" => {
                let mode = update.words("currentModeId").unwrap_or_default();
                self.note(&format!("mode: {mode}"), out);
            }
            // Long lists of what could be done; of no use in a transcript.
            "available_commands_update" | "config_option_update" => {}
            // Told with the end of the turn.
            "usage_update" => {}
            name => self.note(&format!("update: {name}"), out),
        }
    }

    /// Our own events that only `verbose` tells.
    pub(super) fn verbose_event(&mut self, own: &Own<'_>, out: &mut String) {
        if !self.style.verbose {
            return;
        }
        let told = match own {
            Own::SessionCreated(SessionCreated { agent, cwd, .. }) => {
                format!("session with {agent} in {cwd}")
            }
            Own::AgentStderr(AgentStderr { text }) => format!("stderr: {text}"),
            Own::AgentNotification(told) => format!("notification: {}", told.method),
            Own::WorkerStarted(started) => format!("the agent's process is {}", started.pid),
            Own::OptionSet(set) => option_words(set),
            Own::SessionClosed(_) => "the session was closed".to_owned(),
            _ => return,
        };
        self.note(&told, out);
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
        self.page.line(page::DIM, &parts.join(" · "), out);
    }

    fn stopped(&mut self, why: &str, out: &mut String) {
        let line = whole_line(&format!("stopped: {why}"));
        self.page.line(page::ASKING, &line, out);
    }

    fn note(&mut self, text: &str, out: &mut String) {
        let line = whole_line(text);
        if !line.trim().is_empty() {
            self.page.line(page::DIM, &line, out);
        }
    }
}

/// `mode: plan`, `model: large`, `option: effort high`.
fn option_words(set: &OptionSet<'_>) -> String {
    let params = Node::of(set.params).object();
    let word = |key| params.label(key).unwrap_or_default();
    match set.method.as_str() {
        "session/set_mode" => format!("mode: {}", word("modeId")),
        "session/set_model" => format!("model: {}", word("modelId")),
        "_switchyard/set_limits" => {
            let limits = params.get("limits").map_or("none", Node::raw);
            format!("limits: {limits}")
        }
        _ => format!("option: {} {}", word("configId"), word("value")),
    }
}

/// `850 ms`, `3.7 s`, `2 min 5 s`.
fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}
