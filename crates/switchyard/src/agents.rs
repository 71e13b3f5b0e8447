//! The agents of this user: shipped, configured, and in files of their own.

use std::collections::BTreeMap;

use anyhow::Context as _;
use runtimes::catalogue::{Catalogue, Own};
use runtimes::definition::Definition;
use runtimes::detect::{Found, Options, detect_one};

use crate::config::Config;
use crate::outcome::{ERROR, Failure, NOT_FOUND};
use crate::world;

/// Everything that can be named.
pub(crate) fn catalogue(config: &Config) -> Result<Catalogue, Failure> {
    let own: BTreeMap<String, Own> =
        config.file.agent_servers.iter().chain(&config.file.agents).map(clone_entry).collect();
    let mut catalogue = Catalogue::with_own(&own)
        .with_context(|| format!("cannot use {}", config.home.config.display()))?;
    for definition in definition_files(config)? {
        catalogue.add(definition).context("the definitions contradict each other")?;
    }
    Ok(catalogue)
}

fn clone_entry((name, own): (&String, &Own)) -> (String, Own) {
    (name.clone(), own.clone())
}

/// `agents/*.toml` beside the configuration: whole definitions, one a file.
fn definition_files(config: &Config) -> Result<Vec<Definition>, Failure> {
    let dir = config.home.config.with_file_name("agents");
    let Ok(entries) = std::fs::read_dir(&dir) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    let mut definitions = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let definition =
            Definition::parse(&text).with_context(|| format!("cannot use {}", path.display()))?;
        definitions.push(definition);
    }
    Ok(definitions)
}

/// How to look for agents.
pub(crate) fn options(config: &Config) -> Result<Options, Failure> {
    let mut launch = bus::Launch::new("", "/");
    launch.keeper_exe = world::own_exe();
    launch.keeper_args = vec![world::KEEPER_VERB.into()];
    launch.records_dir = Some(config.home.run.join("workers"));
    launch.cgroups = config.file.workers.cgroups;
    let cache = config.home.state.join("agents");
    world::make_private_dir(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    Ok(Options { cache_dir: Some(cache), ..Options::new(launch) })
}

/// An agent that can be started.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) program: std::path::PathBuf,
    pub(crate) version: Option<String>,
    pub(crate) features: std::collections::BTreeSet<String>,
    /// Which of its forms is spoken.
    pub(crate) form: usize,
}

/// Finds an agent and what it takes to start it; nothing more is asked of it.
pub(crate) async fn ready(config: &Config, definition: &Definition) -> Result<Ready, Failure> {
    let options = Options { for_start: true, ..options(config)?.patient() };
    let found = detect_one(definition, &options).await;
    match found.run {
        Some(run) if found.is_usable => Ok(Ready {
            program: run.program,
            version: found.version,
            features: found.features.into_iter().collect(),
            form: run.form,
        }),
        _ => Err(not_ready(&found)),
    }
}

fn not_ready(found: &Found) -> Failure {
    let Some(first) = found.diagnoses.first() else {
        let why = match (found.unfinished.first(), found.passed_over.first()) {
            (Some(why), _) => why.clone(),
            (None, Some(form)) => format!("it does not speak {}: {}", form.dialect, form.why),
            (None, None) => "none of its dialects can be spoken".to_owned(),
        };
        return Failure::new(ERROR, format!("{} cannot be started: {why}", found.name))
            .hint(format!("`switchyard agents show {}` tells more", found.id));
    };
    let message = format!("{} cannot be started: {}", found.name, first.message);
    Failure::new(NOT_FOUND, message).hint(first.remedy.clone())
}
