//! Our demo agent, judged by a client that we did not write and by the schema.

use crate::stage::{home, tapped_demo};
use agent_client_protocol::v1::schema::{ElicitationContentValue, SessionUpdate, StopReason};
use testkit::sdk_client::{ClientBehavior, FormAnswer, PermissionReply, SdkClient};
use testkit::test_home::TestHome;
use testkit::{Direction, Validator, tap};

/// Ends the conversation and checks it as the client saw it and as the tap saw it.
async fn judge(home: &TestHome, client: SdkClient) {
    let (exit, seen) = client.stop().await;
    let tapped = tap::read(home.path().join("tap.ndjson")).unwrap();

    assert!(exit.success(), "{exit}");
    Validator::v1().assert_valid(&seen);
    Validator::v1().assert_valid(&tapped);
    for direction in [Direction::ClientToAgent, Direction::AgentToClient] {
        assert!(seen.messages(direction).eq(tapped.messages(direction)));
    }
}

#[tokio::test]
async fn it_speaks_thinks_plans_and_edits() {
    let home = home();
    let client = tapped_demo(&home, &[], ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let script = "say hello dear world\nthink twice\nplan\ntool edit\ndiff\nusage\nmarkdown\nimage";
    let turn = client.prompt(&session, script).await.unwrap();

    assert_eq!(turn.stop_reason, StopReason::EndTurn);
    assert!(turn.text().contains("hello dear world"), "{}", turn.text());
    assert!(turn.thoughts().contains("twice"));
    for kind in ["plan", "tool_call", "tool_call_update", "usage_update"] {
        assert!(turn.kinds().iter().any(|seen| seen == kind), "no {kind}: {:?}", turn.kinds());
    }
    judge(&home, client).await;
}

#[tokio::test]
async fn it_asks_for_permission_and_heeds_the_answer() {
    for (permission, status) in
        [(PermissionReply::Allow, "completed"), (PermissionReply::Reject, "failed")]
    {
        let home = home();
        let client =
            tapped_demo(&home, &[], ClientBehavior::default().permission(permission)).await;
        let session = client.new_session(home.work()).await.unwrap().session_id;

        let turn = client.prompt(&session, "permission execute ls").await.unwrap();

        assert_eq!(client.permissions_asked().len(), 1);
        let last = turn.updates.iter().rev().find_map(|update| match update {
            SessionUpdate::ToolCallUpdate(call) => call.fields.status,
            _ => None,
        });
        assert_eq!(serde_json::to_value(last).unwrap(), status);
        judge(&home, client).await;
    }
}

#[tokio::test]
async fn a_question_that_is_open_when_the_turn_is_cancelled_is_withdrawn() {
    let home = home();
    let client =
        tapped_demo(&home, &[], ClientBehavior::default().permission(PermissionReply::Never)).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let turn = client.start_prompt(&session, "permission execute ls");
    client.wait_for_permissions(1).await;
    client.cancel(&session).unwrap();

    assert_eq!(turn.finish().await.unwrap().stop_reason, StopReason::Cancelled);
    judge(&home, client).await;
}

#[tokio::test]
async fn it_uses_files_terminals_and_forms_of_the_client() {
    let home = home();
    let name = ElicitationContentValue::from("Ada");
    let form = FormAnswer::Accept([("name".to_owned(), name)].into());
    let behavior = ClientBehavior::default().files(home.work()).elicitation(form);
    let client = tapped_demo(&home, &[], behavior).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let path = home.work().join("note.txt");

    let script =
        format!("write {0} remember me\nread {0}\nrun echo from-the-terminal", path.display());
    let turn = client.prompt(&session, &script).await.unwrap();
    client.prompt(&session, "ask Ada").await.unwrap();

    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), "remember me");
    assert!(turn.text().contains("remember me"), "{}", turn.text());
    assert!(turn.text().contains("from-the-terminal"), "{}", turn.text());
    judge(&home, client).await;
}

#[tokio::test]
async fn a_turn_that_hangs_can_be_cancelled() {
    let home = home();
    let client = tapped_demo(&home, &[], ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let turn = client.start_prompt(&session, "say begun\nhang");
    client.wait_for(&session, |update| matches!(update, SessionUpdate::AgentMessageChunk(_))).await;
    client.cancel(&session).unwrap();

    assert_eq!(turn.finish().await.unwrap().stop_reason, StopReason::Cancelled);
    judge(&home, client).await;
}

#[tokio::test]
async fn sessions_can_be_listed_loaded_resumed_closed_and_deleted() {
    let home = home();
    let state = home.path().join("state");
    let flags = ["--all-sessions", "--state", state.to_str().unwrap()];
    let client = tapped_demo(&home, &flags, ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    client.prompt(&session, "say something memorable").await.unwrap();
    client.close_session(&session).await.unwrap();

    let (_, replayed) = client.load_session(&session, home.work()).await.unwrap();
    client.resume_session(&session, home.work()).await.unwrap();
    let listed = client.list_sessions().await.unwrap();
    client.delete_session(&session).await.unwrap();
    let left = client.list_sessions().await.unwrap();

    let replayed = serde_json::to_string(&replayed).unwrap();
    assert!(replayed.contains("memorable"), "{replayed}");
    assert_eq!(listed.len(), 1);
    assert_eq!(left.len(), 0);
    judge(&home, client).await;
}

#[tokio::test]
async fn what_the_sdk_drops_is_in_the_transcript() {
    let home = home();
    let client = tapped_demo(&home, &[], ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;

    let turn = client.prompt(&session, "unknown-update").await.unwrap();

    let (_, seen) = client.stop().await;
    let violations = Validator::v1().check(&seen);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    let on_the_wire = seen.calls(Direction::AgentToClient, "session/update").count();
    assert!(turn.updates.len() < on_the_wire);
}
