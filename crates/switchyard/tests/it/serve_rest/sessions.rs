//! Sessions: made, found, changed, forked, closed, deleted.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Api, EXE, PATIENCE, of_kind, switchyard, text};

#[tokio::test]
async fn the_daemon_tells_how_it_is_and_what_it_can() {
    let api = Api::start().await;
    let alive = api.request(Method::GET, "/healthz").send().await.unwrap();
    assert_eq!((alive.status().as_u16(), alive.text().await.unwrap().as_str()), (200, "ok\n"));

    let before = api.get("/v1/health").await.is(200).body;
    let _session = api.session().await;
    let after = api.get("/v1/health").await.is(200).body;

    assert_eq!((&before["status"], &before["sessions"]["live"]), (&json!("ok"), &json!(0)));
    assert_eq!(after["sessions"], json!({ "live": 1, "total": 1 }));
    assert_eq!(after["store"]["ok"], true);
    let features = api.get("/v1/capabilities").await.is(200).body["features"].clone();
    assert!(features.as_array().unwrap().contains(&json!("prompt.idempotent")));
}

#[tokio::test]
async fn agents_are_listed_and_streamed() {
    let api = Api::start().await;
    let listed = api.get("/v1/agents").await.is(200).body;
    let agents = listed["agents"].as_array().unwrap().clone();
    let demo = agents.iter().find(|agent| agent["id"] == "demo").unwrap();
    assert_eq!((&demo["isUsable"], &demo["defaultModel"]), (&json!(true), &json!("demo-small")));
    assert_eq!(demo["modes"][1]["id"], "code");
    assert_eq!(demo["efforts"], json!(["low", "medium", "high"]));
    let native = agents.iter().find(|agent| agent["id"] == "native").unwrap();
    assert_eq!(native["modes"][0]["name"], "Ask");
    assert_eq!(listed["isComplete"], true);

    let stream = api.request(Method::GET, "/v1/agents?stream=1").send().await.unwrap();
    assert!(stream.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    let stream = stream.text().await.unwrap();

    let n_agents = stream.matches("event: agent\n").count();
    assert_eq!(n_agents, agents.len());
    assert!(
        stream.trim_end().ends_with(&format!(
            "event: done\ndata: {{\"agents\":{n_agents},\"isComplete\":true}}"
        ))
    );
    api.get("/v1/agents?stream=maybe").await.refused(400, "bad-input");
}

#[tokio::test]
async fn a_session_is_made_and_found_again() {
    let api = Api::start().await;
    let new = json!({
        "agent": "demo", "cwd": api.home.work(), "title": "first", "model": "demo-large",
        "mode": "code", "effort": "high", "permissions": "read-only",
    });
    let made = api.post("/v1/sessions", &new).await.is(201);
    let id = made.body["id"].as_str().unwrap();
    assert_eq!(made.headers["location"], format!("/v1/sessions/{id}"));

    let found = api.get(&format!("/v1/sessions/{id}")).await.is(200).body;

    assert_eq!(found["agent"], "demo");
    assert_eq!(found["title"], "first");
    assert_eq!(found["status"], "idle");
    assert_eq!(found["permissions"], "read-only");
    assert_eq!(found["cwd"], json!(api.home.work().canonicalize().unwrap()));
    assert_eq!(found.get("command"), None, "it is known by its name");
    assert!(found["agentSession"].is_string(), "{found}");
    let current = |what: &str| found["options"][what]["current"].clone();
    assert_eq!(
        [current("model"), current("mode"), current("effort")],
        ["demo-large", "code", "high"]
    );
    let models = found["options"]["model"]["values"].as_array().unwrap();
    assert!(models.contains(&json!({ "id": "demo-small", "name": "Demo Small" })));
}

#[tokio::test]
async fn a_session_can_be_changed() {
    let api = Api::start().await;
    let session = api.session().await;
    let path = format!("/v1/sessions/{session}");
    let patch =
        async |changes: Value| api.send(api.request(Method::PATCH, &path).json(&changes)).await;

    let changed = patch(json!({ "title": "new", "model": "demo-large", "mode": "code" })).await;
    let changed = changed.is(200).body;
    assert_eq!(changed["title"], "new");
    assert_eq!(changed["options"]["model"]["current"], "demo-large");
    assert_eq!(changed["options"]["mode"]["current"], "code");

    let told = api.events(&session).await;
    let told = of_kind(&told, "session_info_update");
    let told = &told.last().unwrap()["payload"]["update"];
    assert_eq!(told["title"], "new", "others learn of it from the log");
    assert_eq!(told["_meta"]["switchyard"]["by"], json!("token:admin http"));
    let changed = patch(json!({ "effort": "low" })).await.is(200).body;
    assert_eq!(changed["options"]["effort"]["current"], "low");
    assert_eq!(changed["title"], "new", "what is left out stays");
    // The agent's words do not take the place of a person's.
    let titled = async |words: &str| {
        api.prompt(&session, words).await;
        api.until_idle(&session).await;
        api.get(&path).await.is(200).body["title"].clone()
    };
    assert_eq!(titled("title Agent").await, "new");
    assert_eq!(patch(json!({ "title": null })).await.is(200).body["title"], Value::Null);
    assert_eq!(titled("title Agent").await, "Agent");

    patch(json!({ "model": "gpt-nine" })).await.refused(400, "bad-input").says("demo-small");
    patch(json!({ "colour": "red" })).await.refused(400, "bad-input").says("`colour`");
    patch(json!({ "title": "x".repeat(501) })).await.refused(400, "bad-input");
}

#[tokio::test]
async fn limits_are_set_and_changed_and_never_misread() {
    let api = Api::start().await;
    let new = |limits: Value| json!({ "agent": "demo", "cwd": api.home.work(), "limits": limits });
    for bad in [json!({ "turn": 1 }), json!({ "turns": 0 }), json!({ "costUsd": -1 }), json!(3)] {
        api.post("/v1/sessions", &new(bad)).await.refused(400, "bad-input");
    }
    let made = api.post("/v1/sessions", &new(json!({ "turns": 1 }))).await.is(201).body;
    assert_eq!(made["limits"], json!({ "turns": 1 }));
    let session = made["id"].as_str().unwrap();

    api.prompt(session, "echo one").await;
    api.until_idle(session).await;
    api.prompt(session, "echo two").await;
    api.until(session, |now| now["status"] == "requires_action").await;
    assert_eq!(text(&api.events(session).await), "one", "it asks before it goes on");
    let path = format!("/v1/sessions/{session}");
    let more = api.request(Method::PATCH, &path).json(&json!({ "limits": { "turns": 5 } }));
    assert_eq!(api.send(more).await.is(200).body["limits"], json!({ "turns": 5 }));
    let now = api.until_idle(session).await;
    assert_eq!(text(&api.events(session).await), "onetwo");
    assert_eq!(now["usage"]["turns"], 2);
    let told: Vec<_> = now["usage"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(told, ["turns", "runningSeconds", "tokens", "costUsd"]);
}

#[tokio::test]
async fn a_fork_begins_with_what_was_said_and_goes_its_own_way() {
    let api = Api::start().await;
    let parent = api.session().await;
    api.prompt(&parent, "echo first").await;
    let head = api.until_idle(&parent).await["head"].as_u64().unwrap();
    api.prompt(&parent, "echo second").await;
    api.until_idle(&parent).await;

    let path = format!("/v1/sessions/{parent}/fork");
    let fork = api.post(&path, &json!({ "upTo": head })).await.is(201).body;
    let whole = api.send(api.request(Method::POST, &path)).await.is(201).body;

    let early = api.request(Method::POST, &path).header("prefer", "wait=5, respond-async");
    let early = api.send(early).await.is(202).body;
    let early = early["id"].as_str().unwrap();
    assert_eq!(api.until_idle(early).await["title"], whole["title"]);
    assert_eq!(text(&api.events(early).await), "firstsecond");

    let fork = fork["id"].as_str().unwrap();
    assert_eq!(text(&api.events(fork).await), "first");
    assert_eq!(text(&api.events(whole["id"].as_str().unwrap()).await), "firstsecond");
    api.prompt(fork, "echo third").await;
    api.until_idle(fork).await;
    let events = api.events(fork).await;
    let prompts: Vec<&Value> = of_kind(&events, "prompt_received")
        .iter()
        .map(|event| &event["payload"]["prompt"][0]["text"])
        .collect();
    assert_eq!(prompts, ["echo first", "echo third"]);
    assert!(text(&events).starts_with("first") && of_kind(&events, "turn_ended").len() == 2);
    assert_eq!(text(&api.events(&parent).await), "firstsecond");
    api.post(&path, &json!({ "upto": 1 })).await.refused(400, "bad-input").says("`upto`");
}

#[tokio::test]
async fn a_closed_session_can_be_prompted_and_a_deleted_one_is_gone() {
    let api = Api::start().await;
    let session = api.session().await;
    let path = format!("/v1/sessions/{session}");
    api.prompt(&session, "slow 1000000 10").await;

    let closing = api.request(Method::POST, &format!("{path}/close"));
    let closed = api.send(closing).await.is(200).body;
    assert_eq!(closed["status"], "closed");
    let events = api.events(&session).await;
    assert_eq!(of_kind(&events, "turn_ended")[0]["payload"]["stopReason"], "cancelled");

    api.prompt(&session, "echo again").await;
    api.until_idle(&session).await;
    assert!(text(&api.events(&session).await).ends_with("again"));

    api.delete(&path).await.is(204);
    api.get(&path).await.refused(404, "not-found");
    api.delete(&path).await.refused(404, "not-found");
    api.post(&format!("{path}/prompt"), &json!({ "prompt": "echo x" })).await.is(404);
    assert_eq!(api.get("/v1/sessions").await.is(200).body["sessions"], json!([]));
}

#[tokio::test]
async fn lists_are_paged_and_filtered() {
    let api = Api::start().await;
    let other = api.home.work().join("other");
    std::fs::create_dir(&other).unwrap();
    for n in 0..7 {
        let cwd = if n < 2 { &other } else { &api.home.work() };
        let title = format!("Number {n}{}", if n % 2 == 0 { " Even" } else { "" });
        let new = json!({ "agent": "demo", "cwd": cwd, "title": title, "startsLater": true });
        api.post("/v1/sessions", &new).await.is(201);
    }
    let titles = |page: &Value| -> Vec<String> {
        let sessions = page["sessions"].as_array().unwrap().iter();
        sessions.map(|session| session["title"].as_str().unwrap().to_owned()).collect()
    };

    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = api.get(&format!("/v1/sessions?limit=3{cursor}")).await.is(200).body;
        assert!(page["sessions"].as_array().unwrap().len() <= 3);
        all.extend(titles(&page));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    all.sort();
    assert_eq!(all.len(), 7);
    all.dedup();
    assert_eq!(all.len(), 7, "each of them once");

    let count = async |query: &str| {
        titles(&api.get(&format!("/v1/sessions?{query}")).await.is(200).body).len()
    };
    assert_eq!(count("q=even%20number").await, 4);
    assert_eq!(count("q=nothing").await, 0);
    let directory = api.home.work().file_name().unwrap().to_string_lossy().to_uppercase();
    assert_eq!(count(&format!("q=even%20DEMO%20{directory}")).await, 4);
    assert_eq!(count("agent=demo").await, 7);
    assert_eq!(count("agent=claude").await, 0);
    assert_eq!(count("status=idle").await, 7);
    assert_eq!(count("status=running").await, 0);
    let cwd = other.canonicalize().unwrap();
    assert_eq!(count(&format!("cwd={}", cwd.display())).await, 2);
    for bad in ["limit=0", "limit=501", "limit=x", "cursor=x", "status=odd", "sort=up"] {
        api.get(&format!("/v1/sessions?{bad}")).await.refused(400, "bad-input");
    }
}

#[tokio::test]
async fn the_agents_own_id_is_there_when_it_has_one() {
    let api = Api::start().await;
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "startsLater": true });
    let made = api.post("/v1/sessions", &new).await.is(201).body;
    assert_eq!(made.get("agentSession"), None, "nobody has asked an agent for one yet");
}

