//! Checks of a runtime definition.
//!
//! In: a definition whose fields have the right types. Out: nothing, or the first field that
//! makes no sense and why. Nothing here looks at the machine.

use std::collections::{BTreeMap, BTreeSet};

use super::super::argument_checks;
use super::super::dialect::DialectName;
use super::{EnvChanges, FeatureProbe, RuntimeDefinition, RuntimeForm, Version, VersionRange};

mod form;
mod placeholder;

/// The reason why a definition is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    #[error("not a runtime definition: {message}")]
    Syntax { message: String },
    #[error("runtime definition `{definition}`: {field}: {problem}")]
    Wrong { definition: String, field: String, problem: String },
    #[error("runtime definition `{definition}`: the name `{name}` is taken by `{owner}`")]
    NameTaken { definition: String, name: String, owner: String },
}

/// A field and what is wrong with it.
type Problem = (String, String);
type CheckResult = Result<(), Problem>;

const MAX_ID_BYTES: usize = 80;
/// The longest probe timeout that a definition may set.
const MAX_PROBE_MS: u64 = 60_000;

pub(super) fn definition(definition: &RuntimeDefinition) -> Result<(), DefinitionError> {
    let parts: [fn(&RuntimeDefinition) -> CheckResult; 7] =
        [names, places, version, features, auth, models, forms];
    parts.iter().try_for_each(|part| part(definition)).map_err(|(field, problem)| {
        DefinitionError::Wrong { definition: definition.id.clone(), field, problem }
    })
}

fn names(definition: &RuntimeDefinition) -> CheckResult {
    id("id", &definition.id)?;
    for alias in &definition.aliases {
        id("aliases", alias)?;
    }
    unique("aliases", definition.aliases.iter().chain([&definition.id]))?;
    text("name", &definition.name)?;
    text("install", &definition.install)?;
    definition.notes.iter().try_for_each(|note| text("notes", note))
}

fn places(definition: &RuntimeDefinition) -> CheckResult {
    require("bins", !definition.bins.is_empty(), "must name a program")?;
    definition.bins.iter().try_for_each(|bin| program("bins", bin))?;
    unique("bins", &definition.bins)?;
    if let Some(path) = &definition.path {
        let is_rooted = path.starts_with('/') || path.starts_with("~/");
        require("path", is_rooted, "must be absolute or begin with ~/")?;
        plain("path", path)?;
    }
    words("prefix_args", &definition.prefix_args)?;
    definition.extra_dirs.iter().try_for_each(|dir| below_home("extra_dirs", dir))?;
    env("env", &definition.env)
}

fn version(definition: &RuntimeDefinition) -> CheckResult {
    let probe = &definition.version;
    words("version.args", &probe.args)?;
    milliseconds("version.timeout_ms", probe.timeout_ms)?;
    if let Some(tested) = &probe.tested {
        range("version.tested", tested)?;
    }
    for broken in &probe.broken {
        range("version.broken", &broken.version)?;
        text("version.broken", &broken.remedy)?;
    }
    Ok(())
}

fn features(definition: &RuntimeDefinition) -> CheckResult {
    let FeatureProbe { help, flags } = &definition.features;
    words("features.help", help)?;
    let is_probed = flags.is_empty() || !help.is_empty();
    require("features.help", is_probed, "must be given to look for flags")?;
    for (name, flag) in flags {
        id("features.flags", name)?;
        text("features.flags", flag)?;
    }
    Ok(())
}

fn auth(definition: &RuntimeDefinition) -> CheckResult {
    let auth = &definition.auth;
    auth.env.iter().try_for_each(|name| variable("auth.env", name))?;
    auth.files.iter().try_for_each(|file| below_home("auth.files", file))?;
    if let Some(login) = &auth.login {
        text("auth.login", login)?;
    }
    let Some(probe) = &auth.probe else { return Ok(()) };
    // One CLI downloads and runs an installer when it is started without arguments.
    require("auth.probe.args", !probe.args.is_empty(), "a CLI is never probed without arguments")?;
    words("auth.probe.args", &probe.args)?;
    let says_something = !probe.yes.is_empty() || !probe.no.is_empty();
    require("auth.probe", says_something, "must have `yes` or `no`")?;
    probe.yes.iter().chain(&probe.no).try_for_each(|word| text("auth.probe", word))
}

