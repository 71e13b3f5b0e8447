//! ACP with many clients: the official SDK over HTTP and WebSocket, lines over TCP and unix.

use crate::acp_alone::{Editor, asked, tapped};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::line_client::LineClient;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::{TestHome, switchyard};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

const DEMO: [&str; 2] = ["--agent", "demo"];

fn endpoint(daemon: &Daemon, scheme: &str) -> String {
    format!("{scheme}://{}/acp", daemon.address())
}

/// The ACP address that the daemon wrote down for others.
pub(crate) fn tcp(home: &TestHome) -> SocketAddr {
    let text = std::fs::read_to_string(home.path().join("run/daemon.json")).unwrap();
    let daemon_info: Value = serde_json::from_str(&text).unwrap();
    daemon_info["tcp"][0].as_str().unwrap().parse().unwrap()
}

/// A client over TCP that was let in and has said hello to the agent.
fn line_client(home: &TestHome, token: &str) -> LineClient {
    let mut client = LineClient::tcp(tcp(home));
    client.result("switchyard/hello", &json!({ "token": token }));
    client.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    client
}

fn new_session(client: &mut LineClient, home: &TestHome) -> String {
    let params = json!({ "cwd": home.work(), "mcpServers": [] });
    let answer = client.result("session/new", &params);
    answer["sessionId"].as_str().unwrap().to_owned()
}

fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

fn is_text(message: &Value, text: &str) -> bool {
    let update = &message["params"]["update"];
    update["sessionUpdate"] == "agent_message_chunk" && update["content"]["text"] == text
}

/// The official TypeScript SDK, which has the conversation of `web/scripts/acp-client.mjs` over the
/// transport of `scheme`. The Rust SDK's transport needs a TLS library that takes a minute to
/// build.
fn the_sdk_converses_over(scheme: &str) {
    let home = home();
    let daemon = Daemon::start_with(&home, &DEMO);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/scripts/acp-client.mjs");
    let mut client = Command::new("node");
    client.args([script, &endpoint(&daemon, scheme)]).arg(home.work());
    client.env("SWITCHYARD_TOKEN", daemon.token().unwrap());
    let told = client.output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}

#[test]
fn the_sdk_over_http_converses_as_over_stdio() {
    the_sdk_converses_over("http");
}

