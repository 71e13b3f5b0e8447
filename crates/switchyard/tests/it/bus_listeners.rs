//! Who gets in: listeners, sockets, tokens, limits, and descriptors that must not travel.
//!
//! In: connections of all kinds to a running bus. Out: who was served, who was refused and how.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{
    Bus, OVERLOADED, Stage, assert_refused, assert_served, bus, pid_of, pool, session,
};
use serde_json::{Value, json};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use testkit::line_client::LineClient;
use testkit::test_home::{PATIENCE, wait_until};

const TOKEN: &str = "a token that nobody guesses, 0123456789abcdef";

/// A bus on TCP that wants the token; its workers note what they hear.
fn guarded(limits: &str) -> Bus {
    let settings = "workers = 1\nargs = [\"--log\", \"heard\"]";
    let stage = Stage::new(&format!("{}[limits]\n{limits}\n", pool(settings)));
    let file = stage.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let recording = stage.path().join("recording");
    let stage = stage.arg("--tcp").arg("127.0.0.1:0").arg("--token-file").arg(file);
    let bus = stage.arg("--record").arg(recording).start();
    bus.listens("tcp");
    bus
}

fn hello(token: &str) -> Value {
    json!({ "token": token })
}

#[track_caller]
fn assert_shut_out(mut client: LineClient, id: &Value) {
    let answers = client.rest();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!((&answers[0]["error"]["code"], &answers[0]["id"]), (&json!(-32000), id));
}

#[track_caller]
fn assert_token_stayed_outside(bus: &Bus) {
    let heard = std::fs::read_to_string(bus.home().work().join("heard")).unwrap();
    assert!(!heard.contains(TOKEN), "{heard}");
    let recorded = std::fs::read_to_string(bus.home().path().join("recording")).unwrap();
    assert!(!recorded.contains(TOKEN), "{recorded}");
    assert!(!bus.said().contains(TOKEN), "{}", bus.said());
}

#[test]
fn the_right_token_opens_the_door() {
    let bus = guarded("");
    let [mut asking, mut telling, mut hasty] = std::array::from_fn(|_| bus.tcp_client());
    assert_eq!(asking.result("switchyard/hello", &hello(TOKEN)), json!({}));
    assert_served(&mut asking);
    // A notification is not answered.
    telling.notify("switchyard/hello", &hello(TOKEN));
    assert_served(&mut telling);
    assert_eq!(telling.put_aside().count(), 0);
    // With what follows, in one breath.
    hasty.send_bytes(
        format!(
            "{}\n{}\n",
            json!({ "jsonrpc": "2.0", "method": "switchyard/hello", "params": hello(TOKEN) }),
            r#"{"jsonrpc":"2.0","id":1,"method":"any/thing"}"#
        )
        .as_bytes(),
    );
    assert_eq!(hasty.next_message()["id"], 1);
    assert_token_stayed_outside(&bus);
    bus.finish([asking, telling, hasty]);
}

#[test]
fn a_token_is_made_for_its_user_alone() {
    let stage = Stage::new(&pool("workers = 1"));
    let socket = stage.socket();
    let stage = stage.arg("--tcp").arg("127.0.0.1:0").arg("--unix").arg(socket);
    let bus = stage.start().ready();
    let file = bus.home().path().join("bus-token");
    assert!(bus.said().contains(file.to_str().unwrap()), "{}", bus.said());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(token.len() >= 32 && !bus.said().contains(&token), "{}", bus.said());
    let mut client = bus.tcp_client();
    client.result("switchyard/hello", &hello(&token));
    assert_served(&mut client);
    // Who can open the socket's file needs none.
    let mut local = bus.client();
    assert_served(&mut local);
    bus.finish([client, local]);
}

