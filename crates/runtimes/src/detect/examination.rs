//! The examination of one agent by probes.
//!
//! In: a definition, the cache, and the time limit. Out: a [`DetectedAgent`] and its cache entry.
//! Nothing here waits longer than the limit, except for the moment it takes to end a probe.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::cache::{self, DetectionCache, DetectionCacheEntry};
use super::detected_agent::{DetectedAgent, LoginStatus, ModelsSource};
use super::facts::{AuthFact, FeaturesFact, ModelsFact, ProbeFact, ProgramFacts, VersionFact};
use super::form_choice;
use super::probe::{ProbeCommand, ProbeOutcome, ProbeOutput};
use super::report::{assemble, broken, current_login};
use super::{DetectOptions, acp_probe, models, program_search};
use crate::definition::{AuthProbe, ModelList, RuntimeDefinition, RuntimeForm, Version};
use crate::dialect::PermissionMode;

/// The time limit of a help text or a login probe; both are there at once, or something is wrong.
const QUICK_PROBE_LIMIT: Duration = Duration::from_secs(5);
/// How many ACP agents are asked at once. One may take 300 MB to start; all at once would be too
/// much for a small machine.
static ACP_AT_ONCE: Semaphore = Semaphore::const_new(6);

pub(super) async fn examine(
    definition: &RuntimeDefinition,
    options: &DetectOptions,
    cache: &DetectionCache,
    until: Instant,
) -> (DetectedAgent, Option<DetectionCacheEntry>) {
    let (path, by) = match program_search::locate(definition, &options.machine) {
        Ok(located) => located,
        Err(diagnosis) => {
            let mut found = DetectedAgent::without_facts(definition);
            found.diagnoses.push(diagnosis);
            return (found, None);
        }
    };
    let key = cache::key(&path, definition, &options.machine);
    let before = match &key {
        Some(key) if !options.refresh => cache.get(&definition.id, key),
        _ => None,
    };
    let before = before.unwrap_or_default();
    let mut facts = before.clone();
    facts.forget_stale();
    let mut examination = Examination { definition, options, path, until, facts };
    let is_cached = !examination.run().await;
    let Examination { path, mut facts, .. } = examination;
    facts.fall_back_on(before);
    let mut found = assemble(definition, &options.machine, (path, by), &facts);
    found.is_cached = is_cached;
    (found, key.map(|key| DetectionCacheEntry { key, facts: facts.without_provisional() }))
}

struct Examination<'a> {
    definition: &'a RuntimeDefinition,
    options: &'a DetectOptions,
    path: PathBuf,
    until: Instant,
    facts: ProgramFacts,
}

