//! Questions of agents, which the front end cannot answer.

use serde_json::json;

use super::{Studio, say, status_of, text, with};

#[tokio::test]
async fn a_question_shows_as_waiting_and_is_answered_elsewhere() {
    let studio = Studio::start();
    let body = with(say("permission execute ls ; say done"), json!({ "permissions": "ask" }));
    let run = studio.run(&body).await;
    let mut stream = studio.events(&run).await;

    let seen = stream.until(|frame| frame.is("waiting_for_permission")).await;
    let asked = seen.iter().find(|frame| frame.data["type"] == "permission_request").unwrap();
    let session = studio.get(&format!("/api/runs/{run}")).await["sessionId"].clone();
    let request = asked.data["requestId"].as_str().unwrap();
    let options = asked.data["options"].as_array().unwrap();
    let allow = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
    let path = format!("/v1/sessions/{}/permissions/{request}", session.as_str().unwrap());
    let (status, answered) = studio.post(&path, &json!({ "optionId": allow["optionId"] })).await;

    assert!(status < 300, "{status} {answered}");
    let rest = stream.rest().await;
    assert!(text(&rest).contains("done"), "{rest:#?}");
    assert_eq!(status_of(&rest), "succeeded");
}

#[tokio::test]
async fn a_run_that_may_do_everything_waits_for_nobody() {
    let studio = Studio::start();
    let body = with(say("permission execute ls ; say done"), json!({ "permissions": "auto" }));

    let frames = studio.finished(&body).await;

    assert!(!frames.iter().any(|frame| frame.is("waiting_for_permission")));
    assert_eq!(status_of(&frames), "succeeded");
}
