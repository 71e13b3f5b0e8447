//! Control requests and prompts to the CLI over its stdin, and its responses.
//!
//! Always true: each request has an id of its own, and each request of the CLI that we do not
//! know is refused, so that it does not wait for us.

use std::collections::HashMap;

use serde_json::{Value, json};
use wire::{Category, Fault};

use super::super::{
    ComposedPrompt, ConversationInfo, ConversationOptions, DialectOutput, Model, OptionChange,
    Outputs, PermissionMode,
};
use super::StreamJsonFlavour;
use crate::update::{AvailableCommand, AvailableCommandInput, SessionUpdate};

/// The subtype of the request that opens a conversation.
const INITIALIZE: &str = "initialize";

#[derive(Debug, Default)]
pub(super) struct ControlChannel {
    /// Whether we open the conversation. If not, prompts do not go through stdin.
    pub(super) is_open: bool,
    /// Whether the CLI answered a request, so it reads its stdin.
    pub(super) is_listening: bool,
    has_said_opened: bool,
    count: u64,
    /// Subtypes of the requests without a response, by id.
    waiting: HashMap<String, &'static str>,
    model: Option<String>,
    pub(super) flavour: StreamJsonFlavour,
}

impl ControlChannel {
    pub(super) fn open(&mut self, opening: &ConversationOptions, out: &mut Outputs) {
        self.is_open = true;
        self.model.clone_from(&opening.model);
        let mut request = json!({ "subtype": INITIALIZE, "hooks": null });
        if let Some(text) = &opening.system_prompt {
            request["appendSystemPrompt"] = json!(text);
        }
        self.request(INITIALIZE, &request, out);
    }

    pub(super) fn prompt(&mut self, prompt: &ComposedPrompt, out: &mut Outputs) {
        if !self.is_open {
            return;
        }
        let images = prompt.images.iter().map(|image| {
            json!({
                "type": "image",
                "source": { "type": "base64", "media_type": image.mime_type, "data": image.data },
            })
        });
        let text =
            (!prompt.text.is_empty()).then(|| json!({ "type": "text", "text": prompt.text }));
        let content: Vec<Value> = images.chain(text).collect();
        let line = json!({
            "type": "user",
            "message": { "role": "user", "content": content },
            "parent_tool_use_id": null,
        });
        out.write(&line);
    }

    pub(super) fn interrupt(&mut self, out: &mut Outputs) {
        self.request("interrupt", &json!({ "subtype": "interrupt" }), out);
    }

    pub(super) fn set(&mut self, change: &OptionChange, out: &mut Outputs) -> bool {
        if !self.is_listening {
            return false;
        }
        match change {
            OptionChange::Model(model) => {
                let request = json!({ "subtype": "set_model", "model": model });
                self.request("set_model", &request, out);
            }
            OptionChange::Permissions(mode) => {
                let mode = match (mode, self.flavour) {
                    (PermissionMode::AcceptEdits, StreamJsonFlavour::Claude) => "acceptEdits",
                    (PermissionMode::AcceptEdits, StreamJsonFlavour::Qwen) => "auto-edit",
                    // It asks, and our answers differ by mode.
                    _ => "default",
                };
                let request = json!({ "subtype": "set_permission_mode", "mode": mode });
                self.request("set_permission_mode", &request, out);
            }
            // An argument of the command line only.
            OptionChange::Effort(_) => return false,
        }
        true
    }

    /// Whether our `initialize` has no response yet.
    pub(super) fn is_initializing(&self) -> bool {
        self.waiting.values().any(|about| *about == INITIALIZE)
    }

