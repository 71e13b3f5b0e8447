//! What a session cost: summed, told, and known again later.

use serde_json::{Value, json};
use testkit::model_server::{calls, text};

use crate::native::cost::Price;
use crate::native::journal::JournalItem;
use crate::native::session::Bill;
use crate::native::testing::play::{Cast, Play};

fn costs(play: &Play) -> Vec<Value> {
    play.updates_of("usage_update").iter().map(|update| update["cost"]["amount"].clone()).collect()
}

fn with_price() -> Cast {
    let price = Price { input: 10.0, output: 100.0, cached: Some(1.0) };
    Cast { price: Some(price), ..Cast::default() }
}

#[tokio::test]
async fn without_a_price_there_is_no_cost() {
    let play = Play::new().await;
    play.server.answer(text("done").usage(1000, 10));
    play.prompt("hello").await;
    let updates = play.updates_of("usage_update");
    assert!(!updates.is_empty() && updates.iter().all(|update| update.get("cost").is_none()));
}

#[tokio::test]
async fn what_the_endpoint_charged_comes_before_a_price() {
    let play = Play::with(with_price()).await;
    play.server.answer(text("one").usage(1000, 10).usage_member("cost", json!(0.25)));
    play.server.answer(text("two").usage(1000, 10).header("x-litellm-response-cost", "0.5"));
    play.server.answer(text("three").usage(1000, 10));
    for prompt in ["a", "b", "c"] {
        play.prompt(prompt).await;
    }
    assert_eq!(costs(&play), [json!(0.25), json!(0.75), json!(0.761)]);
    let currency = &play.updates_of("usage_update")[0]["cost"]["currency"];
    assert_eq!(currency, "USD");
}

#[tokio::test]
async fn every_request_of_a_turn_counts_and_so_do_summaries() {
    let play = Play::with(with_price()).await;
    play.server.answer(calls([("list", json!({}))]).usage(1000, 0));
    play.server.answer(text("done").usage(2000, 0));
    play.prompt("look").await;
    assert_eq!(costs(&play), [json!(0.01), json!(0.03)]);

    play.server.answer(text("SUMMARY").usage(3000, 0));
    play.prompt("/compact").await;

    assert_eq!(costs(&play).last(), Some(&json!(0.06)));
    // As it is taken up again.
    let entries = play.items();
    assert!(entries.iter().any(|entry| matches!(*entry.item, JournalItem::Spent { .. })));
    assert_eq!(Bill::of(&entries).nano_usd(), Some(60_000_000));
    // As it is copied.
    let places = entries.iter().map(|entry| (entry.seq, entry.seq)).collect();
    let copied = entries.iter().filter_map(|entry| entry.item.renumbered(&places));
    assert_eq!(copied.filter_map(|item| item.nano_usd()).count(), 0);
}
