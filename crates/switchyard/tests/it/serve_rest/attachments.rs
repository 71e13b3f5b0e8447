//! Files beside a session, over HTTP.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use testkit::proc;
use testkit::test_home::{PATIENCE, switchyard, wait_until};

use super::{Answer, Api, EXE, text};

const MIB: usize = 1 << 20;

async fn upload(api: &Api, session: &str, name: &str, bytes: Vec<u8>) -> Answer {
    let url = api.daemon.url(&format!("/v1/sessions/{session}/attachments"));
    let url = reqwest::Url::parse_with_params(&url, [("name", name)]).unwrap();
    let request = api.client.post(url);
    api.send(request.header("content-type", "application/octet-stream").body(bytes)).await
}

async fn put(api: &Api, session: &str, name: &str, bytes: Vec<u8>) -> Value {
    upload(api, session, name, bytes).await.is(201).body
}

async fn list(api: &Api, session: &str) -> Vec<Value> {
    let listed = api.get(&format!("/v1/sessions/{session}/attachments")).await.is(200).body;
    listed["attachments"].as_array().unwrap().clone()
}

fn dir(api: &Api, session: &str) -> PathBuf {
    api.home.path().join("sessions").join(session).join("attachments")
}

fn n_files(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let count = |path: PathBuf| if path.is_dir() { n_files(&path) } else { 1 };
    entries.flatten().map(|entry| count(entry.path())).sum()
}

/// A picture as far as anybody looks.
fn picture() -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".to_vec(), vec![7; 100]].concat()
}

#[tokio::test]
async fn a_file_is_kept_listed_given_back_and_removed() {
    let api = Api::start().await;
    let session = api.session().await;
    let bytes: Vec<u8> = (0..3 * MIB).map(|n| u8::try_from(n % 253).unwrap()).collect();

    let attachment = put(&api, &session, "größe.bin", bytes.clone()).await;

    assert_eq!(
        (&attachment["name"], &attachment["size"]),
        (&json!("größe.bin"), &json!(bytes.len()))
    );
    assert_eq!(list(&api, &session).await, std::slice::from_ref(&attachment));
    let path = format!("/v1/sessions/{session}/attachments/{}", attachment["id"].as_str().unwrap());
    let got = api.request(Method::GET, &path).send().await.unwrap();
    let header = |name: &str| got.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("content-security-policy"), "sandbox; default-src 'none'");
    assert_eq!(header("content-disposition"), "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.bin");
    assert_eq!(got.bytes().await.unwrap(), bytes);

    api.delete(&path).await.is(204);
    api.delete(&path).await.refused(404, "not-found");
    api.get(&path).await.refused(404, "not-found");
    assert_eq!(n_files(&dir(&api, &session)), 0);
}

#[tokio::test]
async fn files_go_with_their_session_and_survive_the_daemon() {
    let api = Api::start().await;
    let (kept, deleted) = (api.session().await, api.session().await);
    put(&api, &kept, "a.txt", b"kept".to_vec()).await;
    put(&api, &deleted, "a.txt", b"deleted".to_vec()).await;
    api.delete(&format!("/v1/sessions/{deleted}")).await.is(204);
    assert!(!api.home.path().join("sessions").join(&deleted).exists());
    // A session that another way deleted.
    let orphan = api.home.path().join("sessions/a2345678901234567890123456/attachments");
    std::fs::create_dir_all(&orphan).unwrap();

    let api = api.restart().await;

    assert_eq!(list(&api, &kept).await.len(), 1);
    assert!(!orphan.exists());
}

#[tokio::test]
async fn a_prompt_gives_its_attachments_to_the_agent() {
    let api = Api::start().await;
    let session = api.session().await;
    let mut ids = Vec::new();
    for (name, bytes) in [
        ("photo", picture()),
        ("notes.md", b"# Notes".to_vec()),
        ("data.bin", vec![0, 1, 2]),
        ("long.txt", vec![b'a'; 2 * MIB]),
    ] {
        ids.push(put(&api, &session, name, bytes).await["id"].clone());
    }
    let path = format!("/v1/sessions/{session}/prompt");
    let prompt = json!({ "prompt": "echo seen", "attachments": ids, "clientRequestId": "r" });
    api.post(&path, &prompt).await.is(202);
    api.until_idle(&session).await;

    let said = text(&api.events(&session).await);
    assert!(said.contains("[image image/png, 108 bytes]"), "{said}");
    assert!(said.contains("/notes.md, 7 bytes of text]"), "{said}");
    for name in ["data.bin", "long.txt"] {
        let link = said.split(&format!("[link {name}, file://")).nth(1).expect(name);
        let path = link.split(']').next().unwrap();
        assert!(Path::new(path).is_file(), "{path}");
    }
    assert!(said.ends_with("seen"));

    // Again, when one of them is gone: it is the same prompt.
    let gone = format!("/v1/sessions/{session}/attachments/{}", ids[0].as_str().unwrap());
    api.delete(&gone).await.is(204);
    assert_eq!(api.post(&path, &prompt).await.is(202).body["reused"], true);
    let other = json!({ "prompt": "echo x", "attachments": [ids[0]] });
    api.post(&path, &other).await.refused(400, "bad-input").says(ids[0].as_str().unwrap());
    let many = json!({ "prompt": "echo x", "attachments": vec!["x"; 33] });
    api.post(&path, &many).await.refused(400, "bad-input");
    let twice = json!({ "prompt": "echo x", "attachments": [ids[1], ids[1]] });
    api.post(&path, &twice).await.refused(400, "bad-input").says("named twice");
}