    /// Handles a `control_response`; an error if it refuses the conversation.
    pub(super) fn answered(&mut self, line: &Value, out: &mut Outputs) -> Result<(), Fault> {
        let response = &line["response"];
        let about = match response["request_id"].as_str() {
            Some(id) => self.waiting.remove(id),
            // `initialize` comes first, so a response without an id is to it.
            None if self.is_initializing() => {
                self.waiting.clear();
                Some(INITIALIZE)
            }
            None => None,
        };
        let body = &response["response"];
        if about == Some(INITIALIZE) && !is_accepted(response) {
            return Err(refusal(response));
        }
        self.is_listening |= about.is_some();
        let error = response["error"].as_str();
        // In a recording of another client's conversation only its shape identifies it.
        let is_initialize = about == Some(INITIALIZE)
            || (about.is_none() && body["commands"].is_array() && body["models"].is_array());
        if is_initialize && !self.has_said_opened {
            self.has_said_opened = true;
            if body["subtype"] == "initialize" {
                self.flavour = StreamJsonFlavour::Qwen;
            }
            let models = body["models"].as_array().into_iter().flatten().filter_map(model_of);
            let models: Vec<Model> = models.collect();
            let first = models.iter().find(|model| model.id == "default").map(|m| m.id.clone());
            let model = self.model.clone().or(first);
            let opened = ConversationInfo { session: None, model, models };
            out.push(DialectOutput::ConversationOpened(opened));
            commands(&body["commands"], out);
        }
        if let Some(error) = error.filter(|_| about.is_some()) {
            out.warn(format!("the CLI refused {}: {error}", about.unwrap_or_default()));
        }
        Ok(())
    }

    fn request(&mut self, subtype: &'static str, request: &Value, out: &mut Outputs) {
        self.count += 1;
        let id = format!("switchyard-{}", self.count);
        out.write(&json!({ "type": "control_request", "request_id": id, "request": request }));
        self.waiting.insert(id, subtype);
    }
}

/// Whether the CLI accepted `initialize`. Some respond with `success` and no body.
fn is_accepted(response: &Value) -> bool {
    let is_success = response["subtype"] == "success";
    let is_refusal = response["subtype"] == "error" || !response["error"].is_null();
    let body = &response["response"];
    !is_refusal && (body.is_object() || (is_success && body.is_null()))
}

fn refusal(response: &Value) -> Fault {
    let error = &response["error"];
    let words = match error.as_str().or_else(|| error["message"].as_str()) {
        Some(words) => format!("the CLI refused the conversation: {words}"),
        None => "the CLI sent an unexpected answer to `initialize`".to_owned(),
    };
    Fault::new(Category::classify(None, &words).or(Category::Protocol), words)
}

/// Responds to an unsupported request of the CLI with an error.
pub(super) fn refuse(line: &Value, out: &mut Outputs) {
    let Some(id) = line["request_id"].as_str() else { return };
    let what = line["request"]["subtype"].as_str().unwrap_or("this");
    let answer = json!({
        "type": "control_response",
        "response": {
            "subtype": "error",
            "request_id": id,
            "error": format!("{what} is not supported by this client"),
        },
    });
    out.write(&answer);
}

/// Emits the slash commands that the CLI offers.
pub(super) fn commands(commands: &Value, out: &mut Outputs) {
    let Some(commands) = commands.as_array() else { return };
    let available_commands = commands.iter().filter_map(|command| {
        let hint = command["argumentHint"].as_str().filter(|hint| !hint.is_empty());
        Some(AvailableCommand {
            name: command["name"].as_str()?.to_owned(),
            description: command["description"].as_str().unwrap_or_default().to_owned(),
            input: hint.map(|hint| AvailableCommandInput { hint: hint.to_owned() }),
        })
    });
    let available_commands = available_commands.collect();
    out.update(SessionUpdate::AvailableCommandsUpdate { available_commands });
}

fn model_of(model: &Value) -> Option<Model> {
    let text = |name: &str| model[name].as_str().map(str::to_owned);
    let efforts = model["supportedEffortLevels"].as_array();
    Some(Model {
        id: text("value")?,
        name: text("displayName"),
        description: text("description"),
        efforts: efforts.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect(),
        ..Model::default()
    })
}
