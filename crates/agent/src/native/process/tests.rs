//! `initialize`, whatever a client says in it.

use std::ffi::OsString;
use std::sync::Arc;

use bus::connection::CallError;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use testkit::MemoryLog;

use super::*;
use crate::native::config;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..3_u16).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("2025-03-26")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[tokio::test]
async fn every_introduction_is_answered_with_all_that_clients_look_for_or_refused() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let setup = AgentSetup {
        version: "1.2.3",
        log: Arc::new(MemoryLog::new()),
        models: Arc::new(Models::new(config::ModelSetup::default(), Vec::new())),
        tools: ToolSettings::new("/nowhere".into(), Vec::<OsString>::new()),
        limits: TurnLimits::default(),
        system_prompt: None,
        user_instructions: None,
        mcp: Vec::new(),
    };
    let serving = task::spawn(serve(reader, writer, setup, CancellationToken::new()));
    let (reader, writer) = tokio::io::split(ours);
    let (client, mut inbox) = Connection::open(reader, writer, &CONNECTION);
    let hearing = task::spawn(async move {
        while let Some(batch) = inbox.next().await {
            for incoming in batch {
                if let IncomingMessage::Reply(reply) = incoming {
                    reply.settle();
                }
            }
        }
    });

    let mut runner = TestRunner::deterministic();
    let params = (any_json(), any_json(), any_json());
    for _ in 0..200 {
        let (version, capabilities, info) = params.new_tree(&mut runner).unwrap().current();
        let params = json!({
            "protocolVersion": version, "clientCapabilities": capabilities, "clientInfo": info,
        });
        let is_version = match &version {
            Value::String(text) => !text.is_empty(),
            version => version.as_u64().is_some_and(|version| version <= 65_535),
        };
        match client.call("initialize", &Json::of(&params)).await {
            Ok(answer) => {
                assert!(is_version, "{version}");
                let answer: Value = answer.read().unwrap();
                assert_eq!(answer["protocolVersion"], 1);
                assert_eq!(answer["agentInfo"]["version"], "1.2.3");
                assert!(answer["agentInfo"]["name"].is_string());
                assert_eq!(answer["authMethods"], json!([]));
                let capabilities = &answer["agentCapabilities"];
                assert_eq!(capabilities["loadSession"], true);
                assert_eq!(capabilities["promptCapabilities"]["embeddedContext"], true);
            }
            Err(CallError::Refused(error)) => {
                assert!(!is_version, "{version}");
                assert_eq!(error.code, -32602);
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    client.close();
    drop(client);
    hearing.abort();
    serving.abort();
}
