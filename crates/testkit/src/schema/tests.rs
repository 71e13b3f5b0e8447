use super::Validator;
use crate::transcript::{
    Direction::{AgentToClient, ClientToAgent},
    Transcript,
};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#;

/// Each line starts with `>` (to the agent) or `<` (to the client).
#[track_caller]
fn check(lines: &[&str], expected: &[&str]) {
    let mut transcript = Transcript::default();
    for line in lines {
        let direction = if line.starts_with('>') { ClientToAgent } else { AgentToClient };
        transcript.push(direction, line[1..].trim());
    }

    let violations = Validator::v1().check(&transcript);

    let problems: Vec<&str> = violations.iter().map(|found| found.problem.as_str()).collect();
    assert_eq!(problems.len(), expected.len(), "{violations:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem:?} does not contain {expected:?}");
    }
}

#[test]
fn a_good_exchange_has_no_violations() {
    check(
        &[
            &format!("> {INITIALIZE}"),
            &format!("< {INITIALIZED}"),
            r#"> {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
            r#"< {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#,
            r#"> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#,
            r#"> {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}"#,
        ],
        &[],
    );
}

#[test]
fn both_sides_may_use_the_same_id() {
    check(
        &[
            &format!("> {INITIALIZE}"),
            r#"< {"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/x"}}"#,
            r#"> {"jsonrpc":"2.0","id":1,"result":{"content":""}}"#,
            &format!("< {INITIALIZED}"),
        ],
        &[],
    );
}

#[test]
fn the_version_of_json_rpc_must_be_named() {
    check(
        &[
            r#"> {"id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
            r#"< {"jsonrpc":"1.0","id":1,"result":{"protocolVersion":1}}"#,
        ],
        &["jsonrpc", "jsonrpc"],
    );
}

#[test]
fn a_method_belongs_to_one_side() {
    check(
        &[r#"> {"jsonrpc":"2.0","method":"session/update","params":{}}"#],
        &["`session/update` is no Notification"],
    );
}

#[test]
fn unknown_methods_are_wrong_unless_they_are_extensions() {
    check(
        &[
            r#"> {"jsonrpc":"2.0","method":"session/dance","params":{}}"#,
            r#"> {"jsonrpc":"2.0","method":"_session/dance","params":7}"#,
            r#"> {"jsonrpc":"2.0","id":"a","method":"_ask"}"#,
            r#"< {"jsonrpc":"2.0","id":"a","result":null}"#,
        ],
        &["session/dance"],
    );
}

#[test]
fn params_results_and_errors_have_to_fit() {
    check(
        &[
            r#"> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1"}}"#,
            r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"> {"jsonrpc":"2.0","id":1,"method":"logout"}"#,
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"y"}}"#,
        ],
        &["InitializeRequest at `/protocolVersion`", "InitializeResponse", "Error at `/code`"],
    );
}

#[test]
fn an_unknown_update_is_wrong() {
    check(
        &[
            r#"< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"news"}}}"#,
        ],
        &["SessionNotification at `/update`"],
    );
}

#[test]
fn every_request_has_one_answer_and_every_answer_one_request() {
    check(
        &[
            &format!("> {INITIALIZE}"),
            &format!("> {INITIALIZE}"),
            &format!("< {INITIALIZED}"),
            &format!("< {INITIALIZED}"),
            r#"> {"jsonrpc":"2.0","id":7,"method":"logout","params":{}}"#,
        ],
        &["still open", "not open", "no answer to `logout`"],
    );
}

#[test]
fn a_line_that_is_no_json_may_be_answered_without_an_id() {
    let sorry = r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#;
    check(&["> {oops", sorry, sorry], &["not JSON", "not open"]);
}

#[test]
fn the_unstable_schema_knows_more_methods() {
    let mut transcript = Transcript::default();
    transcript.push(
        ClientToAgent,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/status","params":{"sessionId":"s"}}"#,
    );

    assert_eq!(Validator::v1().check_cut_off(&transcript).len(), 1);
    assert_eq!(Validator::v1_unstable().check_cut_off(&transcript), []);
}
