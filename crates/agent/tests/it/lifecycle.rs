//! Initialize, authenticate, errors, settings: the connection without its prompts.

use crate::client::{Client, prompt};
use agent::demo::ConnectionEnd;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn it_introduces_itself_and_offers_nothing_it_was_not_told_to() {
    let mut client = Client::start(&[]);

    let result = client.initialize().await["result"].clone();

    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(result["agentInfo"]["name"], "demo");
    assert_eq!(result["agentCapabilities"]["loadSession"], false);
    assert_eq!(result["agentCapabilities"]["sessionCapabilities"], json!({}));
    assert_eq!(client.finish().await, ConnectionEnd::Eof);
}

#[tokio::test(start_paused = true)]
async fn it_answers_version_1_whatever_was_asked_unless_told_otherwise() {
    for (flags, answer) in [(&[][..], 1), (&["--version-answer", "2"][..], 2)] {
        let mut client = Client::start(flags);
        for asked in [0, 1, 2, 65535] {
            let exchange = client.call("initialize", json!({ "protocolVersion": asked })).await;
            assert_eq!(exchange.response["result"]["protocolVersion"], answer);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_it_cannot_serve_get_the_right_error() {
    let mut client = Client::start(&[]);
    let early = client.call("session/new", json!({ "cwd": "/tmp", "mcpServers": [] })).await;
    assert_eq!(early.error_code(), -32600);
    client.initialize().await;

    let cases = [
        ("no/such_method", json!({}), -32601),
        ("session/load", json!({ "sessionId": "x", "cwd": "/", "mcpServers": [] }), -32601),
        ("session/list", json!({}), -32601),
        ("initialize", json!({ "protocolVersion": "1" }), -32602),
        ("session/new", json!({ "mcpServers": [] }), -32602),
        ("session/new", json!({ "cwd": "/tmp" }), -32602),
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] }), -32602),
        ("session/prompt", json!({ "sessionId": "x" }), -32602),
        ("session/prompt", json!({ "sessionId": "x", "prompt": [{ "type": "video" }] }), -32602),
        ("session/prompt", prompt("nobody", "help"), -32002),
        ("session/set_mode", json!({ "sessionId": "nobody", "modeId": "ask" }), -32002),
        ("authenticate", json!({ "methodId": "any" }), -32602),
    ];
    for (method, params, code) in cases {
        let exchange = client.call(method, params.clone()).await;
        assert_eq!(exchange.error_code(), code, "{method} {params}");
    }
}

#[tokio::test(start_paused = true)]
async fn lines_it_cannot_read_are_answered_and_it_goes_on() {
    let mut client = Client::start(&[]);
    let cases: [(&[u8], i64); 8] = [
        (b"not json\n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\n", -32700),
        (b"\xff\xfe\n", -32700),
        (b"[]\n", -32600),
        (b"42\n", -32600),
        (b"{\"jsonrpc\":\"2.0\"}\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":2}\n", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":2,\"result\":{}}\n", -32600),
    ];
    for (line, code) in cases {
        client.write(line).await;
        let answer = client.receive().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], Value::Null);
        assert!(answer.get("id").is_some());
    }
    // Blank lines, unknown notifications and stray answers are nobody's request.
    client.write(b"\n  \r\n").await;
    let params = json!({ "requestId": 0 });
    client.send(&json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": params })).await;
    client.send(&json!({ "jsonrpc": "2.0", "method": "no/such_thing" })).await;
    client.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} })).await;

    assert_eq!(client.initialize().await["result"]["protocolVersion"], 1);
}

#[tokio::test(start_paused = true)]
async fn any_id_comes_back_as_it_was_written() {
    let mut client = Client::start(&[]);
    for id in ["\"a\\u00e9\"", "12345678901234567890123", "-1", "1.50", "null"] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"nope\"}}\n");
        client.write(line.as_bytes()).await;
        let answer = String::from_utf8(client.receive_line().await).unwrap();
        assert!(answer.contains(&format!("\"id\":{id},\"error\"")), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_needs_the_login_that_was_asked_for() {
    let mut client = Client::start(&["--auth", "demo-login", "--all-sessions"]);
    let hello = client.initialize().await;
    assert_eq!(hello["result"]["authMethods"][0]["id"], "demo-login");

    let params = json!({ "cwd": "/tmp", "mcpServers": [] });
    assert_eq!(client.call("session/new", params).await.error_code(), -32000);
    let wrong = client.call("authenticate", json!({ "methodId": "other" })).await;
    assert_eq!(wrong.error_code(), -32602);
    let right = client.call("authenticate", json!({ "methodId": "demo-login" })).await;
    assert_eq!(right.response["result"], json!({}));

    client.new_session().await;
}

#[tokio::test(start_paused = true)]
async fn modes_and_options_can_be_chosen() {
    let (mut client, session) = Client::with_session(&[]).await;

    let params = json!({ "sessionId": session, "modeId": "code" });
    assert_eq!(client.call("session/set_mode", params).await.response["result"], json!({}));
    assert_eq!(client.receive().await["params"]["update"]["currentModeId"], "code");

    let params = json!({ "sessionId": session, "configId": "effort", "value": "high" });
    let options = client.call("session/set_config_option", params).await;
    let options = &options.response["result"]["configOptions"];
    assert_eq!(options.as_array().unwrap().len(), 2);
    assert_eq!(options[0]["category"], "model");
    assert_eq!(options[1]["category"], "thought_level");
    assert_eq!(options[1]["currentValue"], "high");

    let params = json!({ "sessionId": session, "modelId": "demo-large" });
    assert_eq!(client.call("session/set_model", params).await.response["result"], json!({}));
    let update = client.receive().await["params"]["update"].clone();
    assert_eq!(update["configOptions"][0]["currentValue"], "demo-large");

    let params = json!({ "sessionId": session, "configId": "model", "value": "gpt" });
    assert_eq!(client.call("session/set_config_option", params).await.error_code(), -32602);
    let params = json!({ "sessionId": session, "modeId": "yolo" });
    assert_eq!(client.call("session/set_mode", params).await.error_code(), -32602);
}

#[tokio::test(start_paused = true)]
async fn without_config_there_is_nothing_to_choose() {
    let mut client = Client::start(&["--no-config"]);
    client.initialize().await;

    let new = client.call("session/new", json!({ "cwd": "/tmp", "mcpServers": [] })).await;

    let result = new.response["result"].as_object().unwrap();
    assert_eq!(result.keys().collect::<Vec<_>>(), ["sessionId"]);
    let params = json!({ "sessionId": result["sessionId"], "modeId": "code" });
    assert_eq!(client.call("session/set_mode", params).await.error_code(), -32601);
}

#[tokio::test(start_paused = true)]
async fn early_updates_come_before_the_session_is_known() {
    let mut client = Client::start(&["--early-updates", "--slow-start", "5000"]);
    client.initialize().await;

    let new = client.call("session/new", json!({ "cwd": "/tmp", "mcpServers": [] })).await;

    assert_eq!(new.kinds(), ["available_commands_update"]);
    assert_eq!(new.messages[0]["params"]["sessionId"], new.response["result"]["sessionId"]);
}

#[tokio::test(start_paused = true)]
async fn it_can_ignore_the_end_of_its_input() {
    let (mut client, session) = Client::with_session(&["--ignore-eof"]).await;
    let id = client.begin(&session, "sleep 1000 ; echo still here").await;

    client.close_input().await;

    let exchange = client.answer_to(id, "session/prompt").await;
    assert_eq!(exchange.text(), "still here");
    assert!(client.is_running());
}
