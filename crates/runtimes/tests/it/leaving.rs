//! What hangs, floods or forks ends with its probe, and hinders nobody.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::stage::{Stage, acp, plain, reasons, until};

fn is_gone(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).unwrap();
    !Path::new("/proc").join(pid.trim()).exists()
}

#[tokio::test]
async fn one_that_hangs_hinders_no_other() {
    let stage = Stage::new();
    stage.cli("good", "echo 1.0.0");
    stage.cli("stuck", "exec sleep 600");
    let stuck = plain("stuck", "version = { timeout_ms = 300 }");
    let good = plain("good", "");

    let found = stage.detect_all(&[&stuck, &good]).await;

    let named = |id: &str| found.iter().find(|one| one.id == id).unwrap();
    assert_eq!(named("good").version.as_deref(), Some("1.0.0"));
    assert_eq!(reasons(named("stuck")), ["version-probe-failed"]);
}

#[tokio::test]
async fn many_agents_are_not_all_asked_at_once_and_each_has_its_time() {
    let stage = Stage::new();
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let n_agents = 3 * n_cores + 4;
    // Each notes how many others run beside it.
    let running = stage.path("running");
    fs::create_dir(&running).unwrap();
    let script = format!(
        "mkdir '{0}/'$$\nls '{0}' | wc -l >> '{1}'\nsleep 0.1\nrmdir '{0}/'$$\necho 1.0.0",
        running.display(),
        stage.path("beside").display()
    );
    let names: Vec<String> = (0..n_agents).map(|n| format!("agent{n}")).collect();
    for name in &names {
        stage.cli(name, &script);
    }
    let definitions: Vec<String> = names.iter().map(|name| plain(name, "")).collect();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();

    let found = stage.detect_all(&definitions).await;

    assert!(found.iter().all(|one| one.version.as_deref() == Some("1.0.0")), "{found:#?}");
    let beside = fs::read_to_string(stage.path("beside")).unwrap();
    let most = beside.lines().map(|line| line.trim().parse::<usize>().unwrap()).max().unwrap();
    assert!(most <= 3 * n_cores, "{most} at once");
}

#[tokio::test]
async fn when_time_is_up_what_is_known_is_told_with_what_is_missing() {
    let mut stage = Stage::new();
    stage.options.probe_limit = Duration::from_millis(500);
    stage.cli("a", "exec sleep 600");
    stage.cli("b", "exec sleep 600");
    let more = r#"
        [version]
        timeout_ms = 60000
        [features]
        help = ["--help"]
        flags = { fast = "--fast" }
        [auth]
        probe = { args = ["status"], yes = ["yes"] }
        login = "log in"
        [models]
        known = [{ id = "fallback" }]
        list = { args = ["models"], shape = "lines" }
        "#;

    let found = stage.detect_all(&[&plain("a", more), &plain("b", more), &acp("b-acp")]).await;

    for one in found.iter().filter(|one| one.path.is_some()) {
        assert_eq!(reasons(one), ["version-probe-failed", "auth-unknown"], "{one:#?}");
        let missing = one.unfinished.join("; ");
        assert!(missing.contains("models: `models` did not answer"), "{missing}");
        assert!(missing.contains("features: `--help` did not answer"), "{missing}");
        assert_eq!(one.models[0].id, "fallback");
    }
}

#[tokio::test]
async fn a_flood_is_cut_off() {
    let stage = Stage::new();
    stage.cli("flood", "echo $$ > \"$(dirname \"$0\")/../pid\"; exec yes not-a-version");

    let found = stage.detect(&plain("flood", "version = { timeout_ms = 60000 }")).await;

    assert_eq!(reasons(&found), ["version-probe-failed"]);
    assert!(found.diagnoses[0].message.contains("SIGKILL"), "{found:#?}");
    until("the flood has ended", || is_gone(&stage.path("pid"))).await;
}

#[tokio::test]
async fn what_a_probe_leaves_behind_is_ended() {
    let stage = Stage::new();
    // One grandchild, in a session of its own, that holds stdout open.
    let script = "p=\"$(dirname \"$0\")/../pid\"\n\
        setsid sh -c 'echo $$ > \"$0\"; trap \"\" TERM HUP; exec sleep 600' \"$p\" &\n\
        while [ ! -s \"$p\" ]; do :; done\n\
        echo 1.0.0";
    stage.cli("forker", script);

    let found = stage.detect(&plain("forker", "version = { timeout_ms = 60000 }")).await;

    assert_eq!(found.version.as_deref(), Some("1.0.0"));
    until("the grandchild has ended", || is_gone(&stage.path("pid"))).await;
}

#[tokio::test]
async fn a_hanging_acp_agent_and_its_child_are_ended() {
    let mut stage = Stage::new();
    stage.options.probe_limit = Duration::from_secs(2);
    let script = "case $1 in --version) echo 1.0.0; exit;; esac\n\
        sleep 600 & echo $! > \"$(dirname \"$0\")/../pid\"\n\
        trap '' TERM; while :; do sleep 1; done";
    stage.cli("agent", script);

    let found = stage.detect(&acp("agent")).await;

    assert!(found.unfinished.iter().any(|what| what.contains("ACP in time")), "{found:#?}");
    until("its child has ended", || is_gone(&stage.path("pid"))).await;
}

#[tokio::test]
async fn probes_work_in_directories_that_are_gone_afterwards() {
    let stage = Stage::new();
    stage.cli("messy", "touch left-behind; mkdir -p a/b; echo 1.0.0");

    stage.detect(&plain("messy", "")).await;

    let starts = stage.starts();
    assert!(!starts.is_empty());
    for (_, dir) in starts {
        assert!(!dir.exists(), "{}", dir.display());
    }
}
