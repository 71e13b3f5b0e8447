//! A client that makes so many sessions, or so large ones, that everybody would wait for them.

use reqwest::Method;
use serde_json::{Value, json};
use store::{EventLog, RecordChanges, SessionFilter, SqliteLog, SqliteOptions};
use testkit::daemon::Daemon;
use testkit::line_client::LineClient;
use testkit::proc;
use testkit::test_home::{PATIENCE, switchyard, wait_until};
use wire::Json;

use super::network::token;
use super::spy::served;
use crate::serve_rest::{Api, EXE};

/// What lists read of a session.
const MAX_DETAILS_BYTES: usize = 4 << 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_do_not_read_what_sessions_are_made_of_and_agents_are_told_it() {
    let (api, spy) = served().await;
    let large = "i".repeat(300_000);
    let server =
        json!({ "type": "http", "name": "s", "url": "http://127.0.0.1:9/", "headers": [] });
    let new = json!({
        "agent": "spy", "cwd": api.home.work(), "startsLater": true,
        "systemPrompt": large, "mcpServers": [server],
    });
    let made = api.post("/v1/sessions", &new).await.is(201);
    let id = made.body["id"].as_str().unwrap().to_owned();
    let api = api.restart().await;
    let records = records(&api).await;
    assert_eq!(records.len(), 1);
    assert!(records[0].details.as_str().len() < MAX_DETAILS_BYTES, "{:?}", records[0].details);

    api.prompt(&id, "hello").await;
    api.until_idle(&id).await;
    api.prompt(&id, "hello again").await;
    api.until_idle(&id).await;

    let heard = std::fs::read_to_string(&spy.heard).unwrap();
    let said = |method: &str| -> Vec<Value> {
        let lines = heard.lines().filter(|line| line.contains(method));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let opened = &said("session/new")[0]["params"];
    assert_eq!(opened["_meta"]["systemPrompt"]["append"], json!(large));
    assert_eq!(opened["mcpServers"], json!([server]));
    let prompts = said("session/prompt");
    let told = |n: usize| prompts[n]["params"]["prompt"].to_string().contains(&large);
    assert_eq!((told(0), told(1)), (true, false), "the first prompt comes with the instructions");
    let records = self::records(&api).await;
    assert!(records[0].details.as_str().len() < MAX_DETAILS_BYTES, "{:?}", records[0].details);
}

/// A session that has what it was made of where earlier versions had it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_an_earlier_version_goes_on() {
    let (api, spy) = served().await;
    let new = json!({ "agent": "spy", "cwd": api.home.work(), "startsLater": true });
    let made = api.post("/v1/sessions", &new).await.is(201);
    let id = made.body["id"].as_str().unwrap().to_owned();
    let home = api.kill();
    let log = SqliteLog::open(home.path(), SqliteOptions::default()).unwrap();
    let record = log.sessions(SessionFilter::default()).await.unwrap().remove(0);
    let mut details: Value = record.details.read().unwrap();
    details["newParams"] = json!({
        "cwd": home.work(), "mcpServers": [], "_meta": { "mark": "of old" },
    });
    details["preface"] = json!("told of old");
    let changes = RecordChanges { details: Some(Json::of(&details)), ..RecordChanges::default() };
    log.update(record.id, changes).await.unwrap();
    drop(log);

    let api = Api::start_in(home).await;
    for words in ["hello", "again"] {
        api.prompt(&id, words).await;
        api.until_idle(&id).await;
    }

    let heard = std::fs::read_to_string(&spy.heard).unwrap();
    let n = |words: &str| heard.lines().filter(|line| line.contains(words)).count();
    assert_eq!((n("\"mark\":\"of old\""), n("told of old")), (1, 1), "{heard}");
    let records = records(&api).await;
    assert!(!records[0].details.as_str().contains("of old"), "{:?}", records[0].details);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_has_so_many_sessions_and_no_more() {
    let home = switchyard(EXE);
    let config = format!("{SERVED}[limits]\nsessions_per_token = 3\n");
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let api = Api::start_in(home).await;
    let role = |name: &str| json!({ "name": name, "role": "operator", "ownSessions": true });
    let (guest, other) = (token(&api, role("guest")).await, token(&api, role("other")).await);
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "startsLater": true });
    let ask = async |token: &str, path: &str, body: &Value| {
        let order = api.request(Method::POST, path).json(body).bearer_auth(token);
        let answer = order.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (status, made) = ask(&guest, "/v1/sessions", &new).await;
        assert_eq!(status, 201, "{made}");
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let run = json!({ "agentId": "demo", "projectId": "site", "message": "hello" });
    let fork = format!("/v1/sessions/{}/fork", ids[0]);
    for (path, body) in [("/v1/sessions", &new), (&fork, &json!({})), ("/api/runs", &run)] {
        let (status, refused) = ask(&guest, path, body).await;
        assert_eq!(status, 403, "{path}: {refused}");
        assert!(refused.to_string().contains("sessions_per_token"), "{path}: {refused}");
        let is_of_v1 = path.starts_with("/v1");
        assert!(!is_of_v1 || refused["remedy"].is_string(), "{path}: {refused}");
    }
    let mut client = acp(&api, &guest);
    let asked = json!({ "cwd": api.home.work(), "mcpServers": [] });
    let refused = client.ask("session/new", &asked)["error"].to_string();
    assert!(refused.contains("sessions_per_token"), "{refused}");

    assert_eq!(ask(&other, "/v1/sessions", &new).await.0, 201, "each token has its own");
    api.delete(&format!("/v1/sessions/{}", ids[1])).await.is(204);
    assert_eq!(ask(&guest, "/v1/sessions", &new).await.0, 201, "there is room again");
    assert_eq!(ask(&guest, "/v1/sessions", &new).await.0, 403);
    api.delete(&format!("/v1/sessions/{}", ids[0])).await.is(204);
    let at_once = (0..10).map(|_| ask(&guest, "/v1/sessions", &new));
    let made = futures_util::future::join_all(at_once).await;
    let n_made = made.iter().filter(|(status, _)| *status == 201).count();
    assert!(n_made <= 1, "{made:?}");
}

