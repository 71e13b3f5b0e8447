//! Agents that are started before anybody prompts them.

use serde_json::{Value, json};
use testkit::test_executables;
use testkit::test_home::{TestHome, switchyard};

use super::{Api, EXE, of_kind};

/// A session of this command line whose agent is not started yet.
async fn unstarted(api: &Api, command: &[&str], more: Value) -> String {
    let mut new = json!({
        "agent": "x", "cwd": api.home.work(), "command": command, "startsLater": true,
    });
    for (name, value) in more.as_object().unwrap() {
        new[name] = value.clone();
    }
    let made = api.post_locally("/v1/sessions", &new).await.is(201).body;
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_agent_can_be_started_before_the_first_prompt() {
    let api = Api::start().await;
    let options = json!({ "model": "demo-large", "mode": "code" });
    let session = unstarted(&api, &[EXE, "demo-agent"], options).await;
    let path = format!("/v1/sessions/{session}");
    assert_eq!(api.get(&path).await.is(200).body.get("options"), None);

    let start = || api.request(reqwest::Method::POST, &format!("{path}/start"));
    let started = api.send(start()).await.is(200).body;
    assert_eq!(started["options"]["model"]["current"], "demo-large");
    assert_eq!(started["options"]["mode"]["current"], "code");
    assert_eq!(started["status"], "idle");
    let n_workers = async || of_kind(&api.events(&session).await, "worker_started").len();
    assert_eq!(n_workers().await, 1);

    api.send(start().json(&json!({}))).await.is(200);
    assert_eq!(n_workers().await, 1, "one that runs is left as it is");
    api.prompt(&session, "echo hello").await;
    api.until_idle(&session).await;
    assert_eq!(n_workers().await, 1);
    api.send(start().json(&json!({ "autch": "x" }))).await.refused(400, "bad-input");
}

#[tokio::test]
async fn an_agent_that_always_fails_is_not_started_for_every_new_session() {
    let api = Api::start().await;
    let starts = api.home.path().join("starts");
    let script = format!("echo x >> '{}'; echo 'no key' >&2; exit 3", starts.display());
    let new = json!({ "agent": "x", "cwd": api.home.work(), "command": ["/bin/sh", "-c", script] });
    let mut n_refused = 0;
    for _ in 0..20 {
        let answer = api.post_locally("/v1/sessions", &new).await;
        let body = answer.refused(502, "process-exit").says("no key").body;
        if body["detail"].as_str().unwrap().starts_with("`x` could not be started 6 times") {
            n_refused += 1;
            assert!((1..=61).contains(&body["retry_after"].as_u64().unwrap()), "{body}");
        }
    }
    assert_eq!(n_refused, 14);
    assert_eq!(std::fs::read_to_string(&starts).unwrap().lines().count(), 6);

    let other = json!({ "agent": "demo", "cwd": api.home.work() });
    api.post("/v1/sessions", &other).await.is(201);
    let listed = api.get("/v1/sessions").await.is(200).body;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

/// A home in which the agent `mine` is the demo agent with these flags.
fn write_agent(home: &TestHome, flags: &[&str], more: &str) {
    let args: Vec<&str> = [&["demo-agent"], flags].concat();
    let agent = format!("[agents.mine]\ncommand = \"{EXE}\"\nargs = {args:?}\n{more}");
    std::fs::write(home.path().join("switchyard.toml"), agent).unwrap();
}

async fn unstarted_mine(api: &Api, more: Value) -> String {
    let mut new = json!({ "agent": "mine", "cwd": api.home.work(), "startsLater": true });
    new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = api.post("/v1/sessions", &new).await.is(201).body;
    format!("/v1/sessions/{}/start", made["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_default_model_is_set_at_each_start_of_an_agent_that_forgets() {
    let home = switchyard(EXE);
    write_agent(&home, &["--load", "--forget"], "default_model = \"demo-large\"");
    let mut api = Api::start_in(home).await;
    let start = unstarted_mine(&api, json!({})).await;
    for _ in 0..2 {
        let started = api.post(&start, &json!({})).await.is(200).body;
        assert_eq!(started["options"]["model"]["current"], "demo-large");
        api = api.restart().await;
    }
}

#[tokio::test]
async fn a_default_model_keeps_no_session_from_an_agent_without_models() {
    let home = switchyard(EXE);
    write_agent(&home, &["--no-config"], "default_model = \"any\"");
    let api = Api::start_in(home).await;
    let start = unstarted_mine(&api, json!({})).await;
    // A model that a client names is another matter, also if it is the default.
    let named = json!({ "model": "any" });
    let start_named = unstarted_mine(&api, named).await;
    api.post(&start_named, &json!({})).await.refused(400, "bad-input").says("no choice of model");
    let new = json!({ "agent": "mine", "cwd": api.home.work(), "model": "any" });
    api.post("/v1/sessions", &new).await.refused(400, "bad-input").says("no choice of model");

    let home = api.kill();
    write_agent(&home, &["--no-config"], "default_model = \"another\"");
    let api = Api::start_in(home).await;
    api.post(&start, &json!({})).await.is(200);
}

#[tokio::test]
async fn an_option_that_an_agent_offers_no_longer_keeps_no_session_from_it() {
    let home = switchyard(EXE);
    write_agent(&home, &["--all-sessions"], "");
    let api = Api::start_in(home).await;
    let start = unstarted_mine(&api, json!({ "model": "demo-large", "mode": "code" })).await;
    let started = api.post(&start, &json!({})).await.is(200).body;
    assert_eq!(started["options"]["model"]["current"], "demo-large");

    let home = api.kill();
    write_agent(&home, &["--all-sessions", "--no-config"], "");
    let api = Api::start_in(home).await;
    let started = api.post(&start, &json!({})).await.is(200).body;
    assert_eq!(started["status"], "idle");
}

#[tokio::test]
async fn what_the_agent_does_not_grant_is_refused() {
    let api = Api::start().await;
    let path = |session: &str| format!("/v1/sessions/{session}/start");
    let options = json!({ "model": "gpt-nine" });
    let session = unstarted(&api, &[EXE, "demo-agent"], options).await;
    for _ in 0..2 {
        let refused = api.post(&path(&session), &json!({})).await;
        refused.refused(400, "bad-input").says("demo-small");
    }

    let stubborn = stubborn(&api);
    let options = json!({ "model": "large" });
    let session = unstarted(&api, &[&stubborn], options.clone()).await;
    let refused = api.post(&path(&session), &json!({})).await;
    refused.refused(502, "rejected").says("not for you");
    // As with a session whose agent is started at once, and as with PATCH.
    let mut new = json!({ "agent": "x", "cwd": api.home.work(), "command": [stubborn] });
    let made = api.post_locally("/v1/sessions", &new).await.is(201).body;
    let plain = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    let patch = api.request(reqwest::Method::PATCH, &plain).json(&options);
    api.send(patch).await.refused(502, "rejected").says("not for you");
    new["model"] = json!("large");
    let refused = api.post_locally("/v1/sessions", &new).await;
    refused.refused(502, "rejected").says("not for you");
}

/// An agent that offers a model and does not give it.
fn stubborn(api: &Api) -> String {
    let path = api.home.work().join("stubborn");
    let script = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
  case $line in
    *'"initialize"'*) said='"result":{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/new"'*) said='"result":{"sessionId":"s","models":{"currentModelId":"small","availableModels":[{"modelId":"small","name":"Small"},{"modelId":"large","name":"Large"}]}}' ;;
    *) said='"error":{"code":-32000,"message":"not for you"}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$said"
done
"#;
    test_executables::write(&path, script);
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_agent_is_asked_to_log_in_first() {
    let api = Api::start().await;
    let command = [EXE, "demo-agent", "--auth", "demo-login"];
    let session = unstarted(&api, &command, json!({})).await;
    let path = format!("/v1/sessions/{session}/start");

    let refused = api.post(&path, &json!({})).await.refused(502, "auth");
    assert!(refused.body["remedy"].as_str().unwrap().contains("demo-login"), "{}", refused.body);
    let wrong = api.post(&path, &json!({ "auth": "other" })).await.refused(502, "auth");
    wrong.says("cannot log in: ").says("no such auth method: other");
    api.post(&path, &json!({ "auth": "demo-login" })).await.is(200);
    api.prompt(&session, "echo in").await;
    api.until(&session, |now| now["lastTurn"]["stopReason"] == "end_turn").await;
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_says_why() {
    let api = Api::start().await;
    let start = async |command: &[&str]| {
        let session = unstarted(&api, command, json!({})).await;
        api.post(&format!("/v1/sessions/{session}/start"), &json!({})).await
    };
    start(&["/nowhere/agent"]).await.refused(400, "agent-not-found").says("/nowhere/agent");
    start(&["false"]).await.refused(502, "process-exit");
}
