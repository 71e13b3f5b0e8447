//! Dialogs of extensions with the user.
//!
//! pi waits for an answer to `confirm`, `select`, `input` and `editor`, so each gets one: the
//! first two become permission questions, the others are cancelled since they want free text.

use serde_json::{Value, json};

use super::super::{
    DialectOutput, PermissionAnswer, PermissionOption, PermissionOptionKind, PermissionRequest,
};
use crate::tools;
use crate::update::{NoticeSeverity, SessionUpdate, ToolCall, ToolKind};

#[derive(Debug, Default)]
pub(super) struct PiDialogs {
    open: Vec<PiDialog>,
}

#[derive(Debug)]
struct PiDialog {
    id: String,
    /// The choices of a `select`; empty for a `confirm`.
    choices: Vec<String>,
}

const YES: &str = "yes";
const NO: &str = "no";

impl PiDialogs {
    pub(super) fn request(&mut self, event: &Value, out: &mut Vec<DialectOutput>) {
        let id = event["id"].as_str().unwrap_or_default();
        let title = event["title"].as_str().unwrap_or("an extension asks");
        let message = event["message"].as_str().unwrap_or_default();
        match event["method"].as_str().unwrap_or_default() {
            "confirm" => {
                let yes = PermissionOption::new(YES, "Yes", PermissionOptionKind::AllowOnce);
                let options =
                    vec![yes, PermissionOption::new(NO, "No", PermissionOptionKind::RejectOnce)];
                self.ask(id, title, message, Vec::new(), options, out);
            }
            "select" => {
                let choices = choices_of(&event["options"]);
                if choices.is_empty() {
                    return respond(id, json!({ "cancelled": true }), out);
                }
                let options = choices.iter().enumerate();
                let options = options
                    .map(|(n, name)| PermissionOption::new(n.to_string(), name, kind_of(name)));
                let options = options.collect();
                self.ask(id, title, message, choices, options, out);
            }
            "notify" => {
                let severity = match event["notifyType"].as_str() {
                    Some("error") => NoticeSeverity::Error,
                    Some("warning") => NoticeSeverity::Warning,
                    _ => NoticeSeverity::Info,
                };
                out.push(DialectOutput::Update(SessionUpdate::notice(severity, message)));
            }
            // Decoration of a terminal, without an answer.
            "setStatus" | "setWidget" | "setTitle" | "set_editor_text" => {}
            "input" | "editor" => {
                let note = format!("an extension wanted an answer that cannot be given: {title}");
                out.push(DialectOutput::Update(SessionUpdate::notice(
                    NoticeSeverity::Warning,
                    note,
                )));
                respond(id, json!({ "cancelled": true }), out);
            }
            _ => respond(id, json!({ "cancelled": true }), out),
        }
    }

    fn ask(
        &mut self,
        id: &str,
        title: &str,
        message: &str,
        choices: Vec<String>,
        options: Vec<PermissionOption>,
        out: &mut Vec<DialectOutput>,
    ) {
        let separator = if message.is_empty() { "" } else { ": " };
        let call = ToolCall {
            id: format!("dialog-{id}"),
            title: Some(tools::one_line(&format!("{title}{separator}{message}"))),
            kind: Some(ToolKind::Other),
            raw_input: Some(json!({ "title": title, "message": message })),
            ..ToolCall::default()
        };
        self.open.push(PiDialog { id: id.to_owned(), choices });
        out.push(DialectOutput::PermissionRequest(PermissionRequest {
            id: id.to_owned(),
            call,
            options,
        }));
    }

    pub(super) fn answer(
        &mut self,
        ask: &str,
        answer: &PermissionAnswer,
        out: &mut Vec<DialectOutput>,
    ) {
        let Some(at) = self.open.iter().position(|dialog| dialog.id == ask) else { return };
        let dialog = self.open.remove(at);
        let choice = match answer {
            PermissionAnswer::Chosen(option) => option.as_str(),
            PermissionAnswer::Cancelled => return respond(ask, json!({ "cancelled": true }), out),
        };
        let chosen = choice.parse::<usize>().ok().and_then(|n| dialog.choices.get(n));
        let response = match chosen {
            Some(chosen) => json!({ "value": chosen }),
            None if dialog.choices.is_empty() => json!({ "confirmed": choice == YES }),
            None => json!({ "cancelled": true }),
        };
        respond(ask, response, out);
    }

    /// Withdraws all dialogs, since the turn is over.
    pub(super) fn withdraw(&mut self, out: &mut Vec<DialectOutput>) {
        for dialog in self.open.drain(..) {
            out.push(DialectOutput::RequestWithdrawn(dialog.id));
        }
    }
}

/// Cancels a dialog whose request could not be read.
pub(super) fn refuse(event: &Value, out: &mut Vec<DialectOutput>) {
    if let Some(id) = event["id"].as_str() {
        respond(id, json!({ "cancelled": true }), out);
    }
}

fn respond(id: &str, mut response: Value, out: &mut Vec<DialectOutput>) {
    response["type"] = Value::from("extension_ui_response");
    response["id"] = Value::from(id);
    out.push(DialectOutput::StdinLine(response.to_string()));
}

fn choices_of(options: &Value) -> Vec<String> {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    options.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The kind of a choice, guessed from its words.
fn kind_of(name: &str) -> PermissionOptionKind {
    let name = name.to_lowercase();
    let first = name.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    let is_no = matches!(
        first,
        Some("no" | "deny" | "reject" | "block" | "cancel" | "never" | "stop" | "abort" | "don")
    );
    let is_for_ever = ["always", "never", "session", "don't ask"].iter().any(|w| name.contains(w));
    match (is_no, is_for_ever) {
        (false, false) => PermissionOptionKind::AllowOnce,
        (false, true) => PermissionOptionKind::AllowAlways,
        (true, false) => PermissionOptionKind::RejectOnce,
        (true, true) => PermissionOptionKind::RejectAlways,
    }
}