/// By way of Open Design the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_is_made_of_has_an_end_too() {
    let api = Api::start().await;
    for (member, n_bytes) in [("reasoning", 201), ("systemPrompt", 600 << 10), ("model", 201)] {
        let run = json!({ "agentId": "demo", "message": "hello", member: "x".repeat(n_bytes) });
        let refused = api.request(Method::POST, "/api/runs").json(&run).send().await.unwrap();
        assert_eq!(refused.status(), 400, "{member}");
    }
    assert_eq!(records(&api).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_nobody_uses_hold_few_files_open() {
    let api = Api::start().await;
    let work = api.home.work();
    let new = |dirs: usize| {
        let dirs = vec![work.clone(); dirs];
        json!({ "agent": "demo", "cwd": work, "startsLater": true, "additionalDirectories": dirs })
    };
    assert_eq!(api.post("/v1/sessions", &new(65)).await.status, 400);
    let n_open = || {
        let open = format!("/proc/{}/fd", api.daemon.pid());
        std::fs::read_dir(open).unwrap().count()
    };
    let before = n_open();
    for _ in 0..soak::size(300, 2000) {
        api.post("/v1/sessions", &new(64)).await.is(201);
    }
    let is_so = || n_open() < before + 900;
    assert!(wait_until(PATIENCE, is_so), "{} are open", n_open());
}

/// A daemon that may have few files open is asked for more sessions than it can have awake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_for_which_no_file_can_be_opened_is_refused_as_such_and_not_there() {
    let home = switchyard(EXE);
    std::fs::write(home.path().join("switchyard.toml"), "[serve]\nput_aside = \"1h\"\n").unwrap();
    let limited = "ulimit -n 128; exec \"$0\" serve --host 127.0.0.1:0";
    let command = home.other("sh", ["-c", limited, EXE]);
    let daemon = Daemon::start_command(&home, command);
    let api = Api::of(home, daemon).await;
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "startsLater": true });

    let mut made = Vec::new();
    let mut n_refused = 0;
    for _ in 0..100 {
        let answer = api.post("/v1/sessions", &new).await;
        if answer.status == 201 {
            made.push(answer.body["id"].as_str().unwrap().to_owned());
            continue;
        }
        let body = answer.refused(503, "too-many-open-files").body;
        assert!(body["remedy"].as_str().unwrap().contains("ulimit -n"), "{body}");
        n_refused += 1;
    }

    assert!(n_refused > 0);
    let listed = api.get("/v1/sessions?limit=100").await.is(200).body;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), made.len());
    // One that ends makes room for the next.
    api.delete(&format!("/v1/sessions/{}", made[0])).await.is(204);
    api.post("/v1/sessions", &new).await.is(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sessions_of_others_are_not_counted_by_a_list() {
    let home = switchyard(EXE);
    std::fs::write(home.path().join("switchyard.toml"), SERVED).unwrap();
    let api = Api::start_in(home).await;
    let role = json!({ "name": "guest", "role": "operator", "ownSessions": true });
    let guest = token(&api, role).await;
    let new = json!({ "agent": "demo", "cwd": api.home.work(), "startsLater": true });
    let order = api.request(Method::POST, "/v1/sessions").json(&new).bearer_auth(&guest);
    let own = api.send(order).await.is(201).body["id"].clone();
    for _ in 0..51 {
        api.post("/v1/sessions", &new).await.is(201);
    }
    let mut client = acp(&api, &guest);
    let listed = client.result("session/list", &json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!((&listed["sessions"][0]["sessionId"], listed.get("nextCursor")), (&own, None));
    let listed = api.request(Method::GET, "/v1/sessions?limit=1").bearer_auth(&guest);
    let listed = api.send(listed).await.is(200).body;
    assert_eq!((&listed["sessions"][0]["id"], listed.get("nextCursor")), (&own, None));
}

/// A conversation's name is its owner's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_does_not_wait_for_one_of_the_same_name() {
    let home = switchyard(EXE);
    let agent = "[agents.hangs]\ncommand = \"sleep\"\nargs = [\"1000\"]\n";
    std::fs::write(home.path().join("switchyard.toml"), agent).unwrap();
    let api = Api::start_in(home).await;
    let role = json!({ "name": "guest", "role": "operator", "ownSessions": true });
    let guest = token(&api, role).await;
    let run = |agent: &str, more: Value| {
        let mut run = json!({ "agentId": agent, "message": "hello", "conversationId": "talk" });
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        api.request(Method::POST, "/api/runs").json(&run)
    };
    let hangs = run("hangs", json!({ "reasoning": "high" })).bearer_auth(&guest);
    let hangs = tokio::spawn(hangs.send());
    while api.get("/v1/sessions").await.body["sessions"] == json!([]) {
        testkit::test_home::pause_between_polls().await;
    }

    let answer = run("demo", json!({})).send().await.unwrap();

    assert_eq!(answer.status(), 202);
    assert!(!hangs.is_finished());
    hangs.abort();
}

/// Images that go with runs are in memory two at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_with_images_do_not_fill_the_memory() {
    const MAX_PEAK_KIB: u64 = 288 << 10;
    let api = Api::start().await;
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.resize(4 << 20, 7);
    let project = api.home.path().join("projects/site");
    std::fs::create_dir_all(&project).unwrap();
    for name in ["a.png", "b.png"] {
        std::fs::write(project.join(name), &picture).unwrap();
    }
    let run = |n: usize| {
        let run = json!({
            "agentId": "demo", "message": "hello", "projectId": "site",
            "conversationId": format!("talk-{n}"), "images": ["a.png", "b.png"],
        });
        api.request(Method::POST, "/api/runs").json(&run).send()
    };
    let answers = futures_util::future::join_all((0..soak::size(14, 80)).map(run)).await;
    for answer in answers {
        assert_eq!(answer.unwrap().status(), 202);
    }
    let peak = proc::memory(api.daemon.pid()).unwrap().peak_kib;
    assert!(peak < MAX_PEAK_KIB, "{peak} KiB at the most");
}

/// A daemon that speaks ACP by TCP.
const SERVED: &str = "[serve]\ntcp = [\"127.0.0.1:0\"]\nagent = \"demo\"\n";

fn acp(api: &Api, token: &str) -> LineClient {
    let mut client = LineClient::tcp(crate::serve_acp::tcp(&api.home));
    client.result("switchyard/hello", &json!({ "token": token }));
    client.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    client
}

async fn records(api: &Api) -> Vec<store::SessionRecord> {
    let log = SqliteLog::open(api.home.path(), SqliteOptions::default()).unwrap();
    log.sessions(SessionFilter::default()).await.unwrap()
}
