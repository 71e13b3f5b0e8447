//! The opening of a conversation, and changes of its model and effort.
//!
//! pi answers "success" for a session file that does not exist and begins a new one, so a resume
//! counts only when the state shows messages.

use std::collections::HashMap;

use serde_json::{Value, json};
use wire::{Category, Fault};

use super::super::{
    CliExit, ConversationInfo, ConversationOptions, DialectOutput, Model, OptionChange, Outputs,
    learn_session, stderr,
};
use super::PiCommands;
use crate::update::{AvailableCommand, SessionUpdate};

#[derive(Debug, Default)]
pub(super) struct PiHandshake {
    pub(super) commands: PiCommands,
    is_opening: bool,
    resume: Option<String>,
    wished_model: Option<String>,
    /// Whether a switch to the session to be resumed was tried; it is tried once.
    has_switched: bool,
    /// Commands without a response, by id.
    pending: HashMap<String, PiCommandKind>,
    models: Vec<PiModel>,
    model: Option<PiModel>,
    session: Option<String>,
    /// The open conversation by pi's state, until the models are known too.
    opened: Option<ConversationInfo>,
}

#[derive(Debug, Clone)]
struct PiModel {
    provider: String,
    id: String,
    /// As it is offered, under the id `provider/id`.
    offered: Model,
}

/// The purpose of a command of ours, by which its response is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PiCommandKind {
    State,
    Models,
    Commands,
    /// A switch to the session to be resumed.
    Switch,
    Setting,
}

/// All thinking levels of a model that reasons.
const EFFORTS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

impl PiHandshake {
    pub(super) fn open(&mut self, opening: &ConversationOptions, out: &mut Outputs) {
        self.is_opening = true;
        self.resume.clone_from(&opening.resume);
        self.wished_model.clone_from(&opening.model);
        if let Some(level) = &opening.effort {
            self.set(&OptionChange::Effort(level.clone()), out);
        }
        for (asked, command) in [
            (PiCommandKind::Models, "get_available_models"),
            (PiCommandKind::Commands, "get_commands"),
            (PiCommandKind::State, "get_state"),
        ] {
            self.ask(asked, json!({ "type": command }), out);
        }
    }

    fn ask(&mut self, asked: PiCommandKind, command: Value, out: &mut Outputs) {
        self.pending.insert(self.commands.send(command, out), asked);
    }

    fn waits_for(&self, asked: PiCommandKind) -> bool {
        self.pending.values().any(|one| *one == asked)
    }

    /// The id that `--mode json` prints first.
    pub(super) fn session(&mut self, id: &str, out: &mut Outputs) {
        learn_session(&mut self.session, id, out);
    }

    pub(super) fn context_window(&self) -> Option<u64> {
        self.model.as_ref()?.offered.context
    }

    /// `true` when the response was to one of our own commands.
    pub(super) fn response(&mut self, id: &str, event: &Value, out: &mut Outputs) -> bool {
        let data = &event["data"];
        // The state is read, whichever command it answers.
        if event["command"] == "get_state" && event["success"] == true {
            self.model = PiModel::read(&data["model"]);
            if !self.is_opening {
                self.session(session_of(data), out);
            }
        }
        let is_good = event["success"] == true;
        match self.pending.remove(id) {
            None => return false,
            Some(PiCommandKind::Switch) if is_good && data["cancelled"] != true => {
                self.ask(PiCommandKind::State, json!({ "type": "get_state" }), out);
            }
            Some(PiCommandKind::Switch) => {
                self.lose(event["error"].as_str().unwrap_or("pi did not switch"), out);
            }
            Some(PiCommandKind::Models) => {
                let models = data["models"].as_array().into_iter().flatten();
                self.models = models.filter_map(PiModel::read).collect();
            }
            Some(PiCommandKind::Commands) => tell_commands(&data["commands"], out),
            Some(PiCommandKind::State) => self.opened(event, out),
            Some(PiCommandKind::Setting) => {
                if event["command"] == "set_model" && is_good {
                    self.model = PiModel::read(data).or(self.model.take());
                }
                if event["success"] == false {
                    let error = event["error"].as_str().unwrap_or("pi refused a setting");
                    out.warn(error);
                }
            }
        }
        self.change_model(out);
        self.say_opened(out);
        true
    }

    fn opened(&mut self, event: &Value, out: &mut Outputs) {
        let data = &event["data"];
        let is_told = event["success"] == true && data.is_object();
        if self.resume.is_none() && !is_told {
            return self.refused(event, out);
        }
        if let Some(why) = self.loss(event) {
            let path = self.resume.clone().filter(|path| is_path(path) && !self.has_switched);
            let Some(path) = path else { return self.lose(&why, out) };
            // The arguments did not resume it. pi runs commands concurrently, so the state is
            // requested again only when the switch is answered.
            self.has_switched = true;
            let command = json!({ "type": "switch_session", "sessionPath": path });
            return self.ask(PiCommandKind::Switch, command, out);
        }
        self.session(session_of(data), out);
        self.opened =
            Some(ConversationInfo { session: self.session.clone(), ..ConversationInfo::default() });
    }

