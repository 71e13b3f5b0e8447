//! Agents that are asked over ACP, and agents that are nothing but data.

use runtimes::detect::{LoginStatus, ModelsSource};

use crate::stage::{Stage, acp, reasons};

/// Answers `initialize` and `session/new`, notes what it gets, and wants something first.
const AGENT: &str = r#"
case "$1" in --version) echo 1.0.0; exit;; esac
while read -r line; do
    echo "$line" >> "$(dirname "$0")/../heard"
    case "$line" in
        *'"initialize"'*)
            echo '{"jsonrpc":"2.0","id":0,"method":"vendor/question","params":{}}'
            echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{},"delete":{}}}}}';;
        *'"session/new"'*)
            echo '{"jsonrpc":"2.0","method":"session/update","params":{}}'
            echo '{"jsonrpc":"2.0","id":2,"result":ANSWER}';;
        *'"session/delete"'*) echo '{"jsonrpc":"2.0","id":3,"result":{}}';;
    esac
done
"#;

#[tokio::test]
async fn models_are_asked_for_over_acp_and_the_session_is_taken_back() {
    let stage = Stage::new();
    let answer = r#"{"sessionId":"s-1","configOptions":[
        {"id":"mode","category":"mode","options":[{"value":"x"}]},
        {"id":"model","category":"model","currentValue":"big","options":[
            {"group":"a","options":[{"value":"big","name":"Big"}]},{"value":"small"}]},
        {"id":"think","category":"thought_level","options":[{"value":"low"},{"value":"high"}]}]}"#;
    stage.cli("agent", &AGENT.replace("ANSWER", &answer.replace('\n', "")));

    let found = stage.detect(&acp("agent")).await;

    let ids: Vec<_> = found.models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!((ids.as_slice(), found.models_from), (&["big", "small"][..], ModelsSource::Acp));
    assert_eq!(found.default_model.as_deref(), Some("big"));
    assert_eq!(found.efforts, ["low", "high"]);
    let heard = std::fs::read_to_string(stage.path("heard")).unwrap();
    assert!(heard.contains(r#""method":"session/delete","params":{"sessionId":"s-1"}"#), "{heard}");
    assert!(heard.contains(r#""id":0,"error":{"code":-32601"#), "{heard}");
}

#[tokio::test]
async fn an_agent_that_wants_a_login_is_not_logged_in() {
    let stage = Stage::new();
    let script = AGENT.replace(
        r#"{"jsonrpc":"2.0","id":2,"result":ANSWER}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
    );
    stage.cli("agent", &script);

    let found = stage.detect(&acp("agent")).await;

    assert_eq!(found.auth.state, LoginStatus::Missing);
    assert_eq!(reasons(&found), ["auth-missing"]);
    assert!(found.is_usable, "it can be started, and says itself what it wants");
}

#[tokio::test]
async fn an_agent_that_dies_over_acp_is_still_found() {
    let stage = Stage::new();
    stage.cli("agent", "case $1 in --version) echo 1.0.0;; *) exit 3;; esac");

    let found = stage.detect(&acp("agent")).await;

    assert!(found.is_usable && found.models.is_empty());
    assert!(found.unfinished.iter().any(|what| what.starts_with("models: over ACP")), "{found:#?}");
}

#[tokio::test]
async fn a_new_acp_cli_needs_one_toml_file_and_no_code() {
    let stage = Stage::new();
    stage.cli("brand-new", &AGENT.replace("ANSWER", r#"{"sessionId":"s"}"#));

    let found = stage.detect(&acp("brand-new")).await;

    let run = found.run.unwrap();
    let program = stage.path("bin/brand-new").display().to_string();
    assert_eq!((run.dialect.as_str(), run.asks), ("acp", true));
    assert_eq!(run.argv, [program.as_str(), "acp"]);
    assert_eq!(run.modes.len(), 5);
}

#[tokio::test]
async fn for_a_start_only_version_and_features_are_asked() {
    let mut stage = Stage::new();
    stage.options.for_start = true;
    stage.cli("agent", &AGENT.replace("ANSWER", r#"{"sessionId":"s"}"#));

    let found = stage.detect(&acp("agent")).await;

    assert!(found.is_usable && found.run.is_some());
    let asked: Vec<_> = stage.starts().into_iter().map(|(args, _)| args).collect();
    assert_eq!(asked, ["--version"]);
}
