//! Files that come before their run, in forms as a browser sends them.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::test_home::switchyard;

use super::{EXE, Studio, say, status_of, with};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A form of `multipart/form-data`: names, file names, contents.
fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, content) in parts {
        let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        let head =
            format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--edge--\r\n");
    body
}

async fn send(client: &reqwest::Client, url: &str, body: Vec<u8>) -> (u16, Value) {
    let kind = "multipart/form-data; boundary=edge";
    let request = client.post(url).header("content-type", kind).body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default())
}

#[tokio::test]
async fn files_come_into_the_project_and_a_run_can_name_them() {
    let studio = Studio::start();
    let url = studio.daemon.url("/api/projects/site/upload");
    let body = form(&[
        ("dir", None, b"assets"),
        ("files", Some("../../a b.png"), PNG),
        ("files", Some("notes.md"), b"# notes"),
        ("files", Some("notes.md"), b"# others"),
    ]);
    let (status, answer) = send(&studio.client, &url, body).await;
    assert_eq!(status, 200, "{answer}");
    let files = answer["files"].as_array().unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["assets/a_b.png", "assets/notes.md", "assets/notes-2.md"]);
    assert_eq!(files[0]["originalName"], "a b.png");
    assert_eq!((&files[0]["kind"], &files[1]["kind"]), (&json!("image"), &json!("file")));
    assert_eq!(files[1]["size"], 7);
    let project = studio.projects().join("site");
    assert_eq!(std::fs::read(project.join("assets/notes-2.md")).unwrap(), b"# others");

    let named = json!({ "projectId": "site", "attachments": paths, "images": [paths[0]] });
    let frames = studio.finished(&with(say("say hi"), named)).await;
    assert_eq!(status_of(&frames), "succeeded");
}

#[tokio::test]
async fn an_image_that_came_first_goes_with_the_run_that_names_it() {
    let (studio, record) = Studio::tapped(switchyard(EXE), "");
    let url = studio.daemon.url("/api/upload");
    let (status, answer) =
        send(&studio.client, &url, form(&[("images", Some("shot.png"), PNG)])).await;
    assert_eq!(status, 200, "{answer}");
    let path = answer["files"][0]["path"].as_str().unwrap();
    assert!(std::path::Path::new(path).is_absolute(), "{path}");

    let named = json!({ "agentId": "heard", "imagePaths": [path] });
    let frames = studio.finished(&with(say("say hi"), named.clone())).await;
    assert_eq!(status_of(&frames), "succeeded");
    let heard = std::fs::read_to_string(&record).unwrap();
    assert!(heard.contains("attachments") && heard.contains("shot.png"), "{heard}");

    let (status, answer) =
        send(&studio.client, &url, form(&[("images", Some("shot.txt"), b"text")])).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("BAD_REQUEST")), "{answer}");

    // Not to somebody who sees only its own.
    let other = studio.client_of(&["other", "--own-sessions"]);
    let body = with(say("say hi"), named);
    let url = studio.daemon.url("/api/runs");
    let (status, answer) = super::ask(&other, Method::POST, &url, Some(&body)).await;
    assert_eq!(status, 400, "{answer}");
}

#[tokio::test]
async fn forms_that_make_no_sense_are_refused_and_leave_nothing() {
    let studio = Studio::start();
    let url = studio.daemon.url("/api/projects/site/upload");
    for body in [
        form(&[]),
        form(&[("other", Some("a.png"), PNG)]),
        form(&[("dir", None, b"../x"), ("files", Some("a.png"), PNG)]),
        form(&[("files", Some("a.png"), PNG), ("dir", None, b"../x")]),
        form(&[("files", Some("a.png"), PNG), ("files", Some("opencode.json"), b"{}")]),
        form(&[("files", Some(".mcp.json"), b"{}")]),
        form(&[("files", Some("config"), b"[core]"), ("files", Some("HEAD"), b"ref: refs/x")]),
        form(&[("dir", None, &[b'a'; 4000]), ("files", Some("a.png"), PNG)]),
        form(&[("files", Some("a.png"), PNG)])[..60].to_vec(),
        b"nonsense".to_vec(),
    ] {
        let (status, answer) = send(&studio.client, &url, body).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("BAD_REQUEST")), "{answer}");
    }
    let left = std::fs::read_dir(studio.projects().join("site")).map_or(0, Iterator::count);
    assert_eq!(left, 0);

    let observer = studio.client_of(&["looks", "--role", "observer"]);
    let body = form(&[("files", Some("a.png"), PNG)]);
    assert_eq!(send(&observer, &url, body.clone()).await.0, 403);
    assert_eq!(send(&reqwest::Client::new(), &url, body).await.0, 401);
    let json = studio.client.post(&url).json(&json!({})).send().await.unwrap();
    assert_eq!(json.status(), 415);
}