    /// Changes to the model of the session's options, once the models are known.
    fn change_model(&mut self, out: &mut Outputs) {
        if self.opened.is_none() || self.waits_for(PiCommandKind::Models) {
            return;
        }
        let Some(wished) = self.wished_model.take() else { return };
        if self.model.as_ref().is_some_and(|current| current.is_called(&wished)) {
            return;
        }
        if !self.set(&OptionChange::Model(wished.clone()), out) {
            out.warn(format!("pi knows no model `{wished}`"));
        }
    }

    /// pi refused to report its state: the conversation cannot be opened.
    fn refused(&mut self, event: &Value, out: &mut Outputs) {
        let error = event["error"].as_str();
        let message = error.unwrap_or("pi reported no state");
        let category = Category::classify(None, message).or(Category::Protocol);
        self.give_up(&Fault::new(category, message), out);
    }

    /// Reports a conversation that is not open yet as lost.
    pub(super) fn give_up(&mut self, failure: &Fault, out: &mut Outputs) {
        if std::mem::take(&mut self.is_opening) {
            out.push(DialectOutput::ConversationLost(failure.clone()));
        }
    }

    fn lose(&mut self, why: &str, out: &mut Outputs) {
        self.is_opening = false;
        out.push(DialectOutput::ConversationLost(Fault::new(Category::SessionLost, why)));
    }

    /// The reason why the open conversation is not the one to resume; `None` if it is.
    fn loss(&self, event: &Value) -> Option<String> {
        let wanted = self.resume.as_deref()?;
        let data = &event["data"];
        if event["success"] == false {
            return Some(event["error"].as_str().unwrap_or("pi reported no state").to_owned());
        }
        let file = data["sessionFile"].as_str().unwrap_or_default();
        let is_it = file.contains(wanted) || data["sessionId"] == wanted;
        let has_messages = data["messageCount"].as_u64().is_some_and(|n| n > 0);
        (!is_it || !has_messages).then(|| format!("no session found at {wanted}"))
    }

    /// Reports the conversation as open, once state and models are known.
    fn say_opened(&mut self, out: &mut Outputs) {
        let is_waiting =
            self.waits_for(PiCommandKind::Models) || self.waits_for(PiCommandKind::Setting);
        if !self.is_opening || is_waiting {
            return;
        }
        let Some(mut opened) = self.opened.take() else { return };
        self.is_opening = false;
        opened.model = self.model.as_ref().map(|model| model.offered.id.clone());
        opened.models = self.models.iter().map(|model| model.offered.clone()).collect();
        out.push(DialectOutput::ConversationOpened(opened));
    }

    pub(super) fn set(&mut self, change: &OptionChange, out: &mut Outputs) -> bool {
        let command = match change {
            OptionChange::Model(model) => {
                let Some((provider, id)) = self.find(model) else { return false };
                json!({ "type": "set_model", "provider": provider, "modelId": id })
            }
            OptionChange::Effort(level) => json!({ "type": "set_thinking_level", "level": level }),
            // pi asks for no permissions.
            OptionChange::Permissions(_) => return false,
        };
        self.ask(PiCommandKind::Setting, command, out);
        true
    }

    /// Provider and id of a model, given as `provider/id` or by a known id alone.
    fn find(&self, model: &str) -> Option<(String, String)> {
        match self.models.iter().find(|known| known.is_called(model)) {
            Some(known) => Some((known.provider.clone(), known.id.clone())),
            None => model.split_once('/').map(|(p, id)| (p.to_owned(), id.to_owned())),
        }
    }

    /// The process is gone; a conversation that was still to be resumed is reported as lost.
    pub(super) fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        if std::mem::take(&mut self.is_opening) && self.resume.is_some() && !exit.is_stopped_by_us {
            out.push(DialectOutput::ConversationLost(stderr::failure(exit)));
        }
    }
}

impl PiModel {
    fn read(model: &Value) -> Option<Self> {
        let provider = model["provider"].as_str()?.to_owned();
        let id = model["id"].as_str()?.to_owned();
        let efforts = if model["reasoning"] == true { &EFFORTS[..] } else { &[] };
        let offered = Model {
            id: format!("{provider}/{id}"),
            name: model["name"].as_str().map(str::to_owned),
            context: model["contextWindow"].as_u64().filter(|n| *n > 0),
            efforts: efforts.iter().map(|&effort| effort.to_owned()).collect(),
            ..Model::default()
        };
        Some(Self { provider, id, offered })
    }

    fn is_called(&self, name: &str) -> bool {
        self.offered.id == name || self.id == name
    }
}

/// The id by which pi resumes: the session's file, or its id.
fn session_of(state: &Value) -> &str {
    state["sessionFile"].as_str().or(state["sessionId"].as_str()).unwrap_or_default()
}

fn is_path(session: &str) -> bool {
    session.contains(['/', '\\'])
}

fn tell_commands(commands: &Value, out: &mut Outputs) {
    let read = |command: &Value| {
        let name = command["name"].as_str()?.to_owned();
        let description = command["description"].as_str().unwrap_or_default().to_owned();
        Some(AvailableCommand { name, description, input: None })
    };
    let commands = commands.as_array().into_iter().flatten();
    let available_commands: Vec<AvailableCommand> = commands.filter_map(read).collect();
    if !available_commands.is_empty() {
        out.update(SessionUpdate::AvailableCommandsUpdate { available_commands });
    }
}
