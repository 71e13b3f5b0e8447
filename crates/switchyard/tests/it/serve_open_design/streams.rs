//! Streams that are cut and go on, and `/api/chat`.

use reqwest::header::HeaderValue;
use serde_json::json;
use testkit::test_home::PATIENCE;

use super::{Frame, Stream, Studio, say, status_of, text, with};

#[tokio::test]
async fn whoever_comes_back_gets_every_frame_once() {
    let studio = Studio::start();
    let run = studio.run(&say("think so ; say one two three ; tool edit ; plan ; usage")).await;
    let all = studio.events(&run).await.rest().await;
    let again = studio.events(&run).await.rest().await;
    assert_eq!(all, again);

    for (n, frame) in all.iter().enumerate() {
        let id = frame.id.as_deref().unwrap();
        let by_query = studio.events_after(&run, id).await.rest().await;
        let request = studio.client.get(studio.daemon.url(&format!("/api/runs/{run}/events")));
        let request = request.header("last-event-id", HeaderValue::from_str(id).unwrap());
        let by_header = Stream::of(request.send().await.unwrap()).rest().await;

        // Behind the last one there is nothing left, so it is told again.
        let rest = &all[(n + 1).min(all.len() - 1)..];
        assert_eq!(by_query, rest, "after {id}");
        assert_eq!(by_header, rest, "after {id}");
    }
}

#[tokio::test]
async fn a_stream_goes_on_in_the_middle_of_a_run() {
    let studio = Studio::start();
    let run = studio.run(&say("slow 30 20 ; say done")).await;

    let mut frames = Vec::new();
    while frames.last().is_none_or(|last: &Frame| last.name != "end") {
        let after = frames.last().and_then(|last: &Frame| last.id.clone()).unwrap_or_default();
        let mut stream = studio.events_after(&run, &after).await;
        for _ in 0..5 {
            match stream.next().await {
                Some(frame) => frames.push(frame),
                None => break,
            }
        }
    }

    assert_eq!(frames, studio.events(&run).await.rest().await);
}

#[tokio::test]
async fn a_run_that_was_cut_by_a_crash_says_so_and_the_conversation_goes_on() {
    let studio = Studio::start();
    let body =
        |message: &str| with(say(message), json!({ "conversationId": "c", "projectId": "p" }));
    let first = studio.finished(&body("remember the milk")).await;
    let run = studio.run(&body("say hello ; hang")).await;
    let mut stream = studio.events(&run).await;
    let before = stream.until(|frame| frame.data["type"] == "text_delta").await;

    let studio = studio.restart();
    let last = before.last().unwrap().id.as_deref().unwrap();
    let after = studio.events_after(&run, last).await.rest().await;

    assert_eq!(status_of(&after), "failed");
    let error = after.iter().find(|frame| frame.name == "error").unwrap();
    assert_eq!(error.data["error"]["retryable"], true);
    assert_eq!(studio.status(&run).await, "failed");
    let old = first[0].data["runId"].as_str().unwrap();
    assert_eq!(studio.events(old).await.rest().await, first, "also of earlier runs");
    let next = studio.finished(&body("recall")).await;
    assert!(text(&next).contains("milk"), "{}", text(&next));
}

#[tokio::test]
async fn a_cursor_of_another_log_begins_anew() {
    let studio = Studio::start();
    let run = studio.run(&say("say hi")).await;
    let all = studio.events(&run).await.rest().await;

    let frames = studio.events_after(&run, "7-abc").await.rest().await;

    assert_eq!(frames[0].name, "state_resync_required");
    assert_eq!(frames[1..], all);
    let url = studio.daemon.url(&format!("/api/runs/{run}/events?after=odd"));
    assert_eq!(studio.client.get(url).send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn chat_begins_and_streams_in_one() {
    let studio = Studio::start();
    let request = studio.client.post(studio.daemon.url("/api/chat")).json(&say("say hi there"));

    let frames = Stream::of(request.send().await.unwrap()).rest().await;

    assert_eq!(frames[0].name, "start");
    assert!(text(&frames).starts_with("hi there"));
    assert_eq!(status_of(&frames), "succeeded");
    let run = frames[0].data["runId"].as_str().unwrap();
    assert_eq!(studio.events(run).await.rest().await, frames);
}

#[tokio::test]
async fn closing_a_chat_ends_its_run_only_if_that_was_asked_for() {
    let studio = Studio::start();
    let begin = async |body: serde_json::Value| {
        let request = studio.client.post(studio.daemon.url("/api/chat")).json(&body);
        let mut stream = Stream::of(request.send().await.unwrap());
        let seen = stream.until(|frame| frame.data["type"] == "text_delta").await;
        seen[0].data["runId"].as_str().unwrap().to_owned()
    };

    let kept = begin(say("say hello ; hang")).await;
    let leashed = with(say("say hello ; hang"), json!({ "cancelOnDisconnect": true }));
    let ended = begin(leashed).await;

    let frames = studio.events(&ended).await.rest();
    let frames = tokio::time::timeout(PATIENCE, frames).await.unwrap();
    assert_eq!(status_of(&frames), "canceled");
    assert_eq!(studio.status(&kept).await, "running");
    studio.cancel(&kept).await;
}

#[tokio::test]
async fn an_image_of_the_agent_is_named_in_the_answer() {
    let studio = Studio::start();
    let run = studio.run(&say("say see ; image")).await;
    let answer = text(&studio.events(&run).await.rest().await);
    assert!(answer.contains("\n\n[image image/png, "), "{answer:?}");
}
