//! Commands that ask the user.
//!
//! In: what it is about. Out: a question to the client, and a report of the answer.
//! The option ids say nothing about their kind, so a client that guesses is found out.

use super::arguments::Arguments;
use super::tools::{ToolCall, kind};
use super::{Done, Flow};
use crate::demo::rpc::Answer;
use crate::demo::turn::Turn;
use serde_json::{Value, json};

/// Option id, name and kind.
type Choice = (&'static str, &'static str, &'static str);

pub(super) const ALL: &[Choice] = &[
    ("opt-1", "Allow once", "allow_once"),
    ("opt-2", "Always allow", "allow_always"),
    ("opt-3", "Reject", "reject_once"),
    ("opt-4", "Always reject", "reject_always"),
];
const ODD: &[Choice] =
    &[("opt-7", "Always allow", "allow_always"), ("opt-9", "Reject", "reject_once")];

pub(super) async fn perform(turn: &Turn, name: &str, arguments: Arguments<'_>) -> Done {
    match name {
        "permission" => {
            // Whatever does not begin with a kind is a command line.
            let line = arguments.rest();
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let (kind, subject) = kind(word).map_or(("execute", line), |kind| (kind, rest.trim()));
            let subject = Some(subject).filter(|subject| !subject.is_empty());
            ask_for(turn, &ToolCall::new(turn, kind, subject), ALL).await;
        }
        "permission-odd" => ask_for(turn, &ToolCall::new(turn, "execute", None), ODD).await,
        "permission-twice" => {
            let first = ToolCall::new(turn, "execute", Some("cargo build"));
            let second = ToolCall::new(turn, "edit", None);
            tokio::join!(ask_for(turn, &first, ALL), ask_for(turn, &second, ALL));
        }
        "permission-hang" => {
            ask_for(turn, &ToolCall::new(turn, "execute", None), ALL).await;
            std::future::pending::<()>().await;
        }
        _ => form(turn, arguments.need_rest()?).await,
    }
    Ok(Flow::Next)
}

/// The params of a permission request.
pub(super) fn request(turn: &Turn, call: &ToolCall, choices: &[Choice]) -> Value {
    let options: Vec<Value> = choices
        .iter()
        .map(|(id, name, kind)| json!({ "optionId": id, "name": name, "kind": kind }))
        .collect();
    json!({ "sessionId": turn.session, "toolCall": call.describe(), "options": options })
}

async fn ask_for(turn: &Turn, call: &ToolCall, choices: &[Choice]) {
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
fn decision(answer: &Answer, choices: &[Choice]) -> Result<(&'static str, &'static str), String> {
    let raw = match answer {
        Answer::Result(raw) => raw.get(),
        Answer::Error(raw) => return Err(format!("the client answered an error {}", raw.get())),
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

async fn form(turn: &Turn, name: &str) {
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
    let report = match turn.call("elicitation/create", &params).await {
        Answer::Result(raw) => format!("You answered {}\n", raw.get()),
        Answer::Error(raw) => format!("The client answered an error {}\n", raw.get()),
    };
    turn.say(report).await;
}
