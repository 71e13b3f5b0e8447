//! Runs as a log tells them.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use store::{Batch, EventLog, NewSession, SessionRecord};
use testkit::MemoryLog;
use wire::{Draft, Json, Kind, Millis, SessionId, TurnId};

use super::{MAX_RUNS, RunIndexes, RunStatus};

struct Log {
    log: MemoryLog,
    id: SessionId,
}

impl Log {
    async fn new() -> Self {
        let (log, id) = (MemoryLog::new(), SessionId::derived(&[b"s"]));
        let new = NewSession {
            id,
            agent: "demo".into(),
            cwd: "/".into(),
            created: Millis(0),
            details: Json::trusted("{}"),
            origin: None,
        };
        log.create(new).await.unwrap();
        Self { log, id }
    }

    async fn add(&self, turn: TurnId, kind: &str, payload: Value) {
        let kind = Kind::from_log(kind);
        let draft = Draft { at: Millis(5), turn: Some(turn), kind, payload: Json::of(&payload) };
        self.log.append(Batch::new(self.id, vec![draft])).await.unwrap();
    }

    async fn receive(&self, turn: TurnId) {
        let run = json!({ "conversationId": "c", "assistantMessageId": "m" });
        let payload = json!({ "prompt": [], "_meta": { "switchyard": { "run": run } } });
        self.add(turn, "prompt_received", payload).await;
    }

    async fn record(&self) -> SessionRecord {
        self.log.session(self.id).await.unwrap().unwrap()
    }
}

fn turn(n: usize) -> TurnId {
    TurnId::derived(&[&n.to_be_bytes()])
}

#[tokio::test]
async fn an_index_follows_its_log() {
    let (log, indexes) = (Log::new().await, RunIndexes::default());
    let status = async || {
        let runs = indexes.runs(&log.log, &log.record().await).await.unwrap();
        runs.iter().map(|run| run.status).collect::<Vec<_>>()
    };

    log.add(turn(0), "prompt_received", json!({ "prompt": [] })).await;
    assert_eq!(status().await, [], "a prompt of somebody else is no run");
    log.receive(turn(1)).await;
    assert_eq!(status().await, [RunStatus::Queued]);
    log.add(turn(1), "turn_started", json!({})).await;
    assert_eq!(status().await, [RunStatus::Running]);
    let fault = json!({ "category": "auth", "message": "log in" });
    log.add(turn(1), "turn_ended", json!({ "stopReason": "error", "error": fault })).await;
    log.receive(turn(2)).await;
    log.add(turn(2), "prompt_dropped", json!({ "reason": "cancelled" })).await;
    assert_eq!(status().await, [RunStatus::Canceled, RunStatus::Failed]);

    let runs = indexes.runs(&log.log, &log.record().await).await.unwrap();
    let told = json!(runs[1]);
    assert_eq!(told["error"], "log in");
    assert_eq!(told["errorCode"], "AGENT_AUTH_REQUIRED");
    assert_eq!(told["exitCode"], 1);
    assert_eq!(told["assistantMessageId"], "m");
    assert_eq!(told["conversationId"], "c");
}

#[tokio::test]
async fn a_run_that_is_too_old_for_the_list_is_found_by_its_id() {
    let (log, indexes) = (Log::new().await, RunIndexes::default());
    for n in 0..=MAX_RUNS {
        log.receive(turn(n)).await;
        log.add(turn(n), "turn_ended", json!({ "stopReason": "end_turn" })).await;
    }
    let record = log.record().await;

    let listed = indexes.runs(&log.log, &record).await.unwrap();
    let (oldest, _) = indexes.run(&log.log, &record, turn(0)).await.unwrap().unwrap();

    assert_eq!(listed.len(), MAX_RUNS);
    assert!(listed.iter().all(|run| run.id != turn(0)));
    assert_eq!(oldest.status, RunStatus::Succeeded);
    assert!(indexes.run(&log.log, &record, turn(9999)).await.unwrap().is_none());
}
