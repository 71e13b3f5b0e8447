//! Files of a session's directory, and who one is.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::daemon::client;

use super::Api;

fn paths(body: &Value) -> Vec<&str> {
    body["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_found_below_the_session_and_nowhere_else() {
    let api = Api::start().await;
    let work = api.yard.work();
    std::fs::create_dir_all(work.join("src/deep")).unwrap();
    std::fs::create_dir_all(work.join("target")).unwrap();
    for file in ["src/main.rs", "src/deep/domain.rs", "target/main.rs", "notes.md"] {
        std::fs::write(work.join(file), "").unwrap();
    }
    std::fs::write(work.join(".gitignore"), "target\n").unwrap();
    std::fs::write(api.yard.home().join("main-secret.rs"), "").unwrap();
    std::os::unix::fs::symlink(api.yard.home(), work.join("out")).unwrap();
    let session = api.session().await;
    let find = |query: &str| format!("/v1/sessions/{session}/files?{query}");

    let found = api.get(&find("query=main")).await.is(200).body;
    assert_eq!(paths(&found), ["src/main.rs", "src/deep/domain.rs"]);
    assert_eq!(found["isComplete"], true);
    let all = api.get(&find("")).await.is(200).body;
    assert_eq!(paths(&all), ["notes.md", ".gitignore", "src/main.rs", "src/deep/domain.rs"]);
    assert_eq!(paths(&api.get(&find("limit=1")).await.is(200).body).len(), 1);
    assert!(paths(&api.get(&find("query=../main-secret")).await.is(200).body).is_empty());

    for wrong in ["limit=0", "limit=201", "other=1", &format!("query={}", "x".repeat(201))] {
        api.get(&find(wrong)).await.refused(400, "bad-input");
    }
    api.get("/v1/sessions/none/files").await.refused(404, "not-found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_is_told_who_they_are_and_observers_find_no_files() {
    let api = Api::start().await;
    let session = api.session().await;
    let you = api.get("/v1/capabilities").await.is(200).body["you"].clone();
    assert_eq!(you, json!({ "name": "admin", "role": "admin", "ownSessions": false }));

    let wall = json!({ "name": "wall", "role": "observer" });
    let token = api.post("/v1/tokens", &wall).await.is(201).body["token"].clone();
    let wall = client(token.as_str());
    let url = |path: &str| api.daemon.url(path);
    let told: Value = wall.get(url("/v1/capabilities")).send().await.unwrap().json().await.unwrap();
    assert_eq!(told["you"], json!({ "name": "wall", "role": "observer", "ownSessions": false }));
    let path = url(&format!("/v1/sessions/{session}/files"));
    assert_eq!(wall.request(Method::GET, path).send().await.unwrap().status(), 403);
}
