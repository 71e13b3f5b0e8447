//! The opening of a conversation, and changes of its model and effort.
//!
//! pi answers "success" for a session file that does not exist and begins a new one, so a resume
//! counts only when the state shows messages.

use std::collections::HashMap;

use serde_json::{Value, json};
use wire::{Category, Fault};

use super::super::{
    CliExit, ConversationInfo, ConversationOptions, DialectOutput, Model, OptionChange,
    learn_session, stderr,
};
use super::PiCommands;
use crate::update::{AvailableCommand, NoticeSeverity, SessionUpdate};

#[derive(Debug, Default)]
pub(super) struct PiHandshake {
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
    name: Option<String>,
    has_thoughts: bool,
    context_window: Option<u64>,
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
    pub(super) fn open(
        &mut self,
        opening: &ConversationOptions,
        commands: &mut PiCommands,
        out: &mut Vec<DialectOutput>,
    ) {
        self.is_opening = true;
        self.resume.clone_from(&opening.resume);
        self.wished_model.clone_from(&opening.model);
        if let Some(level) = &opening.effort {
            self.set(&OptionChange::Effort(level.clone()), commands, out);
        }
        for (asked, command) in [
            (PiCommandKind::Models, "get_available_models"),
            (PiCommandKind::Commands, "get_commands"),
            (PiCommandKind::State, "get_state"),
        ] {
            self.ask(asked, json!({ "type": command }), commands, out);
        }
    }

    fn ask(
        &mut self,
        asked: PiCommandKind,
        command: Value,
        commands: &mut PiCommands,
        out: &mut Vec<DialectOutput>,
    ) {
        self.pending.insert(commands.send(command, out), asked);
    }

    fn waits_for(&self, asked: PiCommandKind) -> bool {
        self.pending.values().any(|one| *one == asked)
    }

    /// The id that `--mode json` prints first.
    pub(super) fn session(&mut self, id: &str, out: &mut Vec<DialectOutput>) {
        learn_session(&mut self.session, id, out);
    }

    pub(super) fn context_window(&self) -> Option<u64> {
        self.model.as_ref()?.context_window
    }

    /// `true` when the response was to one of our own commands.
    pub(super) fn response(
        &mut self,
        id: &str,
        event: &Value,
        commands: &mut PiCommands,
        out: &mut Vec<DialectOutput>,
    ) -> bool {
        let data = &event["data"];
        // The state is read, whichever command it answers.
        if event["command"] == "get_state" && event["success"] == true {
            self.model = read_model(&data["model"]);
            if !self.is_opening {
                self.session(session_of(data), out);
            }
        }
        let is_good = event["success"] == true;
        match self.pending.remove(id) {
            None => return false,
            Some(PiCommandKind::Switch) if is_good && data["cancelled"] != true => {
                self.ask(PiCommandKind::State, json!({ "type": "get_state" }), commands, out);
            }
            Some(PiCommandKind::Switch) => {
                self.lose(event["error"].as_str().unwrap_or("pi did not switch"), out);
            }
            Some(PiCommandKind::Models) => {
                let models = data["models"].as_array().into_iter().flatten();
                self.models = models.filter_map(read_model).collect();
            }
            Some(PiCommandKind::Commands) => tell_commands(&data["commands"], out),
            Some(PiCommandKind::State) => self.opened(event, commands, out),
            Some(PiCommandKind::Setting) => {
                if event["command"] == "set_model" && is_good {
                    self.model = read_model(data).or(self.model.take());
                }
                if event["success"] == false {
                    let error = event["error"].as_str().unwrap_or("pi refused a setting");
                    out.push(DialectOutput::Update(SessionUpdate::notice(
                        NoticeSeverity::Warning,
                        error,
                    )));
                }
            }
        }
        self.change_model(commands, out);
        self.say_opened(out);
        true
    }

