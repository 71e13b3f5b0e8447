//! The command line of a CLI, from its definition and a session's options.
//!
//! In: a form of a definition and checked values. Out: arguments, never a shell string.
//! Nothing reaches an argument that was not checked by [`crate::argument_checks`].

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::argument_checks::{self, BadValue};
use crate::definition::{OptionalArgument, PromptChannel, RuntimeForm};
use crate::dialect::{ConversationOptions, PermissionMode};

/// The longest single argument that Linux takes is 128 KiB; some room is left.
pub const MAX_PROMPT_ARG_BYTES: usize = 120_000;

/// The values for a command line's placeholders and optional arguments.
#[derive(Debug, Clone, Default)]
pub struct ArgumentValues {
    pub features: BTreeSet<String>,
    pub options: ConversationOptions,
    pub conversation: ConversationTarget,
    pub prompt_file: Option<PathBuf>,
    /// The prompt itself, for CLIs that take it as an argument.
    pub prompt: Option<String>,
}

/// The conversation that a process is started for: a new one or an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConversationTarget {
    #[default]
    New,
    /// A new one, under an id that we choose.
    NewAs(String),
    /// An earlier one, by the CLI's own id.
    Resume(String),
}

#[derive(Debug, thiserror::Error)]
pub enum ArgvError {
    #[error(transparent)]
    BadValue(#[from] BadValue),
    #[error(
        "it cannot be restricted to permission mode `{}` in this form; it can be run with: {}",
        .wanted.name(), .offered.join(", ")
    )]
    ModeNotOffered { wanted: PermissionMode, offered: Vec<&'static str> },
    #[error("the prompt is {bytes} bytes; this CLI takes at most {MAX_PROMPT_ARG_BYTES}")]
    PromptTooLarge { bytes: usize },
}

/// The arguments of one start.
pub fn arguments(form: &RuntimeForm, values: &ArgumentValues) -> Result<Vec<String>, ArgvError> {
    let resumed = matches!(values.conversation, ConversationTarget::Resume(_));
    let base = form.resume.args.as_ref().filter(|_| resumed).unwrap_or(&form.args);
    let mut args = base.clone();
    for when in form.when.iter().filter(|when| values.features.contains(&when.feature)) {
        args.extend(when.args.iter().cloned());
    }
    args.extend(mode_arguments(form, values.options.permissions)?.iter().cloned());
    // Before values of the user's are in the arguments: braces in those are not ours to fill.
    let cwd = values.options.cwd.to_string_lossy();
    for arg in &mut args {
        *arg = arg.replace("{cwd}", &cwd);
        if let Some(file) = &values.prompt_file {
            *arg = arg.replace("{prompt_file}", &file.to_string_lossy());
        }
    }
    let part = |part: OptionalArgument, placeholder: &str, value: &str| match form
        .has_argument(part, &values.features)
    {
        true => filled(form.argument(part), placeholder, value),
        false => Vec::new(),
    };
    if let Some(model) = &values.options.model {
        argument_checks::model_id(model)?;
        args.extend(part(OptionalArgument::Model, "{model}", model));
    }
    if let Some(effort) = &values.options.effort {
        argument_checks::word("effort", effort)?;
        args.extend(part(OptionalArgument::Effort, "{effort}", effort));
    }
    for dir in &values.options.directories {
        args.extend(part(OptionalArgument::AddDir, "{dir}", &argument_checks::directory(dir)?));
    }
    if let Some(text) = &values.options.system_prompt {
        args.extend(part(OptionalArgument::SystemPrompt, "{text}", text));
    }
    match &values.conversation {
        ConversationTarget::New => {}
        ConversationTarget::NewAs(id) => args.extend(filled(&form.resume.new, "{session}", id)),
        ConversationTarget::Resume(id) => {
            argument_checks::session_id(id)?;
            args.extend(filled(&form.resume.again, "{session}", id));
        }
    }
    if let (PromptChannel::Argv, Some(prompt)) = (form.prompt, &values.prompt) {
        if prompt.len() > MAX_PROMPT_ARG_BYTES {
            return Err(ArgvError::PromptTooLarge { bytes: prompt.len() });
        }
        let alone = ["{prompt}".to_owned()];
        let template = if form.prompt_args.is_empty() { &alone[..] } else { &form.prompt_args };
        for word in template {
            // Standing alone, a prompt that begins with a dash would be read as a flag, and a
            // flag can switch permissions off. No CLI minds the blank.
            let is_flag = word.starts_with("{prompt}") && prompt.starts_with('-');
            let blank = if is_flag { " " } else { "" };
            args.push(format!("{blank}{}", word.replace("{prompt}", prompt)));
        }
    }
    Ok(args)
}

/// Arguments that hold the CLI to a permission mode.
fn mode_arguments(form: &RuntimeForm, mode: PermissionMode) -> Result<&[String], ArgvError> {
    if !offers(form, mode) {
        let offered = modes(form).map(PermissionMode::name).collect();
        return Err(ArgvError::ModeNotOffered { wanted: mode, offered });
    }
    Ok(form.permissions.modes.get(&mode).map_or(&[], Vec::as_slice))
}

/// Permission modes that a CLI can be held to in this form.
pub fn modes(form: &RuntimeForm) -> impl Iterator<Item = PermissionMode> + '_ {
    PermissionMode::ALL.into_iter().filter(|mode| offers(form, *mode))
}

/// A CLI that asks is held to any mode by the answers, unless it does not ask for everything.
fn offers(form: &RuntimeForm, mode: PermissionMode) -> bool {
    let named = &form.permissions;
    (named.asks || named.modes.contains_key(&mode)) && !named.refuses.contains(&mode)
}

fn filled(template: &[String], placeholder: &str, value: &str) -> Vec<String> {
    template.iter().map(|word| word.replace(placeholder, value)).collect()
}

#[cfg(test)]
mod tests;
