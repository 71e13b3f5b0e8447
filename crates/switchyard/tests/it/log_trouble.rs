//! Trouble with the log itself: everybody who watches is told, what was acknowledged stays, and all
//! goes on when the trouble is over.
//!
//! Real full disks where this user may mount one; elsewhere, and for errors that no disk here has,
//! the daemon's calls of the C library fail (`testkit::disk_faults`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod damage;
mod faults;
mod files;
mod prompts;

use std::process::{Child, Stdio};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::disk_faults::{DiskFault, FaultyCalls, FaultyDisk};
use testkit::event_client::{EventClient, EventQuery, EventTransport};
use testkit::sdk_client::{ClientBehavior, SdkClient};
use testkit::small_disk::SmallDisk;
use testkit::test_home::{PATIENCE, pause_between_polls, wait_until};

use crate::faults::{configured, home};
use crate::faults_disk::small_disk;
use crate::serve_rest::{Api, of_kind, text};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Never ends by itself, and leaves no second without an event.
const TALK: &str = "slow 1000000 5";

/// A daemon on a disk of its own that is soon full; nothing where this user may not mount one.
async fn on_small_disk() -> Option<(Api, SmallDisk)> {
    let home = home();
    let disk = small_disk(&home, "16m")?;
    Some((Api::start_in(home).await, disk))
}

/// A daemon whose disk does as it is told.
async fn on_faulty_disk() -> (Api, FaultyDisk) {
    let (home, disk) = (home(), FaultyDisk::new());
    let mut command = home.command(["serve", "--host", "127.0.0.1:0"]);
    disk.under(&mut command);
    let daemon = Daemon::start_command(&home, command);
    (Api::of(home, daemon).await, disk)
}

/// A session whose turn goes on, and how it began.
async fn talking(api: &Api) -> String {
    let session = api.session().await;
    api.prompt(&session, TALK).await;
    api.until_said(&session, "chunk 3").await;
    session
}

async fn until_health(api: &Api, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let health = api.get("/v1/health").await.body;
        if is_so(&health) {
            return health;
        }
        assert!(std::time::Instant::now() < deadline, "never came true: {health:#}");
        pause_between_polls().await;
    }
}

/// Reads a stream until it says why the session cannot go on.
fn halt_in(client: &mut EventClient) -> String {
    let halted = client.frame_named("session_halted").expect("why nothing follows");
    halted.json()["detail"].as_str().unwrap().to_owned()
}

