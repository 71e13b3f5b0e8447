//! Turns: queued, dropped, cancelled, prompted with blocks.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::proc;
use testkit::test_home::until;

use super::{Api, of_kind, text};

/// Waits until the turn runs.
async fn until_running(api: &Api, session: &str) {
    api.until(session, |now| now["status"] == "running").await;
}

#[tokio::test]
async fn prompts_wait_for_their_turn_and_can_be_dropped() {
    let api = Api::start().await;
    let session = api.session().await;
    let path = format!("/v1/sessions/{session}/queue");
    assert_eq!(api.get(&path).await.is(200).body, json!({ "running": null, "queued": [] }));

    let first = api.prompt(&session, "slow 1000000 10").await;
    until_running(&api, &session).await;
    let second = api.prompt(&session, "echo second").await;
    let third = api.prompt(&session, "echo third").await;

    let queue = api.get(&path).await.is(200).body;
    assert_eq!(queue["running"], first.as_str());
    let waiting = json!([
        { "turnId": second, "text": "echo second" }, { "turnId": third, "text": "echo third" },
    ]);
    assert_eq!(queue["queued"], waiting);
    api.delete(&format!("{path}/{second}")).await.is(204);
    api.delete(&format!("{path}/{second}")).await.refused(404, "not-found");
    api.delete(&format!("{path}/{first}")).await.refused(409, "not-queued");
    api.delete(&format!("{path}/nothing")).await.refused(404, "not-found");

    let cancelled = api.send(api.request(Method::POST, &format!("/v1/sessions/{session}/cancel")));
    assert_eq!(cancelled.await.is(200).body["status"], "idle", "cancel waits for the end");
    let events = api.events(&session).await;
    let ended: Vec<&Value> = of_kind(&events, "turn_ended");
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["payload"]["stopReason"], "cancelled");
    let dropped = of_kind(&events, "prompt_dropped").into_iter();
    let dropped: Vec<&Value> = dropped.map(|event| &event["turn"]).collect();
    assert_eq!(dropped, [second.as_str(), third.as_str()]);
    assert!(!text(&events).contains("second"));
}

#[tokio::test]
async fn an_idle_session_can_be_cancelled_and_goes_on() {
    let api = Api::start().await;
    let session = api.session().await;
    let cancel = format!("/v1/sessions/{session}/cancel");
    api.send(api.request(Method::POST, &cancel)).await.is(200);
    api.prompt(&session, "echo still here").await;
    api.until_idle(&session).await;
    assert_eq!(text(&api.events(&session).await), "still here");
}

#[tokio::test]
async fn a_full_queue_says_so() {
    let api = Api::start().await;
    let session = api.session().await;
    api.prompt(&session, "slow 1000000 10").await;
    until_running(&api, &session).await;
    let limits = api.get("/v1/capabilities").await.is(200).body["limits"].clone();
    for _ in 0..limits["queuedPrompts"].as_u64().unwrap() {
        api.prompt(&session, "echo x").await;
    }
    let path = format!("/v1/sessions/{session}/prompt");
    let refused = api.post(&path, &json!({ "prompt": "echo x" })).await;
    let refused = refused.refused(503, "queue-full");
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn large_prompts_that_wait_are_not_in_memory() {
    const MAX_ADDED_KIB: u64 = 50 << 10;
    let api = Api::start().await;
    let session = api.session().await;
    api.prompt(&session, "slow 1000000 10").await;
    until_running(&api, &session).await;
    let resident = || proc::memory(api.daemon.pid()).unwrap().resident_kib;
    let before = resident();
    let path = format!("/v1/sessions/{session}/prompt");
    let large = json!({ "prompt": format!("echo {}", "x".repeat(12 << 20)) });
    for _ in 0..8 {
        api.post(&path, &large).await.is(202);
    }
    let is_given_back = until(soak::PATIENCE, || resident() < before + MAX_ADDED_KIB).await;
    assert!(is_given_back, "{} KiB more", resident() - before);
}

#[tokio::test]
async fn a_prompt_may_be_blocks() {
    let api = Api::start().await;
    let session = api.session().await;
    let path = format!("/v1/sessions/{session}/prompt");
    let blocks = json!([
        { "type": "text", "text": "echo seen" },
        { "type": "resource_link", "uri": "file:///x", "name": "x" },
    ]);
    api.post(&path, &json!({ "prompt": blocks })).await.is(202);
    api.until_idle(&session).await;
    let said = text(&api.events(&session).await);
    assert!(said.contains("[link x, file:///x]") && said.ends_with("seen"), "{said}");

    for bad in [json!(""), json!(" \n"), json!([]), json!([1]), json!([{ "text": "x" }]), json!(7)]
    {
        api.post(&path, &json!({ "prompt": bad })).await.refused(400, "bad-input");
    }
    let many: Vec<Value> = vec![json!({ "type": "text", "text": "x" }); 257];
    api.post(&path, &json!({ "prompt": many })).await.refused(400, "bad-input");
}

#[tokio::test]
async fn a_session_goes_on_after_the_death_of_the_daemon() {
    let api = Api::start().await;
    let session = api.session().await;
    api.prompt(&session, "echo before ; slow 1000000 10").await;
    let has_spoken = |now: &Value| now["head"].as_u64().unwrap() > 8;
    api.until(&session, has_spoken).await;

    let api = api.restart().await;
    let now = api.until_idle(&session).await;
    // Nothing runs; what can be chosen is still known, and chosen before the next prompt.
    let model = &now["options"]["model"];
    let other = model["values"].as_array().into_iter().flatten().map(|value| &value["id"]);
    let other =
        other.clone().find(|id| **id != model["current"]).unwrap_or_else(|| panic!("{now}"));
    let path = format!("/v1/sessions/{session}");
    let change = api.request(reqwest::Method::PATCH, &path).json(&json!({ "model": other }));
    let changed = api.send(change).await.is(200).body;
    assert_eq!(changed["options"]["model"]["current"], *other, "{changed}");
    api.prompt(&session, "echo after").await;
    api.until_idle(&session).await;

    let events = api.events(&session).await;
    let ended = of_kind(&events, "turn_ended");
    assert_eq!(ended[0]["payload"]["error"]["category"], "interrupted");
    assert_eq!(ended[1]["payload"]["stopReason"], "end_turn");
    assert!(text(&events).ends_with("after"));
}

#[tokio::test]
async fn a_session_tells_how_its_last_turn_ended_and_what_its_agent_offered() {
    let api = Api::start().await;
    let session = api.session().await;
    let path = format!("/v1/sessions/{session}");
    assert_eq!(api.get(&path).await.is(200).body.get("lastTurn"), None);

    api.prompt(&session, "echo well").await;
    let now = api.until(&session, |now| now["lastTurn"].is_object()).await;
    assert_eq!(now["lastTurn"], json!({ "stopReason": "end_turn" }));
    let offered = now["options"]["model"]["values"].clone();
    assert!(offered.as_array().is_some_and(|values| !values.is_empty()), "{now}");

    api.prompt(&session, "crash 3").await;
    let now = api.until(&session, |now| now["lastTurn"]["stopReason"] == "error").await;
    assert_eq!(now["lastTurn"]["error"]["category"], "process_exit");
    // Its agent is gone, and the choice is still there.
    assert_eq!(api.get(&path).await.is(200).body["options"]["model"]["values"], offered);
    let list = api.get("/v1/sessions").await.is(200).body;
    assert_eq!(list["sessions"][0]["lastTurn"]["stopReason"], "error");
}
