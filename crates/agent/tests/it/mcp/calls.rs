//! Servers that do what they should, as processes.

use agent::native::chat::MessagePart;
use agent::native::mcp::{McpConfig, ServerSpec};
use agent::native::tool::{CallContent, CallNeed, ToolKind};
use serde_json::{Value, json};
use soak::PATIENCE;

use super::stage::{Stage, is_alive, played, program, until};

#[tokio::test]
async fn tools_of_all_pages_appear_namespaced_and_can_be_called() {
    let stage = Stage::with(&["played"]).await;
    assert_eq!(stage.troubles(), []);
    let names = stage.names();
    assert_eq!(names[..2], ["mcp__played__echo", "mcp__played__look"]);
    assert_eq!(names.len(), 12);
    let spec = stage.tool("mcp__played__echo").spec.clone();
    assert_eq!(spec.description, "Does echo.");
    assert_eq!(spec.parameters, json!({ "type": "object", "properties": {} }));

    let prepared = stage.prepare("mcp__played__echo", json!({ "a": [1] })).await;
    assert_eq!(prepared.shown.title, "played: echo");
    let shown = "```json\n{\n  \"a\": [\n    1\n  ]\n}\n```";
    assert_eq!(prepared.shown.content, [CallContent::Text(shown.into())]);
    let output = prepared.work.await.unwrap();
    assert_eq!(output.parts, [MessagePart::text(r#"{"a":[1]}"#)]);
    assert_eq!(stage.text("mcp__played__echo", Value::Null).await, "{}");
    assert_eq!(stage.error("mcp__played__fail", json!({})).await, "it did not work");
    assert!(stage.text("mcp__played__odd", json!({})).await.contains("hologram"));
}

#[tokio::test]
async fn a_server_of_the_official_sdk_is_understood() {
    let stage = Stage::with(&["official"]).await;
    assert_eq!(stage.troubles(), []);
    let said = stage.text("mcp__official__echo", json!({ "text": "hi" })).await;
    assert_eq!(said, "official: hi");
    let error = stage.error("mcp__official__echo", json!({})).await;
    assert_eq!(error, "The MCP server `official` refused: `text` is missing");
}

#[tokio::test]
async fn every_tool_asks_unless_its_server_is_trusted_and_says_that_it_only_reads() {
    let trusted = |notes: &std::path::Path| -> Vec<ServerSpec> {
        let config: McpConfig = serde_json::from_value(json!({
            "command": program(), "args": ["played"], "trusted": true,
        }))
        .unwrap();
        vec![config.to_spec("trusted").unwrap().unwrap(), played("played", notes)]
    };
    let stage = Stage::new(trusted, |_| {}).await;
    let asks = |key: &str| CallNeed::Permission { key: key.to_owned() };
    assert_eq!(stage.need("mcp__played__look").await, asks("mcp:played:look"));
    assert_eq!(stage.need("mcp__played__echo").await, asks("mcp:played:echo"));
    assert_eq!(stage.need("mcp__trusted__look").await, CallNeed::Nothing);
    assert_eq!(stage.need("mcp__trusted__echo").await, asks("mcp:trusted:echo"));
    assert_eq!(stage.tool("mcp__played__look").kind, ToolKind::Other);
    assert_eq!(stage.tool("mcp__trusted__look").kind, ToolKind::Read);
    assert_eq!(stage.tool("mcp__played__echo").kind, ToolKind::Other);
}

#[tokio::test]
async fn a_server_gets_its_own_variables_and_none_of_our_secrets() {
    let stage = Stage::with(&["played"]).await;
    let all = stage.text("mcp__played__environment", json!({})).await;
    let all: serde_json::Map<String, Value> = serde_json::from_str(&all).unwrap();
    assert!(all.contains_key("STAGE_NOTES") && all.contains_key("PATH"));
    // Cargo sets these for the test, so they are ours to lose.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!all.keys().any(|name| name.starts_with("CARGO")), "{:?}", all.keys());
}

#[tokio::test]
async fn two_sessions_do_not_share_a_server() {
    let (one, other) = (Stage::with(&["played"]).await, Stage::with(&["played"]).await);
    let pids = [
        one.text("mcp__played__pid", json!({})).await,
        other.text("mcp__played__pid", json!({})).await,
    ];
    assert_ne!(pids[0], pids[1]);
    one.servers.shut_down().await;
    assert!(!is_alive(&pids[0]));
    assert_eq!(other.text("mcp__played__pid", json!({})).await, pids[1]);
}

#[tokio::test]
async fn all_ends_with_the_session_also_what_a_server_started() {
    for is_told in [true, false] {
        let stage = Stage::with(&["played"]).await;
        let server = stage.text("mcp__played__pid", json!({})).await;
        let grandchild = stage.text("mcp__played__spawn", json!({})).await;
        assert!(is_alive(&server) && is_alive(&grandchild));
        if is_told {
            stage.servers.shut_down().await;
            assert!(!is_alive(&server) && !is_alive(&grandchild));
            assert!(stage.notes().contains("end of input"), "it was not let go gently");
        } else {
            drop(stage);
            until("the server is gone", || !is_alive(&server)).await;
            until("the grandchild is gone", || !is_alive(&grandchild)).await;
        }
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let stage = Stage::with(&["played"]).await;
    let work = tokio::spawn(stage.prepare("mcp__played__hang", json!({})).await.work);
    until("the call has arrived", || stage.notes().contains("hangs")).await;
    work.abort();
    until("it is cancelled", || stage.notes().contains("cancelled")).await;
    let id = |word: &str| {
        let notes = stage.notes();
        let line = notes.lines().find(|line| line.starts_with(word)).map(str::to_owned);
        line.and_then(|line| line.split(' ').nth(1).map(str::to_owned))
    };
    assert_eq!(id("hangs"), id("cancelled"));
    assert_eq!(stage.text("mcp__played__echo", json!({})).await, "{}");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up_and_cancelled() {
    let short = |spec: &mut ServerSpec| {
        spec.call_within = std::time::Duration::from_millis(50);
    };
    let stage = Stage::new(|notes| vec![played("played", notes)], short).await;
    let error = stage.error("mcp__played__hang", json!({})).await;
    assert!(error.contains("did not answer within 0.05 s"), "{error}");
    until("it is cancelled", || stage.notes().contains("cancelled")).await;
}

#[tokio::test]
async fn calls_run_beside_each_other() {
    let stage = Stage::with(&["played"]).await;
    let hanging = tokio::spawn(stage.prepare("mcp__played__hang", json!({})).await.work);
    until("the call has arrived", || stage.notes().contains("hangs")).await;
    assert_eq!(stage.text("mcp__played__echo", json!({ "n": 1 })).await, r#"{"n":1}"#);
    assert!(!hanging.is_finished());
}

#[tokio::test]
async fn a_change_of_the_tools_is_seen() {
    let stage = Stage::with(&["played"]).await;
    assert!(!stage.names().contains(&"mcp__played__added".to_owned()));
    stage.text("mcp__played__change", json!({})).await;
    until("the new tool is there", || stage.names().contains(&"mcp__played__added".to_owned()))
        .await;
}

#[tokio::test]
async fn of_two_servers_with_one_name_the_first_counts() {
    let twice = |notes: &std::path::Path| vec![played("a", notes), played("a", notes)];
    let stage = Stage::new(twice, |_| {}).await;
    assert_eq!(stage.names().len(), 12);
    assert_eq!(stage.troubles().len(), 1, "{:?} within {PATIENCE:?}", stage.troubles());
}
