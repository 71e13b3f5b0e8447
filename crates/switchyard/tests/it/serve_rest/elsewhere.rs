//! Sessions of other processes, in the log of the daemon: this one is such a process.

use serde_json::{Value, json};
use sessions::mint;
use store::{Batch, Claim, EventLog as _, NewSession, RecordChanges, SqliteLog, SqliteOptions};
use wire::{CallId, Draft, Json, Kind, SessionId, TurnId};

use super::Api;

/// A session that the daemon has nothing to do with, and a turn that runs in it.
struct Elsewhere {
    log: SqliteLog,
    id: SessionId,
    turn: TurnId,
}

impl Elsewhere {
    async fn new(api: &Api) -> (Self, Claim) {
        let log = SqliteLog::open(api.home.path(), SqliteOptions::default()).unwrap();
        let (id, turn) = (mint::session_id(), mint::turn_id());
        let new = NewSession {
            id,
            agent: "demo".into(),
            cwd: api.home.work().display().to_string(),
            created: mint::now(),
            details: Json::trusted("{}"),
            origin: None,
        };
        log.create(new).await.unwrap();
        let claim = log.claim(id).await.unwrap();
        let one = Self { log, id, turn };
        let begins = RecordChanges { active_turn: Some(Some(turn)), ..RecordChanges::default() };
        one.append(Kind::TurnStarted, json!({}), begins).await;
        (one, claim)
    }

    async fn append(&self, kind: Kind, payload: Value, changes: RecordChanges) {
        let (at, turn, payload) = (mint::now(), Some(self.turn), Json::of(&payload));
        let batch = Batch::new(self.id, vec![Draft { at, turn, kind, payload }]);
        self.log.append(batch.with(changes)).await.unwrap();
    }

    /// As it is told alone and in the list.
    async fn status(&self, api: &Api) -> Value {
        let alone = api.get(&format!("/v1/sessions/{}", self.id)).await.is(200).body;
        let status = alone["status"].clone();
        let word = status.as_str().unwrap();
        let list = api.get(&format!("/v1/sessions?id={}&status={word}", self.id)).await.is(200);
        assert_eq!(list.body["sessions"][0]["status"], status, "{}", list.body);
        status
    }
}

#[tokio::test]
async fn the_status_of_a_session_is_true_wherever_it_runs() {
    let api = Api::start().await;
    let (one, claim) = Elsewhere::new(&api).await;
    assert_eq!(one.status(&api).await, "running");

    let request = CallId::derived(&[b"question"]);
    let asked = json!({ "requestId": request, "ask": true, "request": { "options": [] } });
    one.append(Kind::PermissionRequested, asked, RecordChanges::default()).await;
    assert_eq!(one.status(&api).await, "requires_action");
    let answered = json!({
        "requestId": request, "allowed": true, "by": { "who": "client" },
        "outcome": { "outcome": "selected" }, "question": { "title": "x" },
    });
    one.append(Kind::PermissionResolved, answered, RecordChanges::default()).await;
    assert_eq!(one.status(&api).await, "running");

    drop(claim);
    assert_eq!(one.status(&api).await, "interrupted", "nobody goes on with it");
    let _claim = one.log.claim(one.id).await.unwrap();
    let ends = RecordChanges { active_turn: Some(None), ..RecordChanges::default() };
    one.append(Kind::TurnEnded, json!({ "stopReason": "end_turn" }), ends).await;
    assert_eq!(one.status(&api).await, "idle");
}

#[tokio::test]
async fn a_session_that_another_process_has_is_refused_with_its_number() {
    let api = Api::start().await;
    let (one, claim) = Elsewhere::new(&api).await;
    let path = format!("/v1/sessions/{}", one.id);
    for (what, body) in [("cancel", json!({})), ("prompt", json!({ "prompt": "x" }))] {
        let refused = api.post(&format!("{path}/{what}"), &body).await.refused(409, "in-use");
        assert_eq!(refused.body["process"], std::process::id(), "{what}: {}", refused.body);
    }
    assert_eq!(one.status(&api).await, "running");

    drop(claim);
    let cancelled = api.post(&format!("{path}/cancel"), &json!({})).await.is(200).body;
    assert_eq!(cancelled["status"], "idle", "what a dead process left is ended");
    let other = api.get("/v1/sessions/x").await.is(404).body;
    assert_eq!(other.get("process"), None);
}
