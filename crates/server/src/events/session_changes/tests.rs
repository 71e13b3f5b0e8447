use std::collections::BTreeSet;

use serde_json::Value;
use sessions::pending::{ExpectedAnswer, PendingQuestion};
use store::{Batch, EventLog as _, RecordChanges, SessionFilter};
use wire::{CallId, Millis, Seq};

use super::*;
use crate::events::frame_buffer::FrameEncoding;
use crate::events::testing::One;

async fn next(lists: &mut SessionChanges) -> Vec<Value> {
    let mut buffer = FrameBuffer::new(FrameEncoding::Object);
    assert_eq!(lists.next(&mut buffer).await, None);
    buffer.frames().map(|(_, text)| serde_json::from_str(text).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn changes_of_sessions_are_told_and_other_events_are_not() {
    let one = One::new().await;
    let mut lists = SessionChanges::new(&one.daemon, &one.principal);
    assert_eq!(next(&mut lists).await[0]["event"], "stream");

    let update = |changes: RecordChanges| one.log.update(one.id, changes);
    let title = Some(Some("A name".to_owned()));
    update(RecordChanges { title, ..RecordChanges::default() }).await.unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told[0]["data"]["kind"], "title");
    assert_eq!(told[0]["data"]["title"], "A name");

    one.log.append(Batch::new(one.id, crate::events::testing::drafts())).await.unwrap();
    update(RecordChanges { is_closed: Some(true), ..RecordChanges::default() }).await.unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["data"]["kind"], "status");
    assert_eq!(told[0]["data"]["status"], "closed");
    assert_eq!(told[0]["data"]["session"], one.id.as_str());

    one.log.delete(one.id).await.unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told[0]["data"]["kind"], "deleted");
}

fn question(session: SessionId, seq: u64) -> PendingQuestion {
    PendingQuestion {
        session,
        made_by: None,
        agent: "demo".into(),
        request_id: CallId::derived(&[&seq.to_be_bytes()]),
        wants: ExpectedAnswer::Permission,
        title: String::new(),
        kind: String::new(),
        options: Vec::new(),
        request: None,
        seq: Seq(seq),
        turn: None,
        since: Millis(0),
        until: None,
        deadline: None,
    }
}

#[tokio::test(start_paused = true)]
async fn other_questions_are_told_also_when_they_are_as_many() {
    let one = One::new().await;
    let pending = &one.daemon.registry.context().pending;
    let first = pending.add(question(one.id, 1)).unwrap();
    let mut lists = SessionChanges::new(&one.daemon, &one.principal);
    next(&mut lists).await;

    drop(first);
    let second = pending.add(question(one.id, 2)).unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told[0]["data"]["kind"], "pending");
    assert_eq!(told[0]["data"]["pending"], 1);

    let new = one.add_session(1, "asks at once").await;
    let third = pending.add(question(new, 3)).unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told[0]["data"]["kind"], "created");
    assert_eq!(told[0]["data"]["pending"], 1);
    drop((second, third));
}

#[tokio::test(start_paused = true)]
async fn whoever_sees_only_its_own_sessions_hears_only_of_those() {
    let one = One::new().await;
    let principal = Principal { own_sessions: true, ..Principal::local() };
    let mut lists = SessionChanges::new(&one.daemon, &principal);
    next(&mut lists).await;

    one.log.delete(one.id).await.unwrap();

    let mut buffer = FrameBuffer::new(FrameEncoding::Object);
    let told = tokio::time::timeout(10 * POLL_EVERY, lists.next(&mut buffer)).await;
    assert!(told.is_err(), "{buffer:?}");
}

#[tokio::test(start_paused = true)]
async fn all_who_watch_the_same_list_share_one_look() {
    let one = One::new().await;
    let mut watchers: Vec<SessionChanges> =
        (0..3).map(|_| SessionChanges::new(&one.daemon, &one.principal)).collect();
    let only_own = Principal { own_sessions: true, ..Principal::local() };
    let mut other = SessionChanges::new(&one.daemon, &only_own);
    for lists in watchers.iter_mut().chain([&mut other]) {
        next(lists).await;
    }

    let title = Some(Some("A name".to_owned()));
    one.log.update(one.id, RecordChanges { title, ..RecordChanges::default() }).await.unwrap();
    for lists in &mut watchers {
        assert_eq!(next(lists).await[0]["data"]["title"], "A name");
    }

    let told = |lists: &SessionChanges| lists.sent.clone().unwrap();
    assert!(watchers.iter().all(|lists| Arc::ptr_eq(&told(lists), &told(&watchers[0]))));
    assert!(told(&other).is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_did_not_change_is_kept_once() {
    let one = One::new().await;
    let mut lists = SessionChanges::new(&one.daemon, &one.principal);
    next(&mut lists).await;
    let before = lists.sent.clone().unwrap();

    one.add_session(1, "another").await;
    next(&mut lists).await;

    let now = lists.sent.clone().unwrap();
    assert_eq!(now.len(), 2);
    assert!(Arc::ptr_eq(&before[&one.id], &now[&one.id]));
}

#[tokio::test(start_paused = true)]
async fn much_that_is_new_is_told_in_pages_and_all_of_it_once() {
    let one = One::new().await;
    let mut lists = SessionChanges::new(&one.daemon, &one.principal);
    next(&mut lists).await;
    let mut expected = BTreeSet::new();
    for n in 0..300 {
        expected.insert(one.add_session(n, &"t".repeat(2000)).await.to_string());
    }

    let mut told = Vec::new();
    while told.len() < expected.len() {
        let mut buffer = FrameBuffer::new(FrameEncoding::Object);
        assert_eq!(lists.next(&mut buffer).await, None);
        assert!(buffer.text.len() < MAX_BUFFER_BYTES + 4096, "{}", buffer.text.len());
        told.extend(buffer.frames().map(|(_, text)| {
            let frame: Value = serde_json::from_str(text).unwrap();
            frame["data"]["session"].as_str().unwrap().to_owned()
        }));
    }

    assert_eq!(told.len(), expected.len());
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_among_the_newest_any_more_is_not_called_deleted_and_not_kept() {
    let one = One::new().await;
    let mut lists = SessionChanges::new(&one.daemon, &one.principal);
    next(&mut lists).await;
    for n in 0..SessionFilter::MAX_LIMIT {
        one.add_session(n, "newer").await;
    }

    let mut n_told = 0;
    while n_told < SessionFilter::MAX_LIMIT {
        let told = next(&mut lists).await;
        assert!(told.iter().all(|frame| frame["data"]["kind"] == "created"));
        n_told += told.len();
    }

    let known = lists.sent.clone().unwrap();
    assert_eq!(known.len(), SessionFilter::MAX_LIMIT);
    assert!(!known.contains_key(&one.id));
}
