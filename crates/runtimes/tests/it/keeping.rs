//! What was found out is kept until the program changes.

use std::fs;

use crate::stage::{Stage, plain};

const MORE: &str = r#"
    [features]
    help = ["--help"]
    flags = { fast = "--fast" }
    [models]
    list = { args = ["models"], shape = "lines" }
    "#;

fn stage(version: &str) -> Stage {
    let mut stage = Stage::new();
    stage.options.cache_dir = Some(stage.path("cache"));
    put(&stage, version);
    stage
}

fn put(stage: &Stage, version: &str) {
    let script = format!("case $1 in models) echo m;; *) echo {version} --fast;; esac");
    stage.cli("agent", &script);
}

#[tokio::test]
async fn the_second_time_nothing_is_asked() {
    let stage = stage("1.0.0");
    let first = stage.detect(&plain("agent", MORE)).await;
    let n_asked = stage.starts().len();

    let second = stage.detect(&plain("agent", MORE)).await;

    assert_eq!(n_asked, 3);
    assert_eq!(stage.starts().len(), n_asked);
    assert!(!first.is_cached && second.is_cached);
    assert_eq!((second.version, second.models), (first.version, first.models));
}

#[tokio::test]
async fn another_program_at_the_same_place_is_asked_again() {
    let stage = stage("1.0.0");
    stage.detect(&plain("agent", MORE)).await;

    put(&stage, "1.0.10");
    let found = stage.detect(&plain("agent", MORE)).await;

    assert_eq!(found.version.as_deref(), Some("1.0.10"));
    assert!(!found.is_cached);
}

#[tokio::test]
async fn a_link_that_points_elsewhere_is_another_program() {
    let stage = stage("1.0.0");
    let (old, link) = (stage.path("home/old"), stage.path("bin/agent"));
    fs::rename(&link, &old).unwrap();
    std::os::unix::fs::symlink(&old, &link).unwrap();
    let before = stage.detect(&plain("agent", "")).await;

    fs::remove_file(&link).unwrap();
    put(&stage, "2.0.0");
    fs::rename(&link, stage.path("home/new")).unwrap();
    std::os::unix::fs::symlink(stage.path("home/new"), &link).unwrap();
    let after = stage.detect(&plain("agent", "")).await;

    assert_eq!(before.version.as_deref(), Some("1.0.0"));
    assert_eq!(after.version.as_deref(), Some("2.0.0"));
}

#[tokio::test]
async fn a_changed_definition_and_a_refresh_ask_again() {
    let mut stage = stage("1.0.0");
    stage.detect(&plain("agent", MORE)).await;

    let changed = stage.detect(&plain("agent", &format!("docs = 'https://x.test'\n{MORE}"))).await;
    assert!(!changed.is_cached);

    stage.options.refresh = true;
    let refreshed = stage.detect(&plain("agent", MORE)).await;
    assert!(!refreshed.is_cached);
}

#[tokio::test]
async fn a_spoilt_cache_is_no_cache() {
    let stage = stage("1.0.0");
    let file = stage.path("cache/agents.json");
    for spoilt in ["", "{", "[]", r#"{"format":99,"agents":{}}"#, r#"{"format":1,"agents":7}"#] {
        fs::write(&file, spoilt).unwrap();

        let found = stage.detect(&plain("agent", MORE)).await;

        assert_eq!((found.version.as_deref(), found.is_cached), (Some("1.0.0"), false), "{spoilt}");
        assert!(stage.detect(&plain("agent", MORE)).await.is_cached, "{spoilt}");
    }
    let left: Vec<_> = fs::read_dir(stage.path("cache")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the file itself: {left:?}");
}

#[tokio::test]
async fn agents_that_were_not_looked_at_stay_in_the_cache() {
    let stage = stage("1.0.0");
    stage.cli("other", "echo 5.0.0");
    stage.detect(&plain("agent", MORE)).await;
    stage.detect(&plain("other", "")).await;

    assert!(stage.detect(&plain("agent", MORE)).await.is_cached);
}

#[tokio::test]
async fn what_was_cut_short_is_asked_again() {
    let mut stage = stage("1.0.0");
    stage.cli("agent", "case $1 in --version) echo 1.0.0;; *) exec sleep 600;; esac");
    let more = format!("docs = 'https://x.test'\n{MORE}");
    stage.options.probe_limit = std::time::Duration::from_millis(1500);
    stage.detect(&plain("agent", &more)).await;
    let n_asked = stage.starts().len();

    stage.detect(&plain("agent", &more)).await;

    assert!(stage.starts().len() > n_asked);
}

#[tokio::test]
async fn one_that_hangs_although_it_was_given_time_is_not_waited_for_again() {
    let mut stage = stage("1.0.0");
    stage.cli("agent", "case $1 in --help) exec sleep 600;; *) echo 1.0.0;; esac");
    // So that this test need not wait for as long as a user does.
    stage.options.probe_limit = std::time::Duration::from_millis(700);
    stage.options.for_start = true;
    let hasty = stage.detect(&plain("agent", MORE)).await;
    let asked_for_help =
        |stage: &Stage| stage.starts().iter().filter(|(args, _)| args == "--help").count();
    assert!(hasty.unfinished.iter().any(|what| what.contains("--help")), "{hasty:#?}");
    assert_eq!(asked_for_help(&stage), 1);

    stage.options.limit_factor = 5;
    stage.detect(&plain("agent", MORE)).await;
    assert_eq!(asked_for_help(&stage), 2);
    let again = stage.detect(&plain("agent", MORE)).await;

    assert_eq!(asked_for_help(&stage), 2);
    assert!(again.is_cached && again.is_usable);
    assert!(again.unfinished.iter().any(|what| what.contains("--help")), "{again:#?}");
}
