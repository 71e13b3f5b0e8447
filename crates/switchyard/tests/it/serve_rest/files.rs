//! Files of a session's directory, directories to work in, and who one is.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::daemon::client;

use super::Api;
use crate::faults::configured;

fn paths(body: &Value) -> Vec<&str> {
    body["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_found_below_the_session_and_nowhere_else() {
    let api = Api::start().await;
    let work = api.home.work();
    std::fs::create_dir_all(work.join("src/deep")).unwrap();
    std::fs::create_dir_all(work.join("target")).unwrap();
    for file in ["src/main.rs", "src/deep/domain.rs", "target/main.rs", "notes.md"] {
        std::fs::write(work.join(file), "").unwrap();
    }
    std::fs::write(work.join(".gitignore"), "target\n").unwrap();
    std::fs::write(api.home.path().join("main-secret.rs"), "").unwrap();
    std::os::unix::fs::symlink(api.home.path(), work.join("out")).unwrap();
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

fn names(body: &Value) -> Vec<&str> {
    let all = body["directories"].as_array().unwrap().iter();
    all.map(|one| one["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_is_found_from_home_and_a_session_starts_there() {
    let api = Api::start().await;
    let home = api.home.user().canonicalize().unwrap();
    for dir in ["garden/lawn", "garage", ".hidden", "Roof"] {
        std::fs::create_dir_all(home.join(dir)).unwrap();
    }
    std::fs::write(home.join("garlic.txt"), "").unwrap();

    let first = api.get("/v1/directories").await.is(200).body;
    assert_eq!(names(&first), ["garage", "garden", "Roof"]);
    assert_eq!(first["path"], json!(home));
    let found = api.get("/v1/directories?path=~&prefix=GAR").await.is(200).body;
    assert_eq!(names(&found), ["garage", "garden"]);
    let below = api.get("/v1/directories?path=~/garden/").await.is(200).body;
    assert_eq!((names(&below), &below["parent"]), (vec!["lawn"], &json!(home)));

    let new = json!({ "agent": "demo", "cwd": "~/garden/lawn" });
    let made = api.post("/v1/sessions", &new).await.is(201).body;
    assert_eq!(made["cwd"], json!(home.join("garden/lawn")));

    for wrong in ["limit=0", "limit=1001", "other=1", "path=garden"] {
        api.get(&format!("/v1/directories?{wrong}")).await.refused(400, "bad-input");
    }
    api.get("/v1/directories?path=~/none").await.refused(404, "not-found");
    api.get("/v1/directories?path=~/garlic.txt").await.refused(404, "not-found");
    let own = format!("/v1/directories?path={}", api.home.path().display());
    api.get(&own).await.refused(403, "forbidden");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_are_listed_for_those_who_may_work_there_and_for_nobody_else() {
    let home = configured("");
    let config = format!("[serve]\nroots = [\"{}\"]\n", home.work().display());
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    std::fs::create_dir_all(home.work().join("src")).unwrap();
    std::fs::create_dir_all(home.user().join("secret")).unwrap();
    std::os::unix::fs::symlink(home.user(), home.work().join("way-out")).unwrap();
    let api = Api::start_in(home).await;
    let token = async |name: &str, role: &str| {
        let wanted = json!({ "name": name, "role": role, "ownSessions": true });
        let made = api.post("/v1/tokens", &wanted).await.is(201).body;
        client(made["token"].as_str())
    };
    let (phone, wall) = (token("phone", "operator").await, token("wall", "observer").await);
    let ask = async |who: &reqwest::Client, path: &str| {
        let url = api.daemon.url(&format!("/v1/directories?path={path}"));
        let sent = who.get(url);
        let answer = sent.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };

    let (status, begin) = ask(&phone, "").await;
    assert_eq!((status, names(&begin), &begin["parent"]), (200, vec!["src"], &Value::Null));
    let outside = api.home.user();
    let work = api.home.work();
    for path in [
        outside.clone(),
        outside.join("secret"),
        outside.join("none"),
        work.join("way-out"),
        work.join("way-out/secret"),
        work.join("../user"),
        work.join(".."),
        "/".into(),
        "~".into(),
        "~/secret".into(),
    ] {
        let path = path.to_str().unwrap();
        let (status, body) = ask(&phone, path).await;
        assert_eq!(status, 403, "{path}: {body}");
        assert!(!body.to_string().contains("No such file"), "{path}: {body}");
    }
    assert_eq!(ask(&wall, "").await.0, 403);
    assert_eq!(ask(&client(None), "").await.0, 401);
}
