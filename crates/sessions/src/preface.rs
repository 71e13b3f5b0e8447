//! The preface: text before the first prompt, for an agent that takes no instructions otherwise.
//!
//! In: instructions, and the directory that the agent works in. Out: one text that goes before
//! the prompt: the instructions, where the agent is, what is there, and the heading of the
//! request. It is sent to the agent alone: the log has the prompt as its user wrote it.

use std::fmt::Write as _;
use std::path::Path;

use projection::json::JsonNode;
use wire::Json;

use crate::host::{AgentCommand, SystemPromptSupport};
use crate::order::SessionOrder;

/// Names of files that are listed; a repository has more than a prompt should carry.
const MAX_LISTED: usize = 200;
/// Files that are looked at. What a directory holds beyond them is not counted either.
const MAX_SEEN: usize = 10_000;

/// The preface of a new session in `cwd`, if it needs one.
pub(crate) async fn of(
    order: &SessionOrder,
    agent: &AgentCommand,
    new_params: &Json,
    cwd: &Path,
) -> Option<String> {
    let instructions = match agent.quirks.system_prompt {
        SystemPromptSupport::Taken => None,
        SystemPromptSupport::Unknown => order.system_prompt.clone(),
        SystemPromptSupport::NotTaken => {
            order.system_prompt.clone().or_else(|| in_params(new_params))
        }
    };
    let directory = (order.tells_directory || instructions.is_some()).then(|| cwd.to_owned());
    // A directory may be large, or far away.
    let composing = move || compose(instructions.as_deref(), directory.as_deref());
    tokio::task::spawn_blocking(composing).await.unwrap_or_default()
}

/// The instructions that come with a `session/new`: a text, or one to append.
fn in_params(params: &Json) -> Option<String> {
    let meta = JsonNode::of(params).object().object("_meta");
    let prompt = meta.get("systemPrompt")?;
    let text = prompt.text().or_else(|| prompt.object().text("append"))?;
    Some(text.into_owned())
}

fn compose(instructions: Option<&str>, directory: Option<&Path>) -> Option<String> {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if let Some(instructions) = instructions {
        let _ = writeln!(text, "# Instructions\n\n{}\n", instructions.trim());
    }
    if let Some(directory) = directory {
        let _ = writeln!(
            text,
            "# Working directory\n\nYou work in {}. Write files only below it, with paths \
             relative to it.\n",
            directory.display()
        );
        let (names, n_more) = list(directory);
        text.push_str(if names.is_empty() { "It is empty.\n" } else { "It holds:\n" });
        for name in names {
            let _ = writeln!(text, "- {name}");
        }
        if n_more > 0 {
            let _ = writeln!(text, "- and {n_more} more");
        }
        text.push('\n');
    }
    (!text.is_empty()).then(|| text + "# Request\n")
}

/// The names in a directory, and the number of those that are left out.
fn list(dir: &Path) -> (Vec<String>, usize) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().take(MAX_SEEN);
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_shown = !name.starts_with('.') && !name.chars().any(char::is_control);
            is_shown.then(|| if is_dir { name + "/" } else { name })
        })
        .collect();
    names.sort();
    let n_more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    (names, n_more)
}

#[cfg(test)]
mod tests;
