//! Runs: begun once, looked at, listed, stopped.

use serde_json::json;

use super::{Stream, Studio, names, say, status_of, text, with};

#[tokio::test]
async fn agents_have_open_designs_fields() {
    let studio = Studio::start();

    let listed = studio.get("/api/agents").await;
    let response = studio.client.get(studio.daemon.url("/api/agents?stream=1"));
    let streamed = Stream::of(response.send().await.unwrap()).rest().await;

    let agents = listed["agents"].as_array().unwrap();
    let demo = agents.iter().find(|agent| agent["id"] == "demo").unwrap();
    assert_eq!(demo["available"], true);
    assert_eq!(demo["bin"], "switchyard");
    assert_eq!(demo["streamFormat"], "acp-json-rpc");
    assert_eq!(demo["models"][0]["id"], "default");
    assert!(demo["version"].is_string());
    assert!(agents.iter().any(|agent| agent["id"] == "codex"), "{listed}");
    let (last, before) = streamed.split_last().unwrap();
    assert_eq!(last.name, "done");
    assert!(before.iter().all(|frame| frame.name == "agent"));
    assert_eq!(before.len(), agents.len());
}

#[tokio::test]
async fn a_run_tells_everything_from_start_to_end() {
    let studio = Studio::start();
    let body = json!({
        "agentId": "demo", "message": "think hm ; say well then ; tool read ; usage",
        "projectId": "site", "conversationId": "talk", "assistantMessageId": "m2",
        "userMessageId": "m1", "model": "default", "reasoning": null, "skillId": "unknown here",
        "analyticsHints": { "entryFrom": "home" }, "locale": "de",
    });

    let (status, created) = studio.post("/api/runs", &body).await;
    let run = created["runId"].as_str().unwrap().to_owned();
    let frames = studio.events(&run).await.rest().await;

    assert_eq!(status, 202);
    assert_eq!(created["conversationId"], "talk");
    assert_eq!(created["assistantMessageId"], "m2");
    assert!(created["reused"].is_null());
    let start = &frames[0];
    assert_eq!(start.name, "start");
    assert_eq!(start.data["runId"], *run);
    assert_eq!(start.data["agentId"], "demo");
    assert_eq!(start.data["projectId"], "site");
    assert!(start.data["bin"].as_str().unwrap().contains("switchyard"));
    let cwd = studio.projects().canonicalize().unwrap().join("site");
    assert_eq!(start.data["cwd"], json!(cwd));
    let place = |label: &str| frames.iter().position(|frame| frame.is(label)).unwrap();
    assert_eq!(frames[place("model")].data["model"], "demo-small");
    assert!(frames[place("streaming")].data["ttftMs"].is_u64());
    assert!(place("model") < place("streaming"));
    assert!(text(&frames).starts_with("well then"));
    let has = |kind: &str| frames.iter().any(|frame| frame.data["type"] == kind);
    for kind in ["thinking_start", "thinking_delta", "tool_use", "tool_result", "usage"] {
        assert!(has(kind), "{kind}: {frames:#?}");
    }
    assert_eq!(status_of(&frames), "succeeded");
    assert_eq!(frames.last().unwrap().data["code"], 0);
    assert!(frames.iter().all(|frame| frame.id.is_some()), "{frames:#?}");
    let told = studio.get(&format!("/api/runs/{run}")).await;
    for (name, value) in [
        ("id", json!(run)),
        ("status", json!("succeeded")),
        ("agentId", json!("demo")),
        ("projectId", json!("site")),
        ("conversationId", json!("talk")),
        ("assistantMessageId", json!("m2")),
        ("exitCode", json!(0)),
    ] {
        assert_eq!(told[name], value, "{told}");
    }
}

