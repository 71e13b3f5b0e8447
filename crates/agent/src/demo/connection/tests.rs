//! Tests of `connection`.

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn text(receiver: &mut oneshot::Receiver<ClientAnswer>) -> String {
    let Ok(Ok(result)) = receiver.try_recv() else { return "nothing".into() };
    result.as_str().to_owned()
}

#[test]
fn ids_count_from_zero_in_either_style() {
    let mut numbers = PendingCalls::new(IdStyle::FromZero);
    let mut strings = PendingCalls::new(IdStyle::Strings);
    assert_eq!([numbers.next_id(), numbers.next_id()], ["0", "1"]);
    assert_eq!([strings.next_id(), strings.next_id()], ["\"demo-0\"", "\"demo-1\""]);
}

#[test]
fn two_calls_under_one_id_are_settled_in_order() {
    let mut calls = PendingCalls::new(IdStyle::FromZero);
    let (mut first, mut second) = (calls.wait("7"), calls.wait("7"));

    calls.settle("7", Ok(json("1")));
    calls.settle("8", Ok(json("0")));
    calls.settle("7", Ok(json("2")));
    calls.settle("7", Ok(json("3")));

    assert_eq!([text(&mut first), text(&mut second)], ["1", "2"]);
}

#[test]
fn questions_of_a_cancelled_turn_do_not_pile_up() {
    let mut calls = PendingCalls::new(IdStyle::FromZero);
    for _ in 0..100 {
        let id = calls.next_id();
        drop(calls.wait(&id));
    }
    assert_eq!(calls.waiting.len(), 1);
}

#[test]
fn an_update_is_one_line_with_its_text_as_given() {
    assert_eq!(
        update_line("s\"1\n", r#"{"sessionUpdate":"x", "n":1e2}"#),
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":\
         {\"sessionId\":\"s\\\"1\\n\",\"update\":{\"sessionUpdate\":\"x\", \"n\":1e2}}}\n"
    );
}
