//! What the built-in agent costs, and limits in money that hold it.

use crate::native::{Stage, Way, judge, updates_of};
use serde_json::{Value, json};
use testkit::Validator;
use testkit::model_server::{MODEL, calls, text};
use testkit::sdk_client::{ClientBehavior, SdkClient};
use testkit::test_home::PATIENCE;

fn priced() -> String {
    format!("[native.models.{MODEL}]\nprice = {{ input = 10.0, output = 100.0, cached = 1.0 }}")
}

fn of_kind(lines: &str, kind: &str) -> Vec<Value> {
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["kind"] == kind).map(|event| event["payload"].clone()).collect()
}

fn told(turn: &testkit::sdk_client::Turn) -> Vec<Value> {
    let updates = updates_of(turn).into_iter();
    let usage = updates.filter(|update| update["sessionUpdate"] == "usage_update");
    usage.map(|update| update["cost"].clone()).collect()
}

#[tokio::test]
async fn a_limit_in_money_pauses_the_session_by_price_and_by_the_endpoints_own_figure() {
    let by_price = Stage::with_config(&priced(), "").await;
    by_price.model.answer_with(|_| text("done").usage(2000, 100));
    let by_figure = Stage::new().await;
    by_figure
        .model
        .answer_with(|_| text("done").usage(2000, 100).usage_member("cost", json!(0.03)));

    for stage in [by_price, by_figure] {
        let first = stage.run(&["hello", "--max-cost", "0.05", "--format", "json"]).await;
        assert_eq!(first.code, 0, "{}", first.err);
        assert!(of_kind(&first.out, "limit_reached").is_empty());

        // Another process of the agent goes on with the sum.
        let second = stage.run_again(&["more", "--format", "json"]).await;
        assert_eq!(second.code, 0, "{}{}", second.out, second.err);
        let third = stage.run_again(&["more", "--format", "json"]).await;
        assert_eq!(third.code, 5, "{}", third.err);
        let reached = of_kind(&third.out, "limit_reached");
        assert_eq!((&reached[0]["limit"], &reached[0]["used"]), (&json!("costUsd"), &json!(0.06)));
        assert!(of_kind(&third.out, "turn_started").is_empty(), "nothing more is asked");
        assert_eq!(stage.model.chats().len(), 2);
        stage.home.assert_empty_within(PATIENCE);
    }
}

#[tokio::test]
async fn a_limit_in_money_pauses_a_turn_that_runs() {
    let stage = Stage::with_config(&priced(), "").await;
    stage.model.answer(calls([("list", json!({ "path": "." }))]).usage(6000, 0));
    stage.model.answer_with(|_| text("never").hang_before_headers());

    let ran = stage.run(&["look", "--max-cost", "0.05", "--format", "json"]).await;

    assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err);
    let reached = of_kind(&ran.out, "limit_reached");
    assert_eq!((&reached[0]["limit"], &reached[0]["used"]), (&json!("costUsd"), &json!(0.06)));
    assert!(ran.err.contains("--max-cost"), "{}", ran.err);
    stage.home.assert_empty_within(PATIENCE);
}

#[tokio::test]
async fn a_session_that_is_taken_up_again_keeps_its_sum_and_a_copy_begins_anew() {
    let stage = Stage::with_config(&priced(), "").await;
    stage.model.answer_with(|_| text("done").usage(1000, 0));
    let (client, session) = stage.bare(Way::Alone).await;
    let turn = client.prompt(&session, "hello").await.unwrap();
    assert_eq!(told(&turn), [json!({ "amount": 0.01, "currency": "USD" })]);
    judge(client).await;

    let client =
        SdkClient::ready(stage.agent(Way::Alone), ClientBehavior::default()).await.unwrap();
    client.load_session(&session, stage.work()).await.unwrap();
    let turn = client.prompt(&session, "more").await.unwrap();
    assert_eq!(told(&turn)[0]["amount"], 0.02);
    let params = json!({ "sessionId": session, "cwd": stage.work(), "mcpServers": [] });
    let copy = client.call("session/fork", params).await.unwrap();
    let copy = serde_json::from_value(copy["sessionId"].clone()).unwrap();
    let turn = client.prompt(&copy, "more").await.unwrap();
    assert_eq!(told(&turn)[0]["amount"], 0.01);
    let (exit, seen) = client.stop().await;
    assert!(exit.success());
    // Copies are not in the first version of the schema.
    Validator::v1_unstable().assert_valid(&seen);
}

#[tokio::test]
async fn where_no_price_is_known_no_cost_is_told() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("done").usage(1000, 10));
    let (client, session) = stage.bare(Way::Alone).await;
    let turn = client.prompt(&session, "hello").await.unwrap();
    assert_eq!(told(&turn), [Value::Null]);
    judge(client).await;
}