#[test]
fn the_sdk_over_a_web_socket_converses_as_over_stdio() {
    the_sdk_converses_over("ws");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_on_stdio_joins_the_daemon_and_its_session_stays() {
    let home = home();
    let daemon = Daemon::start_with(&home, &DEMO);
    let behavior =
        || ClientBehavior::default().permission(PermissionReply::Allow).files(home.work());
    let editor = SdkClient::ready(home.command(["acp", "demo"]), behavior()).await.unwrap();
    let session = editor.new_session(home.work()).await.unwrap().session_id;
    std::fs::write(home.work().join("note.txt"), "on disk").unwrap();
    let turn = editor.prompt(&session, "say from the editor").await.unwrap();
    assert_eq!(turn.text(), "from the editor");
    let turn = editor.prompt(&session, "pid").await.unwrap();
    let agent_pid = turn.text();
    let (exit, _) = editor.stop().await;
    assert!(exit.success(), "{exit}");

    // The agent is the daemon's: the next editor meets the same process.
    let again = SdkClient::ready(home.command(["acp", "demo"]), behavior()).await.unwrap();
    let (_, replayed) = again.load_session(&session, home.work()).await.unwrap();
    assert!(format!("{replayed:?}").contains("from the editor"));
    assert_eq!(again.prompt(&session, "pid").await.unwrap().text(), agent_pid);
    again.stop().await;
    assert!(daemon.stop().success());
    home.assert_empty_within(testkit::test_home::PATIENCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_sees_what_is_printed_in_terminals_that_it_does_not_have() {
    let home = home();
    let _daemon = Daemon::start_with(&home, &DEMO);
    let editor = || SdkClient::ready(home.command(["acp", "demo"]), ClientBehavior::default());
    let client = editor().await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let line = r#"run sh -c "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second""#;

    let running = client.start_prompt(&session, line);
    client.wait_for(&session, |update| format!("{update:?}").contains(r"```\nfirst\n```")).await;
    std::fs::write(home.work().join("go"), "").unwrap();
    running.finish().await.unwrap();

    // Another one that comes later is told once.
    let again = editor().await.unwrap();
    let (_, replayed) = again.load_session(&session, home.work()).await.unwrap();
    let shown = format!("{replayed:?}");
    assert_eq!(shown.matches(r"```\nfirst\nsecond\n```").count(), 1, "{shown}");
    for client in [client, again] {
        let (_, seen) = client.stop().await;
        let mut told = seen.messages(crate::native::FROM_AGENT);
        assert!(!told.any(|message| message.to_string().contains("terminalId")));
        testkit::Validator::v1().assert_valid(&seen);
    }
}

#[test]
fn all_clients_of_a_session_see_everything_and_the_first_answer_wins() {
    let home = home();
    let daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let token = daemon.token().unwrap();
    let mut first = line_client(&home, token);
    let session = new_session(&mut first, &home);
    let mut second = line_client(&home, token);
    second.result(
        "session/load",
        &json!({ "sessionId": session, "cwd": home.work(), "mcpServers": [] }),
    );

    // Ids of the two clients are two spaces: both ask under the same one.
    first.request("7", "session/prompt", &prompt(&session, "permission"));
    let is_question = |message: &Value| message["method"] == "session/request_permission";
    let said = second
        .wait_for(|message| message["params"]["update"]["sessionUpdate"] == "user_message_chunk");
    assert_eq!(said["params"]["update"]["content"]["text"], "permission");
    let asked_first = first.wait_for(is_question);
    let asked_second = second.wait_for(is_question);

    let option = asked_second["params"]["options"][0]["optionId"].clone();
    let answer = json!({
        "jsonrpc": "2.0", "id": asked_second["id"],
        "result": { "outcome": { "outcome": "selected", "optionId": option } },
    });
    second.send(&answer.to_string());
    let is_resolved = |message: &Value| message["method"] == "_switchyard/permission_resolved";
    for client in [&mut first, &mut second] {
        let resolved = client.wait_for(is_resolved);
        assert_eq!(resolved["params"]["by"]["who"], "client");
        assert_eq!(resolved["params"]["allowed"], true);
    }
    // Too late, and harmless.
    let late = json!({ "jsonrpc": "2.0", "id": asked_first["id"],
        "result": { "outcome": { "outcome": "cancelled" } } });
    first.send(&late.to_string());
    let ended = first.answer_to(&json!(7));
    assert_eq!(ended["result"]["stopReason"], "end_turn");

    second.request("7", "session/prompt", &prompt(&session, "echo to all"));
    first.wait_for(|message| is_text(message, "to all"));
    assert_eq!(second.answer_to(&json!(7))["result"]["stopReason"], "end_turn");
}

#[test]
fn a_prompter_that_leaves_does_not_end_its_turn() {
    let home = home();
    let daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let token = daemon.token().unwrap();
    let mut prompter = line_client(&home, token);
    let session = new_session(&mut prompter, &home);
    prompter.request("1", "session/prompt", &prompt(&session, "say begun\nsleep 500\nsay done"));
    prompter.wait_for(|message| is_text(message, "begun"));
    drop(prompter);
    let mut other = line_client(&home, token);
    other.request(
        "2",
        "session/load",
        &json!({ "sessionId": session, "cwd": home.work(), "mcpServers": [] }),
    );
    other.wait_for(|message| is_text(message, "done"));
}

#[test]
fn an_observer_watches_and_changes_nothing() {
    let home = home();
    let daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let made = home.command(["token", "add", "wall", "--role", "observer"]).output().unwrap();
    let observer_token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let mut actor = line_client(&home, daemon.token().unwrap());
    let session = new_session(&mut actor, &home);
    let mut observer = line_client(&home, &observer_token);
    observer.result(
        "session/load",
        &json!({ "sessionId": session, "cwd": home.work(), "mcpServers": [] }),
    );
    let refused = observer.ask("session/prompt", &prompt(&session, "say no"));
    assert!(refused["error"]["message"].as_str().unwrap().contains("observers"), "{refused}");
    let refused = observer.ask("session/new", &json!({ "cwd": home.work(), "mcpServers": [] }));
    assert!(refused["error"].is_object(), "{refused}");
    observer.notify("session/cancel", &json!({ "sessionId": session }));

    actor.request("1", "session/prompt", &prompt(&session, "permission"));
    let question = actor.wait_for(|message| message["method"] == "session/request_permission");
    let reject = json!({ "jsonrpc": "2.0", "id": question["id"],
        "result": { "outcome": { "outcome": "cancelled" } } });
    actor.send(&reject.to_string());
    actor.answer_to(&json!(1));
    observer.wait_for(|message| {
        // It is never asked itself.
        assert_ne!(message["method"], "session/request_permission");
        message["method"] == "_switchyard/permission_resolved"
    });
}

#[test]
fn nobody_comes_in_by_tcp_without_a_token() {
    let home = home();
    let _daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": 1 } });
    let firsts = [
        initialize.to_string(),
        r#"{"jsonrpc":"2.0","id":1,"method":"switchyard/hello","params":{"token":"wrong"}}"#
            .to_owned(),
        "not json".to_owned(),
    ];
    for first in firsts {
        let mut client = LineClient::tcp(tcp(&home));
        client.send(&first);
        let answer = client.next_message();
        assert_eq!(answer["error"]["code"], -32000, "{first}: {answer}");
        assert!(client.next_line().is_none(), "{first}: it stays connected");
    }
}

#[test]
fn commands_of_network_clients_are_not_run() {
    let home = home();
    let daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let mut client = line_client(&home, daemon.token().unwrap());
    let mark = home.work().join("ran");
    let server = json!({ "name": "evil", "command": "/bin/touch", "args": [mark], "env": [] });
    let params = json!({ "cwd": home.work(), "mcpServers": [server] });
    let refused = client.ask("session/new", &params);
    assert!(refused["error"].is_object(), "{refused}");
    // Nor can it order another agent than those that the daemon knows.
    client.notify("_switchyard/order", &json!({ "command": ["/bin/touch", mark] }));
    let other = json!({ "cwd": home.work(), "mcpServers": [],
        "_meta": { "switchyard": { "agent": "/bin/touch" } } });
    assert!(client.ask("session/new", &other)["error"].is_object());
    new_session(&mut client, &home);
    assert!(!mark.exists());
}

#[test]
fn who_opens_a_session_over_the_network_brings_no_more_than_to_a_new_one() {
    let home = home();
    let root = home.user().join("root");
    std::fs::create_dir(&root).unwrap();
    let roots = format!("[serve]\nroots = [{}]\n", json!(root));
    std::fs::write(home.path().join("switchyard.toml"), roots).unwrap();
    let daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let server = json!({ "name": "mine", "command": "/bin/false", "args": [], "env": [] });
    let words = tapped(&home);
    let mut editor = Editor::start(&home, words.iter().map(String::as_str));
    editor.initialize();
    let new = json!({ "cwd": home.work(), "mcpServers": [server] });
    let session = editor.client.result("session/new", &new)["sessionId"].clone();
    editor.client.result("session/close", &json!({ "sessionId": session }));
    editor.leave();

    let mut client = line_client(&home, daemon.token().unwrap());
    let load = |cwd: &std::path::Path, servers: Value| json!({ "sessionId": session, "cwd": cwd, "mcpServers": servers });
    for refused in [load(&home.work(), json!([server])), load(&home.user(), json!([]))] {
        let answer = client.ask("session/load", &refused);
        assert!(answer["error"].is_object(), "{answer}");
    }
    // Where it works already it may be opened, and the editor's servers are not in the client's
    // hands.
    client.result("session/load", &load(&home.work(), json!([])));
    let opened = asked(&home, "session/resume");
    assert_eq!((opened.len(), &opened[0]["mcpServers"]), (1, &json!([server])), "{opened:?}");
}

#[test]
fn a_client_that_comes_late_is_asked_what_still_waits() {
    let home = home();
    let daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let token = daemon.token().unwrap();
    let mut asker = line_client(&home, token);
    let session = new_session(&mut asker, &home);
    asker.request("1", "session/prompt", &prompt(&session, "permission"));
    asker.wait_for(|message| message["method"] == "session/request_permission");
    drop(asker);
    let mut late = line_client(&home, token);
    let params = json!({ "sessionId": session, "cwd": home.work(), "mcpServers": [] });
    late.request("2", "session/load", &params);
    let question = late.wait_for(|message| message["method"] == "session/request_permission");
    let option = question["params"]["options"][0]["optionId"].clone();
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"],
        "result": { "outcome": { "outcome": "selected", "optionId": option } } });
    late.send(&answer.to_string());
    late.wait_for(|message| {
        let text = message["params"]["update"]["content"]["text"].as_str();
        text.is_some_and(|text| text.contains("allow_once"))
    });
}

fn web_socket(daemon: &Daemon) -> WebSocket<TcpStream> {
    let mut request = endpoint(daemon, "ws").into_client_request().unwrap();
    let bearer = format!("Bearer {}", daemon.token().unwrap());
    request.headers_mut().insert("authorization", bearer.parse().unwrap());
    let stream = TcpStream::connect(daemon.address()).unwrap();
    stream.set_read_timeout(Some(soak::PATIENCE)).unwrap();
    client(request, stream).unwrap().0
}

#[test]
fn messages_of_web_sockets_that_are_never_finished_share_one_limit() {
    let home = home();
    let daemon = Daemon::start_with(&home, &DEMO);
    let (ended, first_end) = std::sync::mpsc::channel();
    // Each is as large as a message may be; four are more than one token may have begun.
    for _ in 0..4 {
        let (mut socket, ended) = (web_socket(&daemon), ended.clone());
        std::thread::spawn(move || {
            let begun = Frame::message(vec![b' '; 15 << 20], OpCode::Data(Data::Text), false);
            let outcome = socket.send(Message::Frame(begun)).and_then(|()| socket.read());
            ended.send(outcome.map_err(|error| error.to_string())).unwrap();
        });
    }
    // Not all close frames outlive the reset behind them.
    let end = first_end.recv_timeout(soak::PATIENCE).expect("all four are kept");
    match end {
        Ok(Message::Close(Some(frame))) => assert_eq!(u16::from(frame.code), 1013, "{frame}"),
        Ok(other) => panic!("{other:?}"),
        Err(_) => {}
    }
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": 1 } });
    let mut socket = web_socket(&daemon);
    // Pings are no part of what is begun.
    socket.send(Message::Ping(vec![0; 100].into())).unwrap();
    assert!(socket.read().unwrap().is_pong());
    socket.send(Message::text(initialize.to_string())).unwrap();
    let answer: Value = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
}

#[test]
fn what_a_revoked_token_says_is_not_heard_once_it_is_revoked() {
    let home = home();
    let _daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let run = |args: &[&str]| home.command(args).output().unwrap();
    let token = String::from_utf8(run(&["token", "add", "phone"]).stdout).unwrap();
    let mut client = line_client(&home, token.trim());
    assert!(run(&["token", "revoke", "phone"]).status.success());
    let params = json!({ "cwd": home.work(), "mcpServers": [] });
    let line = json!({ "jsonrpc": "2.0", "id": 7, "method": "session/new", "params": params });
    let _ = client.try_send_bytes(format!("{line}\n").as_bytes());
    assert!(client.rest().iter().all(|message| message["id"] != 7));
}

#[test]
fn what_still_waits_of_a_revoked_token_is_not_done() {
    let home = home();
    let _daemon = Daemon::start_with(&home, &["--agent", "demo", "--tcp", "127.0.0.1:0"]);
    let run = |args: &[&str]| home.command(args).output().unwrap();
    let token = String::from_utf8(run(&["token", "add", "phone"]).stdout).unwrap();
    let mut client = line_client(&home, token.trim());
    let params = json!({ "cwd": home.work(), "mcpServers": [] });
    let line = |id| {
        let new = json!({ "jsonrpc": "2.0", "id": id, "method": "session/new", "params": params });
        format!("{new}\n")
    };
    client.send_bytes((0..100).map(line).collect::<String>().as_bytes());
    assert!(run(&["token", "revoke", "phone"]).status.success());
    client.rest();
    let listed = run(&["sessions", "list", "--json", "--limit", "200"]).stdout;
    let listed = String::from_utf8(listed).unwrap();
    let n_made = listed.matches("\"agent\"").count();
    assert!(n_made < 100, "all were made: {listed}");
}