#[tokio::test]
async fn the_same_request_is_one_run_also_after_a_restart() {
    let studio = Studio::start();
    let body = |message: &str, conversation: &str| {
        with(say(message), json!({ "conversationId": conversation, "clientRequestId": "r-1" }))
    };
    let first = studio.run(&body("say one", "a")).await;

    let (_, again) = studio.post("/api/runs", &body("say one", "a")).await;
    let (status, code, _) = studio.refused(&body("say two", "a")).await;
    let elsewhere = studio.refused(&body("say one", "b")).await;
    let without = json!({ "agentId": "demo", "message": "say me", "clientRequestId": "r-2" });
    let alone = studio.run(&without).await;
    assert_eq!(studio.run(&without).await, alone, "also without a conversation");
    studio.events(&alone).await.rest().await;
    studio.events(&first).await.rest().await;
    let studio = studio.restart();
    let (_, later) = studio.post("/api/runs", &body("say one", "a")).await;
    let other = studio.refused(&body("say two", "a")).await;

    assert_eq!(again["runId"], *first);
    assert_eq!(again["reused"], true);
    assert_eq!((status, &*code), (409, "IDEMPOTENCY_CONFLICT"));
    assert_eq!((elsewhere.0, &*elsewhere.1), (409, "IDEMPOTENCY_CONFLICT"));
    assert_eq!((&later["runId"], &later["reused"]), (&json!(first), &json!(true)));
    assert_eq!((other.0, &*other.1), (409, "IDEMPOTENCY_CONFLICT"));
    assert_eq!(studio.run(&without).await, alone);
}

#[tokio::test]
async fn a_conversation_has_one_run_at_a_time_and_cancel_waits_for_its_end() {
    let studio = Studio::start();
    let body = |message: &str| with(say(message), json!({ "conversationId": "c" }));
    let run = studio.run(&body("say hello there ; hang")).await;
    let mut stream = studio.events(&run).await;
    stream.until(|frame| frame.data["type"] == "text_delta").await;

    let (status, code, error) = studio.refused(&body("say two")).await;
    let listed = studio.get("/api/runs?conversationId=c&status=active").await;
    let canceled = studio.cancel(&run).await;

    assert_eq!((status, &*code), (409, "RUN_IN_PROGRESS"));
    assert_eq!(error["details"]["runId"], *run);
    assert_eq!(listed["runs"][0]["id"], *run);
    assert_eq!(canceled["status"], "canceled");
    assert_eq!(canceled["cancelRequested"], true);
    let rest = stream.rest().await;
    assert_eq!(status_of(&rest), "canceled");
    assert!(!names(&rest).contains(&"error"), "{rest:#?}");
    // Again changes nothing, and the next run is not the one that is stopped.
    let next = studio.run(&body("say on ; hang")).await;
    let mut following = studio.events(&next).await;
    following.until(|frame| frame.data["type"] == "text_delta").await;
    assert_eq!(studio.cancel(&run).await["status"], "canceled");
    assert_eq!(studio.status(&next).await, "running");
    studio.cancel(&next).await;
}

#[tokio::test]
async fn runs_are_listed_by_project_conversation_and_state() {
    let studio = Studio::start();
    let body = |message: &str, project: &str, talk: &str| {
        with(say(message), json!({ "projectId": project, "conversationId": talk }))
    };
    for (message, project, talk) in
        [("say 1", "p", "a"), ("say 2", "p", "a"), ("fail 1 no", "p", "b"), ("say 3", "q", "d")]
    {
        studio.finished(&body(message, project, talk)).await;
    }
    let count = async |query: &str| {
        let listed = studio.get(&format!("/api/runs?{query}")).await;
        listed["runs"].as_array().unwrap().len()
    };

    assert_eq!(count("").await, 4);
    assert_eq!(count("projectId=p").await, 3);
    assert_eq!(count("conversationId=a").await, 2);
    assert_eq!(count("projectId=p&conversationId=b").await, 1);
    assert_eq!(count("status=failed").await, 1);
    assert_eq!(count("status=active").await, 0);
    assert_eq!(count("projectId=nothing").await, 0);
    let page = studio.get("/api/runs?limit=1").await;
    assert_eq!(page["runs"].as_array().unwrap().len(), 1);
    let next = page["next"].as_str().unwrap();
    assert_eq!(count(&format!("before={next}")).await, 3);
    for bad in ["status=odd", "before=odd", "projectId=../p"] {
        let (status, body) =
            studio.ask(reqwest::Method::GET, &format!("/api/runs?{bad}"), None).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!("BAD_REQUEST")), "{bad}");
    }
}

