//! The handshake, and what turns are started with.

use super::*;
use wire::Category;

#[test]
fn the_thread_is_opened_with_what_the_session_wants() {
    let opening = ConversationOptions {
        cwd: "/w".into(),
        directories: vec!["/more".into()],
        model: Some("big".to_owned()),
        effort: Some("low".to_owned()),
        system_prompt: Some("Be kind.".to_owned()),
        mcp_servers: vec![
            json!({ "name": "my files", "command": "/bin/x", "args": ["-v"],
                    "env": [{ "name": "K", "value": "v" }] }),
            json!({ "type": "http", "name": "web", "url": "https://h/mcp",
                    "headers": [{ "name": "A", "value": "b" }] }),
        ],
        ..ConversationOptions::default()
    };
    let (mut dialect, mut out) = (CodexAppServer::default(), Outputs::default());
    dialect.open(&opening, &mut out);
    dialect.line(r#"{"id":1,"result":{}}"#, &mut out);
    let lines = written(&out);
    assert_eq!(lines[0]["method"], "initialize");
    assert!(lines[0]["jsonrpc"].is_null());
    assert_eq!(lines[1], json!({ "method": "initialized" }));
    assert_eq!(lines[2]["method"], "model/list");
    assert_eq!(
        lines[3],
        json!({ "id": 3, "method": "thread/start", "params": {
            "cwd": "/w",
            "approvalPolicy": "untrusted",
            "approvalsReviewer": "user",
            "sandbox": "workspace-write",
            "model": "big",
            "developerInstructions": "Be kind.",
            "config": {
                "model_reasoning_effort": "low",
                "sandbox_workspace_write.writable_roots": ["/more"],
                "mcp_servers.my_files":
                    { "command": "/bin/x", "args": ["-v"], "env": { "K": "v" } },
                "mcp_servers.web": { "url": "https://h/mcp", "http_headers": { "A": "b" } },
            },
        }})
    );
}

#[test]
fn a_prompt_that_comes_early_waits_for_the_thread() {
    let (mut dialect, mut out) = (CodexAppServer::default(), Outputs::default());
    dialect.open(&ConversationOptions::default(), &mut out);
    dialect.prompt(&prompt("go"), &mut out);
    assert_eq!(written(&out).len(), 1);

    let out = feed(
        &mut dialect,
        &[
            json!({ "id": 1, "result": {} }),
            json!({ "id": 3, "result": { "thread": { "id": "T" } } }),
        ],
    );
    let last = written(&out).pop().unwrap();
    assert_eq!(last["method"], "turn/start");
    assert_eq!(last["params"]["input"], json!([{ "type": "text", "text": "go" }]));
}

#[test]
fn an_early_prompt_that_is_cancelled_is_never_sent() {
    let (mut dialect, mut out) = (CodexAppServer::default(), Outputs::default());
    dialect.open(&ConversationOptions::default(), &mut out);
    dialect.prompt(&prompt("go"), &mut out);
    assert!(dialect.interrupt(&mut out));
    let out = feed(
        &mut dialect,
        &[
            json!({ "id": 1, "result": {} }),
            json!({ "id": 3, "result": { "thread": { "id": "T" } } }),
        ],
    );
    assert!(!written(&out).iter().any(|line| line["method"] == "turn/start"));
    assert_eq!(ended(&out), [&TurnOutcome::Stopped(StopReason::Cancelled)]);
}

#[test]
fn models_that_come_late_do_not_delay_the_opening() {
    let (mut dialect, mut out) = (CodexAppServer::default(), Outputs::default());
    dialect.open(&ConversationOptions::default(), &mut out);
    let thread = json!({ "id": 3, "result": { "thread": { "id": "T" }, "model": "m" } });
    let out = feed(&mut dialect, &[json!({ "id": 1, "result": {} }), thread]);
    let opened = |out: &[DialectOutput]| {
        let opened = out.iter().find_map(|said| match said {
            DialectOutput::ConversationOpened(opened) => Some(opened.clone()),
            _ => None,
        });
        opened.unwrap()
    };
    assert_eq!(opened(&out).session.as_deref(), Some("T"));
    assert_eq!(opened(&out).model.as_deref(), Some("m"));
    assert!(opened(&out).models.is_empty());

    let efforts = json!([{ "reasoningEffort": "low" }, { "reasoningEffort": "high" }]);
    let page = |id: u64, name: &str, next: Value| {
        json!({ "id": id, "result": { "data": [
            { "id": name, "model": name, "displayName": "N", "supportedReasoningEfforts": efforts },
            { "id": "h", "model": "h", "hidden": true },
        ], "nextCursor": next } })
    };
    let out = feed(&mut dialect, &[page(2, "a", json!("2")), page(4, "b", Value::Null)]);
    let models = opened(&out).models;
    assert_eq!(models.iter().map(|m| m.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(models[0].efforts, ["low", "high"]);
}

#[test]
fn a_thread_that_cannot_be_opened_fails_the_turns() {
    let (mut dialect, mut out) = (CodexAppServer::default(), Outputs::default());
    dialect.open(&ConversationOptions::default(), &mut out);
    let refused = json!({ "id": 3, "error": { "code": -32600, "message": "not logged in" } });
    let out = feed(&mut dialect, &[json!({ "id": 1, "result": {} }), refused]);
    assert!(
        matches!(&out[..], [.., DialectOutput::ConversationLost(failure)] if failure.category == Category::Auth)
    );
    let mut out = Outputs::default();
    dialect.prompt(&prompt("go"), &mut out);
    let [TurnOutcome::Failed(failure)] = &ended(&out)[..] else { panic!("{out:?}") };
    assert_eq!(failure.category, Category::Auth);
}

#[test]
fn changed_options_are_told_with_the_next_turn() {
    let mut dialect = open(&ConversationOptions::default());
    let mut out = Outputs::default();
    for change in [
        OptionChange::Model("small".to_owned()),
        OptionChange::Effort("high".to_owned()),
        OptionChange::Permissions(PermissionMode::ReadOnly),
    ] {
        assert!(dialect.set(&change, &mut out));
    }
    assert!(out.is_empty());
    let images = vec![PromptImage { mime_type: "image/png".to_owned(), data: "QUJD".to_owned() }];
    dialect.prompt(&ComposedPrompt { text: "go".to_owned(), images }, &mut out);
    assert_eq!(
        written(&out),
        [json!({ "id": 4, "method": "turn/start", "params": {
            "threadId": "T",
            "input": [
                { "type": "text", "text": "go" },
                { "type": "image", "url": "data:image/png;base64,QUJD" },
            ],
            "approvalPolicy": "on-request",
            "approvalsReviewer": "user",
            "sandboxPolicy": { "type": "readOnly" },
            "model": "small",
            "effort": "high",
        }})]
    );
}

#[test]
fn every_mode_has_its_policy_and_the_users_sandbox_is_kept() {
    let policies = PermissionMode::ALL.map(|mode| {
        let mut dialect = open(&ConversationOptions::default());
        let mut out = Outputs::default();
        dialect.set(&OptionChange::Permissions(mode), &mut out);
        dialect.prompt(&prompt("go"), &mut out);
        let params = written(&out)[0]["params"].clone();
        (params["approvalPolicy"].clone(), params["sandboxPolicy"].clone())
    });
    let writing = json!({ "type": "workspaceWrite", "writableRoots": [], "networkAccess": true });
    let reading = json!({ "type": "readOnly" });
    let (all, beyond) = (json!("untrusted"), json!("on-request"));
    assert_eq!(
        policies,
        [
            (all.clone(), writing.clone()),
            (all.clone(), writing.clone()),
            (all.clone(), writing),
            (beyond, reading.clone()),
            (all, reading),
        ]
    );
}
