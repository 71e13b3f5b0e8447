//! Dialogs of extensions with the user.
//!
//! pi waits for an answer to `confirm`, `select`, `input` and `editor`, so each gets one: the
//! first two become permission questions, the others are cancelled since they want free text.

use serde_json::{Value, json};

use super::super::{
    DialectOutput, Outputs, PermissionAnswer, PermissionOption, PermissionOptionKind,
};
use crate::tools;
use crate::update::{NoticeSeverity, ToolCall, ToolKind};

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
    pub(super) fn request(&mut self, event: &Value, out: &mut Outputs) {
        let id = event["id"].as_str().unwrap_or_default();
        let title = event["title"].as_str().unwrap_or("an extension asks");
        let message = event["message"].as_str().unwrap_or_default();
        match event["method"].as_str().unwrap_or_default() {
            "confirm" => {
                let yes = PermissionOption::allow_once(YES, "Yes");
                let options = vec![yes, PermissionOption::reject_once(NO, "No")];
                self.ask(id, title, message, Vec::new(), options, out);
            }
            "select" => {
                let choices = event["options"].as_array().into_iter().flatten();
                let choices = choices.filter_map(|name| name.as_str().map(str::to_owned));
                let choices: Vec<String> = choices.collect();
                if choices.is_empty() {
                    return cancel(id, out);
                }
                let options = choices.iter().enumerate();
                let options = options
                    .map(|(n, name)| PermissionOption::new(n.to_string(), name, kind_of(name)))
                    .collect();
                self.ask(id, title, message, choices, options, out);
            }
            "notify" => {
                let severity = match event["notifyType"].as_str() {
                    Some("error") => NoticeSeverity::Error,
                    Some("warning") => NoticeSeverity::Warning,
                    _ => NoticeSeverity::Info,
                };
                out.notice(severity, message);
            }
            // Decoration of a terminal, without an answer.
            "setStatus" | "setWidget" | "setTitle" | "set_editor_text" => {}
            "input" | "editor" => {
                out.warn(format!("an extension wanted an answer that cannot be given: {title}"));
                cancel(id, out);
            }
            _ => cancel(id, out),
        }
    }

    fn ask(
        &mut self,
        id: &str,
        title: &str,
        message: &str,
        choices: Vec<String>,
        options: Vec<PermissionOption>,
        out: &mut Outputs,
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
        out.ask(id.to_owned(), call, options);
    }

    pub(super) fn answer(&mut self, ask: &str, answer: &PermissionAnswer, out: &mut Outputs) {
        let Some(at) = self.open.iter().position(|dialog| dialog.id == ask) else { return };
        let dialog = self.open.remove(at);
        let choice = match answer {
            PermissionAnswer::Chosen(option) => option.as_str(),
            PermissionAnswer::Cancelled => return cancel(ask, out),
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
    pub(super) fn withdraw(&mut self, out: &mut Outputs) {
        for dialog in self.open.drain(..) {
            out.push(DialectOutput::RequestWithdrawn(dialog.id));
        }
    }
}

/// Cancels a dialog whose request could not be read.
pub(super) fn refuse(event: &Value, out: &mut Outputs) {
    if let Some(id) = event["id"].as_str() {
        cancel(id, out);
    }
}

fn cancel(id: &str, out: &mut Outputs) {
    respond(id, json!({ "cancelled": true }), out);
}

fn respond(id: &str, mut response: Value, out: &mut Outputs) {
    response["type"] = Value::from("extension_ui_response");
    response["id"] = Value::from(id);
    out.write(&response);
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
