use serde_json::Value;
use store::{Batch, Changes, EventLog as _};

use super::*;
use crate::events::desk_of_one::One;
use crate::events::page::Dress;

async fn next(lists: &mut Lists) -> Vec<Value> {
    let mut page = Page::new(Dress::Object);
    assert_eq!(lists.next(&mut page).await, None);
    page.frames().map(|(_, text)| serde_json::from_str(text).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn changes_of_sessions_are_told_and_other_events_are_not() {
    let one = One::new().await;
    let mut lists = Lists::new(&one.daemon, &one.principal);
    assert_eq!(next(&mut lists).await[0]["event"], "stream");

    let update = |changes: Changes| one.log.update(one.id, changes);
    let title = Some(Some("A name".to_owned()));
    update(Changes { title, ..Changes::default() }).await.unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told[0]["data"]["kind"], "title");
    assert_eq!(told[0]["data"]["title"], "A name");

    one.log.append(Batch::new(one.id, crate::events::recorded::drafts())).await.unwrap();
    update(Changes { is_closed: Some(true), ..Changes::default() }).await.unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["data"]["kind"], "status");
    assert_eq!(told[0]["data"]["status"], "closed");
    assert_eq!(told[0]["data"]["session"], one.id.as_str());

    one.log.delete(one.id).await.unwrap();
    let told = next(&mut lists).await;
    assert_eq!(told[0]["data"]["kind"], "deleted");
}

#[tokio::test(start_paused = true)]
async fn whoever_sees_only_its_own_sessions_hears_only_of_those() {
    let one = One::new().await;
    let principal = Principal { own_sessions: true, ..Principal::local() };
    let mut lists = Lists::new(&one.daemon, &principal);
    next(&mut lists).await;

    one.log.delete(one.id).await.unwrap();

    let mut page = Page::new(Dress::Object);
    let told = tokio::time::timeout(10 * LOOK_EVERY, lists.next(&mut page)).await;
    assert!(told.is_err(), "{page:?}");
}