#[tokio::test]
async fn attachments_count_as_long_as_they_are_in_the_prompt() {
    let api = Api::start().await;
    let session = api.session().await;
    let mut ids = Vec::new();
    for n in 0..4 {
        // Six times as long in JSON.
        ids.push(put(&api, &session, &format!("{n}.txt"), vec![1; MIB]).await["id"].clone());
    }
    let prompt = json!({ "prompt": "echo seen", "attachments": ids });
    api.post(&format!("/v1/sessions/{session}/prompt"), &prompt).await.is(202);
    api.until_idle(&session).await;

    let said = text(&api.events(&session).await);
    assert_eq!(said.matches("bytes of text]").count(), 2, "of 16 MiB: {said}");
    assert_eq!(said.matches("[link ").count(), 2, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_waits_for_its_agent_holds_no_attachment_open() {
    let home = switchyard(EXE);
    let silent = "[agents.silent]\ncommand = \"sleep\"\nargs = [\"1000\"]\n";
    std::fs::write(home.path().join("switchyard.toml"), silent).unwrap();
    let api = Api::start_in(home).await;
    let new = json!({ "agent": "silent", "cwd": api.home.work(), "startsLater": true });
    let made = api.post("/v1/sessions", &new).await.is(201).body;
    let session = made["id"].as_str().unwrap();
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(put(&api, session, &format!("{n}.txt"), b"text".to_vec()).await["id"].clone());
    }
    let url = api.daemon.url(&format!("/v1/sessions/{session}/prompt"));
    let prompt = json!({ "prompt": "hello", "attachments": ids });
    let prompting = tokio::spawn(api.client.post(&url).json(&prompt).send());

    let is_agent = |pid: &u32| proc::command_line(*pid).contains("sleep");
    let has_agent = || proc::descendants(api.daemon.pid()).iter().any(is_agent);
    assert!(wait_until(PATIENCE, has_agent));

    let fds = std::fs::read_dir(format!("/proc/{}/fd", api.daemon.pid())).unwrap();
    let open = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    let open: Vec<_> = open.filter(|path| path.starts_with(dir(&api, session))).collect();
    assert_eq!(open, Vec::<PathBuf>::new());
    assert!(!prompting.is_finished());
}

#[tokio::test]
async fn an_agent_reads_a_linked_file_and_cannot_change_it() {
    let api = Api::start().await;
    let session = api.session().await;
    let id = put(&api, &session, "notes.md", b"# Notes".to_vec()).await["id"].clone();
    let path = dir(&api, &session).join(id.as_str().unwrap()).join("notes.md");
    let secret = api.home.path().join("token");

    let script = format!("read {0}\nwrite {0} other\nread {1}", path.display(), secret.display());
    api.prompt(&session, &script).await;
    api.until_idle(&session).await;

    let said = text(&api.events(&session).await);
    assert!(said.contains("# Notes"), "{said}");
    assert_eq!(said.matches("outside the session's directories").count(), 2, "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# Notes");
}

#[tokio::test]
async fn an_attachment_belongs_to_one_session() {
    let api = Api::start().await;
    let (mine, other) = (api.session().await, api.session().await);
    let id = put(&api, &mine, "a.txt", b"mine".to_vec()).await["id"].clone();
    let path = format!("/v1/sessions/{other}/attachments/{}", id.as_str().unwrap());
    api.get(&path).await.refused(404, "not-found");
    let prompt = json!({ "prompt": "echo x", "attachments": [id] });
    let path = format!("/v1/sessions/{other}/prompt");
    api.post(&path, &prompt).await.refused(400, "bad-input");
}

#[tokio::test]
async fn large_files_are_refused_and_leave_nothing() {
    let api = Api::start().await;
    let session = api.session().await;
    let limits = api.get("/v1/capabilities").await.is(200).body["limits"].clone();
    let most = usize::try_from(limits["attachmentBytes"].as_u64().unwrap()).unwrap();

    // Announced.
    let path = format!("/v1/sessions/{session}/attachments");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/octet-stream\r\n\
         authorization: Bearer {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        api.daemon.address(),
        api.daemon.token().unwrap_or("none"),
        most + 1
    );
    let answer = raw(&api, head.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");

    // Not announced.
    let chunk = vec![b'x'; MIB];
    let chunks = (0..=most / MIB).map(move |_| Ok::<_, std::io::Error>(chunk.clone()));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    // A client of its own: the connection is of no use afterwards.
    let client = testkit::daemon::client(api.daemon.token());
    let request = client.post(api.daemon.url(&path));
    let request = request.header("content-type", "application/octet-stream");
    // The daemon may close the connection while we still send.
    if let Ok(answer) = request.body(body).send().await {
        assert_eq!(answer.status(), 413);
    }
    assert_eq!(list(&api, &session).await, Vec::<Value>::new());
    assert_eq!(n_files(&dir(&api, &session)), 0);
    put(&api, &session, "a.txt", b"small".to_vec()).await;
}

/// Sends bytes and reads to the end.
fn raw(api: &Api, bytes: &[u8]) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(api.daemon.address()).unwrap();
    stream.set_read_timeout(Some(testkit::test_home::PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_leaves_nothing() {
    use std::io::Write as _;
    let api = Api::start().await;
    let session = api.session().await;
    let head = format!(
        "POST /v1/sessions/{session}/attachments?name=half.bin HTTP/1.1\r\nhost: {}\r\n\
         authorization: Bearer {}\r\ncontent-type: application/octet-stream\r\n\
         content-length: 1000000\r\n\r\nhalf of it",
        api.daemon.address(),
        api.daemon.token().unwrap_or("none"),
    );
    let mut stream = std::net::TcpStream::connect(api.daemon.address()).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let dir = dir(&api, &session);
    let patience = testkit::test_home::PATIENCE;
    assert!(testkit::test_home::until(patience, || n_files(&dir) == 1).await);
    drop(stream);
    assert!(testkit::test_home::until(patience, || n_files(&dir) == 0).await);
}

#[tokio::test]
async fn hostile_names_stay_names() {
    let api = Api::start().await;
    let session = api.session().await;
    for name in
        ["../../../../tmp/evil", "/etc/passwd", "..", "a/../../b", ".ssh", "-rf", "a\r\nb: c"]
    {
        let attachment = put(&api, &session, name, b"x".to_vec()).await;
        let shown = attachment["name"].as_str().unwrap();
        assert!(!shown.contains(['/', '\r', '\n']) && shown != "..", "{shown:?}");
        let path =
            format!("/v1/sessions/{session}/attachments/{}", attachment["id"].as_str().unwrap());
        let got = api.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(got.text().await.unwrap(), "x");
    }
    assert_eq!(n_files(&dir(&api, &session)), 14, "a file and a note each, and all of them inside");
    upload(&api, &session, "a\0b", b"x".to_vec()).await.refused(400, "bad-input");
    upload(&api, &session, &"a".repeat(2000), b"x".to_vec()).await.refused(400, "bad-input");
    let path = format!("/v1/sessions/{session}/attachments");
    api.post(&path, &json!({})).await.refused(415, "unsupported-media-type");
    for id in ["..", "../../../token", "..%2F..%2Ftoken", "%2e%2e", "x.json"] {
        let path = format!("/v1/sessions/{session}/attachments/{id}");
        assert_ne!(api.request(Method::GET, &path).send().await.unwrap().status(), 200, "{id}");
    }
}

#[tokio::test]
async fn a_planted_link_is_not_followed() {
    let api = Api::start().await;
    let session = api.session().await;
    let secret = api.home.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let id =
        put(&api, &session, "a.txt", b"plain".to_vec()).await["id"].as_str().unwrap().to_owned();
    let file = dir(&api, &session).join(&id).join("a.txt");
    std::fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();

    let path = format!("/v1/sessions/{session}/attachments/{id}");
    api.get(&path).await.refused(404, "not-found");
    let prompt = json!({ "prompt": "echo x", "attachments": [id] });
    api.post(&format!("/v1/sessions/{session}/prompt"), &prompt).await.refused(400, "bad-input");
    api.delete(&path).await.is(204);
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");

    let dir = dir(&api, &session);
    std::fs::remove_dir_all(&dir).unwrap();
    let elsewhere = api.home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &dir).unwrap();
    upload(&api, &session, "a.txt", b"x".to_vec()).await.refused(503, "files-unavailable");
    assert_eq!(n_files(&elsewhere), 0);
}
