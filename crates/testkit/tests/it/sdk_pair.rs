//! The SDK's client and the SDK's agent: the tools must agree before they judge others.

use crate::stage::{home, sdk_agent};
use agent_client_protocol::ErrorCode;
use agent_client_protocol::v1::schema::{ElicitationContentValue, SessionUpdate, StopReason};
use serde_json::json;
use testkit::Validator;
use testkit::sdk_client::{ClientBehavior, FormAnswer, PermissionReply, SdkClient};

async fn judge(client: SdkClient) {
    let (exit, transcript) = client.stop().await;
    assert!(exit.success(), "{exit}");
    Validator::v1().assert_valid(&transcript);
}

#[tokio::test]
async fn a_prompt_streams_in_order() {
    let home = home();
    let client = sdk_agent(&home, &[], ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let turn = client.prompt(&session, "good day").await.unwrap();

    assert_eq!(turn.stop_reason, StopReason::EndTurn);
    assert_eq!(turn.text(), "You said: good day");
    assert_eq!(turn.thoughts(), "Let me think.");
    let mut kinds = turn.kinds();
    kinds.dedup();
    let expected = [
        "agent_thought_chunk",
        "plan",
        "tool_call",
        "tool_call_update",
        "plan",
        "agent_message_chunk",
    ];
    assert_eq!(kinds, expected);
    judge(client).await;
}

#[tokio::test]
async fn permissions_are_granted_refused_and_withdrawn() {
    let answers = [(PermissionReply::Allow, "granted"), (PermissionReply::Reject, "refused")];
    for (permission, expected) in answers {
        let home = home();
        let client = sdk_agent(&home, &[], ClientBehavior::default().permission(permission)).await;
        let session = client.new_session(home.work()).await.unwrap().session_id;
        let turn = client.prompt(&session, "permission").await.unwrap();
        assert!(turn.text().contains(expected), "{}", turn.text());
        judge(client).await;
    }

    let home = home();
    let client =
        sdk_agent(&home, &[], ClientBehavior::default().permission(PermissionReply::Never)).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let turn = client.start_prompt(&session, "permission");
    client.wait_for_permissions(1).await;
    client.cancel(&session).unwrap();
    assert_eq!(turn.finish().await.unwrap().stop_reason, StopReason::Cancelled);
    judge(client).await;
}

#[tokio::test]
async fn files_terminals_and_forms_work() {
    let home = home();
    let name = ElicitationContentValue::from("Ada");
    let form = FormAnswer::Accept([("name".to_owned(), name)].into());
    let behavior = ClientBehavior::default().files(home.work()).elicitation(form);
    let client = sdk_agent(&home, &[], behavior).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let wrote = client.prompt(&session, "write note.txt some words").await.unwrap();
    let read = client.prompt(&session, "read note.txt").await.unwrap();
    let missing = client.prompt(&session, "read /etc/passwd").await.unwrap();
    let ran = client.prompt(&session, "terminal echo from-the-terminal").await.unwrap();
    let asked = client.prompt(&session, "elicit").await.unwrap();

    assert_eq!(wrote.text(), "Wrote note.txt.");
    assert_eq!(read.text(), "some words");
    assert!(missing.text().starts_with("Sorry: /etc/passwd"), "{}", missing.text());
    assert_eq!(ran.text(), "Exit Some(0): from-the-terminal\n");
    assert!(asked.text().contains("Ada"), "{}", asked.text());
    judge(client).await;
}

#[tokio::test]
async fn a_turn_can_be_cancelled_and_the_session_goes_on() {
    let home = home();
    let client = sdk_agent(&home, &[], ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let turn = client.start_prompt(&session, "cancel");
    client.cancel(&session).unwrap();
    let cancelled = turn.finish().await.unwrap();
    let next = client.prompt(&session, "again").await.unwrap();

    assert_eq!(cancelled.stop_reason, StopReason::Cancelled);
    assert_eq!(next.text(), "You said: again");
    judge(client).await;
}

#[tokio::test]
async fn a_session_survives_its_process() {
    let home = home();
    let state = home.path().join("state");
    let flags = ["--state", state.to_str().unwrap()];
    let first = sdk_agent(&home, &flags, ClientBehavior::default()).await;
    let session = first.new_session(home.work()).await.unwrap().session_id;
    let turn = first.prompt(&session, "good day").await.unwrap();
    judge(first).await;

    let second = sdk_agent(&home, &flags, ClientBehavior::default()).await;
    let (loaded, replayed) = second.load_session(&session, home.work()).await.unwrap();
    second.set_mode(&session, "code").await.unwrap();
    let refused = second.set_mode(&session, "dance").await.unwrap_err();
    let listed = second.list_sessions().await.unwrap();

    assert!(matches!(replayed[0], SessionUpdate::UserMessageChunk(_)));
    assert_eq!(replayed[1..], turn.updates);
    assert!(loaded.modes.is_some());
    assert_eq!(refused.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(listed.len(), 1);
    judge(second).await;
}

#[tokio::test]
async fn an_extension_that_nobody_knows_is_refused() {
    let home = home();
    let client = sdk_agent(&home, &[], ClientBehavior::default()).await;

    let refused = client.call("_nobody/knows", json!({})).await.unwrap_err();

    assert_eq!(refused.code, ErrorCode::METHOD_NOT_FOUND);
    judge(client).await;
}