impl Examination<'_> {
    /// Runs the probes whose facts are missing; `false` if there was nothing to learn.
    async fn run(&mut self) -> bool {
        let before = self.facts.clone();
        self.facts.version = Some(self.version().await);
        // A version that is known not to work must not be asked anything else: one of them
        // runs an installer.
        let is_sound = !self.cannot_run() && broken(self.definition, &self.facts).is_none();
        if is_sound && self.options.for_start {
            self.facts.features = Some(self.features().await);
        } else if is_sound {
            let (features, auth, models) = tokio::join!(self.features(), self.auth(), self.list());
            (self.facts.features, self.facts.auth) = (Some(features), auth);
            self.facts.models = models;
            if self.facts.models.as_ref().is_none_or(|fact| fact.is.trouble.is_some())
                && let Some(models) = self.ask_by_acp().await
            {
                self.facts.models = Some(models);
            }
        }
        self.facts != before
    }

    async fn version(&self) -> ProbeFact<VersionFact> {
        if let Some(fact) = &self.facts.version {
            return fact.clone();
        }
        let probe = &self.definition.version;
        if probe.args.is_empty() {
            return ProbeFact::now(VersionFact::NotAsked);
        }
        let limit = Duration::from_millis(probe.timeout_ms);
        ProbeFact::now(match self.call(&probe.args, limit).run().await {
            ProbeOutcome::Ran(ran) => version_of(&ran),
            ProbeOutcome::NotFound => VersionFact::ShimBroken(missing_interpreter(&self.path)),
            ProbeOutcome::NotExecutable(why) => VersionFact::NotExecutable(why),
            ProbeOutcome::NotStarted(why) => {
                return ProbeFact::provisional(VersionFact::Failed(why));
            }
            ProbeOutcome::TimedOut => {
                let limit =
                    (limit * self.options.limit_factor.max(1)).min(self.options.probe_limit);
                let why = format!("no answer within {limit:?}");
                return self.fact_from(&ProbeOutcome::TimedOut, VersionFact::Failed(why));
            }
        })
    }

    async fn features(&self) -> ProbeFact<FeaturesFact> {
        if let Some(fact) = &self.facts.features {
            return fact.clone();
        }
        let features = &self.definition.features;
        if features.flags.is_empty() {
            return ProbeFact::now(FeaturesFact::Seen(BTreeSet::new()));
        }
        match self.call(&features.help, QUICK_PROBE_LIMIT).run().await {
            // Some print their help to stderr, some exit with 1.
            ProbeOutcome::Ran(ran) if !ran.stdout.is_empty() || !ran.stderr.is_empty() => {
                let shown = |text: &str| has_flag(&ran.stdout, text) || has_flag(&ran.stderr, text);
                let seen = features.flags.iter().filter(|(_, text)| shown(text));
                ProbeFact::now(FeaturesFact::Seen(seen.map(|(name, _)| name.clone()).collect()))
            }
            outcome => {
                let fact = FeaturesFact::Failed(failure_text(&outcome, &features.help));
                self.fact_from(&outcome, fact)
            }
        }
    }

    /// The login probe. `None`: it does not have to be asked, or cannot be.
    async fn auth(&self) -> Option<ProbeFact<AuthFact>> {
        let probe = self.definition.auth.probe.as_ref()?;
        if current_login(self.definition, &self.options.machine).is_some() {
            return None;
        }
        if let Some(fact) = &self.facts.auth {
            return Some(fact.clone());
        }
        let outcome = self.call(&probe.args, QUICK_PROBE_LIMIT).run().await;
        let state = match &outcome {
            ProbeOutcome::Ran(ran) => login_status(probe, ran),
            _ => LoginStatus::Unknown,
        };
        let trouble = (state == LoginStatus::Unknown).then(|| failure_text(&outcome, &probe.args));
        Some(self.fact_from(&outcome, AuthFact { state, trouble }))
    }

    /// The cached fact about models; a patient examination ignores one of a probe that failed.
    fn models_before(&self) -> Option<&ProbeFact<ModelsFact>> {
        let is_patient = self.options.limit_factor > 1;
        self.facts.models.as_ref().filter(|fact| !is_patient || fact.is.trouble.is_none())
    }

    /// The models by the CLI's listing command. `None`: there is no such command.
    async fn list(&self) -> Option<ProbeFact<ModelsFact>> {
        if let Some(fact) = self.models_before() {
            return Some(fact.clone());
        }
        let ModelList { args, shape, timeout_ms } = self.definition.models.list.as_ref()?;
        let outcome = self.call(args, Duration::from_millis(*timeout_ms)).run().await;
        let models = match &outcome {
            ProbeOutcome::Ran(ran) => models::parse(*shape, &ran.stdout),
            _ => Vec::new(),
        };
        let trouble = models.is_empty().then(|| failure_text(&outcome, args));
        let fact =
            ModelsFact { models, from: ModelsSource::Listed, trouble, ..ModelsFact::default() };
        Some(self.fact_from(&outcome, fact))
    }

    /// The models by ACP. `None`: it cannot be asked, or was asked a while ago.
    async fn ask_by_acp(&self) -> Option<ProbeFact<ModelsFact>> {
        let Self { definition, options, path, .. } = self;
        let was_asked =
            self.models_before().is_some_and(|fact| fact.is.from != ModelsSource::Listed);
        if !definition.models.acp || was_asked {
            return None;
        }
        let (chosen, _) = form_choice::choose(definition, path, &self.facts, &options.machine);
        let (index, program) = chosen?;
        let form = definition.forms.get(index).filter(|form| form.is_acp())?;
        let permit = timeout_at(self.until, ACP_AT_ONCE.acquire()).await;
        let Ok(Ok(_permit)) = permit else {
            return Some(ProbeFact::provisional(failed("too many other agents were asked")));
        };
        let features = self.facts.features(definition);
        let whens = form.when.iter().filter(|when| features.contains(&when.feature));
        let own = form.args.iter().chain(whens.flat_map(|when| &when.args));
        let call = self.call_of(&program, Some(form), own.cloned(), self.until);
        Some(ProbeFact::now(match acp_probe::list_models(call).await {
            Ok(offered) => offered,
            Err(acp_probe::AcpProbeError::AuthRequired) => {
                ModelsFact { wants_login: true, ..failed("it wants a login first") }
            }
            Err(acp_probe::AcpProbeError::Other(why)) => failed(&format!("over ACP: {why}")),
            Err(acp_probe::AcpProbeError::TimedOut) if options.limit_factor > 1 => {
                return Some(ProbeFact::provisional(failed("it did not answer over ACP in time")));
            }
            // Kept, so that it is not asked again at every listing; asking for it alone does.
            Err(acp_probe::AcpProbeError::TimedOut) => failed(&format!(
                "it did not answer over ACP in time; `switchyard agents show {}` waits longer",
                definition.id
            )),
        }))
    }

    /// A fact that is kept, or a provisional one where our time limit and not the program was the
    /// cause. A program that did not answer in a patient examination hangs: that is kept, so that
    /// the next start does not wait for it again.
    fn fact_from<T>(&self, outcome: &ProbeOutcome, fact: T) -> ProbeFact<T> {
        match outcome {
            ProbeOutcome::TimedOut if self.options.limit_factor > 1 => ProbeFact::now(fact),
            ProbeOutcome::TimedOut | ProbeOutcome::NotStarted(_) => ProbeFact::provisional(fact),
            _ => ProbeFact::now(fact),
        }
    }

    /// Whether the version probe showed that it cannot be run at all.
    fn cannot_run(&self) -> bool {
        let fact = self.facts.version.as_ref().map(|fact| &fact.is);
        matches!(fact, Some(VersionFact::NotExecutable(_) | VersionFact::ShimBroken(_)))
    }

    fn call(&self, args: &[String], limit: Duration) -> ProbeCommand<'_> {
        let until = self.until.min(Instant::now() + limit * self.options.limit_factor.max(1));
        self.call_of(&self.path, None, args.iter().cloned(), until)
    }

    fn call_of<'a>(
        &'a self,
        program: &'a Path,
        form: Option<&RuntimeForm>,
        args: impl Iterator<Item = String>,
        until: Instant,
    ) -> ProbeCommand<'a> {
        let Self { definition, options, .. } = self;
        let mode = PermissionMode::default();
        ProbeCommand {
            launch: &options.launch,
            scratch: &options.scratch,
            program,
            args: definition.prefix_args.iter().cloned().chain(args).collect(),
            env: options.machine.environment(definition, form, mode, program),
            until,
        }
    }
}