#[tokio::test]
async fn what_goes_wrong_has_open_designs_codes() {
    let studio = Studio::start();

    let unknown = studio.refused(&json!({ "agentId": "nobody", "message": "hi" })).await;
    assert_eq!((unknown.0, &*unknown.1), (400, "AGENT_UNAVAILABLE"));
    let empty = studio.refused(&json!({ "agentId": "demo", "message": " " })).await;
    assert_eq!((empty.0, &*empty.1), (400, "BAD_REQUEST"));
    let odd = studio.refused(&json!({ "message": 7 })).await;
    assert_eq!((odd.0, &*odd.1), (400, "BAD_REQUEST"));
    for path in ["/api/runs/x", "/api/runs/aaaaaaaaaaaaaaaaaaaaaaaa", "/api/runs/..%2f/events"] {
        let (status, body) = studio.ask(reqwest::Method::GET, path, None).await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!("NOT_FOUND")), "{path}");
    }
    for (message, code) in [
        ("fail 429 slow down", "RATE_LIMITED"),
        ("fail -32000 log in", "AGENT_AUTH_REQUIRED"),
        ("crash 3", "AGENT_EXECUTION_FAILED"),
    ] {
        let frames = studio.finished(&say(message)).await;
        assert_eq!(status_of(&frames), "failed");
        let errors: Vec<_> = frames.iter().filter(|frame| frame.name == "error").collect();
        assert_eq!(errors.len(), 1, "{frames:#?}");
        assert_eq!(errors[0].data["error"]["code"], code, "{frames:#?}");
        assert!(errors[0].data["message"].is_string());
        let run = frames[0].data["runId"].as_str().unwrap();
        assert_eq!(studio.get(&format!("/api/runs/{run}")).await["errorCode"], code);
    }
}

#[tokio::test]
async fn model_and_reasoning_are_checked_and_used() {
    let studio = Studio::start();
    let body = |more| with(with(say("say hi"), json!({ "conversationId": "c" })), more);

    for model in ["--flag", "a b", "x;y"] {
        let refused = studio.refused(&body(json!({ "model": model }))).await;
        assert_eq!((refused.0, &*refused.1), (400, "BAD_REQUEST"), "{model}");
    }
    let (status, _, error) = studio.refused(&body(json!({ "reasoning": "extreme" }))).await;
    assert_eq!(status, 400);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("low, medium, high"), "{message}");
    assert_eq!(studio.get("/v1/sessions").await["sessions"], json!([]), "nothing was left");

    let model = |frames: &[super::Frame]| {
        frames.iter().find(|frame| frame.is("model")).unwrap().data["model"].clone()
    };
    let wanted = json!({ "model": "demo-large", "reasoning": "low" });
    let frames = studio.finished(&body(wanted.clone())).await;
    assert_eq!(frames[0].data["model"], "demo-large");
    assert_eq!(frames[0].data["reasoning"], "low");
    assert_eq!(model(&frames), "demo-large");
    assert_eq!(status_of(&frames), "succeeded");
    assert_eq!(model(&studio.finished(&body(wanted)).await), "demo-large");
    assert_eq!(
        model(&studio.finished(&body(json!({ "model": "demo-small" }))).await),
        "demo-small"
    );
    let refused = studio.refused(&body(json!({ "model": "demo-huge" }))).await;
    assert_eq!((refused.0, &*refused.1), (400, "BAD_REQUEST"));
}