#[test]
fn a_client_that_knows_only_acp_gives_its_token_in_initialize() {
    let bus = guarded("");
    let mut client = bus.tcp_client();
    let meta = json!({ "switchyard": { "token": TOKEN }, "kept": true });
    let params = json!({ "protocolVersion": 1, "_meta": meta });
    let answer = client.result("initialize", &params);
    assert_eq!(answer["protocolVersion"], 1);
    let told = &answer["_meta"]["told"];
    assert_eq!(told["_meta"]["kept"], true, "{told}");
    assert!(!told.to_string().contains(TOKEN), "{told}");
    assert_served(&mut client);
    let own = session(&mut client);
    client.result("x/notify", &json!({ "sessionId": own.name, "n": 2 }));
    assert_token_stayed_outside(&bus);
    bus.finish([client]);
}

#[test]
fn without_the_right_token_nobody_gets_in_and_nothing_reaches_a_worker() {
    let bus = guarded("");
    let wrong = format!("{}x", &TOKEN[..TOKEN.len() - 1]);
    for token in [&wrong, "", &TOKEN[..10], &format!("{TOKEN}x")] {
        let mut client = bus.tcp_client();
        client.request("\"h\"", "switchyard/hello", &hello(token));
        client.request("2", "x/secret", &json!({}));
        assert_shut_out(client, &json!("h"));
        let mut client = bus.tcp_client();
        let meta = json!({ "switchyard": { "token": token } });
        client.request("0", "initialize", &json!({ "protocolVersion": 1, "_meta": meta }));
        assert_shut_out(client, &json!(0));
    }
    for (line, id) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"x/secret"}"#, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"switchyard/hello"}"#, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"switchyard/hello","params":{"token":5}}"#, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#, json!(7)),
    ] {
        let mut client = bus.tcp_client();
        client.send(line);
        assert_shut_out(client, &id);
    }
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"{bad\n", b"\x16\x03\x01\x00\n", b"\n\n\n"] {
        let mut client = bus.tcp_client();
        client.send_bytes(bytes);
        client.finish_sending();
        assert!(client.rest().iter().all(|answer| answer.get("error").is_some()));
    }
    let mut client = bus.tcp_client();
    client.result("switchyard/hello", &hello(TOKEN));
    assert_served(&mut client);
    let heard = std::fs::read_to_string(bus.home().work().join("heard")).unwrap();
    assert_eq!(heard.lines().count(), 1, "{heard}");
    bus.finish([client]);
}

#[test]
fn who_says_no_hello_is_not_waited_for() {
    let bus = guarded("hello_timeout = \"3s\"");
    let mut friend = bus.tcp_client();
    friend.result("switchyard/hello", &hello(TOKEN));
    let mut silent = bus.tcp_client();
    let mut slow = bus.tcp_client();
    slow.send_bytes(b"{\"jsonrpc\":\"2.0\",\"method\":\"switchyard/hel");
    for client in [&mut silent, &mut slow] {
        assert!(client.rest().iter().all(|answer| answer.get("error").is_some()));
    }
    assert_served(&mut friend);
    bus.finish([friend, silent, slow]);
}

#[test]
fn a_hello_says_which_pool_is_meant() {
    let second = pool("workers = 1").replace("\"echo\"", "\"second\"");
    let bus = bus(&format!("{}{second}", pool("workers = 1")));
    let mut pids = Vec::new();
    for name in ["echo", "second", "echo"] {
        let mut client = bus.tcp_client();
        client.result("switchyard/hello", &json!({ "pool": name }));
        pids.push(client.result("x/pid", &json!({}))["pid"].clone());
    }
    assert_eq!(pids[0], pids[2]);
    assert_ne!(pids[0], pids[1]);
    // Nobody can say which is meant.
    assert_refused(&bus.client().ask("x/pid", &json!({})), -32014, "no_route");
    bus.finish([]);
}

#[test]
fn without_a_token_only_this_machine_may_come() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let stage = Stage::new(&pool("workers = 1")).arg("--tcp").arg(address).arg("--no-token");
        let (code, said) = stage.run();
        assert!(code.is_some_and(|code| code != 0), "{said}");
        assert!(said.contains("--no-token") && said.contains("loopback"), "{said}");
        assert!(!said.contains("listening"), "{said}");
    }
}

