//! The plan is shown whole, and a bad list changes nothing.

use serde_json::json;

use super::{TodoList, TodoPriority, TodoStatus, tool};
use crate::native::client::ClientAbilities;
use crate::native::lock;
use crate::native::testing::rehearsal::{Rehearsal, until, work};
use crate::native::tool::CallNeed;

#[tokio::test]
async fn the_list_becomes_the_clients_plan() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    let list = TodoList::default();
    let todo = tool(list.clone());
    let todos = json!([
        { "content": "look", "status": "completed", "priority": "high" },
        { "content": "change", "status": "in_progress" },
        { "content": "test", "id": "3", "priority": "low" },
    ]);
    let prepared = todo.prepare(json!({ "todos": todos }), &stage.context).await.unwrap();
    assert_eq!(prepared.need, CallNeed::Nothing);
    assert_eq!(prepared.shown.title, "Plan (1/3): change");
    let told = work(prepared).await;
    assert_eq!(told, "The list is now:\n[x] look (high)\n[>] change\n[ ] test (low)\n");
    until("shown", || !stage.client.updates().is_empty()).await;
    let expected = json!({ "sessionUpdate": "plan", "entries": [
        { "content": "look", "priority": "high", "status": "completed" },
        { "content": "change", "priority": "medium", "status": "in_progress" },
        { "content": "test", "priority": "low", "status": "pending" },
    ]});
    assert_eq!(stage.client.updates(), [expected]);
    assert_eq!(lock(&list)[1].priority, TodoPriority::Medium);
    assert_eq!(lock(&list)[2].status, TodoStatus::Pending);
    let told = work(todo.prepare(json!({}), &stage.context).await.unwrap()).await;
    assert!(told.contains("[>] change"), "{told}");
}

#[tokio::test]
async fn a_bad_list_is_refused_and_the_old_one_stays() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    let list = TodoList::default();
    let todo = tool(list.clone());
    let good = json!({ "todos": [{ "content": "keep", "status": "pending" }] });
    work(todo.prepare(good, &stage.context).await.unwrap()).await;
    let many: Vec<_> = (0..101).map(|n| json!({ "content": format!("{n}") })).collect();
    let bad = [
        json!({ "todos": [{ "content": " ", "status": "pending" }] }),
        json!({ "todos": [{ "status": "pending" }] }),
        json!({ "todos": [{ "content": "x", "status": "perhaps" }] }),
        json!({ "todos": [{ "content": "x".repeat(501), "status": "pending" }] }),
        json!({ "todos": many }),
        json!({ "todos": "x" }),
    ];
    for arguments in bad {
        assert!(todo.prepare(arguments.clone(), &stage.context).await.is_err(), "{arguments}");
    }
    assert_eq!(lock(&list).len(), 1);
    assert_eq!(lock(&list)[0].content, "keep");
}
