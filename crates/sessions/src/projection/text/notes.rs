//! What Switchyard itself has to say: starts, ends, errors, and the agent's process.
//!
//! In: events of our own and the agent's smaller updates. Out: a line or two each. What a
//! person rarely needs is told only when `verbose`; what went wrong is told always, with a
//! `hint:` line when there is something to do about it.

use std::borrow::Cow;

use wire::{Event, Kind};

use super::questions::by_whom;
use super::{TextRenderer, page, whole_line};
use crate::projection::json::{Node, Object};
use crate::projection::sanitize::sanitize;
use crate::projection::view::{Fault, Outcome, TurnEnd, is_said};

/// Lines of stderr that are shown when an agent's process ends.
const STDERR_LINES: usize = 5;

impl TextRenderer {
    pub(super) fn created(&mut self, payload: &Object<'_>, out: &mut String) {
        self.cwd = payload.words("cwd").map(Cow::into_owned);
        if self.style.verbose {
            let agent = payload.words("agent").unwrap_or(Cow::Borrowed("an agent"));
            let cwd = payload.words("cwd").unwrap_or_default();
            self.note(&format!("session with {agent} in {cwd}"), out);
        }
    }

    pub(super) fn resumed(&mut self, payload: &Object<'_>, out: &mut String) {
        let told = match payload.text("how").as_deref() {
            Some("reseed") => Some("the agent was told the conversation again"),
            Some("fresh") => Some("the agent starts without memory of this session"),
            _ if payload.get("verified").and_then(Node::flag) == Some(false) => {
                Some("the agent took the session up again, but could not prove that it remembers")
            }
            Some(_) if self.style.verbose => Some("the agent took the session up again"),
            _ => None,
        };
        if let Some(told) = told {
            let detail = payload.words("detail").map_or_else(String::new, |d| format!(": {d}"));
            self.note(&format!("{told}{detail}"), out);
        }
    }

    pub(super) fn turn_ended(&mut self, event: &Event, out: &mut String) {
        let end = TurnEnd::of(event);
        self.announce_all(out);
        if let Some(fault) = &end.fault {
            let is_said = is_said(&self.last_words, &fault.message);
            match is_said && !self.errors_told.contains(&fault.message) {
                true => self.hint(fault, out),
                false => self.error(fault, out),
            }
        }
        let reason = end.stop_reason.as_deref();
        match (end.outcome, reason) {
            (Outcome::Cancelled, _) => self.page.line(page::ASKING, "cancelled", out),
            (Outcome::Failed, _) if self.errors_told.is_empty() => {
                self.page.line(page::BAD, "error: the turn failed", out);
            }
            (Outcome::Failed, _) | (_, None | Some("end_turn")) => {}
            (_, Some("max_tokens")) => self.stopped("the model's token limit was reached", out),
            (_, Some("max_turn_requests")) => {
                self.stopped("the agent's limit of requests in one turn was reached", out);
            }
            (_, Some("refusal")) => self.stopped("the agent refused to go on", out),
            (_, Some(other)) => self.stopped(other, out),
        }
        self.usage(&end, event, out);
        self.page.end_part(out);
        self.tools.end_turn();
        self.turn = None;
        self.turn_started = None;
        self.errors_told.clear();
        self.last_words.clear();
    }