fn command(api: &Api, args: &[&str]) -> Child {
    let mut command = api.home.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[track_caller]
fn end_of(child: Child) -> (Option<i32>, String) {
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_to_everybody_who_watches() {
    let Some((api, disk)) = on_small_disk().await else { return };
    let session = talking(&api).await;
    let path = format!("/v1/sessions/{session}");
    let streams = [
        (EventTransport::Sse, ""),
        (EventTransport::WebSocket, "format=conversation"),
        (EventTransport::Sse, "format=ui"),
        (EventTransport::WebSocket, "format=envelopes"),
    ];
    let mut streams = streams.map(|(transport, query)| stream(&api, transport, &session, query));
    let mut until_idle = stream(&api, EventTransport::Sse, &session, "until=idle");
    let run = command(&api, &["run", "demo", TALK]);
    let attached = command(&api, &["attach", &session]);
    let editor = api.home.tokio_command(["acp", "demo"]);
    let editor = SdkClient::ready(editor, ClientBehavior::default()).await.unwrap();
    let edited = editor.new_session(api.home.work()).await.unwrap().session_id;
    let editing = editor.start_prompt(&edited, TALK);
    editor.wait_for(&edited, |update| format!("{update:?}").contains("chunk 3")).await;
    let chat = json!({ "agentId": "demo", "message": TALK });
    let mut chat = api.request(Method::POST, "/api/chat").json(&chat).send().await.unwrap();
    let mut told_chat = String::new();
    while !told_chat.contains("chunk 3") {
        let chunk = chat.chunk().await.unwrap().expect("a run that goes on");
        told_chat += &String::from_utf8_lossy(&chunk);
    }
    // Accepted, and to have its turn when there is room again.
    let waiting = json!({ "prompt": "echo now it is my turn", "clientRequestId": "waiting" });
    api.post(&format!("{path}/prompt"), &waiting).await.is(202);

    disk.fill();

    let full = "no space left";
    for client in &mut streams {
        let detail = halt_in(client);
        assert!(detail.contains(full), "{detail}");
    }
    halt_in(&mut until_idle);
    let end = until_idle.frame_named("stream_end").expect("an end").json();
    assert_eq!(end["reason"], "session_halted");
    let (code, said) = end_of(run);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(full) && said.contains("free some"), "{said}");
    let (code, said) = end_of(attached);
    assert!(code == Some(1) && said.contains(full), "{code:?}: {said}");
    let told = editing.finish().await.unwrap_err();
    assert!(format!("{told:?}").contains(full), "{told:?}");
    let chat = chat.text().await.unwrap();
    assert!(chat.contains(full) && chat.contains("\"status\":\"failed\""), "{chat}");

    let now = api.until(&session, |now| now["status"] == "failed").await;
    assert_eq!(now["activeTurn"], Value::Null);
    assert!(now["halted"].as_str().unwrap().contains(full), "{now}");
    let list = api.get("/v1/sessions?status=failed").await.is(200).body;
    assert!(list["sessions"].as_array().unwrap().len() >= 2, "{list}");
    let health = api.get("/v1/health").await.is(503).body;
    assert_eq!(health["status"], "degraded");
    assert_eq!(health["store"]["troubles"][0]["kind"], "disk_full", "{health}");
    let (code, said) = output(&api, &["daemon", "status"]);
    assert!(code == Some(0) && said.contains("trouble   no space left"), "{said}");
    let metrics = api.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("switchyard_store_trouble{kind=\"disk_full\"} 1"), "{metrics}");
    let again = api.post(&format!("{path}/prompt"), &waiting).await.is(202).body;
    assert_eq!(again["fate"], json!({ "state": "waiting" }));

    disk.free();

    until_health(&api, |health| health["status"] == "ok").await;
    api.until_said(&session, "now it is my turn").await;
    api.until_idle(&session).await;
    let events = api.events(&session).await;
    let ended = of_kind(&events, "turn_ended");
    assert_eq!(ended.len(), 2, "{ended:?}");
    let why = ended[0]["payload"]["error"]["message"].as_str().unwrap();
    assert!(why.contains("the log could not keep") && why.contains(full), "{why}");
    let again = api.post(&format!("{path}/prompt"), &waiting).await.is(202).body;
    assert_eq!(again["fate"], json!({ "state": "ended", "stopReason": "end_turn" }));
    // Who stayed hears the rest, and who was told that it failed goes on in the same session.
    for client in &mut streams {
        while !client.next_frame().expect("a stream that stays").data.contains("my turn") {}
    }
    let went_on = editor.prompt(&edited, "echo still here").await.unwrap();
    assert!(went_on.text().contains("still here"), "{went_on:?}");
    editor.stop().await;
}

fn stream(api: &Api, transport: EventTransport, session: &str, query: &str) -> EventClient {
    EventClient::open(&api.daemon, &EventQuery::new(transport, session).query(query))
}

