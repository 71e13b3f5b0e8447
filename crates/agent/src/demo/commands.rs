//! What a script can say: the table of commands, and the way to their code.
//!
//! In: a command and its arguments. Out: what it does to the turn, and whether the script goes on.
//! The table is the only list there is: `help`, the announced slash commands and the lookup all
//! read it, and each group of it has one file.

mod arguments;
mod client;
mod ends;
mod misbehave;
mod myself;
mod permission;
mod process;
mod table;
mod text;
mod tools;
mod updates;

pub(super) use process::flood_stderr;
pub(super) use text::converse;

use super::turn::{Outcome, Turn};
use arguments::{Arguments, Usage};
use serde_json::{Value, json};
use table::{COMMANDS, Command, Group};

/// Whether the script goes on.
pub(super) enum Flow {
    Next,
    End(Outcome),
}

/// What the code of a command gives back.
type Done = Result<Flow, Usage>;

pub(super) fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

pub(super) async fn perform(turn: &Turn, command: &Command, rest: &str) -> Flow {
    let name = command.name;
    let arguments = Arguments::new(rest);
    // Boxed, because the state of all commands together would be large and each turn holds it.
    let done = match command.group {
        Group::Text => Box::pin(text::perform(turn, name, arguments)).await,
        Group::Tools => Box::pin(tools::perform(turn, name, arguments)).await,
        Group::Updates => Box::pin(updates::perform(turn, name, arguments)).await,
        Group::Permission => Box::pin(permission::perform(turn, name, arguments)).await,
        Group::Client => Box::pin(client::perform(turn, name, arguments)).await,
        Group::Myself => Box::pin(myself::perform(turn, name, arguments)).await,
        Group::Ends => Box::pin(ends::perform(turn, name, arguments)).await,
        Group::Process => Box::pin(process::perform(turn, name, arguments)).await,
        Group::Misbehave => Box::pin(misbehave::perform(turn, name, arguments)).await,
    };
    if let Ok(flow) = done {
        return flow;
    }
    turn.say(format!("usage: {} {}\n", command.name, command.arguments)).await;
    Flow::Next
}

/// The `available_commands_update` of this agent: what a person might want to type.
pub(super) fn available() -> Value {
    let listed: Vec<Value> = COMMANDS
        .iter()
        .filter(|command| command.is_announced)
        .map(|command| {
            let mut entry = json!({ "name": command.name, "description": command.about });
            if !command.arguments.is_empty() {
                entry["input"] = json!({ "hint": command.arguments });
            }
            entry
        })
        .collect();
    json!({ "sessionUpdate": "available_commands_update", "availableCommands": listed })
}
