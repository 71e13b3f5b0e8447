//! Results of probes of one program, as the cache keeps them.
//!
//! Facts are raw results; the report is made from them anew each time, so that a variable that is
//! set or a definition that is changed counts at once.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::detected_agent::{LoginStatus, ModelsSource};
use crate::definition::{RuntimeDefinition, Version, VersionRange};
use crate::dialect::Model;

/// How long a login state is kept: short, somebody may log in or out at any time.
const AUTH_FOR: Duration = Duration::from_secs(60);
/// How long a list of models is kept; providers come and go in a CLI's configuration.
const MODELS_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a failed probe is kept; its cause may be mended without a change to the program.
const FAILURES_FOR: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ProgramFacts {
    pub version: Option<ProbeFact<VersionFact>>,
    pub features: Option<ProbeFact<FeaturesFact>>,
    pub auth: Option<ProbeFact<AuthFact>>,
    pub models: Option<ProbeFact<ModelsFact>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProbeFact<T> {
    /// Seconds since 1970.
    at: u64,
    pub is: T,
    /// The time limit was the cause; it is reported, but not kept.
    #[serde(skip)]
    pub is_provisional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum VersionFact {
    Version(String),
    NotAsked,
    Failed(String),
    NotExecutable(String),
    ShimBroken(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FeaturesFact {
    Seen(BTreeSet<String>),
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthFact {
    pub state: LoginStatus,
    /// The reason why the state is unknown.
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ModelsFact {
    pub models: Vec<Model>,
    pub from: ModelsSource,
    pub current: Option<String>,
    pub efforts: Vec<String>,
    /// The reason why there are no models.
    pub trouble: Option<String>,
    /// It refused to list models without a login.
    pub wants_login: bool,
}

impl<T> ProbeFact<T> {
    pub(super) fn now(is: T) -> Self {
        Self { at: seconds_now(), is, is_provisional: false }
    }

    pub(super) fn provisional(is: T) -> Self {
        Self { is_provisional: true, ..Self::now(is) }
    }

    fn age(&self) -> Duration {
        // A time in the future (the clock was set back) counts as old.
        seconds_now().checked_sub(self.at).map_or(Duration::MAX, Duration::from_secs)
    }
}

impl ProgramFacts {
    pub(super) fn version(&self) -> Option<Version> {
        match &self.version.as_ref()?.is {
            VersionFact::Version(text) => Version::parse(text).ok(),
            _ => None,
        }
    }

    /// The features to assume. Without a help text these are all, unless the version is older
    /// than any that was tried.
    pub(super) fn features(&self, definition: &RuntimeDefinition) -> BTreeSet<String> {
        if let Some(FeaturesFact::Seen(seen)) = self.features.as_ref().map(|fact| &fact.is) {
            return seen.clone();
        }
        let tested = definition.version.tested.as_ref();
        let tested = tested.and_then(|range| VersionRange::parse(range).ok());
        let is_old =
            tested.zip(self.version()).is_some_and(|(range, version)| range.begins_after(version));
        let flags = definition.features.flags.keys().filter(|_| !is_old);
        flags.cloned().collect()
    }

    /// The facts without the provisional ones: a probe that was cut short may do better next time.
    pub(super) fn without_provisional(mut self) -> Self {
        self.version.take_if(|fact| fact.is_provisional);
        self.features.take_if(|fact| fact.is_provisional);
        self.auth.take_if(|fact| fact.is_provisional);
        self.models.take_if(|fact| fact.is_provisional);
        self
    }

    /// Fills in facts from the cache, even old ones, where the time limit was reached.
    pub(super) fn fall_back_on(&mut self, before: Self) {
        fn fall_back<T>(now: &mut Option<ProbeFact<T>>, before: Option<ProbeFact<T>>) {
            if before.is_some() && now.as_ref().is_none_or(|fact| fact.is_provisional) {
                *now = before;
            }
        }
        fall_back(&mut self.version, before.version);
        fall_back(&mut self.features, before.features);
        fall_back(&mut self.auth, before.auth);
        fall_back(&mut self.models, before.models);
    }

    /// Removes facts that are too old.
    pub(super) fn forget_stale(&mut self) {
        self.version.take_if(|fact| {
            let is_sure = matches!(fact.is, VersionFact::Version(_) | VersionFact::NotAsked);
            !is_sure && fact.age() > FAILURES_FOR
        });
        self.features.take_if(|fact| {
            matches!(fact.is, FeaturesFact::Failed(_)) && fact.age() > FAILURES_FOR
        });
        self.auth.take_if(|fact| fact.age() > AUTH_FOR);
        self.models.take_if(|fact| {
            let limit = match (&fact.is.trouble, fact.is.wants_login) {
                (_, true) => AUTH_FOR,
                (Some(_), false) => FAILURES_FOR,
                (None, false) => MODELS_FOR,
            };
            fact.age() > limit
        });
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
impl<T> ProbeFact<T> {
    pub(super) fn aged(is: T, age: Duration) -> Self {
        Self { at: seconds_now() - age.as_secs(), ..Self::now(is) }
    }
}
