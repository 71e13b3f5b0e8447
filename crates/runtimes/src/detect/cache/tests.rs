use std::time::Duration;

use super::*;
use crate::detect::detected_agent::LoginStatus;
use crate::detect::facts::{AuthFact, FeaturesFact, ProbeFact, VersionFact};

fn facts(age: Duration) -> ProgramFacts {
    let auth = AuthFact { state: LoginStatus::Ok, trouble: None };
    ProgramFacts {
        version: Some(ProbeFact::aged(VersionFact::Version("1.0.0".into()), age)),
        features: Some(ProbeFact::aged(FeaturesFact::Failed("slow".into()), age)),
        auth: Some(ProbeFact::aged(auth, age)),
        models: None,
    }
}

fn kept(age: Duration) -> ProgramFacts {
    let dir = tempfile::tempdir().unwrap();
    let entry = DetectionCacheEntry { key: "k".into(), facts: facts(age) };
    DetectionCache::save(dir.path(), [("agent".to_owned(), entry)].into()).unwrap();
    let cache = DetectionCache::load(Some(dir.path()));
    assert_eq!(cache.get("agent", "another key"), None);
    assert_eq!(cache.get("nobody", "k"), None);
    let mut kept = cache.get("agent", "k").unwrap();
    kept.forget_stale();
    kept
}

#[test]
fn what_was_known_is_better_than_running_out_of_time() {
    let before = facts(Duration::from_secs(100_000));
    let mut now = ProgramFacts { version: before.version.clone(), ..ProgramFacts::default() };
    now.features = Some(ProbeFact::provisional(FeaturesFact::Failed("time was up".into())));
    now.fall_back_on(before.clone());
    assert_eq!((now.features, now.auth), (before.features, before.auth));
}

#[test]
fn what_is_fresh_is_kept_whole() {
    let (kept, facts) = (kept(Duration::ZERO), facts(Duration::ZERO));
    // Not when they were learned: between the two another second may have begun.
    assert_eq!(kept.auth.unwrap().is, facts.auth.unwrap().is);
    assert!(kept.features.is_some());
}

#[test]
fn a_login_is_believed_for_a_minute_and_a_failure_for_some() {
    let later = kept(Duration::from_secs(100));
    assert!(later.auth.is_none() && later.features.is_some() && later.version.is_some());

    let much_later = kept(Duration::from_secs(100_000));
    assert!(much_later.features.is_none(), "a failure is tried again");
    assert!(much_later.version.is_some(), "the same program has the same version");
}

#[test]
fn another_login_or_another_path_is_another_key() {
    let definition = crate::catalogue::shipped().unwrap()[0].clone();
    let program = tempfile::NamedTempFile::new().unwrap();
    let mut machine = Machine::default();
    let mut seen = vec![key(program.path(), &definition, &machine).unwrap()];

    machine.variables.insert(definition.auth.env[0].clone().into(), "x".into());
    seen.push(key(program.path(), &definition, &machine).unwrap());
    machine.path.push("/bin".into());
    seen.push(key(program.path(), &definition, &machine).unwrap());

    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3);
    assert_eq!(key(Path::new("/no/such/file"), &definition, &machine), None);
}
