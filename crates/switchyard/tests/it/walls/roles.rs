//! Every route that the daemon's document has, and those it has not, by everybody who may not.

use reqwest::Method;
use serde_json::{Value, json};

use crate::serve_rest::Api;

/// Not in the document: other shapes of the same sessions.
const OTHERS: [(&str, &str); 8] = [
    ("GET", "/api/agents"),
    ("GET", "/api/runs"),
    ("POST", "/api/runs"),
    ("GET", "/api/runs/{id}"),
    ("GET", "/api/runs/{id}/events"),
    ("POST", "/api/runs/{id}/cancel"),
    ("POST", "/api/chat"),
    ("POST", "/acp"),
];
/// For everybody: whether it lives, and coming in.
const OPEN: [&str; 6] = [
    "/healthz",
    "/v1/health",
    "/v1/login",
    "/v1/login/challenge",
    "/v1/login/prove",
    "/v1/login/move",
];

struct Scene {
    api: Api,
    routes: Vec<(Method, String)>,
    /// Somebody else's.
    session: String,
}

impl Scene {
    async fn start() -> Self {
        let api = Api::start().await;
        let document = api.get("/v1/openapi.json").await.is(200).body;
        let paths = document["paths"].as_object().unwrap().iter();
        let documented = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
        });
        let others = OTHERS.map(|(method, path)| (method.to_owned(), path.to_owned()));
        let all = documented.chain(others);
        let routes = all.map(|(method, path)| (method.parse().unwrap(), path)).collect();
        let session = api.session().await;
        Self { api, routes, session }
    }

    /// The status that somebody gets on a route, with the session of somebody else in it.
    async fn status(&self, token: Option<&str>, method: &Method, path: &str) -> u16 {
        let path = path.replace("{id}", &self.session);
        let path = ["{attachment}", "{requestId}", "{turn}", "{name}"]
            .iter()
            .fold(path, |path, part| path.replace(part, "x"));
        let client = testkit::daemon::client(token);
        let mut order = client.request(method.clone(), self.api.daemon.url(&path));
        if method != Method::GET {
            order = match path.ends_with("/attachments") {
                true => order.header("Content-Type", "application/octet-stream").body("x"),
                false => order.json(&self.body(&path)),
            };
        }
        order.send().await.unwrap().status().as_u16()
    }

    /// What somebody who may would send.
    fn body(&self, path: &str) -> Value {
        match path.rsplit('/').next().unwrap_or_default() {
            "sessions" => json!({ "agent": "demo", "cwd": self.api.home.work() }),
            "prompt" => json!({ "prompt": "say x" }),
            "runs" | "chat" => json!({ "agentId": "demo", "message": "say x" }),
            "tokens" => json!({ "name": "mine", "role": "admin" }),
            _ => json!({}),
        }
    }

    async fn token(&self, wanted: Value) -> String {
        let made = self.api.post("/v1/tokens", &wanted).await.is(201);
        made.body["token"].as_str().unwrap().to_owned()
    }

    async fn picture(&self) -> Value {
        json!([
            self.api.get("/v1/sessions").await.is(200).body,
            self.api.get("/v1/tokens").await.is(200).body.as_array().unwrap().len(),
        ])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_gets_nothing_on_any_route() {
    let scene = Scene::start().await;
    for (method, path) in scene.routes.iter().filter(|(_, path)| !OPEN.contains(&path.as_str())) {
        assert_eq!(scene.status(None, method, path).await, 401, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_changes_nothing_on_any_route() {
    let scene = Scene::start().await;
    let wall = scene.token(json!({ "name": "wall", "role": "observer" })).await;
    let before = scene.picture().await;
    let changing = |(method, path): &&(Method, String)| {
        *method != Method::GET && !path.starts_with("/v1/log") && path != "/acp"
    };
    for (method, path) in scene.routes.iter().filter(changing) {
        assert_eq!(scene.status(Some(&wall), method, path).await, 403, "{method} {path}");
    }
    for path in ["/v1/tokens", "/v1/audit"] {
        assert_eq!(scene.status(Some(&wall), &Method::GET, path).await, 403, "{path}");
    }
    assert_eq!(scene.picture().await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sessions_of_others_do_not_exist_for_a_token_of_its_own() {
    let scene = Scene::start().await;
    for role in ["operator", "admin"] {
        let wanted = json!({ "name": "guest", "role": role, "ownSessions": true });
        let guest = scene.token(wanted).await;
        let before = scene.picture().await;
        for (method, path) in scene.routes.iter().filter(|(_, path)| path.contains("{id}")) {
            let status = scene.status(Some(&guest), method, path).await;
            let is_refused = status == 404 || role == "operator" && status == 403;
            assert!(is_refused, "{role}: {method} {path}: {status}");
        }
        for path in ["/v1/sessions", "/api/runs", "/v1/permissions"] {
            let client = testkit::daemon::client(Some(&guest));
            let sent = client.get(scene.api.daemon.url(path)).send().await.unwrap();
            let told = sent.text().await.unwrap();
            assert!(!told.contains(&scene.session), "{role}: {path}: {told}");
        }
        // Nor how many they are, or how much they say.
        assert_eq!(scene.status(Some(&guest), &Method::GET, "/metrics").await, 403, "{role}");
        let client = testkit::daemon::client(Some(&guest));
        let sent = client.get(scene.api.daemon.url("/v1/health")).send().await.unwrap();
        let told: Value = sent.json().await.unwrap();
        assert_eq!(told["status"], "ok", "{role}: {told}");
        assert_eq!([&told["sessions"], &told["store"]["bytesOnDisk"]], [&Value::Null; 2], "{told}");
        assert_eq!(scene.picture().await, before);
        scene.api.delete("/v1/tokens/guest").await.is(204);
    }
}
