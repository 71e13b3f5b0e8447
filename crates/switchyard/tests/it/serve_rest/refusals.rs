//! What is not served, and how that is said.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Answer, Api};

async fn send_raw(api: &Api, kind: &str, path: &str, body: &'static str) -> Answer {
    let request = api.request(Method::POST, path).header("content-type", kind).body(body);
    api.send(request).await
}

#[tokio::test]
async fn bodies_are_read_strictly() {
    let api = Api::start().await;
    let post = async |body| send_raw(&api, "application/json", "/v1/sessions", body).await;
    for bad in
        ["", "{", "[]", "null", "7", "\"x\"", "{\"cwd\":1}", "{\"cwd\":\"/\"}x", "\u{feff}{}"]
    {
        post(bad).await.refused(400, "bad-input");
    }
    post(r#"{"agent":"demo"}"#).await.refused(400, "bad-input").says("cwd");
    let unknown = r#"{"agent":"demo","cwd":"/tmp","colour":1,"size":2}"#;
    post(unknown).await.refused(400, "bad-input").says("`colour`, `size`");
    post(r#"{"agent":"demo","cwd":"/tmp","cwd":"/"}"#).await.refused(400, "bad-input");
    post(r#"{"agent":"demo","cwd":"/tmp","permissions":"root"}"#).await.refused(400, "bad-input");
    // Deeper than any reader goes.
    let deep = format!("{{\"agent\":\"demo\",\"cwd\":\"/\",\"mcpServers\":{}", "[".repeat(100_000));
    let request = api.request(Method::POST, "/v1/sessions");
    let request = request.header("content-type", "application/json").body(deep);
    api.send(request).await.refused(400, "bad-input");
}

#[tokio::test]
async fn other_types_than_json_are_refused() {
    let api = Api::start().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"] {
        let body = r#"{"agent":"demo","cwd":"/tmp"}"#;
        let refused = send_raw(&api, kind, "/v1/sessions", body).await;
        refused.refused(415, "unsupported-media-type");
    }
    assert_eq!(api.get("/v1/sessions").await.is(200).body["sessions"], json!([]));
    let with_charset = "application/json; charset=utf-8";
    send_raw(&api, with_charset, "/v1/sessions", "{}").await.refused(400, "bad-input");
}

#[tokio::test]
async fn places_are_checked() {
    let api = Api::start().await;
    let file = api.home.work().join("file");
    std::fs::write(&file, "").unwrap();
    for cwd in ["relative", "/nowhere/at/all", file.to_str().unwrap(), "/\u{0}"] {
        let new = json!({ "agent": "demo", "cwd": cwd });
        api.post("/v1/sessions", &new).await.refused(400, "bad-input");
    }
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "model": "gpt-nine" });
    api.post("/v1/sessions", &new).await.refused(400, "bad-input").says("demo-small");
    assert_eq!(api.get("/v1/sessions").await.is(200).body["sessions"], json!([]));
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_told_from_one_that_fails() {
    let api = Api::start().await;
    let file = api.home.work().join("file");
    std::fs::write(&file, "").unwrap();
    let new = |command: Value| json!({ "agent": "x", "cwd": api.home.work(), "command": command });
    for missing in ["/nowhere/agent", "no-such-program", file.to_str().unwrap()] {
        let refused = api.post_locally("/v1/sessions", &new(json!([missing]))).await;
        let refused = refused.refused(400, "agent-not-found").says(missing);
        assert!(refused.body["remedy"].is_string(), "{}", refused.body);
    }
    api.post_locally("/v1/sessions", &new(json!(["false"]))).await.refused(502, "process-exit");

    // Where the prompt finds out, its end says so.
    let mut later = new(json!(["/nowhere/agent"]));
    later["startsLater"] = json!(true);
    let made = api.post_locally("/v1/sessions", &later).await.is(201).body;
    let session = made["id"].as_str().unwrap();
    api.prompt(session, "hello").await;
    let now = api.until(session, |now| now["lastTurn"].is_object()).await;
    assert_eq!(now["lastTurn"]["error"]["category"], "agent_not_found");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let api = Api::start().await;
    for path in ["/v1", "/v1/", "/v1/nothing", "/v2/sessions", "/v1/sessions/"] {
        api.get(path).await.refused(404, "not-found");
    }
    let long = "a".repeat(5000);
    let ids = [
        "x",
        "..%2F..%2Fetc%2Fpasswd",
        "%00",
        "%ff",
        "A2345678901234567890123456",
        "a2345678901234567890123456",
        "%E2%80%AE",
        &long,
    ];
    for id in ids {
        for rest in ["", "/queue", "/permissions", "/transcript", "/export", "/attachments"] {
            let problem = api.get(&format!("/v1/sessions/{id}{rest}")).await;
            let problem = problem.refused(404, "not-found");
            assert!(problem.body.to_string().len() < 1000, "long input is not repeated");
        }
        for rest in ["/fork", "/close", "/cancel"] {
            let request = api.request(Method::POST, &format!("/v1/sessions/{id}{rest}"));
            api.send(request).await.refused(404, "not-found");
        }
        api.delete(&format!("/v1/sessions/{id}")).await.refused(404, "not-found");
    }
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_are_served() {
    let api = Api::start().await;
    let cases = [
        (Method::PUT, "/v1/sessions", "GET,HEAD,POST"),
        (Method::DELETE, "/healthz", "GET,HEAD"),
        (Method::GET, "/v1/sessions/x/prompt", "POST"),
    ];
    for (method, path, allowed) in cases {
        let refused = api.send(api.request(method, path)).await;
        let refused = refused.refused(405, "method-not-allowed");
        assert_eq!(refused.headers["allow"], allowed, "{path}");
    }
}

#[tokio::test]
async fn a_problem_has_its_five_members() {
    let api = Api::start().await;
    let problem: Value = api.get("/v1/sessions/x").await.is(404).body;
    assert_eq!(problem["status"], 404);
    for member in ["type", "title", "detail"] {
        assert!(problem[member].is_string(), "{problem:#}");
    }
}
