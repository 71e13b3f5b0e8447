//! Prompts that were accepted and had not begun when the daemon ended.

use serde_json::json;

use testkit::disk_faults::{DiskFault, FaultyCalls};

use super::{EIO, ENOSPC, configured, home, on_faulty_disk, talking, until_health};
use crate::serve_rest::{Api, of_kind, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_that_waited_when_the_daemon_was_killed_run_in_order_and_once() {
    let api = Api::start_in(home()).await;
    let session = talking(&api).await;
    let path = format!("/v1/sessions/{session}/prompt");
    let large = "x".repeat(200_000);
    let prompts = ["echo first of two", &format!("echo second of two {large}")];
    let prompts = prompts.map(|text| json!({ "prompt": text, "clientRequestId": &text[5..11] }));
    let mut turns = Vec::new();
    for prompt in &prompts {
        let accepted = api.post(&path, prompt).await.is(202).body;
        turns.push(accepted["turnId"].clone());
    }
    let never_started = json!({ "agent": "demo", "cwd": api.home.work(), "startsLater": true });
    let other = api.post("/v1/sessions", &never_started).await.is(201).body;
    let other = other["id"].as_str().unwrap();
    api.prompt(other, "echo not begun").await;

    let api = api.restart().await;

    api.until_said(&session, "second of two").await;
    api.until_said(other, "not begun").await;
    api.until_idle(&session).await;
    let events = api.events(&session).await;
    assert_eq!(of_kind(&events, "prompt_dropped").len(), 0, "{events:?}");
    let started = of_kind(&events, "turn_started");
    let started: Vec<_> = started.iter().skip(1).map(|event| event["turn"].clone()).collect();
    assert_eq!(started, turns, "in order and once");
    let ended = of_kind(&events, "turn_ended");
    assert_eq!(ended[0]["payload"]["error"]["category"], "interrupted");
    assert!(text(&events).contains("second of two"));
    for (prompt, turn) in prompts.iter().zip(&turns) {
        let again = api.post(&path, prompt).await.is(202).body;
        assert_eq!((&again["turnId"], &again["reused"]), (turn, &true.into()));
        assert_eq!(again["fate"]["state"], "ended", "{again}");
    }
    assert_eq!(api.events(&session).await.len(), events.len(), "nothing was prompted again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_that_wait_when_the_daemon_is_stopped_run_after_the_next_start() {
    let home = home();
    let config = home.path().join("switchyard.toml");
    let config_before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{config_before}\n[serve]\ndrain = '0s'\n")).unwrap();
    let api = Api::start_in(home).await;
    let session = talking(&api).await;
    api.prompt(&session, "echo when it is back").await;

    let home = api.home;
    assert!(api.daemon.stop().success());
    let api = Api::start_in(home).await;

    api.until_said(&session, "when it is back").await;
    api.until_idle(&session).await;
    let events = api.events(&session).await;
    let ended = of_kind(&events, "turn_ended");
    let ended: Vec<_> = ended.iter().map(|event| &event["payload"]["stopReason"]).collect();
    assert_eq!(ended, ["cancelled", "end_turn"], "{events:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_that_wait_in_a_session_that_is_full_are_dropped() {
    let api = Api::start_in(configured("[store]\nmax_session_bytes = 100000\n")).await;
    let session = api.session().await;
    let path = format!("/v1/sessions/{session}/permissions");
    // The agent waits for an answer, and fills the log after it.
    api.prompt(&session, "permission execute ls ; flood 10000 100").await;
    api.until(&session, |now| now["status"] == "requires_action").await;
    let turn = api.prompt(&session, "echo no room for it").await;
    let waiting = api.get(&path).await.is(200).body;
    let question = waiting["permissions"][0]["requestId"].as_str().expect("a question");
    let yes = json!({ "optionId": waiting["permissions"][0]["options"][0]["optionId"] });
    api.post(&format!("{path}/{question}"), &yes).await.is(200);

    let now = api.until(&session, |now| now["status"] == "failed").await;

    assert!(now["halted"].as_str().unwrap().contains("reached its limit"), "{now}");
    let events = api.events(&session).await;
    let dropped = of_kind(&events, "prompt_dropped");
    assert_eq!(dropped.len(), 1, "{now}");
    assert_eq!(
        (&dropped[0]["turn"], &dropped[0]["payload"]["reason"]),
        (&turn.into(), &"limit".into())
    );
    assert_eq!(of_kind(&events, "turn_ended").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_prompt_that_the_log_does_not_take_is_refused_like_the_next() {
    let (api, disk) = on_faulty_disk().await;
    let session = api.session().await;
    api.prompt(&session, "echo awake").await;
    api.until_idle(&session).await;
    let path = format!("/v1/sessions/{session}/prompt");
    let prompt = json!({ "prompt": "echo not accepted" });
    for (error, status, slug) in [(ENOSPC, 507, "disk-full"), (EIO, 503, "log-unavailable")] {
        let files = [".db-wal", "-"];
        disk.fail(&DiskFault { calls: FaultyCalls::WRITES, error, every: 1, files });

        for _ in 0..2 {
            api.post(&path, &prompt).await.refused(status, slug);
        }

        disk.heal();
        until_health(&api, |health| health["status"] == "ok").await;
        api.prompt(&session, "echo it goes on").await;
        api.until_idle(&session).await;
    }
    assert!(!text(&api.events(&session).await).contains("not accepted"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_of_a_session_that_cannot_go_on_is_what_the_prompts_are_told() {
    let (api, disk) = on_faulty_disk().await;
    let session = talking(&api).await;
    let path = format!("/v1/sessions/{session}");
    let prompts = ["echo it is my turn", "echo not wanted any more"];
    let prompts = prompts.map(|text| json!({ "prompt": text, "clientRequestId": &text[5..11] }));
    let mut turns = Vec::new();
    for prompt in &prompts {
        let accepted = api.post(&format!("{path}/prompt"), prompt).await.is(202).body;
        turns.push(accepted["turnId"].as_str().unwrap().to_owned());
    }
    let files = [".db-wal", "-"];
    disk.fail(&DiskFault { calls: FaultyCalls::WRITES, error: ENOSPC, every: 1, files });
    api.until(&session, |now| now["status"] == "failed").await;

    let queue = api.get(&format!("{path}/queue")).await.is(200).body;

    assert_eq!(queue["running"], json!(null), "{queue}");
    let queued = queue["queued"].as_array().unwrap();
    let ids: Vec<&str> = queued.iter().map(|one| one["turnId"].as_str().unwrap()).collect();
    assert_eq!(ids, turns, "{queue}");
    assert_eq!(queued[0]["text"], "echo it is my turn");
    let second = format!("{path}/queue/{}", turns[1]);
    api.delete(&second).await.is(204);
    api.delete(&second).await.refused(404, "not-found");
    let queue = api.get(&format!("{path}/queue")).await.is(200).body;
    assert_eq!(queue["queued"].as_array().unwrap().len(), 1, "{queue}");
    for (prompt, fate) in prompts.iter().zip(["waiting", "dropped"]) {
        let again = api.post(&format!("{path}/prompt"), prompt).await.is(202).body;
        assert_eq!(again["fate"], json!({ "state": fate }));
    }
    disk.heal();
    api.until_said(&session, "it is my turn").await;
    api.until_idle(&session).await;
    let events = api.events(&session).await;
    assert!(!text(&events).contains("not wanted"), "{events:?}");
    assert_eq!(of_kind(&events, "prompt_dropped").len(), 1);
}
