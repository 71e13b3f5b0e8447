//! Providers of the built-in agent against a model server that does not behave.

use std::time::Duration;

use agent::native::chat::{Delta, FinishReason};
use agent::native::endpoint::Endpoint;
use agent::native::provider::{ModelFailure, Provider};
use futures_util::StreamExt as _;
use serde_json::json;
use testkit::model_server::{ModelServer, ScriptedAnswer, raw, status, text};

use crate::models::{assembled, endpoint, hear, request, whole};

/// Short enough to be waited for, and the shortest that a busy machine keeps.
const SOON: Duration = Duration::from_millis(300);

fn hasty(server: &ModelServer) -> Endpoint {
    let mut endpoint = endpoint(server);
    endpoint.waits.first_byte = SOON;
    endpoint.waits.idle = SOON;
    endpoint
}

fn retries(deltas: &[Delta]) -> Vec<&str> {
    let mut whys = Vec::new();
    for delta in deltas {
        if let Delta::Retrying { why, .. } = delta {
            whys.push(why.as_str());
        }
    }
    whys
}

async fn fails(answer: ScriptedAnswer) -> (Vec<Delta>, ModelFailure, ModelServer) {
    let server = ModelServer::start().await;
    server.answer(answer);
    let (deltas, failure) = hear(&Provider::new(endpoint(&server)), request("hi")).await;
    (deltas, failure.expect("a failure"), server)
}

#[tokio::test]
async fn refusals_are_told_in_the_documented_words() {
    let body = json!({ "error": { "message": "model `m` does not exist, the-key", "type": "t" } });
    for (code, category, words) in [
        (401, "auth", "Authentication error (HTTP 401) calling {url}. Check your OPENAI_API_KEY."),
        (403, "auth", "Authentication error (HTTP 403) calling {url}. Check your OPENAI_API_KEY."),
        (404, "model_unavailable", "HTTP error (404) from {url}."),
        (400, "bad_input", "HTTP error (400) from {url}."),
        (307, "bad_input", "HTTP error (307) from {url}."),
    ] {
        let (deltas, failure, server) = fails(status(code).json(&body)).await;
        let url = format!("{}/chat/completions", server.base_url());
        let words = words.replace("{url}", &url);
        assert_eq!(deltas, [], "{code}");
        assert_eq!(failure.category.as_str(), category, "{code}");
        let expect = format!("{words} model `m` does not exist, [hidden]");
        assert_eq!(failure.message, expect);
        assert_eq!(server.chats().len(), 1, "{code} is not repeated");
    }
}

#[tokio::test]
async fn redirects_take_the_key_nowhere() {
    let other = ModelServer::start().await;
    let away = status(307).header("location", &format!("{}/chat/completions", other.base_url()));
    let (_, failure, _) = fails(away).await;
    assert!(failure.message.contains("Redirects are not followed"), "{failure}");
    assert_eq!(other.requests(), []);
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_shown() {
    for (answer, why) in [
        (status(429).retry_after("0"), "Rate limit exceeded (HTTP 429)"),
        (status(500), "Server error (HTTP 500)"),
        (status(503).header("retry-after-ms", "1"), "Server error (HTTP 503)"),
        (text("x").cut_after(0), "Network error"),
        (text("x").reset_after(0), "Network error"),
        (text("x").end_after(0), "No response body from"),
        (
            text("x").error(0, &json!({ "code": 502, "message": "upstream" })),
            "Server error (HTTP 502)",
        ),
    ] {
        let server = ModelServer::start().await;
        server.answer(answer.clone()).answer(answer.clone()).answer("at last");
        let (deltas, failure) = hear(&Provider::new(endpoint(&server)), request("hi")).await;
        assert_eq!(failure, None, "{answer:?}");
        assert_eq!(assembled(&deltas).text, "at last");
        let shown = retries(&deltas);
        assert_eq!(shown.len(), 2, "{deltas:?}");
        assert!(shown.iter().all(|shown| shown.starts_with(why)), "{shown:?}");
        let numbers: Vec<_> = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Retrying { attempt, .. } => Some(*attempt),
                _ => None,
            })
            .collect();
        assert_eq!(numbers, [1, 2]);
    }
}

