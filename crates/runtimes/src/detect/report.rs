//! The report on one agent, made from the facts about it.
//!
//! Pure except that it checks whether login files exist: the same facts give the same report.

use std::fs;
use std::path::{Path, PathBuf};

use super::Machine;
use super::detected_agent::{
    DetectedAgent, DiagnosisReason, LoginState, LoginStatus, ModelsSource, ProgramSource,
};
use super::facts::{FeaturesFact, ProgramFacts, VersionFact};
use super::form_choice;
use crate::definition::{
    BrokenVersion, CustomProvider, RuntimeDefinition, RuntimeForm, VersionRange,
};

pub(super) fn assemble(
    definition: &RuntimeDefinition,
    machine: &Machine,
    (path, by): (PathBuf, ProgramSource),
    facts: &ProgramFacts,
) -> DetectedAgent {
    let mut found = DetectedAgent::without_facts(definition);
    found.found_by = Some(by);
    found.version = facts.version().map(|version| version.to_string());
    let works = report_version(definition, &path, facts, &mut found);
    let features = facts.features(definition);
    if works {
        let (chosen, passed_over) = form_choice::choose(definition, &path, facts, machine);
        found.passed_over = passed_over;
        found.run = chosen
            .and_then(|(index, program)| form_choice::run(definition, index, &program, &features));
        // An ACP agent offers what it offers; what its definition knows is for its other forms.
        if found.form(definition).is_some_and(RuntimeForm::is_acp) {
            found.efforts.clear();
        }
        report_login(definition, machine, facts, &mut found);
        report_models(definition, facts, &mut found);
        if let Some(FeaturesFact::Failed(why)) = facts.features.as_ref().map(|fact| &fact.is) {
            found.unfinished.push(format!("features: {why}"));
        }
    }
    found.features = features.into_iter().collect();
    found.is_usable = works && found.run.is_some();
    found.path = Some(path);
    found
}

/// The entry that says why this version does not work.
pub(super) fn broken<'a>(
    definition: &'a RuntimeDefinition,
    facts: &ProgramFacts,
) -> Option<&'a BrokenVersion> {
    let version = facts.version()?;
    definition.version.broken.iter().find(|broken| {
        VersionRange::parse(&broken.version).is_ok_and(|range| range.contains(version))
    })
}

/// Adds diagnoses of the program itself; `false` if it cannot be used.
fn report_version(
    definition: &RuntimeDefinition,
    path: &Path,
    facts: &ProgramFacts,
    found: &mut DetectedAgent,
) -> bool {
    let shown = path.display();
    let again = format!("install it again: {}", definition.install);
    let version = facts.version.as_ref().map(|fact| &fact.is);
    if let Some(VersionFact::NotExecutable(why)) = version {
        let message = format!("{shown} cannot be executed: {why}");
        found.diagnose(DiagnosisReason::NotExecutable, message, again);
        return false;
    }
    if let Some(VersionFact::ShimBroken(why)) = version {
        found.diagnose(DiagnosisReason::ShimBroken, format!("{shown} is broken: {why}"), again);
        return false;
    }
    if let Some(broken) = broken(definition, facts) {
        let message = format!("{shown} has a version that does not work: {}", broken.version);
        found.diagnose(DiagnosisReason::ShimBroken, message, &*broken.remedy);
        return false;
    }
    if let Some(VersionFact::Failed(why)) = version {
        let args: Vec<_> =
            definition.prefix_args.iter().chain(&definition.version.args).cloned().collect();
        let command = format!("{shown} {}", args.join(" "));
        let message = format!("`{command}` did not print a version: {why}");
        let is_slow = facts.version.as_ref().is_some_and(|fact| fact.is_provisional);
        let remedy = match is_slow {
            true => format!(
                "it may only have been slow; `switchyard agents show {}` gives it more time",
                definition.id
            ),
            false => format!("run it by hand; if it fails there too, {again}"),
        };
        found.diagnose(DiagnosisReason::VersionProbeFailed, message, remedy);
    }
    if let (Some(version), Some(tested)) = (facts.version(), &definition.version.tested)
        && VersionRange::parse(tested).is_ok_and(|range| !range.contains(version))
    {
        found.diagnose(
            DiagnosisReason::UntestedVersion,
            format!("version {version} was never tried with Switchyard; versions {tested} were"),
            "it will probably work; if it does not, install one of those versions",
        );
    }
    true
}

