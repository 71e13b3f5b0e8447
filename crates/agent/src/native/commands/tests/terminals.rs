//! Commands in the client's terminals: always released, killed when given up.

use std::time::Duration;

use serde_json::json;
use soak::PATIENCE;

use super::order;
use crate::native::client::ClientAbilities;
use crate::native::commands::{CommandEnd, run};
use crate::native::testing::rehearsal::{Rehearsal, until};

fn rehearse() -> Rehearsal {
    let can = ClientAbilities { has_terminals: true, ..ClientAbilities::default() };
    let stage = Rehearsal::new(can, |settings| settings.commands.shell = "bash".into());
    stage.client.answers("terminal/create", json!({ "terminalId": "t1" }));
    stage.client.answers("terminal/wait_for_exit", json!({ "exitCode": 0, "signal": null }));
    stage.client.answers("terminal/output", json!({ "output": "hello\n", "truncated": false }));
    stage
}

#[tokio::test]
async fn a_command_runs_in_the_clients_terminal() {
    let stage = rehearse();

    let finished = run(&stage.context, order(&stage, "echo hello", PATIENCE)).await.unwrap();

    assert_eq!((&*finished.text, finished.end), ("hello\n", CommandEnd::Code(0)));
    assert_eq!(finished.terminal.as_deref(), Some("t1"));
    let create = stage.client.heard("terminal/create").remove(0);
    assert_eq!(create["command"], "bash");
    assert_eq!(create["args"], json!(["-c", "echo hello"]));
    assert_eq!(create["cwd"], json!(stage.cwd()));
    assert_eq!(create["sessionId"], "session");
    assert_eq!(create["outputByteLimit"], 30_000);
    let shown = stage.client.updates().remove(0);
    assert_eq!(shown["content"], json!([{ "type": "terminal", "terminalId": "t1" }]));
    let methods = stage.client.methods();
    assert_eq!(methods.last().unwrap(), "terminal/release");
    assert!(!methods.iter().any(|method| method == "terminal/kill"));
}

#[tokio::test]
async fn what_the_client_sends_too_much_is_cut_here() {
    let stage = rehearse();
    let long = "x".repeat(100_000);
    stage.client.answers("terminal/output", json!({ "output": long, "truncated": true }));
    let finished = run(&stage.context, order(&stage, "yes", PATIENCE)).await.unwrap();
    assert!(finished.text.len() < 31_000);
    assert!(finished.text.starts_with("[… the beginning was cut off"));
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_and_its_output_read() {
    let stage = rehearse();
    stage.client.answers("terminal/wait_for_exit", None);
    let order = order(&stage, "sleep 1000", Duration::from_millis(50));
    let finished = run(&stage.context, order).await.unwrap();
    assert_eq!(finished.end, CommandEnd::TimedOut);
    assert_eq!(finished.text, "hello\n");
    let methods: Vec<_> =
        stage.client.methods().into_iter().filter(|name| name.starts_with("terminal/")).collect();
    let expected = ["create", "wait_for_exit", "kill", "output", "release"];
    assert_eq!(methods, expected.map(|verb| format!("terminal/{verb}")));
}

#[tokio::test]
async fn a_dropped_call_kills_and_releases() {
    let stage = rehearse();
    stage.client.answers("terminal/wait_for_exit", None);
    let running = tokio::spawn({
        let (context, order) = (stage.context.clone(), order(&stage, "sleep 1000", PATIENCE));
        async move { run(&context, order).await.map(drop) }
    });
    until("begun", || !stage.client.heard("terminal/wait_for_exit").is_empty()).await;
    running.abort();
    until("released", || !stage.client.heard("terminal/release").is_empty()).await;
    assert!(!stage.client.heard("terminal/kill").is_empty());
}

#[tokio::test]
async fn a_failure_of_the_client_is_an_error_and_the_terminal_is_released() {
    let stage = rehearse();
    stage.client.answers("terminal/wait_for_exit", json!({ "error": "lost it" }));
    let error = run(&stage.context, order(&stage, "true", PATIENCE)).await.unwrap_err();
    assert!(error.to_string().contains("lost it"), "{error}");
    assert!(!stage.client.heard("terminal/release").is_empty());

    stage.client.answers("terminal/create", json!({}));
    let error = run(&stage.context, order(&stage, "true", PATIENCE)).await.unwrap_err();
    assert!(error.to_string().contains("without an id"), "{error}");
}
