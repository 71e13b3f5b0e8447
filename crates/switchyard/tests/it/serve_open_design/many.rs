//! Many runs at the same time.

use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;

use super::{Stream, Studio, ask, say, status_of, text, with};

const N_RUNS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn twenty_runs_at_once_do_not_mix() {
    let studio = Arc::new(Studio::start());
    let mut running = JoinSet::new();
    for n in 0..N_RUNS {
        let studio = studio.clone();
        running.spawn(async move {
            let message = format!("slow 5 10 ; echo [run {n}]");
            let more =
                json!({ "projectId": format!("p{}", n % 3), "conversationId": n.to_string() });
            let frames = studio.finished(&with(say(&message), more)).await;
            (n, frames)
        });
    }

    for (n, frames) in running.join_all().await {
        assert_eq!(status_of(&frames), "succeeded", "{n}");
        let said = text(&frames);
        assert!(said.contains(&format!("[run {n}]")), "{said}");
        assert_eq!(said.matches("[run ").count(), 1, "{said}");
        assert_eq!(frames.iter().filter(|frame| frame.name == "start").count(), 1);
    }
    let listed = studio.get("/api/runs").await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), N_RUNS);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_twenty_times_at_once_is_one_run() {
    let studio = Arc::new(Studio::start());
    let body = with(say("say once"), json!({ "conversationId": "c", "clientRequestId": "r" }));
    let mut asking = JoinSet::new();
    for _ in 0..N_RUNS {
        let (client, url, body) =
            (studio.client.clone(), studio.daemon.url("/api/runs"), body.clone());
        asking.spawn(async move { ask(&client, reqwest::Method::POST, &url, Some(&body)).await });
    }

    let answers = asking.join_all().await;

    let first = answers[0].1["runId"].clone();
    assert!(answers.iter().all(|(status, answer)| *status == 202 && answer["runId"] == first));
    let n_new = answers.iter().filter(|(_, answer)| answer["reused"].is_null()).count();
    assert_eq!(n_new, 1);
    let request = studio
        .client
        .get(studio.daemon.url(&format!("/api/runs/{}/events", first.as_str().unwrap())));
    let frames = Stream::of(request.send().await.unwrap()).rest().await;
    assert_eq!(text(&frames).matches("once").count(), 1);
    assert_eq!(studio.get("/api/runs").await["runs"].as_array().unwrap().len(), 1);
}
