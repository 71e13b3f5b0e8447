use sessions::pending::QuestionListing;
use wire::{Millis, Seq};

use super::*;
use crate::events::testing::One;

/// A question of `one`'s session.
fn put_up(one: &One, n: u64, request: Option<&str>, option: &str) -> QuestionListing {
    let id = CallId::derived(&[&n.to_be_bytes()]);
    let option = sessions::permission::PermissionOption {
        id: "yes".to_owned(),
        name: option.to_owned(),
        kind: "allow_once".to_owned(),
    };
    let question = PendingQuestion {
        session: one.id,
        made_by: None,
        agent: "demo".to_owned(),
        request_id: id,
        wants: ExpectedAnswer::Permission,
        title: "write a file".to_owned(),
        kind: "edit".to_owned(),
        options: vec![option],
        request: request.map(|text| Arc::new(wire::Json::of(&serde_json::json!({ "t": text })))),
        seq: Seq(n),
        turn: None,
        since: Millis(n.cast_signed()),
        until: None,
        deadline: None,
    };
    one.daemon.registry.context().pending.add(question).unwrap()
}

async fn listed(one: &One) -> Vec<Permission> {
    let questions = one.daemon.registry.context().pending.list();
    Permission::all(&one.daemon, &one.principal, questions).await.unwrap().0.permissions
}

#[tokio::test]
async fn a_list_has_requests_as_they_came_until_they_are_too_many() {
    let one = One::new().await;
    let text = "x".repeat(200 << 10);
    let _put: Vec<QuestionListing> =
        (1..=50).map(|n| put_up(&one, n, Some(&text), "Yes")).collect();

    let listed = listed(&one).await;

    assert_eq!(listed.len(), 50);
    let n_whole = listed.iter().filter(|question| question.request.is_some()).count();
    assert_eq!(n_whole, 20, "of 4 MiB");
    assert!(listed[..n_whole].iter().all(|question| question.request.is_some()), "the oldest");
    let answer = serde_json::to_value(Permissions { permissions: listed }).unwrap();
    assert_eq!(answer["permissions"][0]["request"]["t"], text);
    assert_eq!(answer["permissions"][49].get("request"), None);
    assert_eq!(answer["permissions"][49]["seq"], 50);
    assert!(answer.to_string().len() < 5 << 20);
}

#[tokio::test]
async fn a_list_ends_when_even_the_options_are_too_many() {
    let one = One::new().await;
    let option = "x".repeat(60 << 10);
    let _put: Vec<QuestionListing> = (1..=300).map(|n| put_up(&one, n, None, &option)).collect();

    let listed = listed(&one).await;

    assert!(listed.len() < 80, "{}", listed.len());
    assert_eq!(listed[0].seq, 1);
}

#[tokio::test]
async fn whoever_sees_only_its_own_sessions_sees_only_their_questions() {
    let mut one = One::new().await;
    let _put = put_up(&one, 1, None, "Yes");
    assert_eq!(listed(&one).await.len(), 1);

    one.principal.own_sessions = true;

    assert!(listed(&one).await.is_empty());
}
