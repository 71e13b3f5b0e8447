//! Projects and files, named by people who want more than theirs.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{Studio, ask, say, status_of, text, with};

#[tokio::test]
async fn a_project_never_leaves_its_root() {
    let studio = Studio::start();
    let outside = studio.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, studio.projects().join("planted")).unwrap();
    std::fs::write(studio.projects().join("file"), "").unwrap();

    let long = "x".repeat(65);
    for id in [
        "..",
        ".",
        "../outside",
        "a/b",
        "/tmp",
        "..%2foutside",
        "a\\b",
        "-a",
        ".a",
        "a..b",
        "a b",
        "ü",
        "a\u{202e}b",
        &long,
        "planted",
        "file",
    ] {
        let refused = studio.refused(&with(say("cwd"), json!({ "projectId": id }))).await;
        assert_eq!((refused.0, &*refused.1), (400, "BAD_REQUEST"), "{id}");
    }

    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(studio.get("/v1/sessions").await["sessions"], json!([]));
    let frames = studio.finished(&with(say("cwd"), json!({ "projectId": "mine" }))).await;
    let cwd = studio.projects().canonicalize().unwrap().join("mine");
    assert!(text(&frames).contains(cwd.to_str().unwrap()), "{}", text(&frames));
}

#[tokio::test]
async fn a_link_planted_later_is_refused_too() {
    let studio = Studio::start();
    let body = |talk: &str| with(say("cwd"), json!({ "projectId": "p", "conversationId": talk }));
    assert_eq!(status_of(&studio.finished(&body("a")).await), "succeeded");
    let outside = studio.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let project = studio.projects().join("p");

    std::fs::rename(&project, studio.home.path().join("moved")).unwrap();
    symlink(&outside, &project).unwrap();

    for talk in ["a", "b"] {
        assert_eq!(studio.refused(&body(talk)).await.0, 400, "{talk}");
    }
}

#[tokio::test]
async fn attachments_are_files_of_the_project() {
    let studio = Studio::start();
    let project = studio.projects().join("p");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("notes.md"), "# Notes").unwrap();
    std::fs::write(studio.home.path().join("secret"), "s").unwrap();
    symlink("../../secret", project.join("out")).unwrap();
    symlink("notes.md", project.join("in")).unwrap();
    let body =
        |files: Value| with(say("echo-prompt"), json!({ "projectId": "p", "attachments": files }));

    let bad = ["../../secret", "/etc/passwd", "out", "gone.txt"];
    let (status, code, error) = studio.refused(&body(json!(bad))).await;
    assert_eq!((status, &*code), (400, "BAD_REQUEST"));
    assert_eq!(error["details"]["files"], json!(bad));
    for name in bad {
        assert!(error["message"].as_str().unwrap().contains(name), "{error}");
    }

    let frames = studio.finished(&body(json!(["notes.md", { "path": "in" }]))).await;
    let said = text(&frames);
    let uri = format!("file://{}/notes.md", project.canonicalize().unwrap().display());
    assert!(said.contains("resource_link") && said.contains(&uri), "{said}");
}

#[tokio::test]
async fn images_come_from_the_project_or_the_session_itself() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n not much of a picture";
    let studio = Studio::start();
    let project = studio.projects().join("p");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("a.png"), PNG).unwrap();
    std::fs::write(project.join("text.png"), "no picture").unwrap();
    let elsewhere = studio.home.path().join("b.png");
    std::fs::write(&elsewhere, PNG).unwrap();
    let body = |images: Value| {
        let more = json!({ "projectId": "p", "conversationId": "c", "images": images });
        with(say("echo-prompt"), more)
    };

    for bad in ["text.png", "../../b.png", elsewhere.to_str().unwrap(), "gone.png"] {
        let (status, _, error) = studio.refused(&body(json!([bad]))).await;
        assert_eq!((status, &error["details"]["files"]), (400, &json!([bad])));
    }
    let frames = studio.finished(&body(json!(["a.png"]))).await;
    assert!(text(&frames).contains("\"image/png\""), "{}", text(&frames));

    let run = studio.get(&format!("/api/runs/{}", frames[0].data["runId"].as_str().unwrap())).await;
    let session = run["sessionId"].as_str().unwrap();
    let upload = studio.daemon.url(&format!("/v1/sessions/{session}/attachments?name=up.png"));
    let request = studio.client.post(upload).header("content-type", "image/png").body(PNG);
    let uploaded: Value = request.send().await.unwrap().json().await.unwrap();
    let id = uploaded["id"].as_str().unwrap();
    let root = studio.home.path().join("sessions").join(session).join("attachments");
    let path = root.join(id).join("up.png");
    assert!(path.is_file(), "{uploaded}");
    let frames = studio.finished(&body(json!([path.to_str().unwrap()]))).await;
    assert!(text(&frames).contains("\"image/png\""), "{}", text(&frames));
    let other = with(body(json!([path.to_str().unwrap()])), json!({ "conversationId": "d" }));
    assert_eq!(studio.refused(&other).await.0, 400, "of another session");
}

#[tokio::test]
async fn who_sees_only_its_own_sees_only_its_own() {
    let studio = Studio::start();
    let theirs = studio.client_of(&["guest", "--role", "operator", "--own-sessions"]);
    let watcher = studio.client_of(&["wall", "--role", "observer"]);
    let body = with(say("cwd"), json!({ "projectId": "p", "conversationId": "c" }));
    let mine = studio.run(&body).await;
    let runs = studio.daemon.url("/api/runs");

    let (status, created) = ask(&theirs, reqwest::Method::POST, &runs, Some(&body)).await;
    let own = created["runId"].as_str().unwrap();

    assert_eq!(status, 202);
    assert_ne!(own, mine);
    let frames = studio.events(own).await.rest().await;
    assert!(text(&frames).contains("projects/@guest@"), "{}", text(&frames));
    let (status, _) = ask(&theirs, reqwest::Method::GET, &format!("{runs}/{mine}"), None).await;
    assert_eq!(status, 404);
    let cancel = format!("{runs}/{mine}/cancel");
    assert_eq!(ask(&theirs, reqwest::Method::POST, &cancel, None).await.0, 404);
    let (_, listed) = ask(&theirs, reqwest::Method::GET, &runs, None).await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    assert_eq!(listed["runs"][0]["id"], own);

    let (status, refused) = ask(&watcher, reqwest::Method::POST, &runs, Some(&body)).await;
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("FORBIDDEN")));
    assert_eq!(ask(&watcher, reqwest::Method::POST, &cancel, None).await.0, 403);
    let (_, listed) = ask(&watcher, reqwest::Method::GET, &runs, None).await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
    let nobody = testkit::daemon::client(None);
    assert_eq!(ask(&nobody, reqwest::Method::GET, &runs, None).await.0, 401);
}
