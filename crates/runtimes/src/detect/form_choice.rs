//! The choice of the form in which an agent is spoken to.
//!
//! It is the first one, in the definition's order, whose features are there, whose version is
//! reached and whose program exists. The others are reported with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::detected_agent::{LaunchPlan, SkippedForm};
use super::facts::ProgramFacts;
use super::{Machine, program_search};
use crate::argv::{self, ArgumentValues, ConversationTarget};
use crate::definition::{
    ImageSupport, McpChannel, OptionalArgument, ResumeStyle, RuntimeDefinition, RuntimeForm,
    Version,
};
use crate::dialect::{ConversationOptions, PermissionMode};

/// The form to use, its program, and the forms that were passed over.
pub(super) fn choose(
    definition: &RuntimeDefinition,
    program: &Path,
    facts: &ProgramFacts,
    machine: &Machine,
) -> (Option<(usize, PathBuf)>, Vec<SkippedForm>) {
    let (version, features) = (facts.version(), facts.features(definition));
    let mut chosen = None;
    let mut passed_over = Vec::new();
    for (index, form) in definition.forms.iter().enumerate() {
        let why = match usable(form, program, version, &features, machine) {
            Ok(program) if chosen.is_none() => {
                chosen = Some((index, program));
                continue;
            }
            Ok(_) => "it would work too; another form is preferred".to_owned(),
            Err(why) => why,
        };
        let args = form.args.clone();
        passed_over.push(SkippedForm { dialect: form.dialect.clone(), args, why });
    }
    (chosen, passed_over)
}

fn usable(
    form: &RuntimeForm,
    program: &Path,
    version: Option<Version>,
    features: &BTreeSet<String>,
    machine: &Machine,
) -> Result<PathBuf, String> {
    let missing: Vec<_> =
        form.requires.iter().filter(|feature| !features.contains(*feature)).cloned().collect();
    if !missing.is_empty() {
        return Err(format!("its help text does not show: {}", missing.join(", ")));
    }
    let least = form.min_version.as_ref().and_then(|text| Version::parse(text).ok());
    if let (Some(least), Some(version)) = (least, version)
        && version < least
    {
        return Err(format!("it needs version {least}, this is {version}"));
    }
    match &form.bin {
        None => Ok(program.to_path_buf()),
        Some(bin) => program_search::companion(program, bin, machine)
            .ok_or_else(|| format!("`{bin}`, which speaks it, was not found")),
    }
}

/// A stand-in for an id while arguments are made; the check of ids takes no braces.
const SOME_SESSION: &str = "session-to-be-filled-in";

/// The command line of the chosen form with placeholders, for people and for `--json`.
pub(super) fn run(
    definition: &RuntimeDefinition,
    index: usize,
    program: &Path,
    features: &BTreeSet<String>,
) -> Option<LaunchPlan> {
    let form = definition.forms.get(index)?;
    let modes: Vec<PermissionMode> = argv::modes(form).collect();
    let mode = modes.first().copied().unwrap_or_default();
    let options = ConversationOptions {
        permissions: mode,
        cwd: "{cwd}".into(),
        ..ConversationOptions::default()
    };
    let values = ArgumentValues {
        features: features.clone(),
        options,
        prompt: Some("{prompt}".into()),
        ..ArgumentValues::default()
    };
    let argv = |conversation: ConversationTarget| {
        let values = ArgumentValues { conversation, ..values.clone() };
        let args = argv::arguments(form, &values).unwrap_or_default();
        let args = args.into_iter().map(|arg| arg.replace(SOME_SESSION, "{session}"));
        let program = program.display().to_string();
        [program].into_iter().chain(definition.prefix_args.clone()).chain(args).collect::<Vec<_>>()
    };
    let id = || SOME_SESSION.to_owned();
    let new = match form.resume.style {
        ResumeStyle::Chosen => ConversationTarget::NewAs(id()),
        _ => ConversationTarget::New,
    };
    let resumes = matches!(form.resume.style, ResumeStyle::Chosen | ResumeStyle::Told);
    let optional = [
        ("model", OptionalArgument::Model),
        ("effort", OptionalArgument::Effort),
        ("directory", OptionalArgument::AddDir),
        ("systemPrompt", OptionalArgument::SystemPrompt),
    ];
    let optional_args: BTreeMap<_, _> = optional
        .into_iter()
        .filter(|(_, part)| form.has_argument(*part, features))
        .map(|(name, part)| (name, form.argument(part).to_vec()))
        .collect();
    let mut env = definition.env.set.clone();
    env.extend(form.env.set.clone());
    env.extend(form.permissions.env.get(&mode).cloned().unwrap_or_default());
    // Values of the user's own may be secrets.
    let shipped = |value: &String| value.len() <= MAX_SHOWN_VALUE && !is_own(definition);
    for value in env.values_mut().filter(|value| !shipped(value)) {
        "…".clone_into(value);
    }
    Some(LaunchPlan {
        form: index,
        dialect: form.dialect.clone(),
        program: program.to_path_buf(),
        argv: argv(new),
        resume_argv: resumes.then(|| argv(ConversationTarget::Resume(id()))),
        resume: form.resume.style,
        prompt_by: form.prompt,
        asks: form.permissions.asks,
        modes,
        permissions_note: form.permissions.note.clone(),
        optional_args,
        takes_mcp: form.mcp != McpChannel::None,
        takes_images: form.images != ImageSupport::None,
        env,
        env_stripped: definition.env.strip.iter().chain(&form.env.strip).cloned().collect(),
    })
}

const MAX_SHOWN_VALUE: usize = 200;

/// Whether the configuration defines this agent or changes its environment.
fn is_own(definition: &RuntimeDefinition) -> bool {
    let shipped = crate::catalogue::shipped().unwrap_or_default();
    shipped
        .iter()
        .find(|one| one.id == definition.id)
        .is_none_or(|one| one.env.set != definition.env.set)
}

#[cfg(test)]
mod tests;
