//! The model server, asked by a client that knows nothing of it.

use reqwest::{Client, Response};
use serde_json::{Value, json};
use testkit::model_server::{ModelServer, ReceivedRequest, calls, status, text};

fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

async fn ask(server: &ModelServer, prompt: &str) -> Response {
    let url = format!("{}/chat/completions", server.base_url());
    let messages = json!([{ "role": "user", "content": prompt }]);
    let body = json!({ "model": "m", "messages": messages });
    client().post(url).header("X-Test", "yes").json(&body).send().await.unwrap()
}

#[tokio::test]
async fn a_script_is_followed_then_the_brain_decides_then_it_is_over() {
    let server = ModelServer::start().await;
    server.answer(text("one two")).answer(status(503).retry_after("7").body("busy"));

    let first = ask(&server, "a").await.text().await.unwrap();
    let chunks: Vec<Value> = first
        .split("\n\n")
        .filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok())
        .collect();
    let said: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(said, "one two");
    assert!(first.ends_with("data: [DONE]\n\n"), "{first}");

    let second = ask(&server, "b").await;
    assert_eq!(
        (second.status().as_u16(), &second.headers()["retry-after"]),
        (503, &"7".parse().unwrap())
    );
    assert_eq!(second.text().await.unwrap(), "busy");

    assert_eq!(ask(&server, "c").await.status(), 400);
    server.answer_with(|asked: &ReceivedRequest| text(asked.last_user()).whole());
    let fourth: Value = ask(&server, "echo").await.json().await.unwrap();
    assert_eq!(fourth["choices"][0]["message"]["content"], "echo");

    let prompts: Vec<_> = server.chats().iter().map(ReceivedRequest::last_user).collect();
    assert_eq!(prompts, ["a", "b", "c", "echo"]);
    assert_eq!(server.last_chat().header("x-test"), Some("yes"));
}

#[tokio::test]
async fn calls_and_broken_streams_are_what_was_asked_for() {
    let server = ModelServer::start().await;
    server.answer(calls([("read", json!({ "path": "a" })), ("list", json!({}))]).whole());
    let answer: Value = ask(&server, "go").await.json().await.unwrap();
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"path\":\"a\"}");
    assert_eq!(message["tool_calls"][1]["function"]["name"], "list");
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");

    server.answer(text("one two").cut_after(2));
    assert!(ask(&server, "cut").await.text().await.is_err());
    server.answer(text("one two").hang_after(2));
    drop(ask(&server, "hang").await);
    server.wait_for_hang_ups(1).await;
    server.wait_for_chats(3).await;
    assert_eq!(server.n_left(), 0);
}

#[tokio::test]
async fn models_are_listed_and_other_paths_answer_what_they_are_told() {
    let server = ModelServer::start().await;
    server.models(["a", "b"]);
    let get = async |path: &str| client().get(format!("{}{path}", server.url())).send().await;
    let list: Value = get("/v1/models").await.unwrap().json().await.unwrap();
    assert_eq!(list["data"][1]["id"], "b");
    assert_eq!(get("/nowhere").await.unwrap().status(), 404);
    server.on("/nowhere", status(200).json(&json!({ "found": true })));
    let found: Value = get("/nowhere").await.unwrap().json().await.unwrap();
    assert_eq!(found["found"], true);
}