fn version_of(ran: &ProbeOutput) -> VersionFact {
    match ran.code {
        Some(126) => return VersionFact::NotExecutable(last_output(ran)),
        Some(127) => return VersionFact::ShimBroken(last_output(ran)),
        _ => {}
    }
    let found = Version::find(&ran.stdout);
    let is_success = ran.code == Some(0);
    let found = found.or_else(|| is_success.then(|| Version::find(&ran.stderr)).flatten());
    match found {
        Some(version) => VersionFact::Version(version.to_string()),
        None => VersionFact::Failed(last_output(ran)),
    }
}

/// The login state by a probe's output. Both yes and no mean no: `Not logged in` contains
/// `logged in`.
fn login_status(probe: &AuthProbe, ran: &ProbeOutput) -> LoginStatus {
    let has = |word: &String| ran.stdout.contains(word) || ran.stderr.contains(word);
    if probe.no.iter().any(has) {
        LoginStatus::Missing
    } else if probe.yes.iter().any(has) {
        LoginStatus::Ok
    } else {
        LoginStatus::Unknown
    }
}

/// Whether a help text shows a flag, and not only a longer one that begins like it.
fn has_flag(help: &str, flag: &str) -> bool {
    let continues = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    help.match_indices(flag).any(|(at, _)| {
        let before = help.get(..at).and_then(|text| text.chars().next_back());
        let after = help.get(at + flag.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(continues) && !after.is_some_and(continues)
    })
}

fn failure_text(outcome: &ProbeOutcome, args: &[String]) -> String {
    let args = args.join(" ");
    match outcome {
        ProbeOutcome::Ran(ran) => format!("`{args}` printed nothing of use: {}", last_output(ran)),
        ProbeOutcome::TimedOut => format!("`{args}` did not answer in time"),
        ProbeOutcome::NotFound => format!("`{args}`: its interpreter is missing"),
        ProbeOutcome::NotExecutable(why) | ProbeOutcome::NotStarted(why) => {
            format!("`{args}`: {why}")
        }
    }
}

const MAX_WORDS_CHARS: usize = 200;

/// The exit status and the last line of output.
fn last_output(ran: &ProbeOutput) -> String {
    let lines = ran.stderr.lines().rev().chain(ran.stdout.lines().rev());
    let last = lines.map(str::trim).find(|line| !line.is_empty());
    let shown: String = last.unwrap_or_default().chars().take(MAX_WORDS_CHARS).collect();
    let shown: String = shown.chars().filter(|c| !c.is_control()).collect();
    if shown.is_empty() { ran.exit.clone() } else { format!("{}: {shown}", ran.exit) }
}

/// The message for a script whose interpreter is missing, with the interpreter's name.
fn missing_interpreter(path: &Path) -> String {
    use std::io::Read as _;
    let mut start = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(256).read_to_end(&mut start);
    }
    let start = String::from_utf8_lossy(&start).into_owned();
    let line = start.lines().next().and_then(|line| line.strip_prefix("#!")).map(str::trim);
    match line {
        Some(interpreter) => format!("its interpreter `{interpreter}` is missing"),
        None => "what it needs to be started is missing".to_owned(),
    }
}

fn failed(why: &str) -> ModelsFact {
    ModelsFact { trouble: Some(why.to_owned()), ..ModelsFact::default() }
}

#[cfg(test)]
mod tests;
