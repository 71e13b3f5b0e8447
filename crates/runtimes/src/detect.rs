//! Detection of the agents on this machine, with diagnoses of those that cannot be used.
//!
//! In: a catalogue and [`DetectOptions`]. Out: one [`DetectedAgent`] for each agent, as soon as it
//! is known. A few agents are examined at once, each in a task of its own: one that hangs, floods
//! or panics costs the others nothing but time. [`DetectOptions::probe_limit`] after an examination
//! began, the results so far are reported, with what is missing and why. No probe outlives its
//! examination.

mod acp_probe;
mod cache;
mod detected_agent;
mod examination;
mod facts;
mod form_choice;
mod machine;
mod models;
mod probe;
mod program_search;
mod report;
pub mod well_known_dirs;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::catalogue::Catalogue;
use crate::definition::RuntimeDefinition;
use crate::scratch::Scratch;
use cache::{DetectionCache, DetectionCacheEntry};

pub use detected_agent::{
    DetectedAgent, Diagnosis, DiagnosisReason, LaunchPlan, LoginState, LoginStatus, ModelsSource,
    ProgramSource, SkippedForm,
};
pub use machine::Machine;

/// The options of a detection: where to look, and for how long.
#[derive(Debug, Clone)]
pub struct DetectOptions {
    /// How probes are started: keeper, records and cgroups; all else is filled in.
    pub launch: bus::Launch,
    pub machine: Machine,
    /// The directory of the cache file; `None`: no cache.
    pub cache_dir: Option<PathBuf>,
    /// The place of the probes' working directories.
    pub scratch: Scratch,
    /// Run all probes again, whatever is in the cache.
    pub refresh: bool,
    /// Probe only what a start needs: version and features, not login and models.
    pub for_start: bool,
    /// How long the probes of one agent may take together. Its result is there less than a second
    /// later.
    pub probe_limit: Duration,
    /// The factor by which the time limit of each probe is multiplied; above 1 for an agent that
    /// is examined alone, when a user can wait.
    pub limit_factor: u32,
}

/// The usual time limit of one agent's probes. With ending the last of them it stays under five
/// seconds.
const PROBE_LIMIT: Duration = Duration::from_millis(3900);
/// How many agents are examined at once, for each core. Most CLIs use a whole core for a second
/// or more to print their version: with more at once, none of them is done in time.
const EXAMINATIONS_PER_CORE: usize = 3;
/// The time limit of a patient examination. One agent took 13 seconds to start on a busy machine.
const PATIENT_PROBE_LIMIT: Duration = Duration::from_secs(20);
/// From the time limit until an examination that still does not return is aborted.
const ABORT_GRACE: Duration = Duration::from_millis(900);

impl DetectOptions {
    /// This machine, without a cache.
    pub fn new(launch: bus::Launch) -> Self {
        Self {
            launch,
            machine: Machine::here(),
            cache_dir: None,
            scratch: Scratch::default(),
            refresh: false,
            for_start: false,
            probe_limit: PROBE_LIMIT,
            limit_factor: 1,
        }
    }

    /// The same for one agent that is about to be run or shown, on a machine that may be busy.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { probe_limit: PATIENT_PROBE_LIMIT, limit_factor: 5, ..self }
    }
}

/// Examines all agents of a catalogue; results come in the order in which they are ready.
///
/// Must be called in a tokio runtime. Dropping the receiver ends nothing: the examinations
/// finish, and what they found is kept for the next time.
pub fn detect(catalogue: &Catalogue, options: DetectOptions) -> mpsc::Receiver<DetectedAgent> {
    let definitions: Vec<RuntimeDefinition> = catalogue.iter().cloned().collect();
    let (sender, receiver) = mpsc::channel(definitions.len().max(1));
    task::spawn(async move {
        let options = Arc::new(options);
        let cache = Arc::new(DetectionCache::load(options.cache_dir.as_deref()));
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let at_once = Arc::new(Semaphore::new(n_cores * EXAMINATIONS_PER_CORE));
        let mut examinations = JoinSet::new();
        for definition in definitions {
            let (options, cache) = (Arc::clone(&options), Arc::clone(&cache));
            let at_once = Arc::clone(&at_once);
            examinations.spawn(task::boxed(async move {
                // The semaphore is never closed.
                let _turn = at_once.acquire().await;
                examine_within_limit(definition, options, cache, Instant::now()).await
            }));
        }
        let mut learned = BTreeMap::new();
        while let Some(examined) = examinations.join_next().await {
            let Ok((found, entry)) = examined else { continue };
            learned.extend(entry.map(|entry| (found.id.clone(), entry)));
            // Nobody listens any more; the cache is still worth filling.
            let _ = sender.send(found).await;
        }
        save_to_cache(&options, learned);
    });
    receiver
}

/// Examines one agent.
pub async fn detect_one(definition: &RuntimeDefinition, options: &DetectOptions) -> DetectedAgent {
    let cache = Arc::new(DetectionCache::load(options.cache_dir.as_deref()));
    let options = Arc::new(options.clone());
    let definition = definition.clone();
    let id = definition.id.clone();
    let start = Instant::now();
    let (found, entry) = examine_within_limit(definition, Arc::clone(&options), cache, start).await;
    save_to_cache(&options, entry.into_iter().map(|entry| (id.clone(), entry)).collect());
    found
}

/// Examines one agent in a task of its own, with a hard time limit; a panic or a hang is reported.
async fn examine_within_limit(
    definition: RuntimeDefinition,
    options: Arc<DetectOptions>,
    cache: Arc<DetectionCache>,
    start: Instant,
) -> (DetectedAgent, Option<DetectionCacheEntry>) {
    let until = start + options.probe_limit;
    let mut nothing = DetectedAgent::without_facts(&definition);
    let task =
        task::spawn(
            async move { examination::examine(&definition, &options, &cache, until).await },
        );
    // Dropping this future ends the probes too.
    let task = AbortOnDropHandle::new(task);
    let abort = task.abort_handle();
    let why = match timeout_at(until + ABORT_GRACE, task).await {
        Ok(Ok(examined)) => return examined,
        Ok(Err(error)) => format!("examining it failed: {error}"),
        Err(_) => {
            abort.abort();
            "examining it took too long".to_owned()
        }
    };
    tracing::warn!(agent = nothing.id, why, "an agent could not be examined");
    nothing.unfinished.push(why);
    (nothing, None)
}

fn save_to_cache(options: &DetectOptions, learned: BTreeMap<String, DetectionCacheEntry>) {
    let Some(dir) = options.cache_dir.as_ref().filter(|_| !learned.is_empty()) else { return };
    if let Err(error) = DetectionCache::save(dir, learned) {
        tracing::warn!(dir = %dir.display(), %error, "cannot write the cache of detected agents");
    }
}

#[cfg(test)]
mod tests;
