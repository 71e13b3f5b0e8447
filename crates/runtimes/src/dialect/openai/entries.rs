//! Vibe's entries: reasoning, and tool calls that come when they have ended.

use serde_json::Value;

use super::super::Said;
use super::super::calling::Outcome;
use super::{Openai, say};
use crate::update::Update;

impl Openai {
    pub(super) fn reasoning(&mut self, entry: &Value, out: &mut Vec<Said>) {
        let text = entry["text"].as_str().unwrap_or_default().to_owned();
        let text = self.rest_of(entry, text);
        say(Update::thought, text, out);
    }

    pub(super) fn effect(&mut self, entry: &Value, out: &mut Vec<Said>) {
        let id = entry["id"].as_str().unwrap_or_default();
        let (detail, state) = (&entry["detail"], &entry["state"]);
        let name = detail["toolName"].as_str().or(entry["title"].as_str()).unwrap_or("tool");
        // Tools are named with their family: `file_system.bash`.
        let name = name.rsplit('.').next().unwrap_or(name);
        if !self.turn.calls.is_known(id) && !self.plans.contains(id) {
            self.start(id, name, &detail["input"], out);
        }
        let status = state["status"].as_str().unwrap_or_default();
        if self.plans.contains(id) || matches!(status, "" | "pending" | "running" | "in_progress") {
            return;
        }
        let texts = [&state["outputText"], &state["reason"], &state["error"]];
        let text = texts.iter().find_map(|text| text.as_str().filter(|text| !text.is_empty()));
        let outcome = Outcome {
            text: text.unwrap_or_default().to_owned(),
            raw: (!state["output"].is_null()).then(|| state["output"].clone()),
            is_failure: status != "completed" || state["display"]["success"] == false,
            ..Outcome::default()
        };
        self.turn.calls.end(id, outcome, out);
    }
}
