//! Servers that do what they should not.

use std::time::Duration;

use agent::native::mcp::{McpSettings, ServerSpec};
use agent::native::settings::KeeperSettings;
use serde_json::json;
use soak::PATIENCE;

use super::stage::{Stage, is_alive, played, until};

fn impatient(spec: &mut ServerSpec) {
    spec.start_within = Duration::from_secs(2);
}

#[tokio::test]
async fn a_server_that_fails_is_told_and_costs_nobody_else() {
    let specs = |notes: &std::path::Path| {
        let missing = json!({ "name": "missing", "command": "/no/such/program" });
        vec![
            ServerSpec::from_acp(&missing).unwrap(),
            played("dies-at-once", notes),
            played("played", notes),
        ]
    };
    let stage = Stage::new(specs, |_| {}).await;
    assert_eq!(stage.names().len(), 12);
    let troubles = stage.troubles();
    assert_eq!(troubles.len(), 2, "{troubles:?}");
    assert!(troubles[0].1.contains("`/no/such/program` was not found"), "{troubles:?}");
    assert!(troubles[1].1.contains("it said: no licence key found"), "{troubles:?}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let stage = Stage::new(|notes| vec![played("silent", notes)], impatient).await;
    let troubles = stage.troubles();
    assert!(troubles[0].1.contains("did not answer within 2 s"), "{troubles:?}");
}

#[tokio::test]
async fn a_line_without_an_end_is_not_kept_and_the_server_is_left() {
    let stage = Stage::with(&["flood"]).await;
    let troubles = stage.troubles();
    assert!(troubles[0].1.contains("that hold no message"), "{troubles:?}");
}

#[tokio::test]
async fn noise_between_the_messages_is_skipped() {
    let stage = Stage::with(&["noisy"]).await;
    assert_eq!(stage.troubles(), []);
    assert_eq!(stage.text("mcp__noisy__echo", json!({})).await, "{}");
}

#[tokio::test]
async fn a_server_that_dies_of_the_newer_protocol_is_asked_in_the_older_one() {
    let stage = Stage::with(&["picky"]).await;
    assert_eq!(stage.troubles(), []);
    assert_eq!(stage.text("mcp__picky__echo", json!({})).await, "{}");
}

#[tokio::test]
async fn lies_about_schemas_cost_only_the_tools_that_cannot_be_called() {
    let stage = Stage::with(&["liar"]).await;
    let names = stage.names();
    assert_eq!(names.len(), 4, "{names:?}");
    let open = json!({ "type": "object", "properties": {} });
    for tool in stage.servers.tools() {
        assert_eq!(tool.spec.parameters, open);
    }
    assert!(names[1].starts_with("mcp__liar__no_schema_"), "{names:?}");
}

#[tokio::test]
async fn a_large_result_is_cut_and_one_beyond_the_limit_is_an_error_at_once() {
    let stage = Stage::with(&["played"]).await;
    let text = stage.text("mcp__played__big", json!({})).await;
    assert!(text.chars().count() < 31_000 && text.contains("left out"));
    let error = stage.error("mcp__played__huge", json!({})).await;
    assert!(error.contains("is longer than"), "{error}");
    // It is the same server still.
    assert_eq!(stage.text("mcp__played__echo", json!({})).await, "{}");
    assert_eq!(stage.troubles(), []);
}

#[tokio::test]
async fn a_server_that_dies_fails_its_call_and_is_there_for_the_next_but_not_for_ever() {
    let stage = Stage::with(&["played"]).await;
    let mut pids = vec![stage.text("mcp__played__pid", json!({})).await];
    for _ in 0..3 {
        let error = stage.error("mcp__played__die", json!({})).await;
        assert!(error.contains("ended during the call"), "{error}");
        pids.push(stage.text("mcp__played__pid", json!({})).await);
        assert_eq!(stage.troubles(), []);
    }
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 4, "each was a new process");
    stage.error("mcp__played__die", json!({})).await;
    until("its end is seen", || !stage.troubles().is_empty()).await;
    let troubles = stage.troubles();
    assert!(troubles[0].1.contains("exit code 7"), "{troubles:?}");
    assert!(troubles[0].1.contains("it was all too much"), "{troubles:?}");
    let error = stage.error("mcp__played__pid", json!({})).await;
    assert!(error.contains("is not available: it ended again and again"), "{error}");
    // Its tools are still known, and say why they do not work.
    assert_eq!(stage.names().len(), 12);
}

#[tokio::test]
async fn a_call_that_runs_when_its_server_is_killed_fails() {
    let stage = Stage::with(&["played"]).await;
    let pid = stage.text("mcp__played__pid", json!({})).await;
    let work = tokio::spawn(stage.prepare("mcp__played__hang", json!({})).await.work);
    until("the call has arrived", || stage.notes().contains("hangs")).await;
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    let outcome = tokio::time::timeout(PATIENCE, work).await.unwrap().unwrap();
    assert!(outcome.unwrap_err().0.contains("ended during the call"));
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn arguments_that_are_no_object_are_refused_before_anybody_is_asked() {
    let stage = Stage::with(&["played"]).await;
    let tool = stage.tool("mcp__played__echo");
    let context = super::stage::context(stage.home.path());
    let refused = tool.prepare(json!([1]), &context).await.unwrap_err();
    assert_eq!(refused.0, "The arguments must be one JSON object.");
}

#[tokio::test]
async fn a_session_can_end_while_its_servers_start() {
    let home = tempfile::tempdir().unwrap();
    let notes = home.path().join("notes");
    let stage = Stage::new(|_| vec![], |_| {}).await;
    let keeper = KeeperSettings {
        exe: super::stage::program(),
        args: vec!["__keeper".into()],
        cgroups: false,
    };
    let settings = McpSettings { cwd: home.path().to_owned(), keeper };
    let servers = agent::native::mcp::McpServers::start(vec![played("silent", &notes)], settings);
    assert!(!servers.ready(Duration::from_millis(50)).await);
    tokio::time::timeout(PATIENCE, servers.shut_down()).await.unwrap();
    stage.servers.shut_down().await;
}
