//! Commands that pretend to use tools, also after asking the user. Nothing is really read, written
//! or run.
//!
//! In: a tool kind. Out: `tool_call` and `tool_call_update`, with content that fits the kind;
//! questions to the client, and a report of the answers. Every path is absolute and inside the
//! session's working directory, unless it was given. The ids of a question's options say nothing
//! about their kind, so a client that guesses is found out.

use super::UsageError;
use crate::demo::connection::ClientAnswer;
use crate::demo::turn::DemoTurn;
use serde_json::{Value, json};
use std::path::Path;
use wire::ToolKind;

/// Option id, name and kind.
type DemoPermissionOption = (&'static str, &'static str, &'static str);

pub(super) const ALL: &[DemoPermissionOption] = &[
    ("opt-1", "Allow once", "allow_once"),
    ("opt-2", "Always allow", "allow_always"),
    ("opt-3", "Reject", "reject_once"),
    ("opt-4", "Always reject", "reject_always"),
];
pub(super) const ODD: &[DemoPermissionOption] =
    &[("opt-7", "Always allow", "allow_always"), ("opt-9", "Reject", "reject_once")];

/// A pretended tool call that the client was told of, or is about to be.
pub(super) struct PretendedCall {
    id: String,
    title: String,
    kind: &'static str,
    raw_input: Value,
    locations: Value,
    /// The content shown when the call is done. A diff is shown from the beginning.
    content: Value,
    raw_output: Value,
}

/// The kind of a tool by its name.
pub(super) fn kind(word: &str) -> Result<&'static str, UsageError> {
    ToolKind::NAMES.into_iter().find(|kind| *kind == word).ok_or(UsageError)
}

impl PretendedCall {
    /// `subject` is the path or the command line that the call is about.
    pub(super) fn new(turn: &DemoTurn, kind: &'static str, subject: Option<&str>) -> Self {
        let cwd = turn.cwd();
        let id = turn.connection.unique("call");
        let path = |default: &str| {
            Path::new(&cwd).join(subject.unwrap_or(default)).to_string_lossy().into_owned()
        };
        let (title, raw_input, locations, content, raw_output) = match kind {
            "read" => {
                let path = path("README.md");
                let input = json!({ "path": path, "limit": 2 });
                let places = json!([{ "path": path, "line": 1 }]);
                (format!("Read {path}"), input, places, text("# Demo\n"), json!({ "lines": 2 }))
            }
            "edit" => {
                let path = path("src/greeting.txt");
                let (old, new) = ("Hello\nworld\n", "Hello\nSwitchyard\n");
                let input = json!({ "path": path, "old": old, "new": new });
                let places = json!([{ "path": path, "line": 2 }]);
                let diff = json!({ "type": "diff", "path": path, "oldText": old, "newText": new });
                (format!("Edit {path}"), input, places, diff, json!({ "replaced": 1 }))
            }
            "delete" => {
                let path = path("old.txt");
                let place = json!({ "path": path });
                let places = json!([place]);
                (format!("Delete {path}"), place, places, text("Deleted."), json!({}))
            }
            "move" => {
                let (from, to) = (path("a.txt"), format!("{cwd}/b.txt"));
                let places = json!([{ "path": from }, { "path": to }]);
                let input = json!({ "from": from, "to": to });
                (format!("Move {from}"), input, places, text("Moved."), json!({ "to": to }))
            }
            "search" => {
                let pattern = subject.unwrap_or("TODO");
                let places = json!([{ "path": format!("{cwd}/src/main.rs"), "line": 7 }]);
                let input = json!({ "pattern": pattern, "path": cwd });
                let found = text("src/main.rs:7: // TODO");
                (format!("Search for {pattern}"), input, places, found, json!({ "matches": 1 }))
            }
            "execute" => {
                let command = subject.unwrap_or("cargo test");
                let input = json!({ "command": command, "cwd": cwd });
                let output = json!({ "exitCode": 0, "stdout": "ok\n" });
                (format!("Run `{command}`"), input, json!([]), text("```\nok\n```"), output)
            }
            "think" => {
                let input = json!({ "about": subject.unwrap_or("the problem") });
                let thought = text("It is simpler than it looks.");
                ("Think it over".into(), input, json!([]), thought, json!({}))
            }
            "fetch" => {
                let url = subject.unwrap_or("https://example.com/");
                let (input, output) = (json!({ "url": url }), json!({ "status": 200 }));
                (format!("Fetch {url}"), input, json!([]), text("Example Domain"), output)
            }
            "switch_mode" => {
                let mode = subject.unwrap_or("code");
                let input = json!({ "mode": mode });
                (format!("Switch to {mode}"), input, json!([]), text("Ready to code."), json!({}))
            }
            _ => {
                let (input, output) = (json!({ "subject": subject }), json!({ "ok": true }));
                ("Do something else".into(), input, json!([]), text("Done."), output)
            }
        };
        Self { id, title, kind, raw_input, locations, content, raw_output }
    }

    /// The call as a permission request and its announcement describe it.
    pub(super) fn describe(&self) -> Value {
        let mut call = json!({
            "toolCallId": self.id,
            "title": self.title,
            "kind": self.kind,
            "status": "pending",
            "rawInput": self.raw_input,
            "locations": self.locations,
        });
        if self.content["type"] == "diff" {
            call["content"] = json!([self.content]);
        }
        call
    }

