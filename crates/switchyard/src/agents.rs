//! The agents of this user: inside this binary, shipped, configured, and in files of their own.

pub(crate) mod command;
pub(crate) mod demo;
pub(crate) mod native;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use runtimes::catalogue::{BuiltInAgent, Catalogue, CustomAgent, CustomAgentError};
use runtimes::definition::RuntimeDefinition;
use runtimes::detect::{
    DetectOptions, DetectedAgent, Diagnosis, DiagnosisReason, LaunchPlan, detect_one,
};
use runtimes::scratch::Scratch;

use crate::config::Config;
use crate::home::make_private_dir;
use crate::outcome::{ERROR, Failure, NOT_FOUND};

/// The agent that a name stands for.
#[derive(Debug)]
pub(crate) enum ResolvedAgent {
    Inside(BuiltInAgent),
    Defined(Box<RuntimeDefinition>),
}

impl ResolvedAgent {
    /// Checks that a session could begin, as far as that can be known without asking an endpoint.
    pub(crate) fn check(&self, config: &Config) -> Result<(), Failure> {
        match self {
            Self::Inside(BuiltInAgent::Native) => native::check(config),
            Self::Inside(BuiltInAgent::Demo) | Self::Defined(_) => Ok(()),
        }
    }
}

/// Looks an agent up by its name.
pub(crate) fn find(name: &str, config: &Config) -> Result<ResolvedAgent, Failure> {
    // No definition can have their names, and reading all definitions takes a while.
    if let Some(inside) = BuiltInAgent::named(name) {
        return Ok(ResolvedAgent::Inside(inside));
    }
    let catalogue = catalogue(config)?;
    match catalogue.get(name) {
        Some(definition) => Ok(ResolvedAgent::Defined(Box::new(definition.clone()))),
        None => Err(unknown(name, &catalogue)),
    }
}

/// The arguments with which this binary starts an agent that is inside of it.
pub(crate) fn args_of_inside(
    agent: BuiltInAgent,
    config: &Config,
) -> Result<Vec<OsString>, Failure> {
    match agent {
        BuiltInAgent::Native => Ok(native::args(config)),
        BuiltInAgent::Demo => demo::args(config),
    }
}

/// The detection result for an agent inside this binary. The built-in one asks its endpoints;
/// `by_daemon` says whose environment it has.
pub(crate) async fn detect_inside(
    agent: BuiltInAgent,
    config: &Config,
    by_daemon: bool,
) -> DetectedAgent {
    match agent {
        BuiltInAgent::Native => native::detect(config, by_daemon).await,
        BuiltInAgent::Demo => demo::detect(),
    }
}

/// Every agent that has a definition: shipped, in the configuration, or in a file of its own.
pub(crate) fn catalogue(config: &Config) -> Result<Catalogue, Failure> {
    let file = || format!("cannot use {}", config.home.config.display());
    let twice = |name, place| {
        Failure::from(anyhow::Error::from(CustomAgentError::Twice(name)).context(place))
    };
    let mut own: BTreeMap<String, CustomAgent> = config.file.agents.clone();
    for (name, entry) in &config.file.agent_servers {
        if own.insert(name.clone(), entry.clone()).is_some() {
            return Err(twice(name.clone(), file()));
        }
    }
    let mut catalogue = Catalogue::with_custom(&own).with_context(file)?;
    let mut seen = BTreeSet::new();
    for (path, definition) in definition_files(config)? {
        let cannot = || format!("cannot use {}", path.display());
        if BuiltInAgent::named(&definition.id).is_some() || !seen.insert(definition.id.clone()) {
            return Err(twice(definition.id, cannot()));
        }
        catalogue.add(definition).with_context(cannot)?;
    }
    Ok(catalogue)
}

/// `agents/*.toml` beside the configuration: whole definitions, one a file.
fn definition_files(config: &Config) -> Result<Vec<(PathBuf, RuntimeDefinition)>, Failure> {
    /// The largest shipped one has 5 KiB.
    const MAX_BYTES: u64 = 1 << 20;
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
        let cannot = || format!("cannot use {}", path.display());
        let about = path.metadata().with_context(cannot)?;
        if !about.is_file() || about.len() > MAX_BYTES {
            return Err(Failure::new(ERROR, format!("{}: no definition", cannot())));
        }
        let text = std::fs::read_to_string(&path).with_context(cannot)?;
        let definition = RuntimeDefinition::parse(&text).with_context(cannot)?;
        definitions.push((path, definition));
    }
    Ok(definitions)
}

/// The agent whose name is most like `name`, if one is like it at all.
pub(crate) fn nearest<'a>(name: &str, catalogue: &'a Catalogue) -> Option<&'a str> {
    /// The least likeness: `cluade` is 0.83 like `claude`; what is less alike is another word.
    const ALIKE: f64 = 0.7;
    let like = |one: &str| strsim::normalized_damerau_levenshtein(name, one);
    let nearest = catalogue.names().max_by(|one, other| like(one).total_cmp(&like(other)));
    nearest.filter(|one| like(one) >= ALIKE)
}

/// The failure for an unknown agent name, with a similar one as a hint.
fn unknown(name: &str, catalogue: &Catalogue) -> Failure {
    let failure = Failure::new(NOT_FOUND, format!("there is no agent `{name}`"));
    match nearest(name, catalogue) {
        Some(nearest) => {
            failure.hint(format!("did you mean `{nearest}`? `switchyard agents` lists them all"))
        }
        None => failure.hint(format!(
            "`switchyard agents` lists them; or give an ACP command after `--`, or add \
             [agents.{name}] to the configuration, which a running daemon reads when it is started \
             again"
        )),
    }
}

/// The options of detection. Where the cache cannot be written, results are not kept.
pub(crate) fn options(config: &Config) -> DetectOptions {
    let mut launch = bus::Launch::new("", "/");
    launch.cgroups = config.file.workers.cgroups;
    let cache = config.home.state.join("cache");
    match make_private_dir(&cache) {
        Ok(()) => {
            launch.records_dir = Some(config.home.workers());
            let scratch = Scratch::below(config.home.scratch());
            scratch.sweep();
            DetectOptions { cache_dir: Some(cache), scratch, ..DetectOptions::new(launch) }
        }
        Err(error) => {
            tracing::warn!(dir = %cache.display(), %error, "cannot cache what is detected");
            DetectOptions::new(launch)
        }
    }
}

/// Detects whether an agent can be started, and how; nothing more is asked of it.
pub(crate) async fn ready(
    config: &Config,
    definition: &RuntimeDefinition,
) -> Result<(LaunchPlan, DetectedAgent), Failure> {
    let options = DetectOptions { for_start: true, ..options(config).patient() };
    let mut found = detect_one(definition, &options).await;
    if !found.is_cached {
        for what in &found.unfinished {
            tracing::warn!(agent = found.id, what, "unfinished probe; not repeated for minutes");
        }
    }
    match found.run.take_if(|_| found.is_usable) {
        Some(run) => Ok((run, found)),
        None => Err(not_ready(&found)),
    }
}

fn not_ready(found: &DetectedAgent) -> Failure {
    // A mere suspicion is not the reason.
    let is_fatal = |diagnosis: &&Diagnosis| {
        !matches!(
            diagnosis.reason,
            DiagnosisReason::UntestedVersion | DiagnosisReason::VersionProbeFailed
        )
    };
    let Some(first) = found.diagnoses.iter().find(is_fatal) else {
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