#[test]
fn a_unix_socket_is_its_owners_and_goes_with_the_bus() {
    let stage = Stage::new(&pool("workers = 1")).with_sockets();
    let path = stage.socket();
    // Left by one that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let bus = stage.start().ready();
    assert_served(&mut bus.client());
    let about = std::fs::symlink_metadata(&path).unwrap();
    assert!(about.file_type().is_socket());
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    bus.finish([]);
    assert!(!path.exists(), "the socket stays behind");
}

#[test]
fn a_socket_of_a_living_bus_is_not_taken_away() {
    let bus = bus(&pool("workers = 1"));
    let path = bus.home().path().join("bus.sock");
    let second = Stage::new(&pool("workers = 1")).arg("--unix").arg(&path);
    let (code, said) = second.run();
    assert!(code.is_some_and(|code| code != 0), "{said}");
    assert!(said.contains("bus.sock"), "{said}");
    assert_served(&mut bus.client());
    // Nor is a file that is no socket.
    let file = bus.home().path().join("precious");
    std::fs::write(&file, "text").unwrap();
    let (code, said) = Stage::new(&pool("workers = 1")).arg("--unix").arg(&file).run();
    assert!(code.is_some_and(|code| code != 0), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
    bus.finish([]);
}

#[test]
fn a_port_that_is_taken_is_an_error_at_the_start() {
    let bus = bus(&pool("workers = 1"));
    let address = bus.tcp().to_string();
    let second = Stage::new(&pool("workers = 1")).arg("--tcp").arg(&address).arg("--no-token");
    let (code, said) = second.run();
    assert!(code.is_some_and(|code| code != 0), "{said}");
    assert!(said.contains(&address), "{said}");
    bus.finish([]);
}

#[test]
fn a_worker_has_three_descriptors_and_no_secrets() {
    let stage = Stage::new(&pool(
        "workers = 2\nbackoff = { initial = \"10ms\", max = \"20ms\" }\n\
         intensity = { deaths = 100 }",
    ))
    .with_sockets();
    let secret = stage.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    // The bus itself inherits some, from a careless parent.
    let command = stage.command_after(&format!("exec 5<'{0}' 6>>'{0}' 9<&0", secret.display()));
    let bus = stage.start_with(command).ready();
    let mut clients: Vec<LineClient> = (0..8).map(|_| bus.tcp_client()).collect();
    for client in &mut clients {
        session(client);
    }
    // Also one that was started while clients were connected.
    for _ in 0..3 {
        for client in &mut clients {
            let fds = client.result("x/fds", &json!({}));
            let numbers: Vec<&Value> =
                fds["fds"].as_array().unwrap().iter().map(|fd| &fd["fd"]).collect();
            assert_eq!(numbers, [0, 1, 2], "{fds}");
            let names = client.result("x/environment", &json!({}));
            let is_own = |name: &&str| name.starts_with("SWITCHYARD_");
            let names: Vec<&str> =
                names["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let own: Vec<&str> = names.iter().copied().filter(is_own).collect();
            assert!(own.iter().all(|name| *name == "SWITCHYARD_WORKER"), "{own:?}");
        }
        clients[0].ask("x/abort", &json!({}));
    }
    bus.finish(clients);
}

#[test]
fn more_clients_and_sessions_than_one_select_can_hold() {
    const N: usize = 1_100;
    let stage = Stage::new(&pool("workers = 2")).with_sockets();
    // What a shell gives by default.
    let command = stage.command_after("ulimit -Sn 1024");
    let bus = stage.start_with(command).ready();
    let mut clients: Vec<LineClient> = (0..N).map(|_| bus.client()).collect();
    let ids: Vec<Value> = clients
        .iter_mut()
        .map(|client| client.start("session/new", &json!({ "cwd": "/", "mcpServers": [] })))
        .collect();
    let mut prompts = Vec::new();
    for (client, id) in clients.iter_mut().zip(&ids) {
        let opened = client.answer_to(id);
        let session = opened["result"]["sessionId"].clone();
        assert!(session.is_string(), "{opened}");
        prompts.push((client.start("x/notify", &json!({ "sessionId": session, "n": 2 })), session));
    }
    for (client, (id, session)) in clients.iter_mut().zip(&prompts) {
        for _ in 0..2 {
            assert_eq!(client.next_message()["params"]["sessionId"], *session);
        }
        assert_eq!(client.next_message()["id"], *id);
    }
    let n_before = bus.n_descriptors();
    drop(clients);
    let is_back = wait_until(PATIENCE, || bus.n_descriptors() + N <= n_before);
    assert!(is_back, "{} of {n_before}", bus.n_descriptors());
    bus.finish([]);
}

#[test]
fn clients_over_the_limit_are_told_and_let_in_when_another_leaves() {
    let bus = bus(&format!("{}[limits]\nmax_clients = 3\n", pool("workers = 1")));
    let mut clients: Vec<LineClient> = (0..3).map(|_| bus.client()).collect();
    clients.iter_mut().for_each(assert_served);
    for mut late in [bus.client(), bus.tcp_client()] {
        late.start("any/thing", &json!({}));
        let answers = late.rest();
        assert_eq!(answers.len(), 1, "{answers:#?}");
        assert_refused(&answers[0], OVERLOADED, "overloaded");
    }
    drop(clients.pop());
    let mut next = None;
    let is_in = wait_until(PATIENCE, || {
        let mut client = bus.client();
        let _ = client.try_send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"any/thing\"}\n");
        let is_served = client.next_message().get("result").is_some();
        next = is_served.then_some(client);
        is_served
    });
    assert!(is_in);
    clients.iter_mut().for_each(assert_served);
    bus.finish(clients.into_iter().chain(next));
}

#[test]
fn a_configuration_of_stdio_bus_works_as_it_is() {
    let config = r#"{"pools":[{"id":"echo","command":"$WORKER","args":[],"instances":2}],
        "limits":{"max_input_buffer":1048576,"max_restarts":5,"restart_window_sec":60}}"#;
    let bus = Stage::named("stdio-bus.json", config).with_sockets().start().ready();
    let mut client = bus.tcp_client();
    assert_served(&mut client);
    // A session beside the method, as its users write it.
    for n in 0..3 {
        client.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"any/thing","sessionId":"mine","params":{n}}}"#
        ));
        assert_eq!(client.answer_to(&json!(n))["result"]["echo"], n);
    }
    bus.finish([client]);
}

#[test]
fn a_worker_has_the_descriptor_limit_that_the_bus_was_started_with() {
    let stage = Stage::new(&pool("workers = 1")).with_sockets();
    let command = stage.command_after("ulimit -Sn 1024");
    let bus = stage.start_with(command).ready();
    let mut client = bus.client();
    let worker = pid_of(&mut client, json!({}));
    let limits = std::fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
    let soft = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(soft.split_whitespace().nth(3), Some("1024"), "{soft}");
    bus.finish([client]);
}

#[test]
fn those_who_say_no_hello_do_not_keep_out_those_who_belong_here() {
    let stage = Stage::new(&format!("{}[limits]\nmax_clients = 3\n", pool("workers = 1")));
    let socket = stage.socket();
    let stage = stage.arg("--tcp").arg("127.0.0.1:0").arg("--unix").arg(socket);
    let bus = stage.start().ready();
    let strangers: Vec<LineClient> = (0..200).map(|_| bus.tcp_client()).collect();
    let is_in = wait_until(PATIENCE, || bus.n_descriptors() > 60);
    assert!(is_in);
    let mut own = bus.client();
    assert_served(&mut own);
    drop(strangers);
    bus.finish([own]);
}
