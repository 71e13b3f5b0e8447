//! Checks messages against the official ACP v1 schema.
//!
//! In: a message and, for a response, the method it answers. Out: a panic that says what is wrong.
//! The schema's own root allows anything as an extension, so each message is checked against the
//! definition of its method.

use serde_json::Value;
use std::sync::LazyLock;
use testkit::json_schema::Document;

static SCHEMA: LazyLock<Document> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/data/acp/v1/schema.json");
    let text = std::fs::read_to_string(path).unwrap();
    Document::new(serde_json::from_str(&text).unwrap())
});

/// Checks a request or notification of the agent.
pub(crate) fn check_incoming(message: &Value) {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    let method = message["method"].as_str().unwrap();
    let definition = match method {
        "session/update" => "SessionNotification",
        "session/request_permission" => "RequestPermissionRequest",
        "elicitation/create" => "CreateElicitationRequest",
        "fs/read_text_file" => "ReadTextFileRequest",
        "fs/write_text_file" => "WriteTextFileRequest",
        "terminal/create" => "CreateTerminalRequest",
        "terminal/output" => "TerminalOutputRequest",
        "terminal/release" => "ReleaseTerminalRequest",
        "terminal/wait_for_exit" => "WaitForTerminalExitRequest",
        "terminal/kill" => "KillTerminalRequest",
        other => panic!("{other} is not a method of a v1 client: {message}"),
    };
    if method != "session/update" {
        check("RequestId", &message["id"], message);
    }
    check(definition, &message["params"], message);
}

/// Checks the answer to a request of ours.
pub(crate) fn check_response(method: &str, message: &Value) {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    if message.get("error").is_some() {
        return check("Error", &message["error"], message);
    }
    let definition = match method {
        "initialize" => "InitializeResponse",
        "authenticate" => "AuthenticateResponse",
        "session/new" => "NewSessionResponse",
        "session/load" => "LoadSessionResponse",
        "session/resume" => "ResumeSessionResponse",
        "session/list" => "ListSessionsResponse",
        "session/close" => "CloseSessionResponse",
        "session/delete" => "DeleteSessionResponse",
        "session/set_mode" => "SetSessionModeResponse",
        "session/set_config_option" => "SetSessionConfigOptionResponse",
        "session/prompt" => "PromptResponse",
        // Older than the schema.
        "session/set_model" => return,
        other => panic!("a result for {other}, which is not a method of a v1 agent"),
    };
    check(definition, &message["result"], message);
}

fn check(definition: &str, part: &Value, message: &Value) {
    let faults = SCHEMA.faults(&format!("/$defs/{definition}"), part);
    assert!(faults.is_empty(), "not a valid {definition}: {faults:?}\n{message}");
}