fn report_login(
    definition: &RuntimeDefinition,
    machine: &Machine,
    facts: &ProgramFacts,
    found: &mut DetectedAgent,
) {
    let auth = &definition.auth;
    found.auth = current_login(definition, machine).unwrap_or_else(|| {
        match facts.auth.as_ref().map(|fact| &fact.is) {
            Some(fact) => {
                let by = (fact.state != LoginStatus::Unknown).then(|| "the CLI itself".to_owned());
                LoginState { state: fact.state, by }
            }
            None => LoginState::default(),
        }
    });
    // A login that was found may have expired, or be of no use for this program.
    if facts.models.as_ref().is_some_and(|fact| fact.is.wants_login) {
        found.auth = LoginState {
            state: LoginStatus::Missing,
            by: Some("the CLI itself, when a session was opened".to_owned()),
        };
    }
    let mut ways: Vec<String> = auth.login.iter().map(|login| format!("run: {login}")).collect();
    ways.extend(auth.env.first().map(|name| format!("set {name}")));
    if ways.is_empty() {
        // No way to log in is known: an agent of the user's own.
        return;
    }
    let ways = ways.join(", or ");
    let name = &definition.name;
    match found.auth.state {
        LoginStatus::Ok => {}
        LoginStatus::Missing => {
            found.diagnose(DiagnosisReason::AuthMissing, format!("{name} is not logged in"), ways);
        }
        LoginStatus::Unknown => {
            let trouble = facts.auth.as_ref().and_then(|fact| fact.is.trouble.clone());
            let why = trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
            found.diagnose(
                DiagnosisReason::AuthUnknown,
                format!("cannot tell whether {name} is logged in{why}"),
                format!("if it asks for a login, {ways}"),
            );
        }
    }
}

/// The login state by variables and files; `None` if the CLI has to be asked.
pub(super) fn current_login(
    definition: &RuntimeDefinition,
    machine: &Machine,
) -> Option<LoginState> {
    let auth = &definition.auth;
    let is_set =
        |name: &&String| machine.variable(name).is_some() || definition.env.set.contains_key(*name);
    let ok = |by: String| LoginState { state: LoginStatus::Ok, by: Some(by) };
    if let Some(name) = auth.env.iter().find(is_set) {
        return Some(ok(name.clone()));
    }
    let home = machine.home.as_ref()?;
    let file = auth.files.iter().find(|file| has_content(&home.join(file)));
    let own = || auth.provider.as_ref().filter(|provider| uses_custom_provider(home, provider));
    let file = file.or_else(|| own().map(|provider| &provider.file))?;
    Some(ok(format!("~/{file}")))
}

/// Whether the CLI is set up to use a provider that is none of its own.
fn uses_custom_provider(home: &Path, provider: &CustomProvider) -> bool {
    const MAX_BYTES: u64 = 1 << 20;
    let path = home.join(&provider.file);
    if !fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= MAX_BYTES) {
        return false;
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    let config: toml::Table = toml::from_str(&text).unwrap_or_default();
    let named = config.get(&provider.key).and_then(toml::Value::as_str);
    named.is_some_and(|name| !name.is_empty() && !provider.except.iter().any(|one| one == name))
}

/// Whether a login file or directory has content. Some CLIs make an empty file at first start.
fn has_content(path: &Path) -> bool {
    const LONGEST_NOTHING: u64 = 16;
    let Ok(metadata) = fs::metadata(path) else { return false };
    if metadata.is_dir() || metadata.len() > LONGEST_NOTHING {
        return true;
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    !matches!(text.trim(), "" | "{}" | "[]" | "null")
}

fn report_models(definition: &RuntimeDefinition, facts: &ProgramFacts, found: &mut DetectedAgent) {
    let said = facts.models.as_ref().map(|fact| &fact.is);
    if let Some(said) = said {
        for effort in &said.efforts {
            if !found.efforts.contains(effort) {
                found.efforts.push(effort.clone());
            }
        }
        if found.default_model.is_none() {
            found.default_model.clone_from(&said.current);
        }
        if let Some(trouble) = &said.trouble {
            found.unfinished.push(format!("models: {trouble}"));
        }
    }
    match said.filter(|said| !said.models.is_empty()) {
        Some(said) => {
            found.models.clone_from(&said.models);
            found.models_from = said.from;
        }
        None => {
            found.models.clone_from(&definition.models.known);
            let is_known = !found.models.is_empty();
            found.models_from = if is_known { ModelsSource::Known } else { ModelsSource::Nobody };
        }
    }
}

#[cfg(test)]
mod tests;
