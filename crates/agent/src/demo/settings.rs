//! The modes and config options of a session: what can be chosen and what is chosen.
//!
//! In: an id and a value from the client. Out: ACP's `modes` and `configOptions` objects.
//! A chosen value is always one of those offered.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const MODES: [(&str, &str, &str); 2] =
    [("ask", "Ask", "Asks before it does anything"), ("code", "Code", "Goes ahead and does it")];
const MODELS: [(&str, &str); 2] = [("demo-small", "Demo Small"), ("demo-large", "Demo Large")];
const EFFORTS: [(&str, &str); 3] = [("low", "Low"), ("medium", "Medium"), ("high", "High")];

/// The models, modes and efforts that a new session can choose from, as lists of agents show them.
pub fn choices() -> Value {
    let DemoSettings { model, .. } = DemoSettings::default();
    let named = |(id, name): &(&str, &str)| json!({ "id": id, "name": name });
    let modes = MODES
        .iter()
        .map(|(id, name, about)| json!({ "id": id, "name": name, "description": about }));
    json!({
        "models": MODELS.iter().map(named).collect::<Vec<_>>(),
        "defaultModel": model,
        "modes": modes.collect::<Vec<_>>(),
        "efforts": EFFORTS.map(|(id, _)| id),
    })
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DemoSettings {
    mode: String,
    model: String,
    effort: String,
}

impl Default for DemoSettings {
    fn default() -> Self {
        Self { mode: "ask".into(), model: "demo-small".into(), effort: "medium".into() }
    }
}

impl DemoSettings {
    /// Chooses a mode; false if there is no such mode.
    pub(super) fn set_mode(&mut self, mode: &str) -> bool {
        choose(&mut self.mode, MODES.map(|(id, ..)| id), mode)
    }

    /// Chooses a value of an option; false if there is no such option or no such value.
    pub(super) fn set_option(&mut self, option: &str, value: &str) -> bool {
        match option {
            "model" => choose(&mut self.model, MODELS.map(|(id, _)| id), value),
            "effort" => choose(&mut self.effort, EFFORTS.map(|(id, _)| id), value),
            _ => false,
        }
    }

    pub(super) fn modes(&self) -> Value {
        json!({ "currentModeId": self.mode, "availableModes": choices()["modes"] })
    }

    pub(super) fn options(&self) -> Value {
        json!([
            select("model", "Model", "model", &self.model, &MODELS),
            select("effort", "Effort", "thought_level", &self.effort, &EFFORTS),
        ])
    }
}

fn choose<const N: usize>(current: &mut String, offered: [&str; N], value: &str) -> bool {
    let is_known = offered.contains(&value);
    if is_known {
        value.clone_into(current);
    }
    is_known
}

fn select(id: &str, name: &str, category: &str, current: &str, offered: &[(&str, &str)]) -> Value {
    let options: Vec<Value> =
        offered.iter().map(|(value, name)| json!({ "value": value, "name": name })).collect();
    json!({
        "id": id,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": options,
    })
}
