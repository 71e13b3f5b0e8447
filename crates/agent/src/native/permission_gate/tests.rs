//! Who is asked about what, in every mode.

use super::*;
use crate::native::client::ClientAbilities;
use crate::native::testing::play::chosen;
use crate::native::testing::rehearsal::{Rehearsal, until};

const ASK: &str = "session/request_permission";
const KINDS: [ToolKind; 4] = [ToolKind::Edit, ToolKind::Execute, ToolKind::Fetch, ToolKind::Other];

fn need(key: &str) -> CallNeed {
    CallNeed::Permission { key: key.to_owned() }
}

async fn pass(
    stage: &Rehearsal,
    gate: &Gate,
    key: &str,
    kind: ToolKind,
    mode: ApprovalMode,
) -> GateVerdict {
    let client = &stage.context.workspace.client;
    gate.pass(&need(key), kind, mode, client, &json!({ "toolCallId": "c" })).await
}

#[tokio::test]
async fn every_mode_asks_about_what_it_says_it_asks_about() {
    let keys = ["edit", "execute:rm", "fetch:host", "mcp:tool", "edit:protected:.git/config"];
    for mode in ApprovalMode::ALL {
        for kind in KINDS {
            for key in keys {
                let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
                stage.client.answers(ASK, chosen("once"));
                let gate = Gate::default();

                let verdict = pass(&stage, &gate, key, kind, mode).await;

                let is_free = match mode {
                    ApprovalMode::Ask | ApprovalMode::Plan => false,
                    ApprovalMode::Code => kind == ToolKind::Edit && !key.starts_with(PROTECTED),
                    ApprovalMode::Auto => !key.starts_with(PROTECTED),
                };
                let n_asked = stage.client.heard(ASK).len();
                if mode == ApprovalMode::Plan {
                    assert!(matches!(verdict, GateVerdict::Refused(_)), "{mode:?} {kind:?} {key}");
                    assert_eq!(n_asked, 0);
                } else {
                    assert_eq!(verdict, GateVerdict::Run, "{mode:?} {kind:?} {key}");
                    assert_eq!(n_asked, usize::from(!is_free), "{mode:?} {kind:?} {key}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_only_looks_is_never_asked_about() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    for mode in ApprovalMode::ALL {
        let client = &stage.context.workspace.client;
        let verdict = Gate::default()
            .pass(&CallNeed::Nothing, ToolKind::Read, mode, client, &json!({}))
            .await;
        assert_eq!(verdict, GateVerdict::Run);
    }
    assert!(stage.client.methods().is_empty());
}

#[tokio::test]
async fn always_covers_this_key_in_this_session_and_nothing_else() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    let gate = Gate::default();
    stage.client.answers(ASK, chosen("always"));
    assert_eq!(
        pass(&stage, &gate, "execute:ls", ToolKind::Execute, ApprovalMode::Ask).await,
        GateVerdict::Run
    );
    stage.client.answers(ASK, chosen("reject"));
    assert_eq!(
        pass(&stage, &gate, "execute:ls", ToolKind::Execute, ApprovalMode::Ask).await,
        GateVerdict::Run
    );
    let other = pass(&stage, &gate, "execute:rm", ToolKind::Execute, ApprovalMode::Ask).await;
    assert!(matches!(other, GateVerdict::Refused(_)));
    let elsewhere =
        pass(&stage, &Gate::default(), "execute:ls", ToolKind::Execute, ApprovalMode::Ask).await;
    assert!(matches!(elsewhere, GateVerdict::Refused(_)));
    // Plan mode is stronger than what was allowed before.
    let planned = pass(&stage, &gate, "execute:ls", ToolKind::Execute, ApprovalMode::Plan).await;
    assert!(matches!(planned, GateVerdict::Refused(_)));
}

#[tokio::test]
async fn protected_places_are_asked_about_each_time_and_offer_no_always() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    let gate = Gate::default();
    let key = "edit:protected:.git/hooks/x";
    stage.client.answers(ASK, chosen("once"));
    pass(&stage, &gate, key, ToolKind::Edit, ApprovalMode::Auto).await;
    pass(&stage, &gate, key, ToolKind::Edit, ApprovalMode::Auto).await;
    let heard = stage.client.heard(ASK);
    assert_eq!(heard.len(), 2);
    let kinds: Vec<&str> = heard[0]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["allow_once", "reject_once"]);
    // A client that answers what it was not offered has allowed nothing.
    stage.client.answers(ASK, chosen("always"));
    let verdict = pass(&stage, &gate, key, ToolKind::Edit, ApprovalMode::Auto).await;
    assert!(matches!(verdict, GateVerdict::Refused(_)), "{verdict:?}");
}

#[tokio::test]
async fn the_question_says_what_always_would_mean() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    stage.client.answers(ASK, chosen("once"));
    let keys = [
        ("edit", "Always allow edits in this session"),
        ("execute:cargo test", "Always allow `cargo test` in this session"),
        ("fetch:example.org", "Always allow pages of example.org in this session"),
        ("mcp:files_read", "Always allow files_read in this session"),
        ("execute in \"/x\":ls", "Always allow this in this session"),
    ];
    for (key, expected) in keys {
        pass(&stage, &Gate::default(), key, ToolKind::Other, ApprovalMode::Ask).await;
        let heard = stage.client.heard(ASK).pop().unwrap();
        assert_eq!(heard["options"][1]["name"], expected);
        assert_eq!(heard["toolCall"]["toolCallId"], "c");
    }
    let long = format!("execute:{}\n{}", "x".repeat(70), "y".repeat(300));
    pass(&stage, &Gate::default(), &long, ToolKind::Other, ApprovalMode::Ask).await;
    let heard = stage.client.heard(ASK).pop().unwrap();
    let name = heard["options"][1]["name"].as_str().unwrap();
    assert!(name.chars().count() < 140 && !name.contains('\n') && name.contains('…'), "{name}");
}