#[tokio::test]
async fn patience_has_an_end() {
    let server = ModelServer::start().await;
    server.answer_with(|_| status(500));
    let (deltas, failure) = hear(&Provider::new(endpoint(&server)), request("hi")).await;
    assert_eq!(retries(&deltas).len(), 3);
    assert_eq!(failure.unwrap().category.as_str(), "upstream_unavailable");
    assert_eq!(server.chats().len(), 4);
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_named() {
    let server = ModelServer::start().await;
    let mut endpoint = endpoint(&server);
    endpoint.waits.max_retries = 1;
    let url = format!("{}/chat/completions", server.base_url());
    drop(server);
    let (deltas, failure) = hear(&Provider::new(endpoint), request("hi")).await;
    let failure = failure.unwrap();
    assert_eq!((retries(&deltas).len(), failure.category.as_str()), (1, "upstream_unavailable"));
    assert!(
        failure.message.starts_with(&format!("Network error connecting to {url}: ")),
        "{failure}"
    );
}

#[tokio::test]
async fn after_the_first_token_nothing_is_asked_again() {
    for answer in [
        text("one two three").cut_after(3),
        text("one two three").reset_after(3),
        text("one two three").unframed().end_after(3).finish(""),
        text("one two three").error(3, &json!({ "message": "it broke", "code": 503 })),
        text("one two three").error(3, &json!("it broke")),
        text("one two three").insert(3, "event: error\ndata: it broke\n\n"),
    ] {
        let (deltas, failure, server) = fails(answer.clone()).await;
        let said = assembled(&deltas);
        assert_eq!(said.finish, None, "what is not whole has no end");
        assert!("one two ".starts_with(&said.text), "{said:?}");
        if said.text.is_empty() {
            // A reset may overtake what was sent before it.
            continue;
        }
        assert_eq!(failure.category.as_str(), "upstream_unavailable", "{answer:?}");
        assert_eq!(server.chats().len(), 1, "{answer:?}");
    }
}

#[tokio::test]
async fn silence_is_given_up_wherever_it_falls() {
    for (answer, said) in [
        (text("x").hang_before_headers(), ""),
        (text("x").hang_after_headers(), ""),
        (text("one two three").hang_after(3), "one two "),
        (raw("data: {\"choices\":[{\"delta\":{\"content\":\"lost").hang_after(1), ""),
        (raw(&b"data: {\"choices\":[{\"delta\":{\"content\":\"\xc3"[..]).hang_after(1), ""),
    ] {
        let server = ModelServer::start().await;
        server.answer(answer.clone());
        let (deltas, failure) = hear(&Provider::new(hasty(&server)), request("hi")).await;
        let failure = failure.unwrap();
        assert_eq!(failure.category.as_str(), "timeout", "{answer:?}");
        assert!(failure.message.contains("nothing came for 0.3 s"), "{failure}");
        // On a busy machine the silence may fall earlier than scripted.
        assert!(said.starts_with(&assembled(&deltas).text), "{answer:?}");
        assert_eq!(server.chats().len(), 1, "{answer:?}");
        server.wait_for_hang_ups(1).await;
    }
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_given_up() {
    let server = ModelServer::start().await;
    let mut endpoint = hasty(&server);
    endpoint.base = server.base_url().replace("http:", "https:").parse().unwrap();
    endpoint.waits.connect = SOON;
    endpoint.waits.first_byte = soak::PATIENCE;
    endpoint.waits.max_retries = 0;
    let (_, failure) = hear(&Provider::new(endpoint), request("hi")).await;
    let failure = failure.unwrap();
    assert!(failure.message.starts_with("Network error connecting to https://"), "{failure}");
}

#[tokio::test]
async fn a_slow_drip_is_no_silence() {
    let server = ModelServer::start().await;
    // In all far longer than the limit between two bytes.
    server.answer(text("slow and steady").writes(20).pause(Duration::from_millis(10)));
    let mut endpoint = endpoint(&server);
    endpoint.waits.idle = Duration::from_secs(5);
    assert_eq!(whole(&Provider::new(endpoint), request("hi")).await.text, "slow and steady");
}

#[tokio::test]
async fn an_answer_that_is_whole_does_not_wait_for_its_end() {
    for answer in [text("all of it").hang_after(5), text("all of it").cut_after(5)] {
        let server = ModelServer::start().await;
        server.answer(answer);
        let mut endpoint = endpoint(&server);
        // Only the one that hangs is waited for so long, and only after its last token.
        endpoint.waits.idle = Duration::from_secs(2);
        let answer = whole(&Provider::new(endpoint), request("hi")).await;
        assert_eq!((answer.text.as_str(), answer.finish), ("all of it", Some(FinishReason::Stop)));
    }
}

#[tokio::test]
async fn what_is_no_answer_is_recognised() {
    for (answer, words) in [
        (status(200).body("<!DOCTYPE html><p>").content_type("text/html"), "<!DOCTYPE html>"),
        (status(200).body("{\"hello\": "), "{\"hello\":"),
        (status(200).body("It works!"), "It works!"),
    ] {
        let (deltas, failure, server) = fails(answer).await;
        assert_eq!((deltas.as_slice(), failure.category.as_str()), (&[][..], "protocol"));
        assert!(failure.message.contains(words), "{failure}");
        assert!(failure.message.contains(&server.base_url()), "{failure}");
    }
}

#[tokio::test]
async fn a_line_without_end_is_cut_off() {
    let (deltas, failure, server) = fails(text("one two").giant_line(3, 9 << 20)).await;
    assert_eq!(
        (failure.category.as_str(), assembled(&deltas).text.as_str()),
        ("protocol", "one two")
    );
    server.wait_for_hang_ups(1).await;
}

#[tokio::test]
async fn limits_and_filters_are_told_apart_from_an_end() {
    let server = ModelServer::start().await;
    let provider = Provider::new(endpoint(&server));
    for (reason, finish) in
        [("length", FinishReason::Length), ("content_filter", FinishReason::Filtered)]
    {
        server.answer(text("half").finish(reason));
        assert_eq!(whole(&provider, request("hi")).await.finish, Some(finish));
    }
}

#[tokio::test]
async fn nothing_is_sent_before_it_is_wanted_and_nothing_is_lost_by_looking_away() {
    let server = ModelServer::start().await;
    server.answer(text("a b c d e f g h").writes(9).pause(Duration::from_millis(1)));
    let provider = Provider::new(endpoint(&server));
    let mut answer = provider.chat(request("hi"));
    tokio::task::yield_now().await;
    assert_eq!(server.requests(), []);

    let mut text = String::new();
    loop {
        // Polled once and dropped, again and again.
        let piece = tokio::select! {
            biased;
            piece = answer.next() => piece,
            () = tokio::task::yield_now() => continue,
        };
        match piece {
            Some(Ok(Delta::Text(more))) => text.push_str(&more),
            Some(Ok(_)) => {}
            Some(Err(failure)) => panic!("{failure}"),
            None => break,
        }
    }
    assert_eq!(text, "a b c d e f g h");
    assert_eq!(server.chats().len(), 1);
}

#[tokio::test]
async fn dropping_an_answer_hangs_up() {
    let server = ModelServer::start().await;
    server.answer(text("one two three").hang_after(3));
    let provider = Provider::new(endpoint(&server));
    let mut answer = provider.chat(request("hi"));
    assert_eq!(answer.next().await, Some(Ok(Delta::Text("one ".to_owned()))));
    drop(answer);
    server.wait_for_hang_ups(1).await;
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_not() {
    let server = ModelServer::start().await;
    let mut endpoint = endpoint(&server);
    endpoint.key = Some(agent::native::secret::Secret::new("two\nlines"));
    let (_, failure) = hear(&Provider::new(endpoint), request("hi")).await;
    assert_eq!(failure.unwrap().category.as_str(), "auth");
    assert_eq!(server.requests(), []);
}
