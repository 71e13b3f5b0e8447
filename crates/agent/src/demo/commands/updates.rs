//! Commands that tell the client about the session.
//!
//! In: arguments. Out: one or a few updates of the kind in question.
//! A kind that the client must ask for is not sent to a client that did not.

use crate::demo::connection::update_line;
use crate::demo::turn::DemoTurn;
use jiff::Timestamp;
use serde_json::{Value, json};

// Numbers that a float cannot hold and a spelling that a rewrite would lose: what arrives at the
// other end shows whether somebody parsed what he should only carry.
pub(super) const UNKNOWN_UPDATE: &str = r#"{"sessionUpdate":"demo_unknown_kind","big":12345678901234567890123,"hundred":1e2,"pi":3.1415926535897932384626433832795,"unknownField":{"z":1,"a":[null,true,"\u00e9"]},"_meta":{"demo":{"spaced" : "as is"}}}"#;

/// Sends an update byte for byte.
pub(super) async fn raw(turn: &DemoTurn, update: &str) {
    turn.raw(update_line(&turn.session, update)).await;
}

/// A plan is always sent as a whole; here one entry after the other becomes completed.
pub(super) async fn plan(turn: &DemoTurn) {
    const STEPS: [(&str, &str); 3] =
        [("Look around", "high"), ("Change something", "medium"), ("Check the result", "low")];
    for n_done in 0..=STEPS.len() {
        let entries: Vec<Value> = STEPS
            .iter()
            .enumerate()
            .map(|(n, (content, priority))| {
                let status = match n.cmp(&n_done) {
                    std::cmp::Ordering::Less => "completed",
                    std::cmp::Ordering::Equal => "in_progress",
                    std::cmp::Ordering::Greater => "pending",
                };
                json!({ "content": content, "priority": priority, "status": status })
            })
            .collect();
        turn.update(json!({ "sessionUpdate": "plan", "entries": entries })).await;
    }
}

pub(super) async fn usage(turn: &DemoTurn) {
    let cost = json!({ "amount": 0.0421, "currency": "USD" });
    let update =
        json!({ "sessionUpdate": "usage_update", "used": 5300, "size": 200_000, "cost": cost });
    turn.update(update).await;
}

pub(super) async fn mode(turn: &DemoTurn, mode: &str) {
    turn.change(|session| session.record.settings_mut().set_mode(mode));
    turn.update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode })).await;
}

pub(super) async fn title(turn: &DemoTurn, title: &str) {
    turn.change(|session| session.record.set_title(title));
    turn.update(json!({
        "sessionUpdate": "session_info_update",
        "title": title,
        "updatedAt": Timestamp::now().to_string(),
    }))
    .await;
}

pub(super) async fn notice(turn: &DemoTurn, text: &str) {
    if !turn.connection.client_offers("/session/notices") {
        return turn.say("The client did not ask for notices (session.notices).\n").await;
    }
    turn.update(json!({
        "sessionUpdate": "notice",
        "severity": "warning",
        "title": text,
        "description": "A notice of the demo agent",
    }))
    .await;
}

pub(super) async fn compaction(turn: &DemoTurn) {
    if !turn.connection.client_offers("/session/compaction") {
        return turn.say("The client did not ask for compaction (session.compaction).\n").await;
    }
    let id = turn.connection.unique("compaction");
    let state = |status: &str| json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": status });
    turn.update(state("in_progress")).await;
    for text in ["So far ", "we have talked."] {
        turn.update(json!({
            "sessionUpdate": "compaction_summary_chunk",
            "compactionId": id,
            "content": { "type": "text", "text": text },
        }))
        .await;
    }
    turn.update(state("completed")).await;
}
