//! MCP servers of a session of the built-in agent, through the real binary.

use crate::native::{BOTH, Stage, judge, stop_reason};
use serde_json::{Value, json};
use testkit::model_server::{calls, text};
use testkit::sdk_client::acp::{NewSessionRequest, SessionId};
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::PATIENCE;

async fn open(stage: &Stage, client: &SdkClient, servers: Value) -> SessionId {
    let params = json!({ "cwd": stage.work(), "mcpServers": servers });
    let request: NewSessionRequest = serde_json::from_value(params).unwrap();
    client.ask(request).await.unwrap().session_id
}

fn echo(stage: &Stage) -> Value {
    let env = json!([{ "name": "ECHO_PREFIX", "value": "from the server" }]);
    json!({ "name": "helper", "command": stage.home.tool("mcp-echo"), "args": [], "env": env })
}

#[tokio::test]
async fn a_servers_tool_is_offered_asked_about_and_run() {
    for way in BOTH {
        for permission in [PermissionReply::Allow, PermissionReply::Reject] {
            let is_allowed = permission == PermissionReply::Allow;
            let stage = Stage::new().await;
            stage.model.answer(calls([("mcp__helper__echo", json!({ "text": "good day" }))]));
            stage.model.answer("done");
            let client = stage.client(way, ClientBehavior::default().permission(permission)).await;
            let session = open(&stage, &client, json!([echo(&stage)])).await;

            let turn = client.prompt(&session, "use it").await.unwrap();

            assert_eq!(stop_reason(&turn), "end_turn");
            let chats = stage.model.chats();
            assert!(chats[0].tool_names().contains(&"mcp__helper__echo"), "{way:?}");
            let asked = serde_json::to_value(client.permissions_asked()).unwrap();
            assert_eq!(asked.as_array().unwrap().len(), 1, "{way:?}: {asked}");
            assert_eq!(asked[0]["toolCall"]["title"], "helper: echo");
            let result = &chats[1].tool_results()[0];
            let is_run = result.contains("from the server: good day");
            assert_eq!(is_run, is_allowed, "{way:?}: {result}");
            judge(client).await;
            stage.home.assert_empty_within(PATIENCE);
        }
    }
}

#[tokio::test]
async fn a_broken_server_is_reported_and_the_session_works_with_the_others() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer_with(|_| text("here I am"));
        let client = stage.client(way, ClientBehavior::default()).await;
        let missing =
            json!({ "name": "gone", "command": "/no/such/program", "args": [], "env": [] });
        let dies = json!({ "name": "dies", "command": "false", "args": [], "env": [] });
        let session = open(&stage, &client, json!([missing, dies, echo(&stage)])).await;

        let turn = client.prompt(&session, "hello").await.unwrap();
        let next = client.prompt(&session, "hello").await.unwrap();

        let said = turn.text();
        for name in ["gone", "dies"] {
            let words = format!("The MCP server {name} does not answer");
            assert!(said.contains(&words), "{way:?}: {said}");
        }
        assert!(said.ends_with("here I am"), "{said}");
        assert_eq!(next.text(), "here I am", "it is said once");
        assert!(stage.model.last_chat().tool_names().contains(&"mcp__helper__echo"));
        judge(client).await;
    }
}

#[tokio::test]
async fn a_server_that_dies_is_told_to_the_model_and_comes_back() {
    let stage = Stage::new().await;
    stage.model.answer(calls([("mcp__helper__die", json!({}))]));
    stage.model.answer(calls([("mcp__helper__echo", json!({ "text": "again" }))]));
    stage.model.answer("done");
    let behavior = ClientBehavior::default().permission(PermissionReply::Allow);
    let client = stage.client(crate::native::Way::Alone, behavior).await;
    let session = open(&stage, &client, json!([echo(&stage)])).await;

    let turn = client.prompt(&session, "use it").await.unwrap();

    assert_eq!(stop_reason(&turn), "end_turn");
    let results = stage.model.last_chat().tool_results();
    assert!(results[0].starts_with("Error"), "{results:#?}");
    assert!(results[1].contains("from the server: again"), "{results:#?}");
    judge(client).await;
}

#[tokio::test]
async fn each_session_has_servers_of_its_own_and_they_end_with_it() {
    let stage = Stage::new().await;
    stage.model.answer_with(|asked| match asked.new_tool_results().pop() {
        None => calls([("mcp__helper__pid", json!({}))]),
        Some(pid) => text(pid),
    });
    let behavior = ClientBehavior::default().permission(PermissionReply::Allow);
    let client = stage.client(crate::native::Way::Alone, behavior).await;
    let mut pids = Vec::new();
    for _ in 0..2 {
        let session = open(&stage, &client, json!([echo(&stage)])).await;
        let turn = client.prompt(&session, "who are you?").await.unwrap();
        let pid: u32 = turn.text().trim().parse().unwrap();
        assert!(testkit::proc::is_alive(pid));
        pids.push((session, pid));
    }

    assert_ne!(pids[0].1, pids[1].1);
    client.close_session(&pids[0].0).await.unwrap();
    assert!(testkit::test_home::until(PATIENCE, || !testkit::proc::is_alive(pids[0].1)).await);
    assert!(testkit::proc::is_alive(pids[1].1), "the other session keeps its own");
    judge(client).await;
    stage.home.assert_empty_within(PATIENCE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn servers_in_the_words_of_open_design_are_understood() {
    for way in BOTH {
        let stage = Stage::new().await;
        stage.model.answer_with(|_| text("yes"));
        let (mut lines, child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let program = stage.home.tool("mcp-echo");
        let server = json!({
            "type": "stdio", "name": "design", "command": program, "args": [], "env": [],
        });
        let params = json!({ "cwd": stage.work(), "mcpServers": [server] });
        let session = lines.result("session/new", &params)["sessionId"].clone();
        let prompt = crate::native::prompt_of(session.as_str().unwrap(), "hello");
        lines.result("session/prompt", &prompt);
        assert!(stage.model.last_chat().tool_names().contains(&"mcp__design__echo"), "{way:?}");
        crate::native_conformance::finish(lines, child);
        stage.home.assert_empty_within(PATIENCE);
    }
}
