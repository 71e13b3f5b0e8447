//! The state of a turn: whether it runs, its usage, and its end.

use serde_json::Value;
use wire::{Category, Fault};

use super::super::{
    CliExit, StopReason, TokenUsage, TurnEnd, TurnOutcome, json, stderr, token_counts,
};
use crate::update::Cost;

#[derive(Debug, Default)]
pub(super) struct PiTurn {
    is_running: bool,
    /// Whether we send prompts, so only they begin a turn. Without any (a recording), runs do.
    is_live: bool,
    prompt: Option<String>,
    /// Whether the prompt is a slash command, which an extension may handle without a run.
    is_command: bool,
    is_agent_running: bool,
    /// The id of the command that interrupts the turn.
    pub(super) abort: Option<String>,
    /// The id of the `get_state` that asks whether anything still runs.
    pub(super) state_request: Option<String>,
    pub(super) last: Option<TurnOutcome>,
    usage: Option<TokenUsage>,
    cost: f64,
}

/// The next step after an event or a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PiNextStep {
    Nothing,
    /// pi's state is to be requested.
    Ask,
    End,
    Unknown,
}

impl PiTurn {
    pub(super) fn prompted(&mut self, id: String, text: &str) {
        *self = Self {
            is_running: true,
            is_live: true,
            prompt: Some(id),
            is_command: text.trim_start().starts_with('/'),
            cost: self.cost,
            ..Self::default()
        };
    }

    /// Begins a turn at an event that only a turn has, if none runs and this is a recording.
    pub(super) fn note_activity(&mut self) {
        if !self.is_live && !self.is_running {
            *self = Self { is_running: true, cost: self.cost, ..Self::default() };
        }
    }

    pub(super) fn agent_starts(&mut self) {
        self.note_activity();
        self.is_agent_running = true;
        self.state_request = None;
    }

    pub(super) fn agent_ends(&mut self, event: &Value) -> PiNextStep {
        self.is_agent_running = false;
        // Versions that know whether they will retry also say when they have settled.
        if !event["willRetry"].is_null() || !self.is_running {
            return PiNextStep::Nothing;
        }
        match (&self.last, self.is_live) {
            (Some(TurnOutcome::Failed(_)), true) => PiNextStep::Ask,
            (Some(TurnOutcome::Failed(_)), false) => PiNextStep::Nothing,
            _ => PiNextStep::End,
        }
    }

    /// A run is over, and its `agent_end` could not be read.
    pub(super) fn agent_ends_unread(&mut self) -> PiNextStep {
        self.is_agent_running = false;
        match (self.is_running, self.is_live) {
            (false, _) => PiNextStep::Nothing,
            (true, true) => PiNextStep::Ask,
            (true, false) => PiNextStep::End,
        }
    }

    /// The run is tried again, so its ending does not count.
    pub(super) fn retries(&mut self) {
        self.last = None;
        self.state_request = None;
    }

    pub(super) fn retried(&mut self, event: &Value) {
        if event["success"] == false && self.last.is_none() {
            let error = event["finalError"].as_str().unwrap_or("all retries failed");
            self.last = Some(TurnOutcome::Failed(failure_of(error)));
        }
    }

    /// An answer is complete.
    pub(super) fn message(&mut self, message: &Value) {
        let error = message["errorMessage"].as_str();
        self.last = Some(match message["stopReason"].as_str().unwrap_or_default() {
            "length" => TurnOutcome::Stopped(StopReason::MaxTokens),
            "aborted" => TurnOutcome::Stopped(StopReason::Cancelled),
            "error" => {
                TurnOutcome::Failed(failure_of(error.unwrap_or("the model's answer failed")))
            }
            _ => TurnOutcome::Stopped(StopReason::EndTurn),
        });
        self.add(&message["usage"]);
    }