    pub(super) fn error(&mut self, fault: &Fault, out: &mut String) {
        if self.errors_told.contains(&fault.message) {
            return;
        }
        self.announce_all(out);
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
    fn hint(&mut self, fault: &Fault, out: &mut String) {
        if let Some(remedy) = &fault.remedy {
            let hint = format!("hint: {}", whole_line(remedy));
            self.page.line(page::PLAIN, &hint, out);
        }
        self.errors_told.push(fault.message.clone());
    }

    pub(super) fn cancel_requested(&mut self, payload: &Object<'_>, out: &mut String) {
        let line = format!("cancel requested{}", by_whom(payload));
        self.page.line(page::DIM, &line, out);
    }

    pub(super) fn cancel_step(&mut self, payload: &Object<'_>, out: &mut String) {
        match payload.text("step").as_deref() {
            Some("terminate") => self.note("the agent did not stop when asked; ending it", out),
            Some("kill") => self.note("the agent did not end; killing it", out),
            Some(step) if self.style.verbose => self.note(&format!("cancel: {step}"), out),
            _ => {}
        }
    }

    pub(super) fn worker_exited(&mut self, payload: &Object<'_>, out: &mut String) {
        let code = payload.label("code");
        let signal = payload.label("signal");
        let is_clean = signal.is_none() && code.as_deref().is_none_or(|code| code == "0");
        // What we ended ourselves after its last turn is no news.
        let was_stopped = payload.get("stopped").and_then(Node::flag) == Some(true);
        let is_expected = is_clean || was_stopped;
        if is_expected && self.turn_started.is_none() && !self.style.verbose {
            return;
        }
        let how = match (signal, code) {
            (Some(signal), _) => format!("was ended by signal {signal}"),
            (None, Some(code)) => format!("exited with code {code}"),
            (None, None) => "exited".to_owned(),
        };
        let line = whole_line(&format!("the agent's process {how}"));
        self.page.line(if is_clean { page::DIM } else { page::BAD }, &line, out);
        self.stderr_tail(payload, out);
    }

    pub(super) fn quiet(&mut self, payload: &Object<'_>, out: &mut String) {
        self.announce_all(out);
        let Some(quiet) = payload.count("quietMs") else { return };
        let waiting = payload.words("waitingFor").map_or_else(String::new, |w| format!(" ({w})"));
        self.note(&format!("no sign of progress for {}{waiting}", duration(quiet)), out);
    }

    pub(super) fn prompt_dropped(&mut self, payload: &Object<'_>, out: &mut String) {
        let reason = payload.words("reason").map_or_else(String::new, |r| format!(": {r}"));
        self.note(&format!("a waiting prompt was dropped{reason}"), out);
    }

    pub(super) fn log_recovered(&mut self, payload: &Object<'_>, out: &mut String) {
        let range = match (payload.count("lostFrom"), payload.count("lostTo")) {
            (Some(from), Some(to)) => format!(": events {from} to {to} are missing"),
            _ => String::new(),
        };
        let line = format!("warning: part of this session's log was lost{range}");
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
            name => self.note(&format!("update: {name}"), out),
        }
    }

    /// Our own events that only `verbose` tells.
    pub(super) fn verbose_event(&mut self, kind: &Kind, payload: &Object<'_>, out: &mut String) {
        if !self.style.verbose {
            return;
        }
        match kind {
            Kind::AgentStderr => {
                let text = payload.text("text").unwrap_or_default();
                self.note(&format!("stderr: {text}"), out);
            }
            Kind::AgentNotification => {
                let method = payload.words("method").unwrap_or_default();
                self.note(&format!("notification: {method}"), out);
            }
            Kind::WorkerStarted => {
                let pid = payload.label("pid").unwrap_or_default();
                self.note(&format!("the agent's process is {pid}"), out);
            }
            Kind::OptionSet => {
                let params = payload.object("params");
                let payload = if params.is_empty() { payload } else { &params };
                let name = ["configId", "mode", "model"].iter().find_map(|key| payload.words(key));
                let value = payload.label("value").unwrap_or_default();
                self.note(&format!("option: {} {value}", name.unwrap_or_default()), out);
            }
            Kind::SessionClosed => self.note("the session was closed", out),
            _ => {}
        }
    }

    fn usage(&mut self, end: &TurnEnd, event: &Event, out: &mut String) {
        // A cancelled turn often comes with nothing but zeros.
        let Some(usage) = end.usage.as_ref().filter(|usage| !usage.is_zero()) else { return };
        let mut parts = Vec::new();
        let least = if end.is_usage_partial { "at least " } else { "" };
        if let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) {
            parts.push(format!("{least}{input} tokens in, {output} out"));
        } else if let Some(total) = usage.total_tokens {
            parts.push(format!("{least}{total} tokens"));
        }
        // Whoever reads from the middle of a log has not seen what the turns before had cost.
        let cost = end.cost_usd.or_else(|| self.context.turn_cost_usd());
        if let Some(cost) = cost.filter(|cost| *cost > 0.0) {
            parts.push(format!("${cost:.4}"));
        }
        let took = self.turn_started.map(|start| event.at.0.saturating_sub(start.0));
        if let Some(took) = took.and_then(|ms| u64::try_from(ms).ok()) {
            parts.push(duration(took));
        }
        self.page.line(page::DIM, &parts.join(" · "), out);
    }

    fn stderr_tail(&mut self, payload: &Object<'_>, out: &mut String) {
        let listed = payload.items("stderr").into_iter().filter_map(Node::text);
        let listed = listed.collect::<Vec<_>>().join("\n");
        let text = payload.text("stderr").unwrap_or(Cow::Owned(listed));
        let text = sanitize(text.trim_end());
        let n_lines = text.lines().count();
        for line in text.lines().skip(n_lines.saturating_sub(STDERR_LINES)) {
            let line = format!("  {}", whole_line(line));
            self.page.line(page::DIM, &line, out);
        }
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

/// `850 ms`, `3.7 s`, `2 min 5 s`.
fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}
