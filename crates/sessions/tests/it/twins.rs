//! What an agent asks in two ways at once is answered by nobody.

use std::fs;

use serde_json::Value;
use sessions::permission::{Mode, Policy, Rules};
use wire::Kind;

use crate::stage::{Stage, plain, quiet, until};

/// Asks four times: with a command, with two in one place, with two that an update named, and with
/// a form that has two messages.
const SCRIPT: &str = r#"
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
ask() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s","toolCall":%s,"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}\n' "$1" "$2"
    read -r line; echo "$line" >> "$STAGE/answers"
}
ask 7 '{"toolCallId":"a","kind":"execute","rawInput":{"command":"ls"}}'
ask 8 '{"toolCallId":"b","kind":"execute","rawInput":{"command":"rm x","command":"ls"}}'
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","kind":"execute","title":"c","rawInput":{"command":"rm x","command":"ls"}}}}'
ask 9 '{"toolCallId":"c"}'
echo '{"jsonrpc":"2.0","id":10,"method":"elicitation/create","params":{"sessionId":"s","mode":"form","message":"a","message":"b","requestedSchema":{"type":"object","properties":{}}}}'
read -r line; echo "$line" >> "$STAGE/answers"
touch "$STAGE/done"
cat > /dev/null
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_question_with_twin_members_is_refused_whatever_a_rule_allows() {
    let stage = Stage::new(quiet());
    fs::write(stage.path("asks.sh"), SCRIPT).unwrap();
    let agent = stage.script("work", "asks.sh", &[]);
    let params = plain(&agent);
    let slot = stage.slot(&agent, &params).await;
    let rules = Rules::parse("[[rules]]\naction = \"allow\"\ncommands = [\"ls\"]").unwrap();
    let policy = Policy { rules, mode: Mode::Ask };
    let session = stage.open_under(policy, slot, &params).await;
    until("the agent has its answers", || stage.path("done").exists()).await;

    let answers = fs::read_to_string(stage.path("answers")).unwrap();
    let answers: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0]["result"]["outcome"]["optionId"], "yes", "{}", answers[0]);
    assert_eq!(answers.len(), 4);
    for refused in &answers[1..] {
        let error = &refused["error"];
        assert_eq!(error["code"], -32602, "{refused}");
        assert!(error["message"].as_str().unwrap().contains("twice"), "{refused}");
    }
    let events = session.events().await;
    let asked = [Kind::PermissionRequested, Kind::ElicitationRequested];
    let n_asked = events.iter().filter(|event| asked.contains(&event.kind)).count();
    assert_eq!(n_asked, 1, "nobody is shown what the agent may read in another way");
    stage.pools.shut_down().await;
}
