//! Tool calls, which come as parts of a message and mostly when they have ended.

use std::collections::HashMap;

use serde_json::Value;

use super::super::Said;
use super::super::calling::{Calling, Outcome};
use crate::tools;
use crate::update::{Block, Update};

#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The id under which a part's call was told: some models number their calls anew in
    /// every step, so a call's own id may have been used.
    ids: HashMap<String, String>,
}

impl Parts {
    pub(super) fn tool(&mut self, part: &Value, calls: &mut Calling, out: &mut Vec<Said>) {
        let name = part["tool"].as_str().unwrap_or("tool");
        let state = &part["state"];
        let status = state["status"].as_str().unwrap_or_default();
        if name == "todowrite" && status != "error" {
            let todos = match &state["input"]["todos"] {
                Value::Null => &state["metadata"]["todos"],
                todos => todos,
            };
            if let Some(entries) = tools::plan_of(todos) {
                out.push(Said::Update(Update::Plan { entries }));
                return;
            }
        }
        let id = self.id(part, calls);
        if !calls.is_known(&id) {
            calls.start(&id, name, &input_of(state), out);
        }
        match status {
            "completed" | "error" | "failed" => calls.end(&id, outcome_of(state), out),
            _ => {
                if let Some(output) = state["metadata"]["output"].as_str() {
                    calls.output(&id, output, out);
                }
            }
        }
    }

    fn id(&mut self, part: &Value, calls: &Calling) -> String {
        let part_id = part["id"].as_str().unwrap_or_default();
        let call_id = part["callID"].as_str().unwrap_or(part_id);
        if part_id.is_empty() {
            return call_id.to_owned();
        }
        let id = self.ids.entry(part_id.to_owned()).or_insert_with(|| {
            if calls.is_known(call_id) { part_id.to_owned() } else { call_id.to_owned() }
        });
        id.clone()
    }
}

/// The input, with the path made absolute where the CLI tells it.
fn input_of(state: &Value) -> Value {
    let mut input = state["input"].clone();
    let path = state["metadata"]["filepath"].as_str();
    if let (Some(path), Some(given)) = (path, input.get_mut("filePath")) {
        *given = Value::from(path);
    }
    input
}

fn outcome_of(state: &Value) -> Outcome {
    let text = state["output"].as_str().or(state["error"].as_str());
    let exit = state["metadata"]["exit"].as_i64();
    Outcome {
        text: text.unwrap_or_default().to_owned(),
        images: images_of(&state["attachments"]),
        raw: text.map(Value::from),
        is_failure: state["status"] != "completed" || exit.is_some_and(|code| code != 0),
    }
}

/// Images are attached as `data:` URLs.
fn images_of(attachments: &Value) -> Vec<Block> {
    let attachments = attachments.as_array().map(Vec::as_slice).unwrap_or_default();
    let images = attachments.iter().filter_map(|file| {
        let mime_type = file["mime"].as_str().filter(|mime| mime.starts_with("image/"))?;
        let (_, data) = file["url"].as_str()?.split_once(";base64,")?;
        Some(Block::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
    });
    images.collect()
}
