//! What an agent asks in two ways at once is answered by nobody, and what is hard to read is no way
//! around a rule.

use std::fs;

use serde_json::Value;
use sessions::permission::{PermissionMode, PermissionPolicy, Rules};
use wire::{Event, Kind};

use crate::stage::{Stage, plain, quiet, until};

/// What an agent begins with.
const START: &str = r#"
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
ask() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s","toolCall":%s,"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}\n' "$1" "$2"
    read -r line; printf '%s\n' "$line" >> "$STAGE/answers"
}
tell() {
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"
}
"#;

/// And ends with.
const END: &str = r#"
touch "$STAGE/done"
cat > /dev/null
"#;

/// Asks four times: with a command, with two in one place, with two that an update named, and with
/// a form that has two messages.
const TWINS: &str = r#"
ask 7 '{"toolCallId":"a","kind":"execute","rawInput":{"command":"ls"}}'
ask 8 '{"toolCallId":"b","kind":"execute","rawInput":{"command":"rm x","command":"ls"}}'
tell '{"sessionUpdate":"tool_call","toolCallId":"c","kind":"execute","title":"c","rawInput":{"command":"rm x","command":"ls"}}'
ask 9 '{"toolCallId":"c"}'
echo '{"jsonrpc":"2.0","id":10,"method":"elicitation/create","params":{"sessionId":"s","mode":"form","message":"a","message":"b","requestedSchema":{"type":"object","properties":{}}}}'
read -r line; echo "$line" >> "$STAGE/answers"
"#;

/// Asks for what is denied, in ways that are hard to read.
const HARD: [&str; 6] = [
    r#"tell '{"sessionUpdate":"tool_call","toolCallId":"a","kind":"execute","title":"","rawInput":{"command":"rm x # \ud83d"}}'
    ask 10 '{"toolCallId":"a"}'"#,
    r#"tell '{"sessionUpdate":"tool_call","toolCallId":"b","kind":"execute","title":"","rawInput":{"command":"rm x","n":1e400}}'
    ask 11 '{"toolCallId":"b","kind":"read"}'"#,
    r#"ask 12 '{"toolCallId":"c","kind":"execute","title":"cut \ud83d","rawInput":{"command":"rm x"}}'"#,
    r#"tell '{"sessionUpdate":"tool_call","toolCallId":"d","kind":"execute","title":"","rawInput":{"command":"rm x"},"\ud83d":1}'
    ask 13 '{"toolCallId":"d"}'"#,
    r#"tell '{"sessionUpdate":"\ud83d","toolCallId":"e","kind":"execute","title":"","rawInput":{"command":"rm x"}}'
    ask 14 '{"toolCallId":"e"}'"#,
    r#"tell '{"sessionUpdate":"tool_call","toolCallId":5,"kind":"execute","title":"","rawInput":{"command":"rm x"}}'
    ask 15 '{"toolCallId":5}'"#,
];

/// Asks for what is allowed, in the same ways.
const HARD_AND_ALLOWED: &str = r#"
ask 20 '{"toolCallId":"f","kind":"execute","title":"cut \ud83d","rawInput":{"command":"ls","n":1e400}}'
tell '{"sessionUpdate":"tool_call","toolCallId":"g","kind":"execute","title":"\ud83d","rawInput":{"command":"ls"}}'
ask 21 '{"toolCallId":"g"}'
"#;

/// Asks about calls of which it is not known what was said of them.
const DOUBTED: &str = r#"
tell '{"sessionUpdate":"plan","sessionUpdate":"tool_call","toolCallId":"h","kind":"execute","title":"","rawInput":{"command":"rm x"}}'
ask 30 '{"toolCallId":"h"}'
tell '{"sessionUpdate":"tool_call","toolCallId":"i","toolCallId":"j","kind":"execute","title":"","rawInput":{"command":"rm x"}}'
ask 31 '{"toolCallId":"i"}'
ask 32 '{"toolCallId":"j"}'
"#;

