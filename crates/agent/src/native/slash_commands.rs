//! Prompts that begin with a slash: the agent's own commands, and those in files.
//!
//! A command in a file is a prompt: `review.md` in one of the directories is `/review`, its
//! first line tells what it does, and `$ARGUMENTS` in it is what follows the name.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::journal::JournalItem;
use super::session::NativeSession;

/// The outcome of reading a prompt for slash commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlashOutcome {
    None,
    /// A command that is done, with a message about it.
    Done(String),
    Compact,
    /// A prompt for the model, made of a command in a file.
    Prompt(String),
}

/// The agent's own commands: name, what it does, what may follow.
const OWN: [(&str, &str, Option<&str>); 4] = [
    ("compact", "put a summary in the place of the conversation so far", None),
    ("clear", "go on without what was said before", None),
    ("model", "show the models, or use another", Some("MODEL")),
    ("help", "list the commands", None),
];

const MAX_FILE_BYTES: u64 = 256 << 10;
const MAX_FILES: usize = 200;
/// Directory of a project's commands, below the session's.
const PROJECT_DIR: &str = ".switchyard/commands";

struct FileCommand {
    name: String,
    description: String,
    body: String,
    /// The real path of a command that the project brings along.
    of_project: Option<PathBuf>,
}

/// Reads a prompt, and does what it commands.
pub(super) async fn read(text: &str, session: &NativeSession) -> SlashOutcome {
    let Some(line) = text.trim_start().strip_prefix('/') else { return SlashOutcome::None };
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match name {
        "compact" => SlashOutcome::Compact,
        "clear" => match session.journal.add(JournalItem::Cleared).await {
            Ok(_) => {
                SlashOutcome::Done("What was said before is forgotten; it stays in the log.".into())
            }
            Err(error) => SlashOutcome::Done(format!("The session cannot be saved: {error}")),
        },
        "model" => SlashOutcome::Done(model(rest, session).await),
        "help" => SlashOutcome::Done(help(session)),
        name => match custom(session).into_iter().find(|command| command.name == name) {
            // The command's text is sent to the model.
            Some(FileCommand { of_project: Some(path), .. })
                if !session.workspace.client.may_read(&[&path]).await =>
            {
                SlashOutcome::Done(format!("`{}` may not be read.", path.display()))
            }
            Some(command) => SlashOutcome::Prompt(command.with(rest)),
            // A path, or a word to the model.
            None => SlashOutcome::None,
        },
    }
}

async fn model(wanted: &str, session: &NativeSession) -> String {
    if wanted.is_empty() {
        let current = session.options().model;
        let offers = session.models.offers().await;
        let mut lines = vec![format!("The model is `{current}`.")];
        if !offers.is_empty() {
            lines.push("There are:".into());
            lines.extend(offers.iter().map(|offer| format!("- `{}`", offer.id)));
        }
        return lines.join("\n");
    }
    match session.set_option("model", wanted).await {
        Err(error) => error.message.clone(),
        Ok(_) => {
            let offers = session.models.offers().await;
            let options = &session.describe(&offers)["configOptions"];
            let update =
                json!({ "sessionUpdate": "config_option_update", "configOptions": options });
            let _ = session.client().update(update).await;
            format!("The model is now `{wanted}`.")
        }
    }
}

fn help(session: &NativeSession) -> String {
    let own = OWN.iter().map(|(name, about, input)| {
        let input = input.map(|input| format!(" {input}")).unwrap_or_default();
        format!("- `/{name}{input}`: {about}")
    });
    let custom = custom(session).into_iter();
    let custom = custom.map(|command| format!("- `/{}`: {}", command.name, command.description));
    own.chain(custom).collect::<Vec<_>>().join("\n")
}

/// As ACP's `availableCommands`.
pub(super) fn available(session: &NativeSession) -> Value {
    let own = OWN.iter().map(|(name, about, input)| match input {
        Some(hint) => json!({ "name": name, "description": about, "input": { "hint": hint } }),
        None => json!({ "name": name, "description": about }),
    });
    let custom = custom(session).into_iter().map(|command| {
        let input = json!({ "hint": "arguments" });
        json!({ "name": command.name, "description": command.description, "input": input })
    });
    own.chain(custom).collect()
}

/// The commands in files; those of the project first.
fn custom(session: &NativeSession) -> Vec<FileCommand> {
    // A link in a project leads nowhere else: what is behind it would be sent to the model.
    let root = session.workspace.cwd.canonicalize().ok();
    let settings = &session.workspace.settings;
    let is_inside = |real: &Path| {
        root.as_ref().is_some_and(|root| real.starts_with(root)) && !settings.forbidden.covers(real)
    };
    let of_project = in_dir(&session.workspace.cwd.join(PROJECT_DIR)).into_iter();
    let of_project =
        of_project.filter(|command| command.of_project.as_deref().is_some_and(is_inside));
    let of_user = settings.commands_dir.iter().flat_map(|dir| in_dir(dir));
    let of_user = of_user.map(|command| FileCommand { of_project: None, ..command });
    let mut all: Vec<FileCommand> = Vec::new();
    for command in of_project.chain(of_user) {
        let is_known = OWN.iter().any(|(name, ..)| *name == command.name)
            || all.iter().any(|known| known.name == command.name);
        if !is_known {
            all.push(command);
        }
    }
    all
}

fn in_dir(dir: &Path) -> Vec<FileCommand> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().take(MAX_FILES).map(|e| e.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| in_file(path)).collect()
}

fn in_file(path: &Path) -> Option<FileCommand> {
    let name = path.file_name()?.to_str()?.strip_suffix(".md")?.to_owned();
    let is_plain = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    let real = path.canonicalize().ok()?;
    let about = real.metadata().ok()?;
    if !is_plain || !about.is_file() || about.len() > MAX_FILE_BYTES {
        return None;
    }
    let body = std::fs::read_to_string(&real).ok()?;
    let first = body.lines().map(|line| line.trim_start_matches('#').trim());
    let first = first.into_iter().find(|line| !line.is_empty())?;
    let description = first.chars().filter(|c| !c.is_control()).take(100).collect();
    Some(FileCommand { name, description, body, of_project: Some(real) })
}

impl FileCommand {
    fn with(&self, arguments: &str) -> String {
        const PLACE: &str = "$ARGUMENTS";
        match self.body.contains(PLACE) {
            true => self.body.replace(PLACE, arguments),
            false if arguments.is_empty() => self.body.clone(),
            false => format!("{}\n\n{arguments}", self.body.trim_end()),
        }
    }
}

#[cfg(test)]
mod tests;