    fn add(&mut self, usage: &Value) {
        self.cost += usage["cost"]["total"].as_f64().unwrap_or_default();
        let count = |name: &str| usage[name].as_u64().unwrap_or_default();
        let (input, output) = (count("input"), count("output"));
        let (read, write) = (count("cacheRead"), count("cacheWrite"));
        let thoughts = count("reasoning");
        let total = usage["totalTokens"]
            .as_u64()
            .unwrap_or(token_counts::sum(&[input, output, read, write]));
        if total == 0 {
            return;
        }
        self.usage.get_or_insert_default().add(&TokenUsage {
            total_tokens: total,
            input_tokens: input,
            // Thoughts are part of pi's output.
            output_tokens: output.saturating_sub(thoughts),
            thought_tokens: Some(thoughts),
            cached_read_tokens: Some(read),
            cached_write_tokens: Some(write),
        });
    }

    /// The cost since the process started.
    pub(super) fn cost(&self) -> Option<Cost> {
        (self.cost > 0.0 && self.cost.is_finite()).then(|| Cost::usd(self.cost))
    }

    pub(super) fn response(&mut self, id: &str, event: &Value) -> PiNextStep {
        let is_good = event["success"] == true;
        if self.prompt.as_deref() == Some(id) {
            if !is_good {
                let error = event["error"].as_str().unwrap_or("pi refused the prompt");
                self.last = Some(TurnOutcome::Failed(Fault::from_words(error)));
                return PiNextStep::End;
            }
            let is_silent = self.is_command && !self.is_agent_running && self.last.is_none();
            return if is_silent { PiNextStep::Ask } else { PiNextStep::Nothing };
        }
        if self.abort.as_deref() == Some(id) {
            // Nothing was running, or it ended without an event.
            return if self.is_agent_running || !is_good {
                PiNextStep::Nothing
            } else {
                PiNextStep::End
            };
        }
        if self.state_request.as_deref() == Some(id) {
            self.state_request = None;
            let data = &event["data"];
            let is_busy = [&data["isStreaming"], &data["isCompacting"]].iter().any(|b| **b == true);
            let is_idle = !is_busy && !self.is_agent_running;
            return if is_idle { PiNextStep::End } else { PiNextStep::Nothing };
        }
        // A response to a command that is not ours.
        if is_good { PiNextStep::Nothing } else { PiNextStep::Unknown }
    }

    /// Ends a turn that runs.
    pub(super) fn end(&mut self) -> Option<TurnEnd> {
        if !std::mem::take(&mut self.is_running) {
            return None;
        }
        let last = self.last.take();
        let ending = match last {
            // What fails after an interrupt fails because of it.
            Some(TurnOutcome::Failed(_)) | None if self.abort.is_some() => {
                TurnOutcome::Stopped(StopReason::Cancelled)
            }
            Some(ending) => ending,
            None => TurnOutcome::Stopped(StopReason::EndTurn),
        };
        (self.prompt, self.abort, self.state_request) = (None, None, None);
        Some(TurnEnd { ending, usage: self.usage.take() })
    }

    /// The process is gone.
    pub(super) fn exit(&mut self, exit: &CliExit) -> Option<TurnEnd> {
        let is_done = !self.is_agent_running;
        match &self.last {
            _ if exit.is_stopped_by_us => {
                self.last = Some(TurnOutcome::Stopped(StopReason::Cancelled));
            }
            Some(TurnOutcome::Failed(_)) => {}
            Some(_) if is_done => {}
            _ => self.last = Some(TurnOutcome::Failed(stderr::failure(exit))),
        }
        self.end()
    }
}

/// The failure in an error such as `429: {"message":"…"}`, or in a plain sentence.
pub(super) fn failure_of(error: &str) -> Fault {
    let json = error.split_once(": ").map_or(error, |(_, json)| json);
    let json = json::parse_or_null(json);
    let texts = [&json["message"], &json["error"]["message"]];
    let text = texts.iter().find_map(|text| text.as_str()).unwrap_or(error);
    // Node's message for a stream that was dropped.
    if text == "terminated" {
        let message = "the connection to the model was lost (terminated)";
        return Fault::new(Category::UpstreamUnavailable, message);
    }
    Fault::new(Category::classify(None, error), text)
}