    pub(super) async fn announce(&self, turn: &DemoTurn) {
        let mut update = self.describe();
        update["sessionUpdate"] = "tool_call".into();
        turn.update(update).await;
    }

    pub(super) async fn begin(&self, turn: &DemoTurn) {
        self.update(turn, json!({ "status": "in_progress" })).await;
    }

    pub(super) async fn complete(&self, turn: &DemoTurn) {
        let change = json!({
            "status": "completed",
            "content": [self.content],
            "rawOutput": self.raw_output,
        });
        self.update(turn, change).await;
    }

    pub(super) async fn fail(&self, turn: &DemoTurn, reason: &str) {
        let change = json!({
            "status": "failed",
            "content": [text(reason)],
            "rawOutput": { "error": reason },
        });
        self.update(turn, change).await;
    }

    pub(super) async fn update(&self, turn: &DemoTurn, mut change: Value) {
        change["sessionUpdate"] = "tool_call_update".into();
        change["toolCallId"] = self.id.as_str().into();
        turn.update(change).await;
    }
}

/// Text as the content of a tool call.
pub(super) fn text(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// The params of a permission request.
pub(super) fn request(
    turn: &DemoTurn,
    call: &PretendedCall,
    choices: &[DemoPermissionOption],
) -> Value {
    let options: Vec<Value> = choices
        .iter()
        .map(|(id, name, kind)| json!({ "optionId": id, "name": name, "kind": kind }))
        .collect();
    json!({ "sessionId": turn.session, "toolCall": call.describe(), "options": options })
}

/// Asks about a call of the kind with which the line begins. Whatever does not begin with a kind is
/// a command line.
pub(super) async fn ask_about(turn: &DemoTurn, line: &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (kind, subject) = kind(word).map_or(("execute", line), |kind| (kind, rest.trim()));
    let subject = Some(subject).filter(|subject| !subject.is_empty());
    ask_for(turn, &PretendedCall::new(turn, kind, subject), ALL).await;
}

/// Asks about two calls at once.
pub(super) async fn ask_twice(turn: &DemoTurn) {
    let first = PretendedCall::new(turn, "execute", Some("cargo build"));
    let second = PretendedCall::new(turn, "edit", None);
    tokio::join!(ask_for(turn, &first, ALL), ask_for(turn, &second, ALL));
}

pub(super) async fn ask_for(
    turn: &DemoTurn,
    call: &PretendedCall,
    choices: &[DemoPermissionOption],
) {
    call.announce(turn).await;
    let params = request(turn, call, choices);
    let answer = turn.call("session/request_permission", &params).await;
    match decision(&answer, choices) {
        Ok((id, kind)) => {
            turn.say(format!("Permission for {}: {id} ({kind}).\n", call.title)).await;
            if kind.starts_with("allow") {
                call.begin(turn).await;
                call.complete(turn).await;
            } else {
                call.fail(turn, "the user rejected it").await;
            }
        }
        Err(reason) => {
            turn.say(format!("No permission for {}: {reason}.\n", call.title)).await;
            call.fail(turn, &reason).await;
        }
    }
}

/// The id and kind of the option that was chosen, or why there is none.
fn decision(
    answer: &ClientAnswer,
    choices: &[DemoPermissionOption],
) -> Result<(&'static str, &'static str), String> {
    let raw = match answer {
        Ok(raw) => raw.as_str(),
        Err(raw) => return Err(format!("the client answered an error {}", raw.as_str())),
    };
    let result: Value = serde_json::from_str(raw).unwrap_or_default();
    match result.pointer("/outcome/outcome").and_then(Value::as_str) {
        Some("cancelled") => Err("cancelled".into()),
        Some("selected") => {
            let id = result.pointer("/outcome/optionId").and_then(Value::as_str);
            let chosen = choices.iter().find(|(offered, ..)| Some(*offered) == id);
            let (id, _, kind) = chosen.ok_or_else(|| format!("no such option in {raw}"))?;
            Ok((id, kind))
        }
        _ => Err(format!("cannot read the answer {raw}")),
    }
}

pub(super) async fn form(turn: &DemoTurn, name: &str) {
    if !turn.connection.client_offers("/elicitation/form") {
        return turn.say("The client has no forms (elicitation.form).\n").await;
    }
    let params = json!({
        "sessionId": turn.session,
        "mode": "form",
        "message": name,
        "requestedSchema": {
            "type": "object",
            "title": name,
            "properties": {
                "name": { "type": "string", "title": "Your name", "minLength": 1 },
                "colour": {
                    "type": "string",
                    "title": "A colour",
                    "oneOf": [
                        { "const": "red", "title": "Red" },
                        { "const": "green", "title": "Green" },
                    ],
                },
                "sure": { "type": "boolean", "title": "Are you sure?", "default": false },
            },
            "required": ["name"],
        },
    });
    let (what, raw) = match turn.call("elicitation/create", &params).await {
        Ok(raw) => ("You answered", raw),
        Err(raw) => ("The client answered an error", raw),
    };
    turn.say(format!("{what} {}\n", raw.as_str())).await;
}
