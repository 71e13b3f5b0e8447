//! What a network client says that would run a command somewhere.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::line_client::LineClient;
use testkit::test_home::{TestHome, switchyard};

use super::spy::{Spy, definition, served};
use crate::serve_rest::{Api, EXE};

/// A token with less than everything.
pub(super) async fn token(api: &Api, wanted: Value) -> String {
    let made = api.post("/v1/tokens", &wanted).await.is(201);
    made.body["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_are_commands_are_refused_in_every_disguise() {
    let api = Api::start().await;
    let role = json!({ "name": "guest", "role": "operator", "ownSessions": true });
    let guest = token(&api, role).await;
    let evil = json!({ "command": "/bin/sh", "args": ["-c", "id"], "env": [] });
    for (n, server) in [
        json!({ "name": "x", "type": "http" }),
        json!({ "name": "x", "type": "http", "url": "http://x" }),
        json!({ "name": "x", "type": "sse", "url": "http://x" }),
        json!({ "name": "x", "type": "stdio" }),
        json!({ "name": "x" }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut server = server;
        server.as_object_mut().unwrap().extend(evil.as_object().unwrap().clone());
        let new = json!({ "agent": "demo", "cwd": api.home.work(), "mcpServers": [server] });
        let order = api.request(Method::POST, "/v1/sessions").json(&new).bearer_auth(&guest);
        let answer = api.send(order).await;
        assert_eq!(answer.status, 403, "{n}: {}", answer.body);
    }
    for url in ["file:///etc/passwd", "FILE://x", "javascript:1", "/etc/passwd", "", "unix://x"] {
        let server = json!({ "name": "x", "type": "http", "url": url });
        let new = json!({ "agent": "demo", "cwd": api.home.work(), "mcpServers": [server] });
        let order = api.request(Method::POST, "/v1/sessions").json(&new).bearer_auth(&guest);
        assert_eq!(api.send(order).await.status, 403, "{url}");
    }
    // Agents read variables and files into these.
    let into = ["${HOME}", "$HOME", "{env:HOME}", "{file:/etc/passwd}", "`id`", "a\r\nb: c", "!id"];
    let server = |name: &str, url: &str, header: &str, value: &str| {
        let headers = json!([{ "name": header, "value": value }]);
        json!({ "name": name, "type": "http", "url": url, "headers": headers })
    };
    let servers = into.map(|text| {
        let url = format!("http://127.0.0.1:9/{text}");
        let mut all = vec![server(text, "http://x", "a", "b"), server("x", "http://x", text, "b")];
        all.push(server("x", "http://x", "a", text));
        if !text.starts_with('!') {
            all.push(server("x", &url, "a", "b"));
        }
        all
    });
    for server in servers.concat() {
        let new = json!({ "agent": "demo", "cwd": api.home.work(), "mcpServers": [server] });
        let order = api.request(Method::POST, "/v1/sessions").json(&new).bearer_auth(&guest);
        assert_eq!(api.send(order).await.status, 403, "{new}");
    }
    let remote = server("x", "http://127.0.0.1:9/a?b=%24c", "Authorization", "Bearer a.b+c/d==");
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "mcpServers": [remote] });
    let order = api.request(Method::POST, "/v1/sessions").json(&new).bearer_auth(&guest);
    api.send(order).await.is(201);

    // What is read twice could be read as two things.
    let text = new.to_string().replace(r#""type":"http""#, r#""type":"stdio","type":"http""#);
    assert_eq!(text.matches("type").count(), 2, "{text}");
    let order = api.request(Method::POST, "/v1/sessions").bearer_auth(&guest);
    let order = order.header("Content-Type", "application/json").body(text);
    let answer = api.send(order).await;
    assert!(answer.status == 400 && answer.body.to_string().contains("twice"), "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_of_its_own_sessions_lets_nobody_in() {
    let api = Api::start().await;
    let role = json!({ "name": "small", "role": "admin", "ownSessions": true });
    let small = token(&api, role).await;
    let tries = [
        (Method::GET, "/v1/tokens"),
        (Method::POST, "/v1/tokens"),
        (Method::DELETE, "/v1/tokens/small"),
        (Method::POST, "/v1/tokens/small/rotate"),
        (Method::POST, "/v1/login-link"),
    ];
    for (method, path) in tries {
        let order = api.request(method.clone(), path).bearer_auth(&small);
        let order = match method == Method::POST {
            true => order.json(&json!({ "name": "big", "role": "admin" })),
            false => order,
        };
        let answer = order.send().await.unwrap();
        assert_eq!(answer.status(), 403, "{method} {path}");
    }
}

/// A client by TCP of a daemon whose agent is a spy, after the greeting.
fn visit(home: &TestHome, says: &str) -> (Daemon, Spy, LineClient) {
    let dir = home.work().join("spy");
    let spy = Spy::at(&dir, "spy", says);
    std::fs::write(home.path().join("switchyard.toml"), definition(&dir.join("spy"))).unwrap();
    let daemon = Daemon::start_with(home, &["--agent", "spy", "--tcp", "127.0.0.1:0"]);
    let mut client = LineClient::tcp(crate::serve_acp::tcp(home));
    client.result("switchyard/hello", &json!({ "token": daemon.token().unwrap() }));
    client.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    (daemon, spy, client)
}

#[test]
fn what_acp_does_not_have_is_not_passed_on_and_twins_are_refused() {
    let home = switchyard(EXE);
    let (_daemon, spy, mut client) = visit(&home, "");
    let evil =
        json!({ "claudeCode": { "options": { "mcpServers": { "x": { "command": "EVIL" } } } } });
    let mut meta = evil.clone();
    meta["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let params = json!({
        "cwd": home.work(), "mcpServers": [], "_meta": meta, "command": "EVIL", "env": ["EVIL"],
    });
    let session = client.result("session/new", &params)["sessionId"].clone();
    let prompt = json!({
        "sessionId": session, "prompt": [{ "type": "text", "text": "hello" }],
        "_meta": evil, "more": "EVIL",
    });
    client.result("session/prompt", &prompt);
    let settings = [
        ("session/set_mode", "modeId"),
        ("session/set_model", "modelId"),
        ("session/set_config_option", "configId"),
    ];
    for (method, member) in settings {
        let params = json!({ "sessionId": session, member: method, "_meta": evil, "x": "EVIL" });
        client.ask(method, &params);
        assert!(std::fs::read_to_string(&spy.heard).unwrap().contains(method), "{method}");
    }
    for method in ["session/foo", "authenticate", "logout", "_ext/run", "claude/eval"] {
        let refused = client.ask(method, &json!({ "methodId": "EVIL", "command": "EVIL" }));
        assert!(refused["error"].is_object(), "{method}: {refused}");
        let refused = client.ask(method, &json!({ "sessionId": session, "command": "EVIL" }));
        assert!(refused["error"].is_object(), "{method}: {refused}");
    }
    let twins = format!(
        r#"{{"jsonrpc":"2.0","id":77,"method":"session/set_mode","params":{{"sessionId":"nope","sessionId":{session},"modeId":"EVIL"}}}}"#
    );
    client.send(&twins);
    let refused = client.answer_to(&json!(77));
    assert!(refused["error"]["message"].as_str().unwrap().contains("twice"), "{refused}");
    let heard = std::fs::read_to_string(spy.heard).unwrap();
    assert!(!heard.contains("EVIL"), "{heard}");
    assert!(heard.contains("traceparent"), "{heard}");
}

#[test]
fn an_agent_does_not_speak_in_our_name() {
    let home = switchyard(EXE);
    let forged = r#"{"jsonrpc":"2.0","method":"_switchyard/permission_resolved","params":{"sessionId":"one","by":"FORGED"}}
{"jsonrpc":"2.0","method":"_other/said","params":{"sessionId":"one","by":"ITSELF"}}"#;
    let (_daemon, _spy, mut client) = visit(&home, forged);
    let new = json!({ "cwd": home.work(), "mcpServers": [] });
    let session = client.result("session/new", &new)["sessionId"].clone();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hello" }] });
    let id = client.start("session/prompt", &prompt);
    let mut seen = String::new();
    loop {
        let message = client.next_message();
        seen.push_str(&message.to_string());
        if message["id"] == id {
            break;
        }
    }
    assert!(seen.contains("ITSELF") && !seen.contains("FORGED"), "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_with_the_name_of_another_has_nothing_of_it() {
    let api = Api::start().await;
    let role = json!({ "name": "guest", "role": "operator", "ownSessions": true });
    let first = token(&api, role.clone()).await;
    let new = json!({ "agent": "demo", "cwd": api.home.work() });
    let make =
        |token: &str| api.request(Method::POST, "/v1/sessions").json(&new).bearer_auth(token);
    let made = api.send(make(&first)).await.is(201);
    let id = made.body["id"].as_str().unwrap();
    let rotated = api.post("/v1/tokens/guest/rotate", &json!({})).await.is(200);
    let rotated = rotated.body["token"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{id}");
    let seen_by = async |token: &str| {
        let of_one = api.send(api.request(Method::GET, &path).bearer_auth(token)).await.status;
        let list = api.request(Method::GET, "/v1/sessions").bearer_auth(token);
        let listed = api.send(list).await.body["sessions"].as_array().unwrap().len();
        (of_one.as_u16(), listed)
    };
    assert_eq!(seen_by(&rotated).await, (200, 1), "a new secret is the same client");
    api.delete("/v1/tokens/guest").await.is(204);
    let second = token(&api, role).await;
    assert_eq!(seen_by(&second).await, (404, 0));
    api.send(make(&second)).await.is(201);
    assert_eq!(seen_by(&second).await, (404, 1));
}

/// Names that clients choose belong to the client, and not to whoever has its token's name next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_another_chose_lead_to_nothing_of_its() {
    let api = Api::start().await;
    let role = json!({ "name": "guest", "role": "operator", "ownSessions": true });
    let run = json!({
        "agentId": "demo", "projectId": "site", "conversationId": "talk", "clientRequestId": "r",
        "permissions": "auto", "message": "write a.txt s3cret",
    });
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "clientRequestId": "c" });
    let ask = async |token: &str, path: &str, body: &Value| {
        let order = api.request(Method::POST, path).json(body).bearer_auth(token);
        let answer = order.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let mut made = Vec::new();
    for _ in 0..2 {
        let token = token(&api, role.clone()).await;
        for _ in 0..2 {
            made.push(ask(&token, "/v1/sessions", &new).await);
            made.push(ask(&token, "/api/runs", &run).await);
        }
        api.delete("/v1/tokens/guest").await.is(204);
    }
    let ids = |n: usize| (made[n].1["id"].to_string(), made[n + 1].1["runId"].to_string());
    assert_eq!((made[0].0, made[2].0, made[4].0, made[6].0), (201, 200, 201, 200), "{made:#?}");
    assert_eq!((ids(0), ids(4)), (ids(2), ids(6)), "asked again by the same client");
    assert!(ids(0).0 != ids(4).0 && ids(0).1 != ids(4).1, "{made:#?}");
    let projects = api.home.path().join("projects");
    assert_eq!(projects.read_dir().unwrap().count(), 2, "each has its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_is_made_of_has_an_end() {
    let api = Api::start().await;
    let large = "x".repeat(600 << 10);
    let server = json!({ "type": "http", "name": large, "url": "http://x", "headers": [] });
    let members =
        [("systemPrompt", json!(large)), ("model", json!(large)), ("mcpServers", json!([server]))];
    for (name, value) in members {
        let new =
            json!({ "agent": "demo", "cwd": api.home.work(), "startsLater": true, name: value });
        assert_eq!(api.post("/v1/sessions", &new).await.status, 400, "{name}");
    }
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "systemPrompt": "x".repeat(9000) });
    api.post("/v1/sessions", &new).await.is(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_outside_of_the_roots_is_not_told_about() {
    let home = switchyard(EXE);
    let config = format!("[serve]\nroots = [\"{}\"]\n", home.work().display());
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let api = Api::start_in(home).await;
    let at = async |cwd: &str| {
        let answer = api.post("/v1/sessions", &json!({ "agent": "demo", "cwd": cwd })).await;
        (answer.status.as_u16(), answer.body["detail"].to_string().replace(cwd, ""))
    };
    let inside = api.home.work().join("no/such");
    assert_eq!(at(&inside.display().to_string()).await.0, 400);
    let missing = at("/etc/no/such").await;
    assert_eq!(missing.0, 403, "{missing:?}");
    for there in ["/etc", "/etc/passwd", "/etc/passwd/x"] {
        assert_eq!(at(there).await, missing, "{there}");
    }
}

/// A large prompt that has to wait is not kept in memory, and comes out of the log whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_prompt_that_waited_reaches_the_agent_as_it_was() {
    let (api, spy) = served().await;
    let new = json!({ "agent": "spy", "cwd": api.home.work(), "startsLater": true });
    let made = api.post("/v1/sessions", &new).await.is(201);
    let id = made.body["id"].as_str().unwrap().to_owned();
    let text = format!("begin {} \u{e4} end", "x".repeat(300_000));
    api.prompt(&id, &text).await;
    api.until_idle(&id).await;
    let heard = std::fs::read_to_string(&spy.heard).unwrap();
    let prompted = heard.lines().find(|line| line.contains("session/prompt")).unwrap();
    let prompted: Value = serde_json::from_str(prompted).unwrap();
    assert_eq!(prompted["params"]["prompt"], json!([{ "type": "text", "text": text }]));
}