/// Asks with members that some take for others, and after an update that had one.
const SPELT: &str = r#"
ask 40 '{"toolCallId":"k","kind":"execute","rawInput":{"command":"ls"},"rawinput":{"command":"rm x"}}'
ask 41 '{"toolCallId":"l","kind":"read","Kind":"execute"}'
ask 42 '{"toolCallId":"m","kind":"read"},"ToolCall":{"toolCallId":"m","kind":"execute"}'
tell '{"sessionUpdate":"tool_call","toolCallId":"n","kind":"read","title":"","RawInput":{"command":"rm x"}}'
ask 43 '{"toolCallId":"n"}'
ask 44 '{"toolCallId":"o","kind":"execute","rawInput":{"Command":"ls","Kind":"x"}}'
"#;

/// What the agent is answered that asks so.
async fn answers(asking: &str, policy: PermissionPolicy) -> (Vec<Value>, Vec<Event>) {
    let stage = Stage::new(quiet());
    fs::write(stage.path("asks.sh"), [START, asking, END].concat()).unwrap();
    let agent = stage.script("work", "asks.sh", &[]);
    let params = plain(&agent);
    let slot = stage.slot(&agent, &params).await;
    let session = stage.open_under(policy, slot, &params).await;
    until("the agent has its answers", || stage.path("done").exists()).await;
    let answers = fs::read_to_string(stage.path("answers")).unwrap();
    let answers = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events = session.events().await;
    stage.pools.shut_down().await;
    (answers, events)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_with_twin_members_is_refused_whatever_a_rule_allows() {
    let rules = Rules::parse("[[rules]]\naction = \"allow\"\ncommands = [\"ls\"]").unwrap();
    let (answers, events) =
        answers(TWINS, PermissionPolicy { rules, mode: PermissionMode::Ask }).await;
    assert_eq!(answers[0]["result"]["outcome"]["optionId"], "yes", "{}", answers[0]);
    assert_eq!(answers.len(), 4);
    answers[1..].iter().for_each(is_about_twins);
    let asked = [Kind::PermissionRequested, Kind::ElicitationRequested];
    let n_asked = events.iter().filter(|event| asked.contains(&event.kind)).count();
    assert_eq!(n_asked, 1, "nobody is shown what the agent may read in another way");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hard_to_read_is_judged_like_everything_else() {
    let rules = Rules::parse("[[rules]]\naction = \"deny\"\ncommands = [\"rm\"]").unwrap();
    let asking = [&HARD.join("\n"), HARD_AND_ALLOWED].concat();
    let (said, _) = answers(&asking, PermissionPolicy { rules, mode: PermissionMode::Auto }).await;
    let chosen: Vec<_> = said.iter().map(|one| &one["result"]["outcome"]["optionId"]).collect();
    assert_eq!(chosen, ["no", "no", "no", "no", "no", "no", "yes", "yes"], "{said:#?}");
    let policy = PermissionPolicy { rules: Rules::default(), mode: PermissionMode::ReadOnly };
    let (said, _) = answers(&HARD.join("\n"), policy).await;
    let chosen: Vec<_> = said.iter().map(|one| &one["result"]["outcome"]["optionId"]).collect();
    assert_eq!(chosen, ["no"; 6], "{said:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_an_update_may_have_meant_is_allowed_by_nobody() {
    let policy = PermissionPolicy { rules: Rules::default(), mode: PermissionMode::Auto };
    let (answers, _) = answers(DOUBTED, policy).await;
    assert_eq!(answers.len(), 3);
    answers.iter().for_each(is_about_twins);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_some_may_read_by_other_names_is_refused() {
    let policy = PermissionPolicy { rules: Rules::default(), mode: PermissionMode::Auto };
    let (answers, _) = answers(SPELT, policy).await;
    assert_eq!(answers.len(), 5);
    for refused in &answers[..4] {
        let error = &refused["error"];
        assert_eq!(error["code"], -32602, "{refused}");
        assert!(error["message"].as_str().unwrap().contains("is no member"), "{refused}");
    }
    assert_eq!(answers[4]["result"]["outcome"]["optionId"], "yes", "{}", answers[4]);
}

fn is_about_twins(refused: &Value) {
    let error = &refused["error"];
    assert_eq!(error["code"], -32602, "{refused}");
    assert!(error["message"].as_str().unwrap().contains("twice"), "{refused}");
}