#[tokio::test]
async fn a_client_that_cancels_or_fails_has_allowed_nothing() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    let gate = Gate::default();
    stage.client.answers(ASK, json!({ "outcome": { "outcome": "cancelled" } }));
    let verdict = pass(&stage, &gate, "edit", ToolKind::Edit, ApprovalMode::Ask).await;
    assert_eq!(verdict, GateVerdict::Cancelled);
    stage.client.answers(ASK, json!({ "error": "no window" }));
    let verdict = pass(&stage, &gate, "edit", ToolKind::Edit, ApprovalMode::Ask).await;
    let GateVerdict::Refused(why) = verdict else { panic!("{verdict:?}") };
    assert!(why.contains("no window"), "{why}");
}

#[tokio::test]
async fn one_question_at_a_time_and_always_answers_those_that_wait() {
    let stage = std::sync::Arc::new(Rehearsal::new(ClientAbilities::default(), |_| {}));
    let gate = std::sync::Arc::new(Gate::default());
    stage.client.answers(ASK, None);
    let first = {
        let (stage, gate) = (stage.clone(), gate.clone());
        tokio::spawn(
            async move { pass(&stage, &gate, "edit", ToolKind::Edit, ApprovalMode::Ask).await },
        )
    };
    until("the first question", || stage.client.heard(ASK).len() == 1).await;
    let second = {
        let (stage, gate) = (stage.clone(), gate.clone());
        tokio::spawn(
            async move { pass(&stage, &gate, "edit", ToolKind::Edit, ApprovalMode::Ask).await },
        )
    };
    // The first asker is cancelled, and the second may ask: with *always*.
    stage.client.answers(ASK, chosen("always"));
    first.abort();
    assert_eq!(second.await.unwrap(), GateVerdict::Run);
    assert_eq!(
        pass(&stage, &gate, "edit", ToolKind::Edit, ApprovalMode::Ask).await,
        GateVerdict::Run
    );
    assert_eq!(stage.client.heard(ASK).len(), 2);
}
