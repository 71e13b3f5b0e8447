//! A client that makes so many sessions, or so large ones, that everybody would wait for them.

use reqwest::Method;
use serde_json::{Value, json};
use store::{Changes, EventLog, Filter, Options, SqliteLog};
use testkit::line_client::LineClient;
use testkit::process::switchyard;
use wire::Json;

use super::network::token;
use super::spy::{Spy, definition};
use crate::serve_rest::{Api, EXE};

/// What lists read of a session.
const MAX_DETAILS_BYTES: usize = 4 << 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_do_not_read_what_sessions_are_made_of_and_agents_are_told_it() {
    let yard = switchyard(EXE);
    let dir = yard.work().join("spy");
    let spy = Spy::at(&dir, "spy", "");
    std::fs::write(yard.home().join("switchyard.toml"), definition(&dir.join("spy"))).unwrap();
    let api = Api::start_in(yard).await;
    let large = "i".repeat(300_000);
    let server =
        json!({ "type": "http", "name": "s", "url": "http://127.0.0.1:9/", "headers": [] });
    let new = json!({
        "agent": "spy", "cwd": api.yard.work(), "startsLater": true,
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
    let yard = switchyard(EXE);
    let dir = yard.work().join("spy");
    let spy = Spy::at(&dir, "spy", "");
    std::fs::write(yard.home().join("switchyard.toml"), definition(&dir.join("spy"))).unwrap();
    let api = Api::start_in(yard).await;
    let new = json!({ "agent": "spy", "cwd": api.yard.work(), "startsLater": true });
    let made = api.post("/v1/sessions", &new).await.is(201);
    let id = made.body["id"].as_str().unwrap().to_owned();
    let yard = api.kill();
    let log = SqliteLog::open(yard.home(), Options::default()).unwrap();
    let record = log.sessions(Filter::default()).await.unwrap().remove(0);
    let mut details: Value = record.details.read().unwrap();
    details["newParams"] = json!({
        "cwd": yard.work(), "mcpServers": [], "_meta": { "mark": "of old" },
    });
    details["preface"] = json!("told of old");
    let changes = Changes { details: Some(Json::of(&details)), ..Changes::default() };
    log.update(record.id, changes).await.unwrap();
    drop(log);

    let api = Api::start_in(yard).await;
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
    let yard = switchyard(EXE);
    let config = "[serve]\ntcp = [\"127.0.0.1:0\"]\nagent = \"demo\"\n\
                  [limits]\nsessions_per_token = 3\n";
    std::fs::write(yard.home().join("switchyard.toml"), config).unwrap();
    let api = Api::start_in(yard).await;
    let role = |name: &str| json!({ "name": name, "role": "operator", "ownSessions": true });
    let (guest, other) = (token(&api, role("guest")).await, token(&api, role("other")).await);
    let new = json!({ "agent": "demo", "cwd": api.yard.work(), "startsLater": true });
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
    let mut client = LineClient::tcp(crate::serve_acp::tcp(&api.yard));
    client.result("switchyard/hello", &json!({ "token": guest }));
    client.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let asked = json!({ "cwd": api.yard.work(), "mcpServers": [] });
    let refused = client.ask("session/new", &asked)["error"].to_string();
    assert!(refused.contains("sessions_per_token"), "{refused}");

    assert_eq!(ask(&other, "/v1/sessions", &new).await.0, 201, "each token has its own");
    api.delete(&format!("/v1/sessions/{}", ids[1])).await.is(204);
    assert_eq!(ask(&guest, "/v1/sessions", &new).await.0, 201, "there is room again");
    assert_eq!(ask(&guest, "/v1/sessions", &new).await.0, 403);
}

async fn records(api: &Api) -> Vec<store::SessionRecord> {
    let log = SqliteLog::open(api.yard.home(), Options::default()).unwrap();
    log.sessions(Filter::default()).await.unwrap()
}
