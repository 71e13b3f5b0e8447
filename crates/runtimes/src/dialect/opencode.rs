//! `opencode run --format json`, which Kilo and `MiMo` have too.
//!
//! One process, one turn. A model request is a step: `step_start`, whole parts (`text`,
//! `reasoning`, `tool_use` when it has ended), `step_finish` with tokens. Nothing says that
//! the turn is over: a step may be followed by another one, text may come after an `error`,
//! so it ends when the process does. An error in the stream counts unless a later step ended
//! well and the process says so too.

mod parts;
mod steps;

use serde_json::Value;
use wire::{Category, Fault};

use super::one_turn::OneTurn;
use super::{Dialect, Ending, Exit, Said, StopReason, json, stderr};
use parts::Parts;
use steps::Steps;
use wire::text::last_screen;

#[derive(Debug, Default)]
pub(super) struct Opencode {
    turn: OneTurn,
    parts: Parts,
    steps: Steps,
    failure: Option<Fault>,
}

impl Dialect for Opencode {
    fn line(&mut self, line: &str, out: &mut Vec<Said>) {
        let event = json::parse_or_null(line);
        let kind = event["type"].as_str().unwrap_or_default();
        let part = &event["part"];
        // Sub-agents have sessions of their own; the first one named is the conversation.
        if let Some(id) = event["sessionID"].as_str()
            && !self.turn.has_session()
        {
            self.turn.session(id, out);
        }
        match kind {
            "step_start" => self.steps.start(part, out),
            "step_finish" => self.steps.finish(part),
            "text" | "reasoning" => self.steps.part(kind, part, out),
            "tool_use" => self.parts.tool(part, &mut self.turn.calls, out),
            "error" => self.failure = Some(failure_of(&event["error"])),
            _ => out.push(Said::Raw(line.to_owned())),
        }
    }

    fn skipped(&mut self, head: &Value, failure: Fault, _out: &mut Vec<Said>) {
        match head["type"].as_str() {
            Some("step_finish") if head["part"]["reason"].is_string() => {
                self.steps.finish(&head["part"]);
            }
            // Told at the end, unless a later step ended well.
            Some("text" | "step_finish") | None => self.failure = Some(failure),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &Exit, out: &mut Vec<Said>) {
        let usage = self.steps.usage();
        match self.ending(exit) {
            // A process that lingers after its answer may be ended; the answer is complete.
            Ending::Stopped(reason) if self.steps.is_complete() => {
                self.turn.stop(reason, usage, out);
            }
            ending => self.turn.exit(exit, usage, ending, out),
        }
    }
}

impl Opencode {
    fn ending(&mut self, exit: &Exit) -> Ending {
        let reason = self.steps.reason().unwrap_or_default();
        let is_complete = self.steps.is_complete();
        if let Some(failure) = self.failure.take()
            && !(is_complete && exit.code == Some(0))
        {
            return Ending::Failed(failure);
        }
        if let Some(failure) = rejected(exit)
            && !is_complete
        {
            return Ending::Failed(failure);
        }
        match reason {
            "length" => Ending::Stopped(StopReason::MaxTokens),
            "content-filter" => Ending::Stopped(StopReason::Refusal),
            // A tool may end the turn, such as one that hands in the result.
            "tool-calls" if exit.code == Some(0) => Ending::Stopped(StopReason::EndTurn),
            "" | "tool-calls" => Ending::Failed(stderr::failure(exit)),
            _ => Ending::Stopped(StopReason::EndTurn),
        }
    }
}

/// Without a user to ask, permission is denied on stderr and the run stops with code 0.
fn rejected(exit: &Exit) -> Option<Fault> {
    let text = last_screen(&exit.stderr);
    let line = text.lines().find(|line| line.contains("auto-rejecting"))?;
    let message = line.trim_start_matches(['!', ' ']).trim();
    let remedy = "allow this tool in the CLI's permission settings, or use permission mode `auto`";
    Some(Fault::new(Category::Rejected, message).remedy(remedy))
}

fn failure_of(error: &Value) -> Fault {
    let data = &error["data"];
    let name = error["name"].as_str().unwrap_or_default();
    let message = data["message"].as_str().or(error["message"].as_str());
    let message = message.or(error.as_str()).unwrap_or(name);
    let status = data["statusCode"].as_u64();
    let category = match name {
        "ContextOverflowError" => Category::PromptTooLarge,
        "ProviderAuthError" => Category::Auth,
        "ProviderModelNotFoundError" => Category::ModelUnavailable,
        _ => Category::classify(status, message),
    };
    // The CLI's own server failed, not the provider's; an unknown model is told like this.
    if name == "UnknownError" && category == Category::UpstreamUnavailable {
        return Fault::new(Category::Internal, message)
            .remedy("check that the model exists: the CLI's `models` command lists them");
    }
    Fault::new(category, message)
}

#[cfg(test)]
mod tests;