fn output(api: &Api, args: &[&str]) -> (Option<i32>, String) {
    let ended = api.home.command(args).output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    (ended.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_could_not_go_on_can_be_cancelled_meanwhile() {
    let Some((api, disk)) = on_small_disk().await else { return };
    let session = talking(&api).await;
    let path = format!("/v1/sessions/{session}");
    let waiting = json!({ "prompt": "echo not wanted any more", "clientRequestId": "waiting" });
    api.post(&format!("{path}/prompt"), &waiting).await.is(202);
    disk.fill();
    api.until(&session, |now| now["status"] == "failed").await;

    let cancelled = api.post(&format!("{path}/cancel"), &json!({})).await.is(200).body;

    assert_ne!(cancelled["status"], "running");
    disk.free();
    api.until_idle(&session).await;
    let events = api.events(&session).await;
    assert_eq!(of_kind(&events, "prompt_dropped").len(), 1);
    assert!(!text(&events).contains("not wanted"));
    let again = api.post(&format!("{path}/prompt"), &waiting).await.is(202).body;
    assert_eq!(again["fate"], json!({ "state": "dropped" }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_cannot_be_read_is_not_denied() {
    let (api, disk) = on_faulty_disk().await;
    let (session, other) = (api.session().await, api.session().await);
    let paths = ["", "/transcript", "/events", "/queue", "/files"];
    let files = [".db", ".db-wal"];
    disk.fail(&DiskFault { calls: FaultyCalls::READS, error: EIO, every: 1, files });

    for path in paths {
        let path = format!("/v1/sessions/{session}{path}");
        // What the readers have in memory is read anew when somebody writes.
        let deadline = std::time::Instant::now() + PATIENCE;
        let refused = loop {
            let change = json!({ "title": format!("{:?}", std::time::Instant::now()) });
            let change = api.request(Method::PATCH, &format!("/v1/sessions/{other}")).json(&change);
            let _ = change.send().await.unwrap();
            let answer = api.request(Method::GET, &path).send().await.unwrap();
            if !answer.status().is_success() {
                break answer;
            }
            assert!(std::time::Instant::now() < deadline, "{path} is read from memory");
        };
        assert_eq!(refused.status(), 503, "{path}: {}", refused.text().await.unwrap());
    }

    let health = api.get("/v1/health").await.is(503).body;
    let kinds = health["store"]["troubles"].as_array().unwrap().iter();
    assert!(kinds.clone().any(|trouble| trouble["kind"] == "read_failed"), "{health}");
    disk.heal();
    api.get(&format!("/v1/sessions/{session}")).await.is(200);
    api.prompt(&session, "echo still here").await;
    api.until_said(&session, "still here").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_was_removed_takes_nothing_and_loses_nothing() {
    let api = Api::start_in(home()).await;
    let session = talking(&api).await;
    let database = api.home.path().join("switchyard.db");
    let mut watching = stream(&api, EventTransport::Sse, &session, "");

    std::fs::remove_file(&database).unwrap();

    let detail = halt_in(&mut watching);
    assert!(detail.contains("was removed or replaced"), "{detail}");
    let health = until_health(&api, |health| health["status"] == "degraded").await;
    assert_eq!(health["store"]["troubles"][0]["kind"], "files_gone", "{health}");
    let refused = api.post("/v1/sessions", &json!({ "agent": "demo", "cwd": "/tmp" })).await;
    refused.refused(503, "log-unavailable").says("switchyard store restore");
    // As the refusal says.
    let home = api.kill();
    let files = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path());
    let is_saved = |path: &std::path::PathBuf| path.to_string_lossy().contains("switchyard-saved-");
    let saved: Vec<_> = files.filter(is_saved).collect();
    assert_eq!(saved.len(), 1, "{saved:?}");
    let restored = home.command(["store", "restore", "--yes"]).arg(&saved[0]).output().unwrap();
    assert!(restored.status.success() && database.exists(), "{restored:?}");
    let api = Api::start_in(home).await;
    let events = api.events(&session).await;
    assert!(text(&events).contains("chunk 3"), "{events:?}");
    assert_eq!(of_kind(&events, "turn_ended").len(), 1, "{events:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_missing_from_the_database_is_named_until_it_is_deleted() {
    let api = Api::start_in(home()).await;
    let kept = api.session().await;
    let home = api.home;
    assert!(api.daemon.stop().success());
    let database = home.path().join("switchyard.db");
    let older = std::fs::read(&database).unwrap();
    let api = Api::start_in(home).await;
    let lost = api.session().await;
    let home = api.home;
    assert!(api.daemon.stop().success());
    // A database that knows less than the copy of the heads beside it.
    std::fs::write(&database, older).unwrap();
    let _ = std::fs::remove_file(home.path().join("switchyard.db-wal"));

    let api = Api::start_in(home).await;

    let health = api.get("/v1/health").await.is(200).body;
    assert_eq!(health["store"]["lostSessions"], json!([lost]), "{health}");
    let (_, said) = output(&api, &["daemon", "status"]);
    assert!(said.contains(&format!("session {lost} is missing")), "{said}");
    let path = format!("/v1/sessions/{lost}");
    api.get(&path).await.refused(410, "lost").says("restore it from a backup");
    api.get(&format!("{path}/transcript")).await.refused(410, "lost");
    api.get(&format!("/v1/sessions/{kept}")).await.is(200);
    api.delete(&path).await.is(204);
    api.get(&path).await.refused(404, "not-found");
    let health = api.get("/v1/health").await.is(200).body;
    assert_eq!(health["store"].get("lostSessions"), None, "{health}");
}