#[tokio::test]
async fn sessions_are_found_by_the_beginning_of_their_id() {
    let api = Api::start().await;
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "startsLater": true });
    let mut all = Vec::new();
    for _ in 0..4 {
        let made = api.post("/v1/sessions", &new).await.is(201).body;
        all.push(made["id"].as_str().unwrap().to_owned());
    }
    let find = async |query: String| {
        let page = api.get(&format!("/v1/sessions?{query}")).await.is(200).body;
        let sessions = page["sessions"].as_array().unwrap().iter();
        let ids = sessions.map(|session| session["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), page["nextCursor"].as_str().map(str::to_owned))
    };

    for id in &all {
        assert_eq!(find(format!("id={id}")).await, (vec![id.clone()], None));
        let (found, _) = find(format!("id={}", &id[..6])).await;
        assert!(found.contains(id) && found.iter().all(|one| one.starts_with(&id[..6])));
        assert_eq!(find(format!("id={id}&agent=claude")).await.0, Vec::<String>::new());
        assert_eq!(find(format!("id={id}&status=running")).await.0, Vec::<String>::new());
    }
    assert_eq!(find(format!("id={}zzzz", all[0])).await.0, Vec::<String>::new());
    for bad in ["", "A", "%2e", "a-b"] {
        let refused = api.get(&format!("/v1/sessions?id={bad}")).await;
        refused.refused(400, "bad-input").says("is not the start of a session id");
    }
}

#[tokio::test]
async fn a_log_is_told_in_every_format_and_exported_whole() {
    let api = Api::start().await;
    let session = api.session().await;
    api.prompt(&session, "echo one ; tool read ; text 300 ; echo two").await;
    let head = api.until_idle(&session).await["head"].as_u64().unwrap();
    let events = api.events(&session).await;
    assert_eq!(events.len() as u64, head);
    for (event, seq) in events.iter().zip(1_u64..) {
        assert_eq!(event["seq"], seq, "once, in order, without a hole");
    }

    for format in ["json", "acp", "ui", "envelopes", "text"] {
        let path = format!("/v1/sessions/{session}/transcript?format={format}");
        let whole = items(&api, &format!("{path}&limit=2000")).await;
        let pieces = items(&api, &format!("{path}&limit=10")).await;
        assert!(whole.len() > 3, "{format}");
        assert_eq!(whole, pieces, "{format}: pages make up the whole");
        let exported = api
            .request(Method::GET, &format!("/v1/sessions/{session}/export?format={format}"))
            .send()
            .await
            .unwrap();
        let disposition = exported.headers()["content-disposition"].to_str().unwrap().to_owned();
        assert!(disposition.contains(&session), "{disposition}");
        let exported = exported.text().await.unwrap();
        if format == "text" {
            let told: String = whole.iter().map(|item| item.as_str().unwrap()).collect();
            assert_eq!(exported, told);
        } else {
            let lines: Vec<Value> =
                exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines, whole, "{format}");
        }
    }
    let path = format!("/v1/sessions/{session}/transcript");
    assert_eq!(api.get(&format!("{path}?after={head}")).await.is(200).body["items"], json!([]));
    api.get(&format!("{path}?after=99999999")).await.is(200);
    api.get(&format!("{path}?format=pdf")).await.refused(400, "bad-input");
    api.get(&format!("{path}?limit=0")).await.refused(400, "bad-input");
}

