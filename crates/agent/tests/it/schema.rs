//! Checks messages against the official ACP v1 schema.
//!
//! In: a message and, for a response, the method it answers. Out: a panic that says what is wrong.
//! The schema's own root allows anything as an extension, so each message is checked against the
//! definition of its method.

use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/data/acp/v1/schema.json");

static ROOT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&std::fs::read_to_string(SCHEMA).unwrap()).unwrap());

static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

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
    let validator = validator(definition);
    let problems: Vec<String> =
        validator.iter_errors(part).map(|problem| problem.to_string()).collect();
    assert!(problems.is_empty(), "not a valid {definition}: {problems:?}\n{message}");
}

fn validator(definition: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap();
    let entry = validators.entry(definition.to_owned()).or_insert_with(|| {
        let schema = json!({
            "$schema": ROOT["$schema"],
            "$ref": format!("#/$defs/{definition}"),
            "$defs": ROOT["$defs"],
        });
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    });
    Arc::clone(entry)
}