fn models(definition: &RuntimeDefinition) -> CheckResult {
    let models = &definition.models;
    for model in models.known.iter().map(|model| &model.id).chain(&models.default) {
        argument_checks::model_id(model).map_err(|error| problem("models", error.to_string()))?;
    }
    unique("models.known", models.known.iter().map(|model| &model.id))?;
    if let Some(list) = &models.list {
        require("models.list.args", !list.args.is_empty(), "must not be empty")?;
        words("models.list.args", &list.args)?;
        milliseconds("models.list.timeout_ms", list.timeout_ms)?;
    }
    let can_ask = !models.acp || definition.forms.iter().any(RuntimeForm::is_acp);
    require("models.acp", can_ask, "needs a form that speaks acp")?;
    let per_model = models.known.iter().flat_map(|model| &model.efforts);
    for effort in definition.reasoning.efforts.iter().chain(per_model) {
        argument_checks::word("effort", effort)
            .map_err(|error| problem("reasoning.efforts", error.to_string()))?;
    }
    unique("reasoning.efforts", &definition.reasoning.efforts)
}

fn forms(definition: &RuntimeDefinition) -> CheckResult {
    require("forms", !definition.forms.is_empty(), "there must be one at least")?;
    let flags = &definition.features.flags;
    for (index, one) in definition.forms.iter().enumerate() {
        let named = format!("forms[{index}] ({})", one.dialect);
        form::check(one, flags)
            .map_err(|(field, problem)| (format!("{named}.{field}"), problem))?;
    }
    Ok(())
}

fn problem(field: &str, problem: impl Into<String>) -> Problem {
    (field.to_owned(), problem.into())
}

fn require(field: &str, holds: bool, otherwise: &str) -> CheckResult {
    if holds { Ok(()) } else { Err(problem(field, otherwise)) }
}

/// A name that users type: `cursor-agent`.
fn id(field: &str, name: &str) -> CheckResult {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_id = begins_well && name.len() <= MAX_ID_BYTES && name.chars().all(is_fine);
    let otherwise = format!("`{name}` must be of letters, digits and . _ -");
    require(field, is_id, &otherwise)
}

/// A text for people: one line, not blank.
fn text(field: &str, text: &str) -> CheckResult {
    require(field, !text.trim().is_empty(), "must not be blank")?;
    require(field, !text.contains(char::is_control), "must be one line")
}

/// An argument or a value: not empty, no NUL.
fn plain(field: &str, word: &str) -> CheckResult {
    require(field, !word.is_empty(), "must not be empty")?;
    require(field, !word.contains('\0'), "must not contain NUL")
}

/// Arguments without placeholders.
fn words(field: &str, words: &[String]) -> CheckResult {
    words.iter().try_for_each(|word| plain(field, word))?;
    placeholder::require_only(field, words, &[])
}

fn program(field: &str, name: &str) -> CheckResult {
    let is_name = !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..";
    let otherwise = format!("`{name}` must be the name of a program, without a directory");
    require(field, is_name, &otherwise)
}

fn below_home(field: &str, path: &str) -> CheckResult {
    plain(field, path)?;
    let stays = !path.starts_with(['/', '~']) && path.split('/').all(|part| part != "..");
    require(field, stays, &format!("`{path}` must be a path below the home directory"))
}

fn variable(field: &str, name: &str) -> CheckResult {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let otherwise = format!("`{name}` is no name of an environment variable");
    require(field, begins_well && name.chars().all(is_fine), &otherwise)
}

fn env(field: &str, env: &EnvChanges) -> CheckResult {
    variables(&format!("{field}.set"), &env.set)?;
    let field = format!("{field}.strip");
    for name in &env.strip {
        let name = name.strip_suffix('*').unwrap_or(name);
        // A bare `*` would strip PATH and HOME.
        require(&field, !name.is_empty(), "a pattern must have a beginning")?;
        variable(&field, name)?;
    }
    Ok(())
}

fn variables(field: &str, set: &BTreeMap<String, String>) -> CheckResult {
    for (name, value) in set {
        variable(field, name)?;
        let reaches_it = !name.starts_with("SWITCHYARD_");
        require(field, reaches_it, "a SWITCHYARD_ variable never reaches a CLI")?;
        require(field, !value.contains('\0'), "must not contain NUL")?;
    }
    Ok(())
}

fn milliseconds(field: &str, ms: u64) -> CheckResult {
    let otherwise = format!("must be from 1 to {MAX_PROBE_MS}");
    require(field, (1..=MAX_PROBE_MS).contains(&ms), &otherwise)
}

fn range(field: &str, text: &str) -> CheckResult {
    VersionRange::parse(text).map(drop).map_err(|error| problem(field, error.to_string()))
}

fn unique<'a>(field: &str, names: impl IntoIterator<Item = &'a String>) -> CheckResult {
    let mut seen = BTreeSet::new();
    for name in names {
        require(field, seen.insert(name), &format!("`{name}` is there twice"))?;
    }
    Ok(())
}
