//! Requests with a name are done once, however often they come.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Api, of_kind, text};

#[tokio::test]
async fn a_prompt_with_a_name_is_prompted_once() {
    let api = Api::start().await;
    let session = api.session().await;
    let path = format!("/v1/sessions/{session}/prompt");
    let prompt = json!({ "prompt": "echo once", "clientRequestId": "r1" });

    // Many at the same time.
    let all = join_all((0..8).map(|_| api.post(&path, &prompt))).await;
    let answers: Vec<Value> = all.into_iter().map(|answer| answer.is(202).body).collect();
    let turn = answers[0]["turnId"].clone();
    assert!(answers.iter().all(|answer| answer["turnId"] == turn), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["reused"] == true).count(), 7);

    // Another body under the same name.
    let other = json!({ "prompt": "echo twice", "clientRequestId": "r1" });
    api.post(&path, &other).await.refused(409, "idempotency-conflict");
    api.until_idle(&session).await;

    // After the death of the daemon.
    let api = api.restart().await;
    let again = api.post(&path, &prompt).await.is(202).body;
    let fate = json!({ "state": "ended", "stopReason": "end_turn" });
    assert_eq!(again, json!({ "turnId": turn, "reused": true, "fate": fate }));
    api.post(&path, &other).await.refused(409, "idempotency-conflict");
    let next = json!({ "prompt": "echo more", "clientRequestId": "r2" });
    let next = api.post(&path, &next).await.is(202).body;
    assert_ne!(next["turnId"], turn);
    api.until_idle(&session).await;

    let events = api.events(&session).await;
    assert_eq!(text(&events), "oncemore");
    let received = of_kind(&events, "prompt_received");
    assert_eq!(received.len(), 2);
    assert_eq!(received[0]["payload"]["clientRequestId"], "r1");
}

#[tokio::test]
async fn a_name_is_one_of_its_session() {
    let api = Api::start().await;
    let (one, two) = (api.session().await, api.session().await);
    let prompt = json!({ "prompt": "echo x", "clientRequestId": "r" });
    let prompt = async |session: &str| {
        let path = format!("/v1/sessions/{session}/prompt");
        api.post(&path, &prompt).await.is(202).body["turnId"].clone()
    };
    assert_ne!(prompt(&one).await, prompt(&two).await);
}

#[tokio::test]
async fn a_session_with_a_name_is_made_once() {
    let api = Api::start().await;
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "clientRequestId": "s1" });

    let all = join_all((0..6).map(|_| api.post("/v1/sessions", &new))).await;
    let made: Vec<&Value> = all.iter().map(|answer| &answer.body["id"]).collect();
    assert!(made.iter().all(|id| *id == made[0]), "{made:?}");
    assert_eq!(all.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(all.iter().filter(|answer| answer.status == 200).count(), 5);
    let id = made[0].as_str().unwrap().to_owned();
    let mut other = new.clone();
    other["title"] = json!("other");
    api.post("/v1/sessions", &other).await.refused(409, "idempotency-conflict");

    let api = api.restart().await;
    assert_eq!(api.post("/v1/sessions", &new).await.is(200).body["id"], id.as_str());
    api.post("/v1/sessions", &other).await.refused(409, "idempotency-conflict");

    // What was deleted can be made again.
    api.delete(&format!("/v1/sessions/{id}")).await.is(204);
    let made = api.post("/v1/sessions", &new).await.is(201).body;
    assert_ne!(made["id"], id.as_str());
}

#[tokio::test]
async fn a_request_that_failed_does_not_keep_its_name() {
    let api = Api::start().await;
    let bad = json!({ "agent": "nobody", "cwd": api.home.work(), "clientRequestId": "s1" });
    api.post("/v1/sessions", &bad).await.refused(400, "agent-not-found").says("nobody");
    let good = json!({ "agent": "demo", "cwd": api.home.work(), "clientRequestId": "s1" });
    api.post("/v1/sessions", &good).await.is(201);
}

#[tokio::test]
async fn a_name_must_be_one() {
    let api = Api::start().await;
    let session = api.session().await;
    for name in [String::new(), "x".repeat(201), "a\nb".to_owned()] {
        let prompt = json!({ "prompt": "echo x", "clientRequestId": name });
        let path = format!("/v1/sessions/{session}/prompt");
        api.post(&path, &prompt).await.refused(400, "bad-input").says("clientRequestId");
    }
}