    fn opened(&mut self, event: &Value, commands: &mut PiCommands, out: &mut Vec<DialectOutput>) {
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
            return self.ask(PiCommandKind::Switch, command, commands, out);
        }
        self.session(session_of(data), out);
        self.opened =
            Some(ConversationInfo { session: self.session.clone(), ..ConversationInfo::default() });
    }

    /// Changes to the model of the session's options, once the models are known.
    fn change_model(&mut self, commands: &mut PiCommands, out: &mut Vec<DialectOutput>) {
        if self.opened.is_none() || self.waits_for(PiCommandKind::Models) {
            return;
        }
        let Some(model) = self.wished_model.take().filter(|model| !self.is_current(model)) else {
            return;
        };
        if !self.set(&OptionChange::Model(model.clone()), commands, out) {
            let title = format!("pi knows no model `{model}`");
            out.push(DialectOutput::Update(SessionUpdate::notice(NoticeSeverity::Warning, title)));
        }
    }

    /// pi refused to report its state: the conversation cannot be opened.
    fn refused(&mut self, event: &Value, out: &mut Vec<DialectOutput>) {
        let error = event["error"].as_str();
        let message = error.unwrap_or("pi reported no state");
        let category = Category::classify(None, message).or(Category::Protocol);
        self.give_up(&Fault::new(category, message), out);
    }

    /// Reports a conversation that is not open yet as lost.
    pub(super) fn give_up(&mut self, failure: &Fault, out: &mut Vec<DialectOutput>) {
        if std::mem::take(&mut self.is_opening) {
            out.push(DialectOutput::ConversationLost(failure.clone()));
        }
    }

    fn lose(&mut self, why: &str, out: &mut Vec<DialectOutput>) {
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
    fn say_opened(&mut self, out: &mut Vec<DialectOutput>) {
        let is_waiting =
            self.waits_for(PiCommandKind::Models) || self.waits_for(PiCommandKind::Setting);
        if !self.is_opening || is_waiting {
            return;
        }
        let Some(mut opened) = self.opened.take() else { return };
        self.is_opening = false;
        opened.model = self.model.as_ref().map(PiModel::full_id);
        opened.models = self.models.iter().map(PiModel::model).collect();
        out.push(DialectOutput::ConversationOpened(opened));
    }

    pub(super) fn set(
        &mut self,
        change: &OptionChange,
        commands: &mut PiCommands,
        out: &mut Vec<DialectOutput>,
    ) -> bool {
        let command = match change {
            OptionChange::Model(model) => {
                let Some((provider, id)) = self.find(model) else { return false };
                json!({ "type": "set_model", "provider": provider, "modelId": id })
            }
            OptionChange::Effort(level) => json!({ "type": "set_thinking_level", "level": level }),
            // pi asks for no permissions.
            OptionChange::Permissions(_) => return false,
        };
        self.ask(PiCommandKind::Setting, command, commands, out);
        true
    }

    /// Provider and id of a model, given as `provider/id` or by a known id alone.
    fn find(&self, model: &str) -> Option<(String, String)> {
        let known = self.models.iter().find(|known| known.full_id() == model || known.id == model);
        match known {
            Some(known) => Some((known.provider.clone(), known.id.clone())),
            None => model.split_once('/').map(|(p, id)| (p.to_owned(), id.to_owned())),
        }
    }

    fn is_current(&self, model: &str) -> bool {
        self.model.as_ref().is_some_and(|known| known.full_id() == model || known.id == model)
    }

    /// The process is gone; a conversation that was still to be resumed is reported as lost.
    pub(super) fn end(&mut self, exit: &CliExit, out: &mut Vec<DialectOutput>) {
        if std::mem::take(&mut self.is_opening) && self.resume.is_some() && !exit.is_stopped_by_us {
            out.push(DialectOutput::ConversationLost(stderr::failure(exit)));
        }
    }
}

impl PiModel {
    fn full_id(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    fn model(&self) -> Model {
        let efforts = if self.has_thoughts { &EFFORTS[..] } else { &[] };
        Model {
            id: self.full_id(),
            name: self.name.clone(),
            efforts: efforts.iter().map(|&effort| effort.to_owned()).collect(),
            ..Model::default()
        }
    }
}

fn read_model(model: &Value) -> Option<PiModel> {
    Some(PiModel {
        provider: model["provider"].as_str()?.to_owned(),
        id: model["id"].as_str()?.to_owned(),
        name: model["name"].as_str().map(str::to_owned),
        has_thoughts: model["reasoning"] == true,
        context_window: model["contextWindow"].as_u64().filter(|n| *n > 0),
    })
}

/// The id by which pi resumes: the session's file, or its id.
fn session_of(state: &Value) -> &str {
    state["sessionFile"].as_str().or(state["sessionId"].as_str()).unwrap_or_default()
}

fn is_path(session: &str) -> bool {
    session.contains(['/', '\\'])
}

fn tell_commands(commands: &Value, out: &mut Vec<DialectOutput>) {
    let commands = commands.as_array().map(Vec::as_slice).unwrap_or_default();
    let available_commands: Vec<AvailableCommand> = commands
        .iter()
        .filter_map(|command| {
            Some(AvailableCommand {
                name: command["name"].as_str()?.to_owned(),
                description: command["description"].as_str().unwrap_or_default().to_owned(),
                input: None,
            })
        })
        .collect();
    if !available_commands.is_empty() {
        out.push(DialectOutput::Update(SessionUpdate::AvailableCommandsUpdate {
            available_commands,
        }));
    }
}
