//! A process that an agent started, at the private socket.

use serde_json::{Value, json};

use super::{does, session};
use crate::serve_rest::{Api, of_kind};

/// A client in a few lines: METHOD PATH BODY, by the private socket.
const CLIENT: &str = r"
const [socketPath, method, path, body] = process.argv.slice(2);
const headers = { 'Content-Type': 'application/json' };
const order = require('http').request({ socketPath, method, path, headers }, (answer) => {
  let text = '';
  answer.on('data', (part) => (text += part));
  answer.on('end', () => console.log('answered ' + answer.statusCode + ' ' + text));
});
order.end(body);
";

struct Scene {
    api: Api,
    agent: String,
    client: String,
}

impl Scene {
    /// An agent whose commands may run.
    async fn start() -> Self {
        let api = Api::start().await;
        let client = api.home.work().join("client.cjs");
        std::fs::write(&client, CLIENT).unwrap();
        let agent = session(&api, json!({ "permissions": "auto" })).await;
        Self { api, agent, client: client.display().to_string() }
    }

    /// What a command of the agent is answered.
    async fn asks(&self, method: &str, path: &str, body: &Value) -> String {
        let socket = self.api.daemon.socket().display().to_string();
        let line = format!("run node {} {socket} {method} {path} '{body}'", self.client);
        let said = does(&self.api, &self.agent, &line).await;
        let (_, answer) = said.split_once("answered ").unwrap_or_else(|| panic!("{said}"));
        answer.to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_does_not_answer_its_own_questions() {
    let scene = Scene::start().await;
    let api = &scene.api;
    let asking = session(api, json!({})).await;
    api.prompt(&asking, "permission execute rm -rf build").await;
    api.until(&asking, |now| now["status"] == "requires_action").await;
    let asked = api.get(&format!("/v1/sessions/{asking}/permissions")).await.is(200).body;
    let question = &asked["permissions"][0];
    let options = question["options"].as_array().unwrap();
    let yes = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
    let request = question["requestId"].as_str().unwrap();
    let path = format!("/v1/sessions/{asking}/permissions/{request}");
    let answer = scene.asks("POST", &path, &json!({ "optionId": yes["optionId"] })).await;
    assert!(answer.starts_with("403"), "{answer}");
    let events = api.events(&asking).await;
    assert!(of_kind(&events, "permission_resolved").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_lets_nobody_in_and_names_no_command() {
    let scene = Scene::start().await;
    let new = json!({ "name": "mine", "role": "admin" });
    assert!(scene.asks("POST", "/v1/tokens", &new).await.starts_with("403"));
    assert!(scene.asks("POST", "/v1/login-link", &json!({})).await.starts_with("403"));
    let work = scene.api.home.work();
    let order = json!({ "cwd": work, "command": ["/bin/sh", "-c", "touch evil"] });
    assert!(scene.asks("POST", "/v1/sessions", &order).await.starts_with("403"));
    let order = json!({ "cwd": work, "agent": "demo", "permissions": "auto" });
    assert!(scene.asks("POST", "/v1/sessions", &order).await.starts_with("403"));
    // Nor by a mode of the other agent's own.
    let order = json!({ "cwd": work, "agent": "demo", "mode": "auto" });
    assert!(scene.asks("POST", "/v1/sessions", &order).await.starts_with("403"));
    let run = json!({ "agentId": "demo", "message": "hello", "permissions": "auto" });
    assert!(scene.asks("POST", "/api/runs", &run).await.starts_with("403"));
    // What agents that use agents do is theirs to do, under their own name.
    let order = json!({ "cwd": work, "agent": "demo" });
    let made = scene.asks("POST", "/v1/sessions", &order).await;
    assert!(made.starts_with("201"), "{made}");
    assert!(made.contains(r#"\"madeBy\":\"worker\""#), "{made}");
    let id = made.split(r#"\"id\":\""#).nth(1).and_then(|rest| rest.split('\\').next()).unwrap();
    let path = format!("/v1/sessions/{id}");
    assert!(scene.asks("PATCH", &path, &json!({ "mode": "auto" })).await.starts_with("403"));
    let tokens = scene.api.get("/v1/tokens").await.is(200).body;
    assert!(!tokens.to_string().contains("mine"), "{tokens}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_makes_no_token_by_the_command_line_either() {
    let scene = Scene::start().await;
    let before = scene.api.get("/v1/tokens").await.is(200).body;
    let (exe, home) = (scene.api.home.exe().display(), scene.api.home.path().display());
    for verb in ["add mine --role admin", "rotate admin", "show", "list"] {
        let line = format!("run env SWITCHYARD_HOME={home} {exe} token {verb}");
        let said = does(&scene.api, &scene.agent, &line).await;
        assert!(said.contains("started by an agent") && !said.contains("sy_"), "{verb}: {said}");
    }
    assert_eq!(scene.api.get("/v1/tokens").await.is(200).body, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_deletes_nothing_and_allows_nothing_by_the_command_line() {
    let scene = Scene::start().await;
    let before = scene.api.get("/v1/sessions").await.is(200).body["sessions"].clone();
    let (exe, home) = (scene.api.home.exe().display(), scene.api.home.path().display());
    let policy = scene.api.home.work().join("all.toml");
    std::fs::write(&policy, "").unwrap();
    let policy = policy.display();
    for verb in [
        format!("sessions delete {} --yes", scene.agent),
        "sessions prune --older-than 0 --yes".to_owned(),
        "run demo --no-daemon --permissions auto hello".to_owned(),
        format!("run demo --no-daemon --policy {policy} hello"),
        "run demo --no-daemon --mode auto hello".to_owned(),
    ] {
        let line = format!("run env SWITCHYARD_HOME={home} {exe} {verb}");
        let said = does(&scene.api, &scene.agent, &line).await;
        assert!(said.contains("started by an agent"), "{verb}: {said}");
    }
    let after = scene.api.get("/v1/sessions").await.is(200).body["sessions"].clone();
    assert_eq!(after.as_array().unwrap().len(), before.as_array().unwrap().len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_uses_another_by_the_command_line() {
    let scene = Scene::start().await;
    let (exe, home) = (scene.api.home.exe().display(), scene.api.home.path().display());
    let line = format!("run env SWITCHYARD_HOME={home} {exe} run demo hello");
    let said = does(&scene.api, &scene.agent, &line).await;
    assert!(!said.contains("daemon's own user"), "{said}");
    let list = scene.api.get("/v1/sessions").await.is(200).body["sessions"].clone();
    let made = list.as_array().unwrap().iter().find(|one| one["madeBy"] == "worker");
    assert!(made.is_some(), "{said}: {list:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_stops_what_it_has_begun_and_is_recorded_as_what_it_is() {
    let scene = Scene::start().await;
    let (api, work) = (&scene.api, scene.api.home.work());
    scene.asks("POST", "/v1/sessions", &json!({ "agent": "demo", "cwd": work })).await;
    let listed = api.get("/v1/sessions").await.is(200).body;
    let is_own = |session: &&Value| session["madeBy"] == "worker";
    let own = listed["sessions"].as_array().unwrap().iter().find(is_own).unwrap();
    let own = own["id"].as_str().unwrap().to_owned();
    let other = session(api, json!({})).await;
    let (exe, home) = (api.home.exe().display(), api.home.path().display());
    for id in [&own, &other] {
        api.prompt(id, "hang").await;
        api.until(id, |now| now["status"] == "running").await;
        does(api, &scene.agent, &format!("run env SWITCHYARD_HOME={home} {exe} cancel {id}")).await;
    }
    api.until(&own, |now| now["status"] == "idle").await;
    let events = api.events(&own).await;
    let cancelled = of_kind(&events, "cancel_requested");
    let [cancelled] = cancelled.as_slice() else { panic!("{events:#?}") };
    assert_eq!(cancelled["payload"]["by"], "worker", "{cancelled}");
    assert!(of_kind(&api.events(&other).await, "cancel_requested").is_empty());
}