/// The items of all pages.
async fn items(api: &Api, path: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = api.get(&format!("{path}&after={after}")).await.is(200).body;
        all.extend(page["items"].as_array().unwrap().iter().map(|item| item["data"].clone()));
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => return all,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_renamed_keeps_its_place() {
    let api = Api::start().await;
    let (first, second) = (api.session().await, api.session().await);
    for session in [&first, &second] {
        api.prompt(session, "echo hi").await;
        api.until_idle(session).await;
    }
    let path = format!("/v1/sessions/{first}");
    let before = api.get(&path).await.is(200).body;
    let request = api.request(reqwest::Method::PATCH, &path).json(&json!({ "title": "Renamed" }));
    let after = api.send(request).await.is(200).body;
    assert_eq!((&after["title"], &after["updated"]), (&json!("Renamed"), &before["updated"]));
    assert!(after["head"].as_u64() > before["head"].as_u64(), "the log tells it");
    let list = api.get("/v1/sessions").await.is(200).body;
    let ids: Vec<_> = list["sessions"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_agent_ends_keeps_its_place() {
    let home = switchyard(EXE);
    let config = home.path().join("switchyard.toml");
    std::fs::write(config, "[serve]\nworker_idle = \"300ms\"\n").unwrap();
    let api = Api::start_in(home).await;
    let session = api.session().await;
    api.prompt(&session, "echo hi").await;

    let deadline = std::time::Instant::now() + PATIENCE;
    let events = loop {
        let events = api.events(&session).await;
        // On a slow machine the worker may also be let go before the prompt comes.
        let mut since_turn = events.iter().skip_while(|event| event["kind"] != "turn_ended");
        if since_turn.any(|event| event["kind"] == "worker_exited") {
            break events;
        }
        assert!(std::time::Instant::now() < deadline, "the agent never ended");
        testkit::test_home::pause_between_polls().await;
    };

    let now = api.get(&format!("/v1/sessions/{session}")).await.is(200).body;
    assert_eq!(now["updated"], of_kind(&events, "turn_ended")[0]["time"]);
    assert_ne!(now["updated"], of_kind(&events, "worker_exited").last().unwrap()["time"]);
}
