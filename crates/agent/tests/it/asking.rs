//! Permission and forms.

use crate::client::Client;
use serde_json::{Value, json};

/// Runs a script up to its first question and gives the request.
async fn question(client: &mut Client, session: &str, script: &str) -> (u64, Value) {
    let id = client.begin(session, script).await;
    loop {
        let message = client.receive().await;
        if message["method"] == "session/request_permission" {
            return (id, message);
        }
    }
}

async fn choose(client: &mut Client, request: &Value, outcome: Value) {
    let result = json!({ "outcome": outcome });
    client.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_permission_decides_about_the_tool() {
    let (mut client, session) = Client::with_session(&[]).await;
    let cases = [
        (json!({ "outcome": "selected", "optionId": "opt-1" }), "opt-1 (allow_once)", "completed"),
        (
            json!({ "outcome": "selected", "optionId": "opt-2" }),
            "opt-2 (allow_always)",
            "completed",
        ),
        (json!({ "outcome": "selected", "optionId": "opt-3" }), "opt-3 (reject_once)", "failed"),
        (json!({ "outcome": "selected", "optionId": "opt-4" }), "opt-4 (reject_always)", "failed"),
        (json!({ "outcome": "selected", "optionId": "allow" }), "no such option", "failed"),
        (json!({ "outcome": "cancelled" }), "cancelled", "failed"),
    ];
    for (outcome, said, status) in cases {
        let (id, request) = question(&mut client, &session, "permission execute ls -l").await;
        assert_eq!(request["params"]["toolCall"]["rawInput"]["command"], "ls -l");
        assert_eq!(request["params"]["options"].as_array().unwrap().len(), 4);

        choose(&mut client, &request, outcome).await;

        let exchange = client.answer_to(id, "session/prompt").await;
        assert!(exchange.text().contains(said), "{}", exchange.text());
        assert_eq!(exchange.updates().last().unwrap()["status"], status);
        assert_eq!(exchange.stop_reason(), "end_turn");
    }
}

#[tokio::test(start_paused = true)]
async fn permission_can_be_about_a_path() {
    let (mut client, session) = Client::with_session(&[]).await;

    let (_, request) = question(&mut client, &session, "permission edit /etc/passwd").await;

    let call = &request["params"]["toolCall"];
    assert_eq!(call["kind"], "edit");
    assert_eq!(call["locations"][0]["path"], "/etc/passwd");
    assert_eq!(call["content"][0]["type"], "diff");

    let other = client.new_session().await;
    let (_, request) = question(&mut client, &other, "permission rm -rf /").await;
    assert_eq!(request["params"]["toolCall"]["rawInput"]["command"], "rm -rf /");
}

#[tokio::test(start_paused = true)]
async fn odd_options_offer_no_way_to_allow_once() {
    let (mut client, session) = Client::with_session(&[]).await;

    let (_, request) = question(&mut client, &session, "permission-odd").await;

    let options = request["params"]["options"].as_array().unwrap();
    let kinds: Vec<_> = options.iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_always", "reject_once"]);
}

#[tokio::test(start_paused = true)]
async fn two_questions_wait_at_once_and_may_be_answered_in_any_order() {
    for flags in [&[][..], &["--ids", "strings"][..]] {
        let (mut client, session) = Client::with_session(flags).await;
        let (id, first) = question(&mut client, &session, "permission-twice").await;
        let second = loop {
            let message = client.receive().await;
            if message.get("id").is_some() {
                break message;
            }
        };
        let expected = if flags.is_empty() { json!([0, 1]) } else { json!(["demo-0", "demo-1"]) };
        assert_eq!(json!([first["id"], second["id"]]), expected);

        let reject = json!({ "outcome": "selected", "optionId": "opt-3" });
        choose(&mut client, &second, reject).await;
        choose(&mut client, &first, json!({ "outcome": "selected", "optionId": "opt-1" })).await;

        let exchange = client.answer_to(id, "session/prompt").await;
        assert!(exchange.text().contains("Run `cargo build`: opt-1"));
        assert!(exchange.text().contains("Edit /tmp/src/greeting.txt: opt-3"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_waiting_question() {
    let (mut client, session) = Client::with_session(&[]).await;
    let (id, request) = question(&mut client, &session, "permission ; echo never").await;

    client.cancel(&session).await;
    choose(&mut client, &request, json!({ "outcome": "cancelled" })).await;

    let exchange = client.answer_to(id, "session/prompt").await;
    assert_eq!(exchange.stop_reason(), "cancelled");
    assert!(!exchange.text().contains("never"));
}

#[tokio::test(start_paused = true)]
async fn permission_hang_goes_on_until_cancelled() {
    let (mut client, session) = Client::with_session(&[]).await;
    let (id, request) = question(&mut client, &session, "permission-hang").await;
    choose(&mut client, &request, json!({ "outcome": "selected", "optionId": "opt-1" })).await;
    while client.receive().await["params"]["update"]["status"] != "completed" {}

    client.cancel(&session).await;

    assert_eq!(client.answer_to(id, "session/prompt").await.stop_reason(), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_form_has_a_text_a_choice_and_a_switch() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange = client.prompt(&session, "ask Who are you?").await;

    let form = exchange.messages.iter().find(|it| it["method"] == "elicitation/create").unwrap();
    let properties = &form["params"]["requestedSchema"]["properties"];
    assert_eq!(form["params"]["message"], "Who are you?");
    assert_eq!(properties["name"]["type"], "string");
    assert_eq!(properties["colour"]["oneOf"][0]["const"], "red");
    assert_eq!(properties["sure"]["type"], "boolean");
    assert!(exchange.text().contains("\"Ada\""), "{}", exchange.text());
}
